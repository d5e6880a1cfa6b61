"""Confidence: the probability that the best passage answers the query; and the scores of hits."""

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
# An other-language hit contains few words of the query, whatever it is about. Some texts are near to every
# query, and some queries to every text (docs/decisions/0049-near-to-everything.md).
_ACROSS = (1.8, -6.8)
_ORDINARY_OF_QUERY = 0.2
_NOTHING_KNOWN = 1 / 3  # the share of answered questions

# How much the logarithm of a hit's odds falls with each standard deviation of evidence below the first hit;
# and the highest score (docs/decisions/0036-passages.md).
_ODDS_PER_DEVIATION = 1.0
_SUREST = 0.99

# Of the questions above 90 %, 97 in 100 were answered; of those below 7 %, 1 in 100. Of the answered ones, at
# most 2 % are below 7 % in either language.
_LEVELS = ((0.9, Confidence.HIGH), (0.5, Confidence.MEDIUM), (0.07, Confidence.LOW))


def probability(nearness: float | None, coverage: float | None, unrelated: Unrelated | None) -> float:
    """Return how probable it is that the searched documents answer a query.

    Args:
        nearness: That of the best hit, on the scale of cosine similarity; None if it has no vector, or if
            vectors were not used.
        coverage: The BM25 score of the best hit as a share of the maximum score, unknown words counted as
            missing, 0..1; None if words were not used.
        unrelated: The similarity of unrelated texts in the model used; None without a model, or if it was
            not measured: then a similarity has no meaning.
    """
    if nearness is None or unrelated is None:
        if coverage is None:
            return _NOTHING_KNOWN
        weight, constant = _COVERAGE_ALONE
        return _logistic(weight * coverage + constant)
    deviations = (nearness - unrelated.mean) / unrelated.spread
    if coverage is None:
        weight, constant = _NEARNESS_ALONE
        return _logistic(weight * deviations + constant)
    of_nearness, of_coverage, constant = _BOTH
    return _logistic(of_nearness * deviations + of_coverage * coverage + constant)


def probability_across(nearest: float, best: float, ordinary: float, unrelated: Unrelated) -> float:
    """Return this probability if the best hit is in the other kind of script (with or without spaces).

    The evidence is how much nearer hits are to the query than to unrelated passages in its script, on the
    scale of cosine similarity.

    Args:
        nearest: The evidence of the nearest hit; small if that text is near to every query.
        best: The largest evidence of any hit.
        ordinary: Mean similarity of the query and unrelated passages in the script of the hits.
        unrelated: The similarity of unrelated texts in the model, in the script of the query.
    """
    weight, constant = _ACROSS
    above = (nearest + best) / 2 - _ORDINARY_OF_QUERY * (ordinary - unrelated.mean)
    return _logistic(weight * above / unrelated.spread + constant)


def level_of(probability: float) -> Confidence:
    """Return the level of a probability."""
    return next((level for least, level in _LEVELS if probability >= least), Confidence.NONE)


def score_of(probability: float, behind: float) -> float:
    """Return the score of a hit: the estimated probability that it is the answer.

    Args:
        probability: The same for the first hit.
        behind: How much less evidence it has than the first hit, in standard deviations.
    """
    first = min(max(probability, 1 - _SUREST), _SUREST)
    return _logistic(math.log(first / (1 - first)) - _ODDS_PER_DEVIATION * behind)


def _logistic(evidence: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, evidence))))
