"""Folds, differences and verdicts of the ablations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from benchmarks.ablations.measuring import MODES, Scores
from benchmarks.ablations.report import (
    Difference,
    Differences,
    Verdict,
    compare,
    folds_of,
    judge,
    mean_of,
    result_of,
    table,
)

from mdvec.evaluation.judgements import Question
from mdvec.types.query import SearchMode


def questions(count: int) -> list[Question]:
    return [Question(str(number), "text", {"d": 1}) for number in range(count)]


def scores(values: Sequence[float]) -> Scores:
    return {mode: np.array(values) for mode in MODES}


def on_folds(first: float, second: float) -> Differences:
    return {mode: Difference((first + second) / 2, (first, second)) for mode in MODES}


def test_folds_are_of_ids_alone() -> None:
    """A question is in the same fold wherever it stands, and folds are about halves."""
    folds = folds_of(questions(1000))
    assert folds_of(questions(1000)[::-1]).tolist() == folds.tolist()[::-1]
    assert 450 < folds.sum() < 550


def test_differences_on_folds_are_of_their_questions() -> None:
    """The mean over all questions is that of both folds, weighted by their size; an empty fold has none."""
    found = compare(scores([0.0, 0.5, 0.5]), scores([0.3, 0.5, 0.8]), np.array([0, 0, 1]))
    hybrid = found[SearchMode.HYBRID]
    assert hybrid.all == pytest.approx(0.2)
    assert hybrid.folds == pytest.approx((0.15, 0.3))
    assert compare(scores([0.0]), scores([1.0]), np.array([0]))[SearchMode.DENSE].folds == (1.0, 0.0)


def test_every_set_counts_once() -> None:
    """The mean is over sets, not over questions."""
    mean = mean_of([on_folds(0.1, 0.3), on_folds(0.0, 0.0)])[SearchMode.HYBRID]
    assert mean.all == pytest.approx(0.1)
    assert mean.folds == pytest.approx((0.05, 0.15))


@pytest.mark.parametrize(
    ("sets", "verdict"),
    [
        ([on_folds(0.01, 0.002)], Verdict.HELPS),
        ([on_folds(0.01, 0.0005)], Verdict.SAME),
        ([on_folds(0.05, 0.05), on_folds(-0.006, -0.006)], Verdict.COSTS),
        ([on_folds(0.05, 0.05), on_folds(-0.004, -0.004)], Verdict.HELPS),
        ([on_folds(-0.01, -0.002)], Verdict.HURTS),
        ([on_folds(-0.01, 0.01)], Verdict.SAME),
    ],
)
def test_verdicts(sets: list[Differences], verdict: Verdict) -> None:
    """Both folds have to agree, and no set may pay more than .005 for the others."""
    assert judge(sets) is verdict


def test_the_table_shows_differences_in_hundredths() -> None:
    """A row holds the means, then each set's hybrid difference, then the verdict; none is a dot."""
    forty = questions(40)
    shipped = scores([0.5] * 40)
    better = {**shipped, SearchMode.HYBRID: np.array([0.625] * 40)}
    result = result_of(
        {"one": {"shipped": shipped, "better": better}, "two": {"shipped": shipped, "better": shipped}},
        {"one": forty, "two": forty},
        {"better": "what is better"},
    )
    assert result["sets"]["one"]["hybrid"] == 0.5
    assert sum(result["sets"]["one"]["folds"]) == 40
    lines = table(result).splitlines()
    assert lines[0] == " a one (40): lexical 0.500, dense 0.500, hybrid 0.500"
    assert lines[-2].split() == ["hybrid", "fold", "1", "fold", "2", "words", "dense", "a", "b"]
    assert lines[-1].split() == ["better", "+6.25", "+6.25", "+6.25", ".", ".", "+12.50", ".", "helps"]
