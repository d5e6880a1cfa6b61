"""How far means can be trusted."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdvec.evaluation.statistics import SIGN_FLIPS, intervals, paired_p_value, percentile

values = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@given(values)
@settings(max_examples=30)
def test_an_interval_holds_its_mean(column: list[float]) -> None:
    """The mean of what was seen lies between the ends, and the ends between the extremes."""
    [interval] = intervals(np.array(column)[:, np.newaxis])
    slack = 1e-9
    assert interval.mean == pytest.approx(math.fsum(column) / len(column))
    assert min(column) - slack <= interval.low <= interval.high <= max(column) + slack
    assert interval.low - slack <= interval.mean <= interval.high + slack


def test_an_interval_is_as_wide_as_theory_says() -> None:
    """Of 400 coin tosses the mean is known to about ±1.96 standard errors."""
    tosses = np.array([0.0, 1.0] * 200)[:, np.newaxis]
    [interval] = intervals(tosses)
    error = 1.96 * 0.5 / math.sqrt(400)
    assert interval.low == pytest.approx(0.5 - error, abs=0.006)
    assert interval.high == pytest.approx(0.5 + error, abs=0.006)


def test_the_same_values_give_the_same_interval() -> None:
    """Two runs agree, and each metric's interval does not depend on the others."""
    both = np.random.default_rng(1).random((50, 2))
    assert intervals(both) == intervals(both)
    [alone] = intervals(both[:, :1])
    among_others = intervals(both)[0]
    assert (alone.low, alone.high) == pytest.approx((among_others.low, among_others.high))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
@settings(max_examples=30)
def test_the_p_value_is_that_of_all_sign_flips(differences: list[float]) -> None:
    """Random signs come near to what all signs give."""
    seen = abs(sum(differences)) - 1e-12
    flips = list(itertools.product((-1, 1), repeat=len(differences)))
    as_far = sum(
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True))) >= seen
        for signs in flips
    )
    assert paired_p_value(differences) == pytest.approx(as_far / len(flips), abs=0.03)


def test_p_values_at_both_ends() -> None:
    """No difference is no evidence; forty of one sign are as much as can be told."""
    assert paired_p_value([0.0] * 10) == 1.0
    assert paired_p_value([0.1] * 40) == 1 / (SIGN_FLIPS + 1)
    assert paired_p_value([0.1] * 40) == paired_p_value([-0.1] * 40)


def test_percentiles() -> None:
    """The median of an even number of values lies between the two in the middle."""
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert percentile([7.0], 95) == 7.0
