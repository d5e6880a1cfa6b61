"""The probability that a hit answers the query, from which scores and confidence follow."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mdvec.search.candidates import Candidates
from mdvec.search.fusion import most_by_words
from mdvec.search.passages import RankedPassage
from mdvec.search.words import Words
from mdvec.types.hit import Confidence
from mdvec.types.query import MIN_SCORE


class Evidence(NamedTuple):
    """The properties of a hit that tell whether it answers the query.

    Attributes:
        nearness: Standard deviations above unrelated texts; 0 without a vector.
        coverage: Share of the query's words, 0..1; a word that no text contains counts as missing. A first
            hit that holds all others has all of them, however long it is. 1 if the query names the hit by a
            date, a value or an identifier.
        words: The evidence of words, in standard deviations.
        lead: Of a first hit, its evidence ahead of the best hit in another document that the query does not
            name, at most :data:`_MAX_LEAD` either way: more says no more; half of it in the only document.
            Else 0.
        doubt: Of a later hit, the logarithm of the probability that the first one does not answer: most
            questions have one answer. Else 0.
        crowd: Logarithm of the number of candidates: among many, some are near by chance.
        commonness: Of a text in the other kind of script than the query, its own similarity to unrelated
            passages, in the same deviations: lists of names are near to every question. Else 0.
        across: 1 if the text is in the other kind of script, and so has few of the query's words; else 0.
        meaning_alone: 1 if words were not used, else 0.
    """

    nearness: float = 0.0
    coverage: float = 0.0
    words: float = 0.0
    lead: float = 0.0
    doubt: float = 0.0
    crowd: float = 0.0
    commonness: float = 0.0
    across: float = 0.0
    meaning_alone: float = 0.0


class Judged(NamedTuple):
    """The way a hit is judged, which decides the weights of its properties.

    Attributes:
        is_first: Whether it is the first hit, or the query names both.
        has_vector: Whether it has one; words alone must tell otherwise.
    """

    is_first: bool
    has_vector: bool


WEIGHTS = {
    Judged(is_first=True, has_vector=True): (
        -2.86,
        Evidence(0.87, 1.59, lead=0.69, crowd=-0.51, commonness=-0.54, across=0.34, meaning_alone=0.84),
    ),
    Judged(is_first=False, has_vector=True): (
        -5.35,
        Evidence(0.95, words=0.59, doubt=0.76, commonness=-0.52, across=-1.74, meaning_alone=0.34),
    ),
    Judged(is_first=True, has_vector=False): (-0.87, Evidence(coverage=3.80, lead=0.78, crowd=-0.37)),
    Judged(is_first=False, has_vector=False): (-4.21, Evidence(words=1.13, doubt=0.83)),
}
"""Constants and weights of logistic regressions. ``python -m benchmarks.calibration --fit`` fits those anew
that are not 0. Weights of later hits are fitted to the doubts that the weights of first hits leave."""

_MAX_LEAD = 5.0

# In a folder of one manual, its own next passage is the only rival, and being ahead of it says less.
_WITHIN_DOCUMENT = 0.5

# Candidates beyond this number do not count: ties decide how many there are.
_CROWD = 200

_SUREST = 0.99
_NOTHING_KNOWN = 0.2  # neither words nor a vector that can be compared with unrelated texts of its model
# Function words alone are no subject: a text that holds them word for word may be meant, and nothing is sure.
_NO_SUBJECT = 0.2
_WITHOUT_TEXT = 0.6  # a blank form, or properties that the query does not name
_LEVELS = ((0.7, Confidence.HIGH), (0.25, Confidence.MEDIUM), (0.05, Confidence.LOW))


def probabilities(passages: Sequence[RankedPassage], candidates: Candidates, words: Words) -> list[float]:
    """Return the probability that each passage answers the query.

    Args:
        passages: Best first.
        candidates: The candidates that they were made of.
        words: The evidence of words.
    """
    every = evidence_of(passages, candidates, words)
    return [
        _bounded(probability(evidence, judged), passage, candidates, words)
        for passage, (judged, evidence) in zip(passages, every, strict=True)
    ]


def _bounded(probability: float, passage: RankedPassage, candidates: Candidates, words: Words) -> float:
    """Bound a probability: a passage with every word is shown, however sure the first hit is."""
    has_subject = not words.max_score or words.matched_weight or not words.all_known
    least = MIN_SCORE if _holds_all(passage, words) else 1 - _SUREST
    at = passage.best.at
    most = candidates.missed.most_across if candidates.other_language[at] else candidates.missed.most
    if not (passage.best.place.token_count or candidates.exact[at] or candidates.named[at]):
        most = min(most, _WITHOUT_TEXT)
    return min(most, _SUREST if has_subject else _NO_SUBJECT, max(least, probability))


def _holds_all(passage: RankedPassage, words: Words) -> bool:
    return any(each.id in words.holding for each in passage.chunks)


def probability(evidence: Evidence, judged: Judged) -> float:
    """Return the probability that a hit answers."""
    if not judged.has_vector and not evidence.coverage:
        return _NOTHING_KNOWN
    constant, weights = WEIGHTS[judged]
    log_odds = constant + sum(map(operator.mul, weights, evidence))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, log_odds))))


def evidence_of(
    passages: Sequence[RankedPassage], candidates: Candidates, words: Words
) -> Iterator[tuple[Judged, Evidence]]:
    """Yield for each passage how it is judged, and its properties; see :func:`probabilities`."""
    crowd = math.log(max(1, min(_CROWD, len(candidates.places))))
    lead = max(-_MAX_LEAD, min(_MAX_LEAD, _lead_of_first(passages, candidates)))
    doubt = 0.0
    for number, passage in enumerate(passages):
        at, first = passage.best.at, passages[0].best.at
        # Each of several hits that the query names is as good as the first one.
        is_first = not number or any(of[at] and of[first] for of in (candidates.exact, candidates.named))
        nearness, is_across = float(candidates.above_unrelated[at]), bool(candidates.other_language[at])
        has_vector = not math.isnan(nearness)
        known = 1.0 if candidates.exact[at] else words.matched_weight
        holds_all = is_first and _holds_all(passage, words)
        share = 1.0 if holds_all else float(candidates.word_share[at])
        coverage = max(known * share, float(candidates.named[at]))
        evidence = Evidence(
            nearness=nearness if has_vector else 0.0,
            coverage=coverage,
            words=most_by_words(words) * coverage,
            lead=lead if is_first else 0.0,
            doubt=0.0 if is_first else doubt,
            crowd=crowd,
            commonness=float(candidates.commonness[at]) if has_vector and is_across else 0.0,
            across=float(is_across),
            meaning_alone=float(not words.are_used),
        )
        judged = Judged(is_first, has_vector)
        if not number:
            doubt = math.log(1 - _bounded(probability(evidence, judged), passage, candidates, words))
        yield judged, evidence


def _lead_of_first(passages: Sequence[RankedPassage], candidates: Candidates) -> float:
    """Return how far the first passage is ahead of the best one in another document, or in the only one.

    Of several that the query names, none takes anything from another; nor does a text of the same words. If
    it names all that were found, they are ahead of everything else.
    """
    if not passages:
        return 0.0
    first, *others = passages
    named = candidates.exact | candidates.named
    is_named = bool(named[first.best.at])
    rivals = [each for each in others if not (each.best.is_folded or (is_named and named[each.best.at]))]
    elsewhere = [each for each in rivals if each.best.place.document_id != first.best.place.document_id]
    if is_named and not elsewhere:
        return math.inf
    lead = first.evidence - next((each.evidence for each in elsewhere or rivals), first.evidence)
    return lead if elsewhere else _WITHIN_DOCUMENT * lead


def level_of(probability: float) -> Confidence:
    """Return the level of a probability."""
    return next((level for least, level in _LEVELS if probability >= least), Confidence.NONE)
