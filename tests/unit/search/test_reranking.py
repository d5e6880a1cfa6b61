"""What a reranker may change of an answer: which of the first passages are shown, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.embedding.interface import ConfiguredReranker, Relevance, Reranker
from mdvec.errors import EmbedderBusyError, EmbedderUnavailableError, EmbeddingError
from mdvec.search.passages import Ranked, RankedPassage
from mdvec.search.reranking import Reranked, rerank
from mdvec.stores.records import ChunkPlace
from mdvec.types.hit import Reranking
from mdvec.types.model_report import Price


class FakeReranker(Reranker):
    """Gives the scores it was made with, in order; notes what it reads."""

    model = "fake"

    def __init__(self, scores: Sequence[float] = (), error: EmbeddingError | None = None) -> None:
        self.scores = scores
        self.error = error
        self.read: list[tuple[str, list[str]]] = []

    def relevance(self, query: str, texts: Sequence[str]) -> Relevance:
        self.read.append((query, [*texts]))
        if self.error is not None:
            raise self.error
        return Relevance(self.scores[: len(texts)], tokens=100 * len(texts))


class Chunks:
    """The chunks of a snapshot: two below a heading, named by their ids."""

    def get(self, ids: Sequence[int]) -> dict[int, Any]:
        return {
            each: SimpleNamespace(title="Notes", heading_path=("Notes", "Part"), text=f"text {each}")
            for each in ids
        }


VIEW = cast("Any", SimpleNamespace(chunks=Chunks()))


def passages(count: int, *, folded: int = 0) -> list[RankedPassage]:
    """Make passages of a chunk each, best first; the last ones are folded."""
    made: list[RankedPassage] = []
    for at in range(count):
        place = cast("ChunkPlace", SimpleNamespace(id=at))
        made.append(RankedPassage(Ranked(at, place, -float(at), at >= count - folded), (place,), -float(at)))
    return made


def reranked(
    reranker: Reranker,
    found: Sequence[RankedPassage],
    shown: Sequence[int],
    *,
    named: Sequence[int] = (),
    most: int = 30,
    price: Price | None = None,
    probable: Sequence[float] | None = None,
) -> Reranked:
    is_named = np.zeros(len(found), np.bool_)
    is_named[[*named]] = True
    own = [0.5] * len(found) if probable is None else probable
    return rerank(
        "query", found, shown, own, is_named, ConfiguredReranker("fake:m", reranker, most, price), VIEW
    )


def test_it_orders_what_is_not_left_out() -> None:
    """The best come first; a passage that is left out stays so."""
    found = reranked(FakeReranker([0.1, 0.3, 0.2]), passages(4), [0, 1, 3])
    assert found.order == [1, 3, 0]


def test_passages_that_hardly_answer_keep_their_places() -> None:
    """Whoever asks for all of them gets them behind the others: they are not read."""
    reranker = FakeReranker([0.1, 0.9])
    found = reranked(reranker, passages(4), [0, 1, 2, 3], probable=[0.5, 0.02, 0.3, 0.01])
    assert found.order == [2, 1, 0, 3]
    assert len(reranker.read[0][1]) == 2


def test_passages_with_equal_scores_stay_in_the_order_of_evidence() -> None:
    """A reranker that says nothing changes nothing."""
    assert reranked(FakeReranker([0.5] * 4), passages(4), [0, 1, 3]).order == [0, 1, 3]


def test_what_the_query_names_is_not_displaced() -> None:
    """A single passage found by its name is not read; several take places from each other alone."""
    reranker = FakeReranker([0.1, 0.9])
    assert reranked(reranker, passages(3), [0, 1, 2], named=[0]).order == [0, 2, 1]
    assert len(reranker.read[0][1]) == 2
    found = reranked(FakeReranker([0.1, 0.9, 0.2, 0.8]), passages(4), [0, 1, 2], named=[0, 2])
    assert found.order == [2, 1, 0]


def test_only_the_first_passages_are_read() -> None:
    """The others keep their places behind them, and so do folded ones."""
    reranker = FakeReranker([1.0, 2.0, 3.0])
    assert reranked(reranker, passages(5), [0, 1, 2, 3, 4], most=3).order == [2, 1, 0, 3, 4]
    assert reranked(reranker, passages(5, folded=2), [0, 1, 2, 3, 4]).order == [2, 1, 0, 3, 4]


@pytest.mark.parametrize(
    ("count", "shown", "named"), [(0, [], []), (1, [0], []), (3, [], []), (3, [0], [0]), (2, [0, 1], [1])]
)
def test_nothing_is_asked_where_nothing_can_change(count: int, shown: list[int], named: list[int]) -> None:
    """No request is made for a single passage, or when none that may move is shown."""
    reranker = FakeReranker([1.0] * 3)
    assert reranked(reranker, passages(count), shown, named=named) == Reranked(shown)
    assert reranker.read == []


def test_it_reads_titles_and_headings() -> None:
    """A passage is below its title and headings, each once, with all of its chunks."""
    reranker = FakeReranker([1.0, 2.0])
    one, other = passages(2)
    chunks = (*one.chunks, *passages(3)[2].chunks)
    reranked(reranker, [RankedPassage(one.best, chunks, 0.0), other], [0, 1])
    assert reranker.read == [
        ("query", ["Notes › Part\ntext 0\ntext 2", "Notes › Part\ntext 1"]),
    ]


def test_what_it_costs() -> None:
    """The report has passages, tokens and their price; a model without a price costs nothing known."""
    report = reranked(FakeReranker([1.0, 2.0]), passages(2), [0, 1], price=Price(0.05, "")).report
    assert report == Reranking("fake:m", 2, 200, 200 * 0.05 / 1_000_000)
    report = reranked(FakeReranker([1.0, 2.0]), passages(2), [0, 1]).report
    assert report == Reranking("fake:m", 2, 200, None)


def test_without_an_answer_hits_are_as_they_were() -> None:
    """The warning has the reason and what to do; "run the import again" helps no search."""
    unavailable = EmbedderUnavailableError("no key", hint="Set it.")
    for error, warning in (
        (unavailable, "not reranked: no key. Set it."),
        (EmbedderBusyError("busy"), "not reranked: busy."),
    ):
        found = reranked(FakeReranker(error=error), passages(3), [0, 2])
        assert found == Reranked([0, 2], None, (warning,))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=12, max_size=12),
    st.sets(st.integers(0, 11)),
    st.sets(st.integers(0, 11)),
    st.integers(0, 12),
    st.integers(2, 12),
)
def test_whatever_it_says_nothing_is_lost_or_doubled(
    scores: list[float], shown: set[int], named: set[int], folded: int, most: int
) -> None:
    """The same passages as before, each once; the best of each kind are first at the places of their kind."""
    found, before = passages(12, folded=folded), sorted(shown)
    first = [at for at in before if at < min(most, 12 - folded)]
    kinds = [[at for at in first if (at in named) is kind] for kind in (True, False)]
    read = sorted(at for kind in kinds if len(kind) > 1 for at in kind)
    score = dict(zip(read, scores, strict=False))
    after = reranked(FakeReranker(scores), found, before, named=sorted(named), most=most).order
    assert sorted(after) == before
    for kind in kinds:
        places = [new for old, new in zip(before, after, strict=True) if old in kind]
        assert places == sorted(kind, key=lambda at: -score.get(at, 0.0))
    assert all(old == new for old, new in zip(before, after, strict=True) if old not in read)
