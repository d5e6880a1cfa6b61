"""How good a ranking is: pure functions of the ranking and the grades."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

DEPTH = 10
"""No metric looks below this rank."""

PRIMARY = "nDCG@10"
"""The metric that systems are compared by."""

METRICS = (PRIMARY, "R@5", "R@10", "MRR@10", "Hit@1")
"""Names of all metrics, in the order they are shown."""


def measure(ranking: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """Judge a ranking by all metrics.

    Args:
        ranking: Documents, best first, each once; those that do not count are left out already.
        relevant: Positive grade of each relevant document; at least one.

    Returns:
        A value from 0 to 1 for each of :data:`METRICS`, in their order.

    Raises:
        ValueError: If nothing is relevant: every ranking would be as good as any other.
    """
    if not relevant:
        msg = "a ranking cannot be judged without a relevant document"
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


def _gain(grades: Sequence[int], depth: int) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:depth], 1))
