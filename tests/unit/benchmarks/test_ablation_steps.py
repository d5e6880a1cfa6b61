"""The effect of variants on evidence that both sides have found already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest
from benchmarks.ablations import fusions, meaning, sparse
from benchmarks.ablations.index import Index, Vector
from benchmarks.ablations.variant import Evidence, Patch, Query, applied, as_shipped
from numpy.typing import NDArray

from mdvec.search import fusion
from mdvec.search.fusion import DenseEvidence, LexicalEvidence
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId
from mdvec.types.query import Where

QUESTION = np.array([1.0, 0.0], np.float32)
COLLECTION = CollectionId(1)
SPACE = SpaceId(1)


@dataclass
class FakeView:
    """Knows similarities, whatever the vector; each chunk is a document of its own."""

    known: Mapping[ChunkId, float]

    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        return [
            ChunkPlace(each, DocumentId(each), COLLECTION, 0, unspaced=False, token_count=9) for each in ids
        ]

    def chunk_similarities(
        self, _space: object, queries: Vector, ids: Sequence[ChunkId]
    ) -> NDArray[np.float64]:
        return np.array([[self.known.get(each, np.nan) for each in ids]] * len(queries))

    def name_similarities(
        self, _space: object, queries: Vector, documents: Sequence[DocumentId]
    ) -> NDArray[np.float64]:
        return np.full((len(queries), len(documents)), np.nan)

    def sampled_chunks(self, *_: object) -> list[ChunkPlace]:
        return []

    def repetitions(self, *_: object) -> dict[ChunkId, int]:
        return {}


@dataclass
class FakeChunk:
    id: ChunkId
    text: str


@dataclass(eq=False)
class FakeIndex:
    """As much of an index as these steps use."""

    path_of: Mapping[ChunkId, str] = field(default_factory=dict)
    neighbours: Mapping[ChunkId, tuple[ChunkId, ...]] = field(default_factory=dict)
    rows: Mapping[ChunkId, int] = field(default_factory=dict)
    vectors: Vector = field(default_factory=lambda: np.empty((0, 2), np.float32))
    known: Mapping[ChunkId, float] = field(default_factory=dict)
    chunks: Sequence[FakeChunk] = ()
    space_id: SpaceId = SPACE
    unrelated: None = None

    def embed(self, _text: str) -> Vector:
        return QUESTION

    @property
    def view(self) -> FakeView:
        return FakeView(self.known)


def chunk(number: int) -> ChunkId:
    return ChunkId(number)


def query(index: FakeIndex | None = None) -> Query:
    return Query("question", QUESTION, Where((COLLECTION,)), cast("Index", index or FakeIndex()))


def evidence(words: Mapping[int, float], near: Mapping[int, float], *, matched: float = 1.0) -> Evidence:
    """Words' shares of a maximum score of 10, and similarities around a mean of 0 with a spread of .1."""
    ranked = sorted(words, key=lambda number: -words[number])
    nearest = sorted(near, key=lambda number: -near[number])
    return Evidence(
        LexicalEvidence([(chunk(each), 10 * words[each]) for each in ranked], 10.0, matched),
        DenseEvidence(
            [chunk(each) for each in nearest],
            {chunk(each): similarity for each, similarity in near.items()},
            {chunk(each): similarity for each, similarity in near.items()},
            {chunk(each): similarity for each, similarity in near.items()},
            0.0,
            0.1,
        ),
    )


def test_another_weight_turns_the_order_where_it_should() -> None:
    """2 of 10 are worth 1.3 deviations at weight 2 and 1.9 at weight 3; the real weight comes back."""
    found = evidence({1: 0.2}, {1: 0.0, 2: 0.15})
    assert fusions.with_weight(2)(found, query()) == [2, 1]
    assert fusions.with_weight(3)(found, query()) == [1, 2]
    assert as_shipped(found, query()) == [2, 1]
    assert fusion._LEXICAL_WEIGHT == 0.8


def test_share_of_the_maximum_score_makes_no_difference_between_short_and_long_questions() -> None:
    """The maximum score is worth 7 deviations, however large it is."""
    for max_score in (1.0, 400.0):
        words = LexicalEvidence([(chunk(1), max_score)], max_score, 1.0)
        below = Evidence(words, evidence({}, {1: 0.0, 2: 0.69}).dense)
        above = Evidence(words, evidence({}, {1: 0.0, 2: 0.71}).dense)
        assert fusions.by_share_of_max(below, query()) == [1, 2]
        assert fusions.by_share_of_max(above, query()) == [2, 1]


def test_share_of_the_maximum_score_without_words() -> None:
    """Where no term is known the maximum score is 0, and vectors decide."""
    nothing = Evidence(LexicalEvidence([], 0.0, 0.0), evidence({}, {1: 0.0, 2: 0.15}).dense)
    assert fusions.by_share_of_max(nothing, query()) == [2, 1]


def test_weight_by_coverage_grows_with_the_best_coverage() -> None:
    """Half of the question in one place gives a weight of 9; were half of it unknown, it would be 7."""
    near = {1: 0.0, 2: 0.4}
    assert fusions.by_coverage(evidence({1: 0.5}, near), query()) == [1, 2]
    assert fusions.by_coverage(evidence({1: 0.5}, near, matched=0.5), query()) == [2, 1]


def test_share_of_the_best_gives_two_points_to_the_best_of_bad_matches() -> None:
    """The best word match gains two deviations however small its share is."""
    found = evidence({1: 0.01}, {1: 0.0, 2: 0.15})
    assert fusions.by_share_of_best(found, query()) == [1, 2]
    assert as_shipped(found, query()) == [2, 1]


def test_share_of_the_best_without_words() -> None:
    """Without any word match vectors decide."""
    assert fusions.by_share_of_best(evidence({}, {1: 0.0, 2: 0.15}), query()) == [2, 1]


def test_ranks_count_in_both_rankings() -> None:
    """Second place on both sides beats first place on one; ties are in order of id."""
    found = evidence({1: 0.9, 2: 0.1}, {3: 0.9, 2: 0.1})
    assert fusions.by_ranks(found, query()) == [2, 1, 3]


def test_unknown_words_make_shares_smaller() -> None:
    """With half of the question's weight in unknown words every share is half of what it was."""
    revised = fusions.unknown_words_missing(evidence({1: 0.5}, {}, matched=0.5), query())
    assert revised.lexical.max_score == 20.0
    nothing = evidence({}, {}, matched=0.0)
    assert fusions.unknown_words_missing(nothing, query()) == nothing


def test_second_best_chunk_counts_for_its_document() -> None:
    """A fifth of a second good chunk turns two documents around; a bad second one takes nothing away."""
    paths = {chunk(1): "a", chunk(2): "b", chunk(3): "b", chunk(4): "c", chunk(5): "c"}
    found = evidence({}, {1: 0.3, 2: 0.29, 3: 0.2, 4: 0.25, 5: -0.5})
    assert fusions.with_second_best(found, query(FakeIndex(path_of=paths))) == [2, 1, 4]


def test_words_of_neighbours_count() -> None:
    """A chunk beside one with words rises; one that stands alone keeps its score."""
    index = FakeIndex(neighbours={chunk(1): (chunk(7), chunk(8)), chunk(2): (), chunk(7): (chunk(1),)})
    revised = fusions.with_words_of_neighbours(evidence({1: 0.1, 2: 0.11, 7: 0.4}, {}), query(index))
    assert [found for found, _ in revised.lexical.ranking] == [chunk(7), chunk(1), chunk(2)]
    scores = [score for _, score in revised.lexical.ranking]
    assert scores == pytest.approx([(4.0 + 0.2 * 1.0) / 1.2, (1.0 + 0.2 * 2.0) / 1.2, 1.1])


def test_hubs_lose() -> None:
    """A chunk that is near to everything falls behind one that is near to the question alone."""
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.6, 0.8]], np.float32)
    index = FakeIndex(rows={chunk(number): number - 1 for number in range(1, 5)}, vectors=vectors)
    revised = meaning.less_hubness(evidence({}, {1: 0.58, 3: 0.6}), query(index)).dense
    assert revised.ranking == [1, 3]
    # Mean similarities are .55, .65, .85 and .85, their mean is .725.
    assert revised.nearness[chunk(1)] == pytest.approx(0.58 + 0.3 * 0.175)


def test_the_sparse_product_adds_evidence_and_candidates() -> None:
    """Of two chunks that are as near, the one with the question's terms comes first; so does a new one."""

    def code(text: str) -> tuple[NDArray[np.int32], Vector]:
        return np.array([ord(each) for each in text], np.int32), np.ones(len(text), np.float32)

    texts = ("xyz", "qab", "q", "qqq", "")
    chunks = [FakeChunk(chunk(number), text) for number, text in enumerate(texts, 1)]
    index = FakeIndex(chunks=chunks, known={chunk(4): 0.0, chunk(5): -1.0})
    found = evidence({}, {1: 0.0, 2: 0.0, 3: -0.5})
    with applied([Patch(sparse, "_code", code)]):
        assert sparse.with_sparse_head(found, query(index)) == [4, 2, 1, 3, 5]
    # Products are 0, 1, 1, 3 and 0: their mean is 1.


def test_values_come_back_after_an_error() -> None:
    """A variant that fails leaves the code as it was, and one that names nothing changes nothing."""
    patch = Patch(fusion, "_LEXICAL_WEIGHT", 1.0)
    seen: list[float] = []

    def fail() -> None:
        seen.append(fusion._LEXICAL_WEIGHT)
        raise RuntimeError

    with pytest.raises(RuntimeError), applied([patch]):
        fail()
    assert seen == [1.0]
    assert fusion._LEXICAL_WEIGHT == 0.8
    with pytest.raises(AttributeError), applied([patch, Patch(fusion, "nowhere", 1)]):
        pass
    assert fusion._LEXICAL_WEIGHT == 0.8
