"""Other ways to make one ranking of what both sides found."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from benchmarks.ablations.variant import Evidence, Patch, Query, applied, as_shipped
from mdvec.search import fusion
from mdvec.types.ids import ChunkId

# The constant of the paper and of most who build it.
_RRF_K = 60

# What the best match there is would be worth, in standard deviations, and what the maximum score was worth
# before the length of a query counted.
_WORTH_OF_BEST = 2.0
_WORTH_OF_MAX = 7.0

# Evidence of words counts for more where much of the question is found in one place.
_MIN_WORTH = 5.0
_WORTH_PER_COVERAGE = 8.0

# What the words of the chunks around one count.
_NEIGHBOUR_SHARE = 0.2

# What a document's second best chunk counts.
_SHARE_OF_SECOND = 0.2

Rank = Callable[[Evidence, Query], Sequence[ChunkId]]


def by_ranks(evidence: Evidence, _query: Query) -> list[ChunkId]:
    """Merge both rankings by the sum of reciprocal ranks.

    References:
        Cormack, Clarke and Buettcher, SIGIR 2009.
    """
    scores: defaultdict[ChunkId, float] = defaultdict(float)
    by_words = [each.id for each in fusion.rank_by_words(evidence.lexical)]
    for ranking in (by_words, evidence.dense.ranking):
        for rank, chunk in enumerate(ranking, 1):
            scores[chunk] += 1 / (_RRF_K + rank)
    return sorted(scores, key=lambda chunk: (-scores[chunk], chunk))


def with_weight(weight: float) -> Rank:
    """Return the real fusion with another weight of words."""

    def rank(evidence: Evidence, query: Query) -> Sequence[ChunkId]:
        with applied([Patch(fusion, "_LEXICAL_WEIGHT", weight)]):
            return as_shipped(evidence, query)

    return rank


def by_share_of_max(evidence: Evidence, query: Query) -> Sequence[ChunkId]:
    """Count the share of the maximum score, however long the question is: ``z + 7 * cov``."""
    return _with_worth(_WORTH_OF_MAX, evidence, query)


def by_share_of_best(evidence: Evidence, query: Query) -> Sequence[ChunkId]:
    """Count the share of the best score that is there, not of the best possible one: ``z + 2 * max``."""
    best = max((score for _, score in evidence.lexical.ranking), default=1.0)
    words = replace(evidence.lexical, max_score=best)
    return _with_worth(_WORTH_OF_BEST, replace(evidence, lexical=words), query)


def by_coverage(evidence: Evidence, query: Query) -> Sequence[ChunkId]:
    """Count the share of the maximum score, times 5 + 8 * the best coverage."""
    by_words = fusion.rank_by_words(evidence.lexical)
    best = max((each.coverage or 0.0 for each in by_words), default=0.0)
    return _with_worth(_MIN_WORTH + _WORTH_PER_COVERAGE * best, evidence, query)


def _with_worth(worth: float, evidence: Evidence, query: Query) -> Sequence[ChunkId]:
    """Rank by the real fusion, with the maximum score worth so many standard deviations."""
    root = math.sqrt(evidence.lexical.max_score) or 1.0
    return with_weight(worth / root)(evidence, query)


def unknown_words_missing(evidence: Evidence, _query: Query) -> Evidence:
    """Count words that no chunk holds in the maximum score."""
    words = evidence.lexical
    if not words.matched_weight:
        return evidence
    max_score = words.max_score / words.matched_weight
    return replace(evidence, lexical=replace(words, max_score=max_score))


def repetition_ignored(evidence: Evidence, _query: Query) -> Evidence:
    """Take nothing off a text that occurs in many documents."""
    return replace(evidence, repetitions={})


def one_language(evidence: Evidence, _query: Query) -> Evidence:
    """Expect the words of the query in texts of either language."""
    return replace(evidence, lexical=replace(evidence.lexical, other_language=frozenset()))


def with_words_of_neighbours(evidence: Evidence, query: Query) -> Evidence:
    """Let the scores of the chunks before and after one count; where they hold no word, they take away."""
    found = dict(evidence.lexical.ranking)
    smoothed = {
        chunk: (score + _NEIGHBOUR_SHARE * _mean_of(found, query.index.neighbours[chunk], score))
        / (1 + _NEIGHBOUR_SHARE)
        for chunk, score in found.items()
    }
    ranking = sorted(smoothed.items(), key=lambda pair: (-pair[1], pair[0]))
    return replace(evidence, lexical=replace(evidence.lexical, ranking=ranking))


def _mean_of(scores: Mapping[ChunkId, float], chunks: Sequence[ChunkId], default: float) -> float:
    return sum(scores.get(chunk, 0.0) for chunk in chunks) / len(chunks) if chunks else default


def with_second_best(evidence: Evidence, query: Query) -> list[ChunkId]:
    """Add a share of each document's second best chunk to its best one, where it speaks for the document."""
    candidates = fusion.fuse(evidence.lexical, evidence.dense)
    chunks: defaultdict[str, list[fusion.Candidate]] = defaultdict(list)
    for each in candidates:
        chunks[query.index.path_of[each.id]].append(each)
    totals = {
        best.id: best.evidence + _SHARE_OF_SECOND * max(0.0, others[0].evidence if others else 0.0)
        for best, *others in chunks.values()
    }
    return sorted(totals, key=lambda chunk: (-totals[chunk], chunk))
