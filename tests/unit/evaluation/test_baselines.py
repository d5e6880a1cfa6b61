"""The other ways to search that ours is held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.workspaces import workspace_of, written

from mdvec import Workspace
from mdvec.errors import CollectionNotFoundError
from mdvec.evaluation.baselines import (
    BM25,
    GREP,
    RRF_60,
    baselines,
    bm25_terms,
    grep_terms,
)
from mdvec.evaluation.judgements import Question, Ranker
from mdvec.types.query import SearchMode, SearchQuery

DOCUMENTS = {
    "en/password.md": "# Passwords\n\nReset your password on the account page.\n",
    "en/invoice.md": "# Invoices\n\nAn invoice is sent to every account. The account pays the invoice.\n",
    "en/[old] notes/reset.md": "# Resetting\n\nThe reset button resets the password of the router.\n",
    "ja/password.md": "# パスワード\n\nパスワードの再設定はアカウント画面で行います。\n",
    "ja/invoice.md": "# 請求書\n\n請求書は毎月一日にアカウント宛てに送ります。\n",
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A few documents in two languages, and one in a collection of its own."""
    root = tmp_path_factory.mktemp("baselines")
    other = {"en/password.md": "# Other\n\nThe password of another project.\n"}
    folders = {"docs": written(root / "docs", DOCUMENTS), "other": written(root / "other", other)}
    with workspace_of(root / "index.sqlite", folders) as made:
        yield made


@pytest.fixture(scope="module")
def rankers(workspace: Workspace) -> Iterator[Mapping[str, Ranker]]:
    """The baselines over the first collection."""
    with baselines(workspace, ["docs"]) as made:
        yield made


def question(text: str, **details: Any) -> Question:
    return Question("q", text, {"x": 1}, **details)


def paths(ranker: Ranker, text: str, **details: Any) -> list[str]:
    return [path for path, _ in ranker(question(text, **details))]


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("How do I reset the Password?", ["how", "do", "reset", "the", "password"]),
        ("パスワードの再設定はどこで行う？", ["パスワード", "再設定"]),
        ("Node.js を入れる", ["node", "js"]),
        ("宿", ["宿"]),
        ("どこですか", ["どこですか"]),
        ("reset, reset!", ["reset"]),
        ("？！", []),
    ],
)
def test_grep_looks_for_what_a_person_would(query: str, terms: list[str]) -> None:
    """Words in Latin script, kanji and katakana runs; particles and single characters only at need."""
    assert grep_terms(query) == terms


def test_grep_counts_distinct_terms_before_occurrences(rankers: Mapping[str, Ranker]) -> None:
    """A text with both words once is above one that repeats a single one; case does not count."""
    assert paths(rankers[GREP], "RESET account")[0] == "en/password.md"
    assert paths(rankers[GREP], "account invoice")[0] == "en/invoice.md"
    assert paths(rankers[GREP], "xyzzy plugh") == []


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Resetting the PASSWORD_page", ["reset", "the", "password", "page"]),
        ("パスワードを", ["パス", "スワ", "ワー", "ード", "ドを"]),
        ("API鍵", ["api", "鍵"]),
        ("?!", []),
    ],
)
def test_terms_of_bm25(text: str, terms: list[str]) -> None:
    """Words are stemmed, runs without spaces are cut into pairs of characters."""
    assert bm25_terms(text) == terms


def test_bm25_weighs_terms(rankers: Mapping[str, Ranker]) -> None:
    """Any term suffices, a rare one counts more than a common one, and a short text more than a long one."""
    assert paths(rankers[BM25], "resetting passwords quickly")[:2] == [
        "en/[old] notes/reset.md",
        "en/password.md",
    ]
    assert paths(rankers[BM25], "account button")[0] == "en/[old] notes/reset.md"
    assert paths(rankers[BM25], "パスワードを再設定するにはどうしますか")[0] == "ja/password.md"


def test_rrf_adds_reciprocal_ranks(workspace: Workspace, rankers: Mapping[str, Ranker]) -> None:
    """The order is that of the sums of 1 / (60 + rank) over our two rankings of chunks."""
    text = "reset the account password"
    sums: dict[str, float] = {}
    for mode in (SearchMode.LEXICAL, SearchMode.DENSE):
        query = SearchQuery(
            text, mode=mode, collections=("docs",), limit=100, per_document=100, min_score=0.0
        )
        hits = workspace.search(query).hits
        assert len({hit.path for hit in hits}) == len(hits)  # a chunk for each document
        for hit in hits:
            sums[hit.path] = sums.get(hit.path, 0) + 1 / (60 + hit.rank)
    assert paths(rankers[RRF_60], text) == sorted(sums, key=lambda path: (-sums[path], path))


@pytest.mark.parametrize("name", [GREP, BM25, RRF_60])
def test_only_what_counts_is_ranked(name: str, workspace: Workspace, rankers: Mapping[str, Ranker]) -> None:
    """Every baseline stays in the scope, drops what is excluded, and gives each document its best passage."""
    everywhere = paths(rankers[name], "password")
    assert {"en/password.md", "en/[old] notes/reset.md"} <= set(everywhere)
    assert len(set(everywhere)) == len(everywhere)
    assert "en/password.md" not in paths(rankers[name], "password", exclude=frozenset({"en/password.md"}))
    assert paths(rankers[name], "password", scope="en/[old] notes") == ["en/[old] notes/reset.md"]
    passages = dict(rankers[name](question("password")))
    assert passages["en/password.md"] in DOCUMENTS["en/password.md"]


@pytest.mark.parametrize("name", [GREP, BM25, RRF_60])
def test_a_question_may_name_its_collection(name: str, workspace: Workspace) -> None:
    """Over several collections, a question that names one is answered from that one."""
    with baselines(workspace) as rankers:
        [(path, text)] = rankers[name](question("password", collection="other"))
    assert (path, "another project" in text) == ("en/password.md", True)


@pytest.mark.parametrize("name", [GREP, BM25])
def test_what_cannot_be_found_is_not_an_error(name: str, rankers: Mapping[str, Ranker]) -> None:
    """Punctuation, unknown words, zero bytes and undecodable bytes give an empty answer."""
    for text in ("?!", "\x00", "xyzzy\x00plugh", "\udcff", '"'):
        assert rankers[name](question(text)) == []


def test_an_unknown_collection_is_an_error(workspace: Workspace) -> None:
    """A name that is no collection is told before anything is ranked."""
    with pytest.raises(CollectionNotFoundError), baselines(workspace, ["nothing"]):
        pass


def test_chunks_come_in_order(workspace: Workspace) -> None:
    """All chunks are walked by collection, path and position, with the text that is searched."""
    walked = [(chunk.collection, chunk.path, chunk.ordinal) for chunk in workspace.chunks()]
    assert walked == sorted(walked)
    assert {path for _, path, _ in walked} == DOCUMENTS.keys()
    assert [chunk.path for chunk in workspace.chunks(["other"])] == ["en/password.md"]
