"""Whatever a document or a query holds: it is read, cut and searched, without an exception and in time."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.waiting import HANG_S

from mdvec import SearchQuery, open_workspace
from mdvec.config.schema import Config
from mdvec.errors import NotFoundError, UsageError
from mdvec.indexing.prepare import prepare
from mdvec.stores.records import DocumentRecord
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.change import SourceEntry
from mdvec.types.collection import ChunkingSpec
from mdvec.types.query import Expansion, Filters, SearchMode
from mdvec.workspace.stages import Stages

pytestmark = pytest.mark.harness

DOCUMENTS = 3_000
QUERIES = 1_000
CHUNKERS = ("sections", "headings", "windows", "vault")
# What Markdown, YAML, links, comments and queries are made of, and characters that are treated apart.
WORDS = """
# ## ###### - * + 1. > >> ``` ~~~ ` `` $ $$ --- === *** ___ | |- : :: ::: %% %%x%% <!-- --> \\
[[ ]] [ ]( ) ![ ![[ ^a [^1]: <div> </div> <a & &amp; &#0; http:// https://例え.jp www. @ #tag #タグ/副
title: tags: aliases: previous: updated: {} [] "" *a &a !!python/object: 2026-13-45 "\\ud800"
a word install 日本語 検索 する ー ﾊﾝｶｸ が か\u3099 é e\u0301 ﬁ İ ß 👨\u200d👩\u200d👧 🇯🇵 א ب
\u202e \u2066 \u200b \ufeff \x00 \x1b[31m \x7f
"""
PIECES = (
    *WORDS.split(),
    *("\n", "\n\n", "\n    ", "\t", "\r", "\r\n", "\x85", "\u2028", "\n---\n", "\n===\n"),
    *("x" * 300, "語" * 300, "|" * 50, "*a" * 30, "[" * 60, "> " * 40, "`" * 33, "-" * 80),
)


@contextmanager
def ended() -> Iterator[None]:
    """Fail when the block takes as long as something that hangs."""

    def fail(_number: int, _frame: object) -> None:
        msg = f"still at it after {HANG_S} s"
        raise AssertionError(msg)

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(int(HANG_S))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def text_of(dice: random.Random, most: int) -> str:
    """Return a text of random pieces, one of them often repeated."""
    if dice.random() < 0.05:
        return dice.choice(PIECES) * dice.randrange(1, 400)
    text = dice.choice(("", " ", " ", "\n")).join(dice.choices(PIECES, k=dice.randrange(most)))
    return f"---\n{text[: len(text) // 2]}\n---\n{text[len(text) // 2 :]}" if dice.random() < 0.2 else text


def test_random_documents_are_read_and_cut() -> None:
    """3,000 documents: every chunk is a part of its document, and all of them are in order."""
    dice = random.Random(20261122)
    parts = Stages(Config(), HashingEmbedder())
    recipes = [parts.recipe(ChunkingSpec(name), parts.models.for_(None)) for name in CHUNKERS]
    for number in range(DOCUMENTS):
        text = text_of(dice, 60)
        raw = text.encode("utf-8") if number % 10 else dice.randbytes(dice.randrange(300))
        entry = SourceEntry(f"{number}.{dice.choice(('md', 'md', 'txt', 'mdx'))}", "x", 0, len(raw))
        with ended():
            record = prepare(entry, raw, dice.choice(recipes))
        if isinstance(record, DocumentRecord):
            length = len(record.document.body)
            assert all(0 <= each.start <= each.end <= length for each in record.chunks), text
            # A document without text is found by its names: one chunk that spans nothing.
            assert len(record.chunks) == 1 or all(each.start < each.end for each in record.chunks), text
            starts = [each.start for each in record.chunks]
            assert starts == sorted(starts), text


def test_random_queries_are_answered(tmp_path: Path) -> None:
    """1,000 queries of random words, modes and filters: each has an answer, or is refused as a wrong call."""
    dice = random.Random(20261123)
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(60):
        (docs / f"{number}.md").write_text(text_of(dice, 60), encoding="utf-8", errors="replace")
    refused = 0
    with open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", "", str(docs))
        with ended():
            workspace.import_collection("notes")
        for _ in range(QUERIES):
            query = SearchQuery(
                text_of(dice, 12),
                dice.choice(list(SearchMode)),
                filters=Filters(
                    tags=tuple(dice.choices(PIECES, k=dice.choice((0, 0, 0, 1, 3)))),
                    alias_prefix=dice.choice((None, None, None, dice.choice(PIECES))),
                    path=dice.choice((None, None, text_of(dice, 4))),
                    linked_to=dice.choice((None, None, None, None, None, None, "1.md")),
                ),
                limit=dice.choice((1, 5, 100)),
                threshold=dice.choice((None, 0.5)),
                expand=dice.choice(list(Expansion)),
                max_tokens=dice.choice((None, 1, 500)),
            )
            try:
                with ended():
                    result = workspace.search(query)
            except (UsageError, NotFoundError):
                refused += 1
            else:
                assert len(result.hits) <= query.limit
    assert refused < QUERIES / 2
