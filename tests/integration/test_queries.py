"""Several queries in one search: one embedding, one budget, each passage once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.errors import InvalidQueryError, UsageError
from mdvec.testing.embedder import HashingEmbedder
from mdvec.text.tokens import estimate_token_count
from mdvec.types.hit import SearchHit
from mdvec.types.query import SearchMode

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix

NOTES = {
    "boiler.md": "# Boiler\n\nThe boiler is serviced every October by Keller.\n",
    "lease.md": "# Lease\n\nThe lease of the flat ends in March and is renewed by letter.\n",
    "温室.md": "# 温室\n\n温室の水やりは朝に行う。\n",
    "office.md": "---\nbudget: 8500\nowner: Ann\n---\n# Garden office\n\nMade of wood.\n",
    "cellar.md": "# Cellar\n\nThe cellar holds the boiler and the bicycles.\n",
}


class Batches(HashingEmbedder):
    """Remembers the queries that were embedded together."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embed, and remember."""
        self.batches.append([*texts])
        return super().embed_queries(texts)


@pytest.fixture
def embedder() -> Batches:
    return Batches()


@pytest.fixture
def workspace(tmp_path: Path, embedder: Batches) -> Iterator[Workspace]:
    """Some notes on different subjects."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in NOTES.items():
        (docs / name).write_text(text, encoding="utf-8")
    with open_workspace(database=tmp_path / "i.sqlite", embedder=embedder) as made:
        made.add_collection("docs", "", str(docs))
        made.import_collection("docs")
        yield made


def places(hits: Sequence[SearchHit]) -> list[tuple[str, int, int]]:
    return [(hit.path, hit.start, hit.end) for hit in hits]


def test_each_passage_comes_once_with_its_best_score(workspace: Workspace) -> None:
    """The answer to several queries is made of the answers to each of them."""
    texts = ("who services the boiler", "boiler", "温室の水やり")
    alone = [workspace.search(SearchQuery(text, limit=10)) for text in texts]
    best: dict[tuple[str, int, int], float] = {}
    for result in alone:
        for place, hit in zip(places(result.hits), result.hits, strict=True):
            best[place] = max(best.get(place, 0), hit.score)
    together = workspace.search(SearchQuery(texts[0], queries=texts[1:], limit=10))
    assert {place: hit.score for place, hit in zip(places(together.hits), together.hits, strict=True)} == best
    assert [hit.score for hit in together.hits] == sorted(best.values(), reverse=True)
    assert {"boiler.md", "温室.md"} <= {hit.path for hit in together.hits}
    assert (
        together.confidence is max((each for each in alone), key=lambda each: each.hits[0].score).confidence
    )


def test_queries_are_embedded_together_and_once(workspace: Workspace, embedder: Batches) -> None:
    """A service gets one request; what was embedded before, or is given twice, is not embedded again."""
    workspace.search(SearchQuery("lease", queries=("flat", " lease ", "letter")))
    workspace.search(SearchQuery("flat", queries=("boiler",)))
    assert embedder.batches == [["lease", "flat", "letter"], ["boiler"]]


def test_the_budget_is_shared(workspace: Workspace) -> None:
    """All hits together have no more text than is wanted, whichever query found them."""
    query = SearchQuery("boiler Keller", queries=("lease flat March", "温室の水やり"), min_score=0, limit=10)
    [*every] = workspace.search(query).hits
    most = estimate_token_count(every[0].text) + estimate_token_count(every[1].text)
    few = workspace.search(
        SearchQuery(query.text, queries=query.queries, min_score=0, limit=10, max_tokens=most)
    )
    assert places(few.hits) == places(every[:2])
    assert few.left_out == len(every) - 2


def test_a_query_without_an_answer_is_named(workspace: Workspace) -> None:
    """Its best guess is no hit, as the other query has an answer."""
    by_words = SearchQuery("who services the boiler", mode=SearchMode.LEXICAL)
    alone = workspace.search(by_words)
    result = workspace.search(replace(by_words, queries=("zebra quagga",)))
    assert result.warnings == ("probably no answer to: zebra quagga",)
    assert (result.confidence, places(result.hits)) == (alone.confidence, places(alone.hits))


def test_a_hit_has_the_properties_that_were_asked_for(workspace: Workspace) -> None:
    """By their names or their values, and no others."""
    for query in ("budget of the garden office", "8500 for an office"):
        first, *_ = workspace.search(SearchQuery(query)).hits
        assert (first.path, first.properties) == ("office.md", ("budget: 8500",))


def test_words_of_a_date_are_not_missed_where_it_was_found(workspace: Workspace) -> None:
    """A note named after a day has no name of a month; where no note is of the day, its words are missed."""
    docs = Path(workspace.collection("docs").source.location)
    (docs / "2026-11-21.md").write_text("Dentist at nine.\n", encoding="utf-8")
    workspace.import_collection("docs")
    found = workspace.search(SearchQuery("zeppelin on 21 November"))
    assert (found.hits[0].path, found.unknown_words) == ("2026-11-21.md", ("zeppelin",))
    missed = workspace.search(SearchQuery("zeppelin on 22 November")).unknown_words
    assert missed == ("22 November", "zeppelin")


def test_five_queries_are_the_most(workspace: Workspace) -> None:
    """And each of them has words."""
    assert workspace.search(SearchQuery("a", queries=("b", "c", "d", "boiler"))).hits
    with pytest.raises(UsageError, match="at most 5 queries, not 6"):
        workspace.search(SearchQuery("a", queries=("b", "c", "d", "e", "f")))
    with pytest.raises(InvalidQueryError, match="the query is empty"):
        workspace.search(SearchQuery("a", queries=(" ",)))
