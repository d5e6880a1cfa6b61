"""Confidence: how sure it is that the query is answered, judged by the best passage."""

from __future__ import annotations

import math

from mdvec.types.hit import Confidence
from mdvec.types.space import Unrelated

# Logistic regressions over 4,600 questions, a third of them asked to the documents they were written for,
# the others to documents of another subject (docs/decisions/0010-confidence.md). Nearness is in units of what
# mdvec.embedding.unrelated measures: .786 and .022 for the model they were fitted with.
_BOTH = (1.72, 8.63, -7.72)  # nearness, coverage, constant
_NEARNESS_ALONE = (2.13, -7.13)
_COVERAGE_ALONE = (14.62, -3.27)
_NOTHING_KNOWN = 1 / 3  # the share of those that were answered

# What is 90 % sure to be answered was answered in 97 of 100 cases, what is below 10 % in 1 of 100.
_LEVELS = ((0.9, Confidence.HIGH), (0.5, Confidence.MEDIUM), (0.1, Confidence.LOW))


def judge(similarity: float | None, coverage: float | None, unrelated: Unrelated | None) -> Confidence:
    """Return how sure it is that the searched documents answer a query.

    Args:
        similarity: Cosine similarity of the best hit; None when it has no vector or none was used.
        coverage: Share of a full word match that the best hit has, words that no document holds
            counted as missing, 0..1; None when words were not used.
        unrelated: The similarity of unrelated texts in the model used; None without a model, and
            where it was not measured: a similarity says nothing then.
    """
    probability = _probability(similarity, coverage, unrelated)
    return next((level for least, level in _LEVELS if probability >= least), Confidence.NONE)


def _probability(similarity: float | None, coverage: float | None, unrelated: Unrelated | None) -> float:
    if similarity is None or unrelated is None:
        if coverage is None:
            return _NOTHING_KNOWN
        weight, constant = _COVERAGE_ALONE
        return _logistic(weight * coverage + constant)
    nearness = (similarity - unrelated.mean) / unrelated.spread
    if coverage is None:
        weight, constant = _NEARNESS_ALONE
        return _logistic(weight * nearness + constant)
    of_nearness, of_coverage, constant = _BOTH
    return _logistic(of_nearness * nearness + of_coverage * coverage + constant)


def _logistic(evidence: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, evidence))))
