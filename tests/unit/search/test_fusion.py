"""How words and meaning become evidence on one scale."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.search.candidates_world import CHUNKS_OF_A_DOCUMENT, candidates, words

from mdvec.search.candidates import Candidates
from mdvec.search.fusion import EXACT_EVIDENCE, fuse
from mdvec.search.words import Words


def fused(found: Candidates, by_words: Words | None = None) -> dict[int, float]:
    """Return the evidence for each document, best first."""
    evidence = fuse(found, by_words or words()).tolist()
    of_document = {
        place.id // CHUNKS_OF_A_DOCUMENT: each for place, each in zip(found.places, evidence, strict=True)
    }
    return dict(sorted(of_document.items(), key=lambda item: -item[1]))


def order(found: Candidates, by_words: Words | None = None) -> list[int]:
    return [*fused(found, by_words)]


@given(st.floats(0.1, 1000), st.floats(0, 1))
def test_words_are_worth_their_score_over_the_root_of_the_max_score(max_score: float, share: float) -> None:
    """So a long query, whose chance matches score more, weighs as its root beside a short one."""
    found = candidates({1: 0.0, 2: 0.0}, {1: share})
    long = fused(found, words(max_score=4 * max_score))
    short = fused(found, words(max_score=max_score))
    assert long[1] - long[2] == pytest.approx(2 * (short[1] - short[2]))
    full = fused(candidates({1: 0.0, 2: 0.0}, {1: 1.0}), words(max_score=max_score))
    assert short[1] - short[2] == pytest.approx(share * (full[1] - full[2]))


@pytest.mark.parametrize("max_score", [0.5, 25.0, 400.0])
def test_what_the_query_names_is_worth_more_than_all_its_words(max_score: float) -> None:
    """A name of one frequent word says little in a text; beside full matches, the exact one leads."""
    found = candidates({1: 0.0, 2: EXACT_EVIDENCE - 0.01}, {2: 1.0}, exact=[1])
    assert order(found, words(max_score=max_score)) == [1, 2]
    assert order(candidates({1: 0.0, 2: EXACT_EVIDENCE + 0.01}, {2: 1.0}, exact=[1])) == [2, 1]
    # A property whose value is the query is no more than a text that holds it.
    assert order(candidates({1: 0.0, 2: EXACT_EVIDENCE + 0.01}, {2: 1.0}, exact=[1], named=[1])) == [2, 1]


def test_the_best_of_bad_word_matches_weighs_little() -> None:
    """A question whose words are nowhere together is decided by meaning."""
    assert order(candidates({1: 0.0, 2: 0.5}, {1: 0.05})) == [2, 1]


def test_a_pending_chunk_counts_like_its_peers() -> None:
    """A chunk without a vector is ranked by its words among those that have both."""
    assert order(candidates({1: 3.0, 3: 3.0, 9: 0.0}, {1: 0.8, 2: 0.7, 3: 0.6})) == [1, 2, 3, 9]


def test_one_side_alone_decides() -> None:
    """Vectors that are all pending leave words; without words there is meaning."""
    assert order(candidates({}, {1: 0.2, 2: 0.4})) == [2, 1]
    assert fused(candidates({1: -0.5, 2: 2.0}), Words()) == {2: 2.0, 1: -0.5}


def test_words_do_not_count_against_the_other_language() -> None:
    """A translation without a word of the query stands beside its original, not below all that hold one."""
    near, shares = {1: 5.0, 2: 4.5, 3: 4.0}, {1: 0.5, 3: 0.4}
    assert order(candidates(near, shares)) == [1, 3, 2]
    assert order(candidates(near, shares, other_language=[2])) == [1, 2, 3]


def test_a_word_that_both_languages_use_is_no_reason_to_help() -> None:
    """If the nearest other-language chunk holds the words as others do, one without them stays behind."""
    near, shares = {1: 5.0, 2: 5.0, 3: 4.0, 4: 4.0}, {1: 0.5, 2: 0.5, 3: 0.4}
    found = fused(candidates(near, shares, other_language=[2, 4]))
    assert [*found] == [1, 2, 3, 4]
    helped = fused(candidates({**near, 2: 3.0}, {1: 0.5, 3: 0.4}, other_language=[2, 4]))
    assert 4.0 <= found[4] < helped[4]


def test_words_count_less_in_the_other_language_where_nothing_is_known_of_its_meaning() -> None:
    """What they share with it are names. With a vector they count as in any text."""
    words = {1: 0.3, 2: 0.5}
    assert fused(candidates({}, words))[2] > fused(candidates({}, words, other_language=[1, 2]))[2]
    near = {1: 1.0, 2: 1.0}
    assert fused(candidates(near, words)) == fused(candidates(near, words, other_language=[1, 2]))


def test_an_ordinary_text_in_the_other_language_is_given_nothing() -> None:
    """Where the nearest of them is no nearer than unrelated texts, nothing says that words are missing."""
    near, shares = {1: 5.0, 2: 4.0, 3: 3.9}, {1: 0.5, 3: 0.1}
    plain = fused(candidates(near, shares))[2]
    for above, given_more in ((0.5, False), (3.0, True)):
        found = candidates(near, shares, other_language=[2], above_unrelated={2: above})
        assert (fused(found)[2] > plain) is given_more


def test_texts_in_the_other_language_are_given_less_the_further_they_are() -> None:
    """Not every one of them shares in what the nearest earns."""
    near, shares = {1: 5.0, 2: 4.0, 3: 3.5, 4: 1.0}, {1: 0.5}
    found, plain = (fused(candidates(near, shares, other_language=other)) for other in ([2, 3, 4], []))
    assert found[2] - plain[2] > found[3] - plain[3] > found[4] - plain[4] == 0.0


def test_a_stub_comes_after_texts_with_equal_evidence() -> None:
    """It says nothing but its name; what the query names word for word is wanted all the same."""
    for stub_tokens in (0, 3):
        tokens = {1: stub_tokens}
        assert order(candidates({1: 2.5, 2: 2.0}, {1: 0.5, 2: 0.5}, tokens=tokens)) == [2, 1]
        assert order(candidates({1: 2.0, 2: 2.0}, tokens=tokens)) == [2, 1]
    assert order(candidates({1: 2.5, 2: 2.0, 3: 0.0}, tokens={1: 3, 3: 3})) == [
        1,
        2,
        3,
    ]  # most are that short
    stub, text = (fused(candidates({1: 2.0}, exact=[1], tokens={1: each})) for each in (0, 100))
    assert stub == text


DEVIATIONS = st.dictionaries(st.integers(1, 30), st.floats(-10, 20), max_size=20)
SHARES = st.dictionaries(st.integers(1, 30), st.floats(0, 1), max_size=20)
SOME = st.sets(st.integers(1, 30))


@given(DEVIATIONS, SHARES, SOME, SOME, st.floats(0, 200))
def test_every_candidate_has_finite_evidence(
    deviations: dict[int, float],
    shares: dict[int, float],
    exact: Collection[int],
    other_language: Collection[int],
    max_score: float,
) -> None:
    """Whatever is known of it or pending."""
    found = candidates(deviations, shares, exact=exact, other_language=other_language)
    evidence = fuse(found, words(max_score=max_score))
    assert evidence.shape == (len(found.places),)
    assert np.isfinite(evidence).all()


@given(DEVIATIONS.filter(bool), SHARES, st.data(), st.floats(0, 5))
def test_more_words_never_lower_the_evidence(
    deviations: dict[int, float], shares: dict[int, float], data: st.DataObject, more: float
) -> None:
    """Of the chunk that holds them."""
    shares = {each: share for each, share in shares.items() if each in deviations}
    chunk = data.draw(st.sampled_from(sorted(deviations)))
    better = {**shares, chunk: min(1.0, shares.get(chunk, 0.0) + more)}
    before, after = (fused(candidates(deviations, each)) for each in (shares, better))
    assert after[chunk] >= before[chunk]
