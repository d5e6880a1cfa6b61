"""How probably a hit answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.search.candidates_world import candidates, place, words

from mdvec.search.candidates import Candidates
from mdvec.search.exact import Missed
from mdvec.search.passages import Ranked, RankedPassage
from mdvec.search.probability import evidence_of, level_of, probabilities
from mdvec.search.words import Words
from mdvec.types.hit import Confidence
from mdvec.types.query import MIN_SCORE

LEVELS = list(reversed(Confidence))
NEAR = st.floats(-6, 12)
SHARE = st.floats(0, 1)


def passages(found: Candidates, evidence: Sequence[float]) -> list[RankedPassage]:
    """Return a passage for each candidate."""
    return [
        RankedPassage(Ranked(at, place, each), (place,), each)
        for at, (place, each) in enumerate(zip(found.places, evidence, strict=True))
    ]


def alone(near: float | None, share: float, by_words: Words | None = None, *, exact: bool = False) -> float:
    """Return the probability of the only candidate."""
    found = candidates(
        {} if near is None else {1: near}, {1: share}, exact=[1] if exact else [], above_unrelated=None
    )
    [found_probability] = probabilities(passages(found, [0.0]), found, by_words or words())
    return found_probability


@pytest.mark.parametrize(
    ("near", "share", "level"),
    [
        (6.0, 1.0, Confidence.HIGH),
        (-1.0, 0.0, Confidence.NONE),
        (None, 1.0, Confidence.HIGH),
        (None, 0.2, Confidence.MEDIUM),
    ],
)
def test_near_and_covered_is_sure(near: float | None, share: float, level: Confidence) -> None:
    """Far and without the query's words is none; words alone are enough to tell."""
    assert level_of(alone(near, share)) is level


def test_nearness_alone_is_enough() -> None:
    """Where words are not used."""
    assert level_of(alone(6.0, 0.0, Words())) is Confidence.HIGH
    assert level_of(alone(-2.0, 0.0, Words())) is Confidence.NONE


def test_without_words_and_figures_of_the_model_nothing_is_known() -> None:
    """In a space that was not measured yet, next to others that were; or in the other language."""
    dense = candidates({1: 3.0, 2: 3.0}, above_unrelated={2: 3.0})
    across = candidates({1: 3.0}, above_unrelated={}, other_language=[1])
    for found, by_words in ((dense, Words()), (across, words())):
        score = probabilities(passages(found, [9.0] * len(found.places)), found, by_words)[0]
        assert level_of(score) is Confidence.LOW


def test_unknown_words_count_as_missing() -> None:
    """Half of the query is in no document: a passage with all the rest is less sure, unless it is named."""
    half = words(matched=0.5)
    assert alone(1.0, 1.0, half) == alone(1.0, 0.5)
    assert alone(1.0, 1.0, half) < alone(1.0, 1.0)
    assert alone(1.0, 1.0, half, exact=True) == alone(1.0, 1.0, exact=True) > alone(1.0, 1.0)


def test_function_words_make_nothing_sure() -> None:
    """They are no subject; what holds them word for word is shown all the same."""
    score = alone(9.0, 1.0, words(matched=0.0), exact=True)
    assert level_of(score) is Confidence.LOW
    assert score > MIN_SCORE


@pytest.mark.parametrize(("across", "most"), [((), 0.2), ((1,), 0.6)])
def test_what_is_missed_tells_the_largest_probability(across: tuple[int, ...], most: float) -> None:
    """In the other language a text may have another word for it."""
    missed = Missed(("zzqqxx",), 0.2, 0.6)
    found = replace(candidates({1: 9.0}, {1: 1.0}, exact=[1], other_language=across), missed=missed)
    assert probabilities(passages(found, [9.0]), found, words()) == [most]


def test_a_form_that_nobody_has_filled_in_hardly_answers() -> None:
    """Nor does a document of properties alone, unless the query names it."""
    found = candidates({1: 9.0}, {1: 1.0}, tokens={1: 0})
    assert probabilities(passages(found, [9.0]), found, words()) == [0.6]
    found = candidates({1: 9.0}, {1: 1.0}, tokens={1: 0}, named=[1])
    assert probabilities(passages(found, [9.0]), found, words()) == [0.99]


def test_each_passage_on_the_words_of_the_query_is_shown() -> None:
    """However sure the first one is; a passage without one of the words is not."""
    found = candidates({1: 4.0, 2: 1.0, 3: 1.0}, {1: 1.0, 2: 0.1, 3: 0.45}, exact=[1], above_unrelated=None)
    first, second, third = probabilities(passages(found, [9.0, 3.0, 2.0]), found, words(holding=[100, 200]))
    assert level_of(first) is Confidence.HIGH
    assert third < MIN_SCORE <= second < first


@given(st.one_of(NEAR, st.none()), NEAR, SHARE, SHARE, st.booleans())
def test_more_evidence_never_lowers_it(
    near: float | None, nearer: float, share: float, more: float, use_words: bool
) -> None:
    """Nearer, or better covered, is at least as probable; and nothing is certain."""
    by_words = words() if use_words else Words()
    least, most = min(share, more), max(share, more)
    below, above = (near, near) if near is None else (min(near, nearer), max(near, nearer))
    assert 0 < alone(below, least, by_words) <= alone(above, most, by_words) < 1


def test_a_lead_is_that_over_another_document() -> None:
    """Or in the only one; later hits have none; of several that the query names, none takes from another."""
    chunks = [(100, 9.0), (101, 8.0), (200, 6.0), (300, 5.0)]
    found = [
        RankedPassage(Ranked(at, place(chunk), evidence), (place(chunk),), evidence)
        for at, (chunk, evidence) in enumerate(chunks)
    ]

    def leads(passages: Sequence[RankedPassage], named: Sequence[int] = ()) -> list[float]:
        plain = candidates(dict.fromkeys(range(4), 1.0), named=named)
        return [each.lead for _, each in evidence_of(passages, plain, words())]

    assert leads(found) == [3.0, 0.0, 0.0, 0.0]
    assert leads(found[:2]) == [0.5, 0.0]  # a folder of one long manual
    assert leads(found[:1]) == [0.0]
    assert leads(found, named=[0, 2])[0] == 4.0
    assert leads([]) == []


@given(st.floats(0, 20), st.floats(0, 20))
def test_a_longer_lead_never_lowers_it(one: float, other: float) -> None:
    """And the surer the first hit, the less probable the others."""
    found = candidates({1: 1.0, 2: 1.0}, {1: 0.5, 2: 0.5})
    short, long = (
        probabilities(passages(found, [lead, 0.0]), found, words())
        for lead in (min(one, other), max(one, other))
    )
    assert short[0] <= long[0]
    assert short[1] >= long[1]


def test_a_text_that_is_near_to_everything_says_less() -> None:
    """In the other language, where a list of names is near to every question."""
    plain = candidates({1: 3.0}, other_language=[1])
    common = replace(plain, commonness=np.array([2.0]))
    scores = [probabilities(passages(each, [0.0]), each, words())[0] for each in (plain, common)]
    assert scores[1] < scores[0]


def test_among_more_candidates_the_same_evidence_says_less() -> None:
    """Some are near by chance."""
    few, many = (candidates(dict.fromkeys(range(1, count), 2.0)) for count in (3, 300))
    first_of_few, first_of_many = (
        probabilities(passages(each, [0.0] * len(each.places)), each, words())[0] for each in (few, many)
    )
    assert first_of_few > first_of_many


@given(SHARE, SHARE)
def test_levels_rise_with_the_probability(one: float, other: float) -> None:
    """From none to high."""
    least, most = sorted((one, other))
    assert LEVELS.index(level_of(least)) <= LEVELS.index(level_of(most))
    assert (level_of(0.0), level_of(1.0)) == (Confidence.NONE, Confidence.HIGH)
