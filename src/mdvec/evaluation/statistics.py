"""How far a mean can be trusted. Seeded: the same values always give the same answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mdvec.evaluation.model import Interval

RESAMPLES = 2_000
"""Bootstrap samples; the ends of a 95 % interval then move by a few thousandths of its width."""

SIGN_FLIPS = 10_000
"""Random assignments of a paired test; it cannot tell p-values below one in as many."""

_SEED = 20_260_101
# Resamples drawn at once: memory stays at some megabytes however many questions there are.
_BLOCK = 100
_TAIL_PERCENT = 2.5
# Sums of the same numbers in another order differ in their last digits.
_ROUNDING = 1e-12


def intervals(values: NDArray[np.float64]) -> list[Interval]:
    """Return means with their bootstrap 95 % intervals (percentile method).

    All columns are resampled together, so that metrics of the same questions are treated alike.

    Args:
        values: Shape (questions, metrics); at least one question.

    Returns:
        One interval for each metric.

    References:
        Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    count = len(values)
    random = np.random.default_rng(_SEED)
    means = np.concatenate(
        [
            # How often each question is drawn says all about a resample.
            random.multinomial(count, np.full(count, 1 / count), size=block) @ values / count
            for block in _blocks(RESAMPLES)
        ]
    )
    low, high = np.percentile(means, [_TAIL_PERCENT, 100 - _TAIL_PERCENT], axis=0)
    return [
        Interval(float(mean), float(least), float(most))
        for mean, least, most in zip(values.mean(axis=0), low, high, strict=True)
    ]


def paired_p_value(differences: Sequence[float]) -> float:
    """Test whether two systems differ on the same questions: a randomisation test by sign flips.

    If the systems were the same, each difference could as well have the other sign. The answer is
    how often random signs give a mean as far from 0 as the one that was seen, to either side; the one that
    was seen counts too, so it is never 0.

    Args:
        differences: Of the two systems' values, question by question; at least one.

    Returns:
        The two-sided p-value, from ``1 / (SIGN_FLIPS + 1)`` to 1.

    References:
        Smucker, Allan and Carterette, CIKM 2007 (the test); Phipson and Smyth, 2010 (counting the one seen).
    """
    values = np.asarray(differences, np.float64)
    seen = abs(values.sum()) - _ROUNDING
    random = np.random.default_rng(_SEED)
    as_far = 0
    for block in _blocks(SIGN_FLIPS):
        signs = random.integers(0, 2, size=(block, len(values)), dtype=np.int8) * 2.0 - 1.0
        as_far += int(np.count_nonzero(np.abs(signs @ values) >= seen))
    return (as_far + 1) / (SIGN_FLIPS + 1)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile, between two values by linear interpolation."""
    return float(np.percentile(np.asarray(values, np.float64), percent))


def _blocks(total: int) -> Iterator[int]:
    for start in range(0, total, _BLOCK):
        yield min(_BLOCK, total - start)
