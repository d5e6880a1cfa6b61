"""How evidence becomes one ranking."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.search.fusion import DenseEvidence, LexicalEvidence, fuse, rank_by_similarity, rank_by_words
from mdvec.types.ids import ChunkId
from mdvec.types.space import Unrelated

MAX_SCORE = 10.0


def evidence(
    similarities: dict[int, float],
    *,
    mean: float = 0.8,
    spread: float = 0.02,
    unrelated: Unrelated | None = None,
) -> DenseEvidence:
    ranking = sorted(similarities, key=lambda chunk: -similarities[chunk])
    near = {ChunkId(chunk): value for chunk, value in similarities.items()}
    return DenseEvidence([ChunkId(chunk) for chunk in ranking], near, near, near, mean, spread, unrelated)


def words(
    scores: dict[int, float],
    *,
    max_score: float = MAX_SCORE,
    known: float = 1.0,
    named: Iterable[int] = (),
    exact: Iterable[int] = (),
    other_language: Iterable[int] = (),
) -> LexicalEvidence:
    best_first = sorted(scores.items(), key=lambda item: -item[1])
    ranking = [(ChunkId(chunk), score) for chunk, score in best_first]
    return LexicalEvidence(
        ranking=ranking,
        max_score=max_score,
        matched_weight=known,
        named=frozenset(map(ChunkId, named)),
        exact=frozenset(map(ChunkId, exact)),
        other_language=frozenset(map(ChunkId, other_language)),
    )


@pytest.mark.parametrize(("score", "max_score", "deviations"), [(25, 100, 2), (50, 100, 4), (5, 25, 0.8)])
def test_words_are_worth_their_score_over_the_root_of_the_max_score(
    score: float, max_score: float, deviations: float
) -> None:
    """z + .8 * bm25 / sqrt(max_score), as decided by measurement."""
    found = words({1: score}, max_score=max_score)
    above = fuse(found, evidence({1: 0.80, 2: 0.80 + 0.02 * deviations - 0.001}))
    below = fuse(found, evidence({1: 0.80, 2: 0.80 + 0.02 * deviations + 0.001}))
    assert [candidate.id for candidate in above] == [1, 2]
    assert [candidate.id for candidate in below] == [2, 1]


@pytest.mark.parametrize(("max_score", "deviations"), [(1.0, 7), (100.0, 8)])
def test_to_be_called_so_is_worth_seven_deviations_at_least(max_score: float, deviations: float) -> None:
    """The name of a note may be one frequent word, which says little in a text; a long one says more."""
    found = words({}, max_score=max_score, named=[1])
    above = fuse(found, evidence({1: 0.80, 2: 0.80 + 0.02 * deviations - 0.001}))
    below = fuse(found, evidence({1: 0.80, 2: 0.80 + 0.02 * deviations + 0.001}))
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
    ranked = fuse(words({1: 2.0, 2: 4.0}), DenseEvidence((), {}, {}, {}, 0.0, 0.0))
    assert [candidate.id for candidate in ranked] == [2, 1]


def test_single_sides_keep_their_own_order() -> None:
    """By deviations, or by what words are worth in them."""
    by_meaning = rank_by_similarity(evidence({1: 0.5, 2: -0.1}, mean=0.1, spread=0.2))
    assert [(c.id, round(c.evidence, 6)) for c in by_meaning] == [(1, 2.0), (2, -1.0)]
    by_words = rank_by_words(words({1: 25.0, 2: 50.0}, max_score=100))
    assert [(c.id, c.evidence) for c in by_words] == [(2, 4.0), (1, 2.0)]


def test_what_is_called_so_is_a_full_word_match() -> None:
    """A name of stop words alone is found, and first, in the order of what else it holds."""
    evidence_of_words = words({1: 9.0, 2: 3.0}, named=(2, 3))
    assert [(c.id, c.lexical_rank, c.coverage) for c in rank_by_words(evidence_of_words)] == [
        (2, 1, 1.0),
        (3, 2, 1.0),
        (1, 3, 0.9),
    ]
    ranked = fuse(evidence_of_words, evidence({1: 0.80, 2: 0.80, 3: 0.80}))
    assert [candidate.id for candidate in ranked] == [2, 3, 1]


def test_coverage_counts_unknown_words_as_missing() -> None:
    """Half of the query is in no document: no chunk covers more than half of it."""
    (hybrid,) = fuse(words({1: MAX_SCORE}, known=0.5), evidence({1: 0.9}))
    (lexical,) = rank_by_words(words({1: MAX_SCORE}, known=0.5))
    (dense,) = rank_by_similarity(evidence({1: 0.9}))
    assert (hybrid.coverage, lexical.coverage, dense.coverage) == (0.5, 0.5, None)


def test_words_do_not_count_against_the_other_language() -> None:
    """A translation without a word of the query stands beside its original, not below all that hold one."""
    similarities = {1: 0.90, 2: 0.89, 3: 0.88}
    unaided = fuse(words({1: 5.0, 3: 4.0}), evidence(similarities))
    aided = fuse(words({1: 5.0, 3: 4.0}, other_language=[2]), evidence(similarities))
    assert [each.id for each in unaided] == [1, 3, 2]
    assert [each.id for each in aided] == [1, 2, 3]
    assert (aided[1].lexical_rank, aided[1].coverage) == (None, None)


def test_a_word_that_both_languages_use_is_no_reason_to_help() -> None:
    """Where near chunks in another language hold the words as others do, one without them stays behind."""
    found = words({1: 5.0, 2: 5.0, 3: 4.0}, other_language=[2, 4])
    ranked = fuse(found, evidence({1: 0.90, 2: 0.90, 3: 0.88, 4: 0.88}))
    alone = fuse(words({1: 5.0, 2: 5.0, 3: 4.0}), evidence({1: 0.90, 2: 0.90, 3: 0.88, 4: 0.88}))
    gain = ranked[-1].evidence - alone[-1].evidence
    assert [each.id for each in ranked] == [1, 2, 3, 4]
    assert 0 < gain < 0.8


def test_among_chunks_in_another_language_alone_words_count_four_fifths() -> None:
    """There is nothing in the query's own writing to compare with; what they share with it are names."""
    near = evidence({1: 0.90, 2: 0.89})
    others = fuse(words({2: 1.0}, other_language=[1, 2]), near)
    alike = fuse(words({2: 0.8}), near)
    assert [(each.id, each.evidence) for each in others] == [(each.id, each.evidence) for each in alike]
    assert {each.id: each.coverage for each in others} == {1: None, 2: 0.1}


@given(
    st.dictionaries(st.integers(1, 30), st.floats(0.001, 50), max_size=20),
    st.dictionaries(st.integers(1, 30), st.floats(-1, 1), max_size=20),
    st.floats(-1, 1),
    st.floats(0, 1),
    st.sets(st.integers(1, 30)),
)
def test_fusion_loses_nothing_and_orders_by_score(
    lexical: dict[int, float],
    similarities: dict[int, float],
    mean: float,
    spread: float,
    other_language: set[int],
) -> None:
    """Every chunk of both sides is there once, and evidence falls."""
    ranked = fuse(
        words(lexical, other_language=other_language & similarities.keys()),
        evidence(similarities, mean=mean, spread=spread),
    )
    assert sorted(candidate.id for candidate in ranked) == sorted(lexical.keys() | similarities.keys())
    found = [candidate.evidence for candidate in ranked]
    assert found == sorted(found, reverse=True)


def test_spaces_are_compared_by_deviations() -> None:
    """A similarity counts as what it is in its own space: .5 where .1 is usual is more than .9 beside .88."""
    low = evidence({1: 0.5, 2: 0.1}, mean=0.1, spread=0.1)
    high = evidence({3: 0.9, 4: 0.88}, mean=0.88, spread=0.02)
    fused = fuse(words({}), low, high)
    assert [(each.id, each.dense_rank) for each in fused] == [(1, 1), (3, 2), (2, 3), (4, 4)]
    assert [each.similarity for each in fused] == [0.5, 0.9, 0.1, 0.88]
    by_meaning = rank_by_similarity(low, high)
    assert [each.id for each in by_meaning] == [1, 3, 2, 4]
    assert [each.similarity for each in by_meaning] == [0.5, 0.9, 0.1, 0.88]
    found = [each.evidence for each in by_meaning]
    assert found == sorted(found, reverse=True)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.floats(-1, 1)), max_size=20, unique_by=lambda pair: pair[0]),
    st.integers(0, 30),
)
def test_several_spaces_lose_nothing(pairs: list[tuple[int, float]], border: int) -> None:
    """However chunks are spread over spaces, each is ranked once, and scores fall."""
    below = evidence({chunk: near for chunk, near in pairs if chunk < border})
    above = evidence({chunk: near for chunk, near in pairs if chunk >= border})
    for ranked in (fuse(words({}), below, above), rank_by_similarity(below, above)):
        assert sorted(each.id for each in ranked) == sorted(chunk for chunk, _ in pairs)
        found = [each.evidence for each in ranked]
        assert found == sorted(found, reverse=True)


def test_an_ordinary_text_in_the_other_writing_is_given_nothing() -> None:
    """Where the nearest of them is no nearer than unrelated texts are, its words are not missing."""
    similarities = {1: 0.90, 2: 0.80, 3: 0.795}
    found = words({1: 5.0, 3: 4.0}, other_language=[2])
    unrelated = Unrelated(mean=0.79, spread=0.02)
    ordinary = fuse(found, evidence(similarities, unrelated=unrelated))
    related = fuse(found, evidence(similarities, unrelated=Unrelated(mean=0.70, spread=0.02)))
    assert [each.id for each in ordinary] == [1, 3, 2]
    assert [each.id for each in related] == [1, 2, 3]


def test_texts_in_the_other_writing_are_given_less_the_further_they_are() -> None:
    """Not every one of them shares in what the nearest earns."""
    ranked = fuse(words({1: 5.0}, other_language=[2, 3]), evidence({1: 0.90, 2: 0.88, 3: 0.84}))
    plain = fuse(words({1: 5.0}), evidence({1: 0.90, 2: 0.88, 3: 0.84}))
    assert [each.id for each in ranked] == [1, 2, 3]
    assert ranked[1].evidence > plain[1].evidence
    assert ranked[2].evidence == plain[2].evidence


def test_what_says_exactly_the_query_comes_first() -> None:
    """Before texts that hold as many words, and are nearer by some deviations."""
    ranked = fuse(words({1: 8.0, 2: 3.0}, exact=[2]), evidence({1: 0.92, 2: 0.84}))
    assert [each.id for each in ranked] == [2, 1]
    assert ranked[0].coverage == 1.0
    by_words = rank_by_words(words({1: MAX_SCORE + 8.0, 2: MAX_SCORE + 3.0}, exact=[2]))
    assert [each.id for each in by_words] == [2, 1]
    assert by_words[0].in_scores > by_words[1].in_scores


def test_function_words_in_their_order_come_first_and_make_nothing_sure() -> None:
    """They are all that was asked for, and no subject."""
    ranked = fuse(words({1: 8.0, 2: 3.0}, exact=[2], known=0.0), evidence({1: 0.92, 2: 0.84}))
    assert [(each.id, each.coverage) for each in ranked] == [(2, 0.0), (1, 0.0)]


@pytest.mark.parametrize(("times", "first"), [(3, 1), (100, 2)])
def test_a_text_that_stands_everywhere_counts_little(times: int, first: int) -> None:
    """In words, in meaning and in both; twice or thrice is not everywhere."""
    found, near = words({1: 6.0, 2: 4.0}), evidence({1: 0.86, 2: 0.84})
    repetitions = {ChunkId(1): times}
    rankings = (
        fuse(found, near, repetitions=repetitions),
        rank_by_words(found, repetitions=repetitions),
        rank_by_similarity(near, repetitions=repetitions),
    )
    assert [ranking[0].id for ranking in rankings] == [first] * 3
    assert all(ranking[0].evidence >= ranking[1].evidence for ranking in rankings)
