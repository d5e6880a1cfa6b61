"""The probability that a hit answers the query, from which scores and confidence follow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from mdvec.search.candidates import Candidates
from mdvec.search.passages import RankedPassage
from mdvec.search.words import Words
from mdvec.types.hit import Confidence


class Evidence(Struct, frozen=True):
    """The evidence that a hit answers the query.

    Attributes:
        is_first: Whether it is the first hit, or the query names both.
        nearness: Standard deviations above unrelated texts; None without a vector.
        coverage: Share of the query's words, 0..1; None if words say nothing of the hit, because they were
            not used, or because it is in the other language and has none of them.
        lead: For first hits, evidence ahead of the best hit in another document that the query does not name;
            for later ones, the difference from the first one, so negative. At most :data:`MAX_LEAD` either
            way: more says no more.
        crowd: Logarithm of the number of candidates: among many, some are near by chance.
    """

    is_first: bool
    nearness: float | None
    coverage: float | None
    lead: float
    crowd: float


class Coefficients(NamedTuple):
    """The weights of a logistic regression; ``python -m benchmarks.calibration --fit`` fits them anew."""

    constant: float
    nearness: float
    coverage: float
    lead: float
    crowd: float


# With evidence of both sides, of vectors alone, and of words alone; for the first hit, and for later ones.
_BOTH = Coefficients(-1.98, 0.61, 2.27, 0.52, -0.41), Coefficients(-4.78, 0.71, 1.16, 0.34, 0.09)
_NEARNESS = Coefficients(-3.29, 0.85, 0.0, 1.67, -0.25), Coefficients(-3.85, 0.89, 0.0, 0.78, -0.21)
_COVERAGE = Coefficients(-0.95, 0.0, 6.88, 0.77, -0.43), Coefficients(-4.29, 0.0, 5.90, 0.25, 0.23)

MAX_LEAD = 5.0

# Candidates beyond this number do not count: ties decide how many there are.
_CROWD = 200

# What a date, a value or an identifier is of a query, at least.
_NAMED_COVERAGE = 0.8

_SUREST = 0.99
_NOTHING_KNOWN = 0.2  # vectors alone, before unrelated texts of the model are measured
# Function words alone are no subject: a text that holds them word for word may be meant, and nothing is sure.
_NO_SUBJECT = 0.25
_LEVELS = ((0.7, Confidence.HIGH), (0.3, Confidence.MEDIUM), (0.08, Confidence.LOW))


def probabilities(passages: Sequence[RankedPassage], candidates: Candidates, words: Words) -> list[float]:
    """Return the probability that each passage answers the query.

    Args:
        passages: Best first.
        candidates: The candidates that they were made of.
        words: The evidence of words.
    """
    has_subject = not words.max_score or words.matched_weight or not words.all_known
    most = _SUREST if has_subject else _NO_SUBJECT
    evidence = evidence_of(passages, candidates, words)
    return [min(most, max(1 - _SUREST, probability(each))) for each in evidence]


def probability(evidence: Evidence) -> float:
    """Return the probability of an answer."""
    if evidence.nearness is None and evidence.coverage is None:
        return _NOTHING_KNOWN
    both = evidence.nearness is not None and evidence.coverage is not None
    first, later = _BOTH if both else _NEARNESS if evidence.coverage is None else _COVERAGE
    weights = first if evidence.is_first else later
    log_odds = (
        weights.constant
        + weights.nearness * (evidence.nearness or 0.0)
        + weights.coverage * (evidence.coverage or 0.0)
        + weights.lead * evidence.lead
        + weights.crowd * evidence.crowd
    )
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, log_odds))))


def evidence_of(
    passages: Sequence[RankedPassage], candidates: Candidates, words: Words
) -> Iterator[Evidence]:
    """Yield the evidence for each passage; see :func:`probabilities`."""
    crowd = math.log(max(1, min(_CROWD, len(candidates.places))))
    lead_of_first = _lead_of_first(passages, candidates)
    for number, passage in enumerate(passages):
        at = passage.best.at
        # Each of several hits that the query names is as good as the first one.
        first = passages[0].best.at
        is_first = not number or any(of[at] and of[first] for of in (candidates.exact, candidates.named))
        nearness = float(candidates.above_unrelated[at])
        known = 1.0 if candidates.exact[at] else words.matched_weight
        coverage = max(known * float(candidates.word_share[at]), _NAMED_COVERAGE * candidates.named[at])
        is_silent = not words.are_used or (candidates.other_language[at] and not coverage)
        lead = lead_of_first if is_first else passage.evidence - passages[0].evidence
        yield Evidence(
            is_first=is_first,
            nearness=None if math.isnan(nearness) else nearness,
            coverage=None if is_silent else coverage,
            lead=max(-MAX_LEAD, min(MAX_LEAD, lead)),
            crowd=crowd,
        )


def _lead_of_first(passages: Sequence[RankedPassage], candidates: Candidates) -> float:
    """Return how far the first passage is ahead of the best one in another document; 0 if there is none.

    Of several that the query names, none takes anything from another; nor does a text of the same words.
    """
    if not passages:
        return 0.0
    first = passages[0]
    named = candidates.exact | candidates.named
    is_named = bool(named[first.best.at])
    rivals = (
        each.evidence
        for each in passages
        if each.best.place.document_id != first.best.place.document_id
        and not each.best.is_folded
        and not (is_named and named[each.best.at])
    )
    return first.evidence - next(rivals, first.evidence)


def level_of(probability: float) -> Confidence:
    """Return the level of a probability."""
    return next((level for least, level in _LEVELS if probability >= least), Confidence.NONE)
