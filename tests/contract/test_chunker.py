"""What every chunker must do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tests.growth import assert_grows_linearly

from mdvec.chunking.headings import HeadingChunker
from mdvec.chunking.interface import Chunker
from mdvec.chunking.sections import SectionChunker
from mdvec.chunking.vault import VaultChunker
from mdvec.chunking.windows import MIN_MAX_TOKENS, WindowChunker
from mdvec.documents.parse import parse_document
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.document import Document

# Room for what chunkers say above a text: metadata, sentences, headings.
_MAX_CONTEXT_CHARS = 800


@dataclass(frozen=True)
class Case:
    """A chunker under test, and the limits its chunks keep."""

    make: Callable[[], Chunker]
    max_tokens: int | None = None
    max_chars: int | None = None


def _sections(*, overlap_tokens: int = 0, levels: tuple[int, ...] = (1, 2, 3, 4, 5, 6)) -> Chunker:
    return SectionChunker(
        token_ends=estimate_token_ends,
        max_tokens=40,
        min_tokens=10,
        overlap_tokens=overlap_tokens,
        levels=levels,
    )


_CASES = {
    "sections": Case(_sections, max_tokens=40),
    "sections with overlap": Case(lambda: _sections(overlap_tokens=8), max_tokens=40),
    "sections of three levels": Case(lambda: _sections(levels=(1, 2, 3)), max_tokens=40),
    "headings": Case(lambda: HeadingChunker(token_ends=estimate_token_ends), max_chars=3000),
    "short headings": Case(
        lambda: HeadingChunker(token_ends=estimate_token_ends, max_chars=120, min_chars=30, levels=(1, 2)),
        max_chars=120,
    ),
    "vault": Case(lambda: VaultChunker(token_ends=estimate_token_ends)),
    "vault with a limit": Case(lambda: VaultChunker(token_ends=estimate_token_ends, token_limit=40)),
    "windows": Case(
        lambda: WindowChunker(token_ends=estimate_token_ends, max_tokens=MIN_MAX_TOKENS),
        max_tokens=MIN_MAX_TOKENS,
    ),
    "windows without overlap": Case(
        lambda: WindowChunker(token_ends=estimate_token_ends, overlap_tokens=0), max_tokens=1024
    ),
}


@pytest.fixture(params=_CASES)
def case(request: pytest.FixtureRequest) -> Case:
    """The chunker under test."""
    return _CASES[request.param]


_PROSE = "A sentence of some words. Another one follows it. 日本語の文もあります。短い。\n\n"
_DOCUMENTS = {
    "sections.md": "---\ntitle: T\ntags: [a]\n---\nIntro.\n\n# A\n\n"
    + _PROSE * 4
    + "## B\n\nx\n\n## C\n\ny\n",
    "deep.md": "".join(f"{'#' * level} H{level}\n\n{_PROSE}" for level in (2, 1, 3, 2, 2, 4, 3, 6, 1, 2)),
    "headings first.md": "# A\n\n## B\n\n### C\n\n" + _PROSE + "## D\n\n### E\n\n# F\n",
    "fence.md": "# A\n\n```python\n" + "    value = call(argument)\n\n" * 30 + "```\n\n" + _PROSE,
    "list.md": "- item one. Two.\n  - nested 日本語。\n" * 40,
    "table.md": "| a | b |\n|---|---|\n" + "| cell | 値 |\n" * 50,
    "long.md": ("## H\n\n" + _PROSE * 60) * 3,
    "one line.md": "日本語の長い一行。" * 800,
    "one word.md": "x" * 9000,
    "emoji.md": "👨‍👩‍👧‍👦" * 100,
    "plain.txt": _PROSE * 30,
    "indented.md": "\n\n   \n    code\n    code\n",
    "frontmatter.md": "---\ntitle: T\n---\n",
    "blank.md": " \n\n",
    "empty.md": "",
}


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """One document of each shape."""
    return [parse_document(path, text) for path, text in _DOCUMENTS.items()]


def _without_space(text: str) -> str:
    return "".join(text.split())


def test_positions_rebuild_the_text(case: Case, documents: list[Document]) -> None:
    """A chunk is exactly the span of the body it names, and so are its lines."""
    for document in documents:
        lines = document.body.split("\n")
        for chunk in case.make().chunk(document).chunks:
            assert document.body[chunk.start : chunk.end] == chunk.text
            assert chunk.text in "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
            assert len(chunk.text.split("\n")) == chunk.end_line - chunk.start_line + 1


def test_all_text_is_covered(case: Case, documents: list[Document]) -> None:
    """No character that is not white space is lost; frontmatter is left out."""
    for document in documents:
        covered: list[str] = []
        position = document.content_start
        for chunk in case.make().chunk(document).chunks:
            assert not document.body[position : max(position, chunk.start)].strip()
            covered.append(document.body[max(position, chunk.start) : chunk.end])
            position = chunk.end
        assert _without_space("".join(covered)) == _without_space(document.body[document.content_start :])


def test_chunks_are_in_order(case: Case, documents: list[Document]) -> None:
    """Ordinals count from 0, starts and ends ascend, parents come before their children."""
    for document in documents:
        chunks = case.make().chunk(document).chunks
        assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
        for before, after in itertools.pairwise(chunks):
            assert before.start < after.start
            assert before.end < after.end
        assert all(chunk.parent is None or 0 <= chunk.parent < chunk.ordinal for chunk in chunks)


def test_chunks_say_something_and_fit(case: Case, documents: list[Document]) -> None:
    """No chunk is blank or has white space around it, and none is over its chunker's limit."""
    for document in documents:
        for chunk in case.make().chunk(document).chunks:
            assert chunk.text.strip()
            assert chunk.text == chunk.text.rstrip()
            assert chunk.text.split("\n")[0].strip()
            assert chunk.token_count == len(estimate_token_ends(chunk.text))
            assert case.max_tokens is None or chunk.token_count <= case.max_tokens
            assert case.max_chars is None or len(chunk.text) <= case.max_chars
            assert len(chunk.context) <= _MAX_CONTEXT_CHARS


def test_chunks_know_their_headings(case: Case, documents: list[Document]) -> None:
    """Their path is that of a section of the document, and the depth is that section's level."""
    for document in documents:
        known = {(section.heading_path, min(section.level, 3)) for section in document.sections}
        for chunk in case.make().chunk(document).chunks:
            # Rows of a table are below the names of its columns, too.
            above = chunk.heading_path[
                : -1 if chunk.heading_path and " · " in chunk.heading_path[-1] else None
            ]
            assert (above, chunk.depth) in known


def test_chunking_is_a_function(case: Case, documents: list[Document]) -> None:
    """The same document gives the same chunks, by the same chunker and by another one like it."""
    first = case.make()
    for document in documents:
        once = first.chunk(document)
        assert first.chunk(document) == once
        assert case.make().chunk(document) == once
    assert case.make().fingerprint == first.fingerprint


def test_no_two_settings_share_a_fingerprint() -> None:
    """Whoever cuts otherwise says so."""
    fingerprints = [case.make().fingerprint for case in _CASES.values()]
    assert len(set(fingerprints)) == len(fingerprints)


@pytest.mark.parametrize(
    "part", ["日本語の文です。", "# h\n\ntext\n\n", "## h\n\ntext here.\n\n### g\n\ntext\n\n"]
)
def test_long_documents_take_linear_time(case: Case, part: str) -> None:
    """A line and sections of any number are cut as fast as few."""
    chunker = case.make()
    assert_grows_linearly(lambda times: parse_document("x.md", part * times), chunker.chunk, 300)
