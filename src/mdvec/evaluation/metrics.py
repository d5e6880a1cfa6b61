"""Metrics of a ranking, their means and their differences between two systems, with statistics.

Everything is seeded: the same values always give the same result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mdvec.evaluation.report import Interval

DEPTH = 10
"""No metric looks below this rank."""

PRIMARY = "nDCG@10"
"""The metric that systems are compared by."""

METRICS = (PRIMARY, "R@5", "R@10", "MRR@10", "Hit@1")
"""Names of all metrics, in the order they are shown."""

RESAMPLES = 2_000
"""Bootstrap samples; the ends of a 95 % interval then move by a few thousandths of its width."""

SIGN_FLIPS = 10_000
"""Random assignments of a paired test; the smallest p-value is about one in as many."""

_SEED = 20_260_101
# Resamples drawn at once: memory stays at some megabytes however many questions there are.
_BLOCK = 100
_TAIL_PERCENT = 2.5
# Sums of the same numbers in another order differ in their last digits.
_ROUNDING = 1e-12


def measure(ranking: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """Return the value of each metric.

    Args:
        ranking: Documents, best first, each once; those that do not count are left out already.
        relevant: Positive grade of each relevant document; at least one.

    Returns:
        A value from 0 to 1 for each of :data:`METRICS`, in their order.

    Raises:
        ValueError: If nothing is relevant: every ranking would be as good as any other.
    """
    if not relevant:
        msg = "a ranking has no metrics without a relevant document"
        raise ValueError(msg)
    values = (
        ndcg(ranking, relevant, depth=10),
        recall(ranking, relevant, depth=5),
        recall(ranking, relevant, depth=10),
        reciprocal_rank(ranking, relevant, depth=10),
        reciprocal_rank(ranking, relevant, depth=1),
    )
    return dict(zip(METRICS, values, strict=True))


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int], *, depth: int) -> float:
    """Return the discounted cumulative gain, as a part of the best that is possible.

    A document's gain is its grade, discounted by the binary logarithm of its rank plus one.

    References:
        Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; the discount from rank 1 on is Burges et al.'s,
        ICML 2005, with a linear gain.
    """
    best = sorted(relevant.values(), reverse=True)
    return _gain([relevant.get(document, 0) for document in ranking], depth) / _gain(best, depth)


def recall(ranking: Sequence[str], relevant: Mapping[str, int], *, depth: int) -> float:
    """Return the part of the relevant documents that is found, whatever their grades."""
    return sum(document in relevant for document in ranking[:depth]) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, int], *, depth: int) -> float:
    """Return one over the rank of the first relevant document; 0 when there is none to that depth."""
    ranks = (rank for rank, document in enumerate(ranking[:depth], 1) if document in relevant)
    return 1 / next(ranks, math.inf)


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
            # A resample is how often each question is drawn.
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
    """Return how likely the differences of two systems are by chance: a randomisation test by sign flips.

    If the systems were equal, each difference could as well have the other sign. The p-value is the share of
    random signs that give a mean at least as far from 0 as the observed one, to either side. The observed one
    counts too, so it is never 0.

    Args:
        differences: Of the two systems' values, question by question; at least one.

    Returns:
        The two-sided p-value, from ``1 / (SIGN_FLIPS + 1)`` to 1.

    References:
        Smucker, Allan and Carterette, CIKM 2007 (the test);
        Phipson and Smyth, 2010 (counting the observed one).
    """
    values = np.asarray(differences, np.float64)
    observed = abs(values.sum()) - _ROUNDING
    random = np.random.default_rng(_SEED)
    as_far = 0
    for block in _blocks(SIGN_FLIPS):
        signs = random.integers(0, 2, size=(block, len(values)), dtype=np.int8) * 2.0 - 1.0
        as_far += int(np.count_nonzero(np.abs(signs @ values) >= observed))
    return (as_far + 1) / (SIGN_FLIPS + 1)


def _gain(grades: Sequence[int], depth: int) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:depth], 1))


def _blocks(total: int) -> Iterator[int]:
    for start in range(0, total, _BLOCK):
        yield min(_BLOCK, total - start)
