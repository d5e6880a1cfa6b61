"""How sure an answer is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.search.confidence import level_of, probability, probability_across, score_of
from mdvec.types.hit import Confidence
from mdvec.types.space import Unrelated

UNRELATED = Unrelated(mean=0.786, spread=0.022)  # of the model that the levels were fitted with
LEVELS = list(reversed(Confidence))


def judge(nearness: float | None, coverage: float | None, unrelated: Unrelated | None) -> Confidence:
    return level_of(probability(nearness, coverage, unrelated))


@pytest.mark.parametrize(
    ("similarity", "coverage", "level"),
    [
        (0.89, 0.4, Confidence.HIGH),
        (0.86, 0.3, Confidence.MEDIUM),
        (0.84, 0.2, Confidence.LOW),
        (0.80, 0.05, Confidence.NONE),
        (None, 0.6, Confidence.HIGH),
        (None, 0.02, Confidence.NONE),
        (0.92, None, Confidence.HIGH),
        (0.82, None, Confidence.NONE),
        (None, None, Confidence.LOW),
    ],
)
def test_levels(similarity: float | None, coverage: float | None, level: Confidence) -> None:
    """Near and covered is high, far and uncovered none; one side alone is enough to tell."""
    assert judge(similarity, coverage, UNRELATED) is level


def test_a_similarity_says_nothing_where_the_model_was_not_measured() -> None:
    """Words alone are judged then; without them nothing is known, which is neither yes nor no."""
    for similarity in (0.1, 0.95):
        assert judge(similarity, 0.6, None) is judge(None, 0.6, None) is Confidence.HIGH
        assert judge(similarity, 0.02, None) is Confidence.NONE
        assert judge(similarity, None, None) is Confidence.LOW


def test_similarity_is_seen_against_the_model() -> None:
    """.6 is near where unrelated texts are orthogonal, and far where they are all alike."""
    assert judge(0.6, None, Unrelated(mean=0.05, spread=0.1)) is Confidence.HIGH
    assert judge(0.6, None, UNRELATED) is Confidence.NONE


@pytest.mark.parametrize(
    ("nearest", "best", "ordinary", "level"),
    [
        (0.12, 0.12, 0.786, Confidence.HIGH),
        (0.08, 0.08, 0.786, Confidence.LOW),
        (0.08, 0.10, 0.786, Confidence.MEDIUM),  # what is nearest is near to everything
        (0.08, 0.08, 0.742, Confidence.MEDIUM),  # a question that few texts are near to
        (0.03, 0.03, 0.742, Confidence.NONE),
    ],
)
def test_a_text_in_another_language_is_seen_against_what_is_ordinary(
    nearest: float, best: float, ordinary: float, level: Confidence
) -> None:
    """For a text and for the question; of all hits the nearest counts, and the one that is most above it."""
    assert level_of(probability_across(nearest, best, ordinary, UNRELATED)) is level


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_evidence_never_lowers_it(one: float, other: float, some: float, more: float) -> None:
    """Nearer, or better covered, is at least as sure."""
    near, far = max(one, other), min(one, other)
    full, poor = max(some, more), min(some, more)
    assert LEVELS.index(judge(near, full, UNRELATED)) >= LEVELS.index(judge(far, poor, UNRELATED))


def test_the_first_score_agrees_with_the_confidence() -> None:
    """The level of the first hit's score is that of the answer, and no score is a certainty."""
    for probable in (0.0, 1e-9, 0.05, 0.3, 0.7, 0.95, 1.0):
        assert level_of(score_of(probable, 0.0)) is level_of(probable)
        assert 0 < score_of(probable, 0.0) < 1


@given(st.floats(0, 1), st.floats(0, 40), st.floats(0, 40))
def test_scores_fall_with_the_evidence(probable: float, one: float, other: float) -> None:
    """Whatever the first hit is worth, what is further behind scores no more, from 0 to 1."""
    near, far = min(one, other), max(one, other)
    assert 0 <= score_of(probable, far) <= score_of(probable, near) <= 1
