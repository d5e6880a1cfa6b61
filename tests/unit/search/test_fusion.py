"""How evidence becomes one ranking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mdvec.model.ids import ChunkId
from mdvec.search.fusion import DenseEvidence, LexicalEvidence, fuse, rank_by_similarity, rank_by_words

PERFECT = 10.0


def evidence(similarities: dict[int, float], *, mean: float = 0.8, spread: float = 0.02) -> DenseEvidence:
    ranking = sorted(similarities, key=lambda chunk: -similarities[chunk])
    return DenseEvidence(
        [ChunkId(chunk) for chunk in ranking],
        {ChunkId(chunk): value for chunk, value in similarities.items()},
        mean,
        spread,
    )


def words(
    scores: dict[int, float], *, perfect: float = PERFECT, known: float = 1.0, named: tuple[int, ...] = ()
) -> LexicalEvidence:
    best_first = sorted(scores.items(), key=lambda item: -item[1])
    ranking = [(ChunkId(chunk), score) for chunk, score in best_first]
    return LexicalEvidence(ranking, perfect, known, frozenset(ChunkId(chunk) for chunk in named))


def test_a_perfect_word_match_is_worth_seven_deviations() -> None:
    """z + 7 * cov, as decided by measurement."""
    above = fuse(words({1: PERFECT}), evidence({1: 0.80, 2: 0.939}))
    below = fuse(words({1: PERFECT}), evidence({1: 0.80, 2: 0.941}))
    assert [candidate.id for candidate in above] == [1, 2]
    assert [candidate.id for candidate in below] == [2, 1]


def test_the_best_of_bad_word_matches_weighs_little() -> None:
    """A question whose words are nowhere together is decided by meaning."""
    ranked = fuse(words({1: 0.5}), evidence({1: 0.80, 2: 0.81}))
    assert [candidate.id for candidate in ranked] == [2, 1]


def test_ranks_of_both_sides_are_kept() -> None:
    """--explain shows where a hit came from."""
    (first, second, third) = fuse(words({1: 7.0, 3: 1.0}), evidence({1: 0.9, 2: 0.85}))
    assert (first.id, first.dense_rank, first.lexical_rank) == (1, 1, 1)
    assert {(c.id, c.dense_rank, c.lexical_rank) for c in (second, third)} == {(2, 2, None), (3, None, 2)}


def test_a_pending_chunk_counts_like_its_peers() -> None:
    """A chunk without a vector is ranked by its words among those that have one."""
    ranked = fuse(words({1: 8.0, 2: 7.0, 3: 6.0}), evidence({1: 0.86, 3: 0.86, 9: 0.80}))
    assert [candidate.id for candidate in ranked] == [1, 2, 3, 9]
    assert ranked[1].similarity is None


def test_without_vectors_words_decide() -> None:
    """An index whose vectors are all pending is searched by words."""
    ranked = fuse(words({1: 2.0, 2: 4.0}), DenseEvidence((), {}, 0.0, 0.0))
    assert [candidate.id for candidate in ranked] == [2, 1]


def test_single_sides_keep_their_own_order() -> None:
    """Dense scores are similarities, lexical ones shares of the perfect score."""
    assert [(c.id, c.score) for c in rank_by_similarity(evidence({1: 0.5, 2: -0.1}))] == [(1, 0.5), (2, 0.0)]
    assert [(c.id, c.score) for c in rank_by_words(words({1: 2.0, 2: 4.0}))] == [(2, 0.4), (1, 0.2)]


def test_what_is_called_so_is_a_perfect_word_match() -> None:
    """A name of stop words alone is found, and first, in the order of what else it holds."""
    evidence_of_words = words({1: 9.0, 2: 3.0}, named=(2, 3))
    assert [(c.id, c.lexical_rank, c.score) for c in rank_by_words(evidence_of_words)] == [
        (2, 1, 1.0),
        (3, 2, 1.0),
        (1, 3, 0.9),
    ]
    ranked = fuse(evidence_of_words, evidence({1: 0.80, 2: 0.80, 3: 0.80}))
    assert [candidate.id for candidate in ranked] == [2, 3, 1]


def test_coverage_counts_unknown_words_as_missing() -> None:
    """Half of the query is in no document: no chunk covers more than half of it."""
    (hybrid,) = fuse(words({1: PERFECT}, known=0.5), evidence({1: 0.9}))
    (lexical,) = rank_by_words(words({1: PERFECT}, known=0.5))
    (dense,) = rank_by_similarity(evidence({1: 0.9}))
    assert (hybrid.coverage, lexical.coverage, dense.coverage) == (0.5, 0.5, None)


@given(
    st.dictionaries(st.integers(1, 30), st.floats(0.001, 50), max_size=20),
    st.dictionaries(st.integers(1, 30), st.floats(-1, 1), max_size=20),
    st.floats(-1, 1),
    st.floats(0, 1),
)
def test_fusion_loses_nothing_and_orders_by_score(
    lexical: dict[int, float], similarities: dict[int, float], mean: float, spread: float
) -> None:
    """Every chunk of both sides is there once, scores fall, and lie in 0..1."""
    ranked = fuse(words(lexical), evidence(similarities, mean=mean, spread=spread))
    assert sorted(candidate.id for candidate in ranked) == sorted(lexical.keys() | similarities.keys())
    scores = [candidate.score for candidate in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
