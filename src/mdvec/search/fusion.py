"""The fusion: evidence of meaning and of words on one scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from mdvec.types.ids import ChunkId
from mdvec.types.space import Unrelated

Evidence = Mapping[ChunkId, float]
"""The fused evidence for each candidate, in standard deviations."""

# What BM25 is worth in standard deviations of similarity, once it is divided by the square root of the
# maximum score (docs/decisions/0020-words-as-deviations.md).
_LEXICAL_WEIGHT = 0.8

# What it is worth at least to be called exactly as the query.
_NAMED_EVIDENCE = 7.0

# What it is worth to say exactly what the query does, beside all of its words: so much in the order of hits,
# and so much in their scores, since other texts answer in other words.
_EXACT_EVIDENCE = 7.0
_EXACT_IN_SCORES = 2.0

# What a word of the query counts in a text of the other writing, where it is a name or a chance meeting.
_OTHER_LANGUAGE_SHARE = 0.8

# What texts in the other writing miss for want of words is made good where the nearest of them is nearer than
# unrelated texts are, from here to there in their spread, and less by each deviation that one is behind it.
_ORDINARY, _RELATED = 1.0, 3.0
_CREDIT_REACH = 1.5

# A text that more chunks than this have in common is repeated.
_UNREPEATED = 3

_NOT_REPEATED: Mapping[ChunkId, int] = {}

# Below this the vectors are all the same (a collection of one text), and deviations mean nothing.
_MIN_SPREAD = 1e-6


class LexicalEvidence(Struct, frozen=True):
    """The evidence of words about the candidates of one query.

    Attributes:
        ranking: Chunks that hold any of the query's terms with their BM25 scores, best first.
        max_score: The score of a chunk that holds all of them, many times; positive when there are any.
        matched_weight: What share of the query's weight lies in terms that any chunk holds, 0..1.
        named: Chunks of documents that are called exactly as the query.
        all_known: Whether some chunk holds each of the query's terms, function words aside.
        exact: The few chunks that say exactly what the query does.
        other_language: Candidates that are written in another way than the query (with spaces between
            words, or without), so that they hold few of its words whatever they are about.
    """

    ranking: Sequence[tuple[ChunkId, float]]
    max_score: float
    matched_weight: float
    named: frozenset[ChunkId] = frozenset()
    all_known: bool = True
    exact: frozenset[ChunkId] = frozenset()
    other_language: frozenset[ChunkId] = frozenset()


class DenseEvidence(Struct, frozen=True):
    """The evidence of vectors about the candidates of one query.

    Attributes:
        ranking: Nearest chunks, best first.
        nearness: How near every candidate is that has a vector, names and neighbours counted in.
        plain_nearness: The same to the question in its one plain form, in which models are measured.
        similarities: Plain cosine similarity of question and text.
        mean: Mean similarity of any chunk to this query.
        spread: Standard deviation of the same.
        unrelated: The similarity of unrelated texts in the model; None where it was not measured.
        ordinary: How similar each text in the other writing is to unrelated passages in the query's.
    """

    ranking: Sequence[ChunkId]
    nearness: Mapping[ChunkId, float]
    plain_nearness: Mapping[ChunkId, float]
    similarities: Mapping[ChunkId, float]
    mean: float
    spread: float
    unrelated: Unrelated | None = None
    ordinary: Mapping[ChunkId, float] = {}

    def deviations(self) -> dict[ChunkId, float]:
        """Return how much nearer than the mean each is, in standard deviations; 0 without a spread."""
        return {
            chunk: (near - self.mean) / self.spread if self.spread > _MIN_SPREAD else 0.0
            for chunk, near in self.nearness.items()
        }

    def relatedness(self, chunk: ChunkId) -> float:
        """Return how far a chunk is from ordinary, 0..1, by what is ordinary in the model."""
        if self.unrelated is None:
            return 1.0
        deviations = (self.plain_nearness[chunk] - self.unrelated.mean) / self.unrelated.spread
        return max(0.0, min(1.0, (deviations - _ORDINARY) / (_RELATED - _ORDINARY)))


class Candidate(NamedTuple):
    """A chunk with all evidence about it; a tuple, since a search makes hundreds.

    Attributes:
        id: The chunk.
        evidence: For it, in standard deviations; higher is better.
        similarity: Plain cosine similarity; None without a vector.
        nearness: The same, with names and neighbours counted in; what confidence is judged by.
        dense_rank: From 1; None when not among the nearest.
        lexical_rank: From 1; None when no term was found.
        coverage: Share of a full word match, unknown words counted as missing, 0..1; None when words
            were not looked for, or say nothing of a foreign chunk.
        in_scores: What scores are made of: the evidence, but for most of what exact evidence adds to it.
        ordinary: Similarity of its text to unrelated passages in the query's writing; None without a vector,
            and where it is in that writing itself.
    """

    id: ChunkId
    evidence: float
    similarity: float | None
    nearness: float | None
    dense_rank: int | None
    lexical_rank: int | None
    coverage: float | None
    in_scores: float
    ordinary: float | None = None


def as_fused(evidence: Evidence) -> Evidence:
    """Return the evidence unchanged."""
    return evidence


def fuse(
    lexical: LexicalEvidence,
    *dense: DenseEvidence,
    repetitions: Mapping[ChunkId, int] = _NOT_REPEATED,
    revise: Callable[[Evidence], Evidence] = as_fused,
) -> list[Candidate]:
    """Rank by ``z + 0.8 * bm25 / sqrt(max_score) - ln(repetitions / 3)``.

    z is the cosine similarity in standard deviations above this query's background in the chunk's space,
    which is what makes spaces comparable. The largest score that a query could reach grows with the number
    of its terms, and what a chunk scores by chance with the square root of that: divided by it, scores of
    short and long queries are on one scale, too (docs/decisions/0020-words-as-deviations.md).

    A chunk without a vector counts as an average one of those that were found by words, so that it is
    neither buried nor favoured while it is pending. In the same way a near chunk in another language has the
    share of the maximum score that the nearest chunk in the query's own writing has more than the nearest one
    in another: words are compared among chunks that can hold them (docs/decisions/0030-own-writing.md).

    Of n texts that are the same, each is what is looked for in one of n cases: hence the logarithm
    (docs/decisions/0031-repeated-text.md).

    Args:
        lexical: The evidence of words.
        dense: The evidence of vectors, in each space; no chunk is in two of them.
        repetitions: How many chunks have the text of each, where it is more than one.
        revise: Adds what candidates say of each other.

    Returns:
        Every chunk of both sides once, best first; ties in order of id.
    """
    shares, lost = _shares(lexical), _lost(repetitions)
    deviations = _merged(each.deviations() for each in dense)
    similarities = _merged(each.similarities for each in dense)
    peers = [deviations[chunk] for chunk in shares if chunk in deviations]
    unknown = sum(peers) / len(peers) if peers else 0.0
    nearness = _merged(each.plain_nearness for each in dense)
    ordinary = _merged(each.ordinary for each in dense)
    lexical_ranks = _ranks(_order_of_words(lexical, _words_alone(lexical, shares, lost)))
    dense_ranks = _ranks(_order_of_meaning(dense, deviations, lost))
    words = _evidence_of_words(lexical, shares, _credit(lexical, shares, dense))
    fused: Evidence = {
        chunk: deviations.get(chunk, unknown) + words.get(chunk, 0.0) - lost.get(chunk, 0.0)
        for chunk in deviations.keys() | shares.keys()
    }
    fused = revise(fused)
    return [
        Candidate(
            chunk,
            fused[chunk],
            similarities.get(chunk),
            nearness.get(chunk),
            dense_ranks.get(chunk),
            lexical_ranks.get(chunk),
            _coverage(lexical, shares, chunk),
            fused[chunk] - (_EXACT_EVIDENCE - _EXACT_IN_SCORES) * (chunk in lexical.exact),
            ordinary.get(chunk),
        )
        for chunk in sorted(fused, key=lambda chunk: (-fused[chunk], chunk))
    ]


def rank_by_similarity(
    *dense: DenseEvidence, repetitions: Mapping[ChunkId, int] = _NOT_REPEATED
) -> list[Candidate]:
    """Rank by meaning alone: by deviations, which are what can be compared between spaces.

    Less what a repeated text loses.
    """
    deviations, lost = _merged(each.deviations() for each in dense), _lost(repetitions)
    order = _order_of_meaning(dense, deviations, lost)
    plain = _merged(each.plain_nearness for each in dense)
    similarities = _merged(each.similarities for each in dense)
    ordinary = _merged(each.ordinary for each in dense)
    evidence = {chunk: deviations[chunk] - lost.get(chunk, 0.0) for chunk in order}
    return [
        Candidate(
            *(chunk, evidence[chunk], similarities[chunk], plain[chunk], rank, None, None, evidence[chunk]),
            ordinary=ordinary.get(chunk),
        )
        for rank, chunk in enumerate(order, 1)
    ]


def rank_by_words(
    lexical: LexicalEvidence, *, repetitions: Mapping[ChunkId, int] = _NOT_REPEATED
) -> list[Candidate]:
    """Rank by words alone: exact evidence first, then BM25, less what a repeated text loses."""
    shares = _shares(lexical)
    evidence = _words_alone(lexical, shares, _lost(repetitions))
    return [
        Candidate(
            *(chunk, evidence[chunk], None, None, None, rank),
            coverage=_coverage(lexical, shares, chunk),
            in_scores=evidence[chunk] - (_EXACT_EVIDENCE - _EXACT_IN_SCORES) * (chunk in lexical.exact),
        )
        for rank, chunk in enumerate(_order_of_words(lexical, evidence), 1)
    ]


def _shares(lexical: LexicalEvidence) -> dict[ChunkId, float]:
    """Return each score as a share of the maximum score, 1 for a document of that name and what is exact."""
    found = {chunk: min(1.0, score / lexical.max_score) for chunk, score in lexical.ranking}
    return {**found, **dict.fromkeys(lexical.named | lexical.exact, 1.0)}


def _evidence_of_words(
    lexical: LexicalEvidence, shares: Mapping[ChunkId, float], credit: Mapping[ChunkId, float]
) -> dict[ChunkId, float]:
    """Return the evidence of words for each chunk, in standard deviations."""
    counted = {
        chunk: share * _OTHER_LANGUAGE_SHARE if chunk in lexical.other_language else share
        for chunk, share in shares.items()
    }
    counted |= {chunk: max(counted.get(chunk, 0.0), share) for chunk, share in credit.items()}
    weight = _weight(lexical)
    evidence = {chunk: weight * share for chunk, share in counted.items()}
    evidence |= {chunk: max(evidence[chunk], _NAMED_EVIDENCE) for chunk in lexical.named}
    return evidence | {chunk: evidence[chunk] + _EXACT_EVIDENCE for chunk in lexical.exact}


def _credit(
    lexical: LexicalEvidence, shares: Mapping[ChunkId, float], dense: Sequence[DenseEvidence]
) -> dict[ChunkId, float]:
    """Return the share of the maximum score that chunks in the other writing are given.

    At most what the nearest chunk in the query's writing has more than the nearest other one.
    """
    credit: dict[ChunkId, float] = {}
    for each in dense:
        deviations = each.deviations()
        other = deviations.keys() & lexical.other_language
        same = deviations.keys() - other
        if not (same and other):
            continue
        nearest_same, nearest_other = (
            max(chunks, key=lambda chunk: (deviations[chunk], -chunk)) for chunks in (same, other)
        )
        held = _OTHER_LANGUAGE_SHARE * shares.get(nearest_other, 0.0)
        most = max(0.0, shares.get(nearest_same, 0.0) - held) * each.relatedness(nearest_other)
        for chunk in other:
            behind = (deviations[nearest_other] - deviations[chunk]) / _CREDIT_REACH
            credit[chunk] = most * max(0.0, 1.0 - behind)
    return credit


def _coverage(lexical: LexicalEvidence, shares: Mapping[ChunkId, float], chunk: ChunkId) -> float | None:
    if chunk in lexical.other_language and chunk not in shares:
        return None
    # Function words alone say nothing of what is asked, in whatever order.
    if chunk in lexical.named or (chunk in lexical.exact and lexical.matched_weight):
        return 1.0
    return lexical.matched_weight * shares.get(chunk, 0.0)


def _weight(lexical: LexicalEvidence) -> float:
    """Return what the whole maximum score is worth, in standard deviations."""
    return _LEXICAL_WEIGHT * math.sqrt(lexical.max_score)


def _lost(repetitions: Mapping[ChunkId, int]) -> dict[ChunkId, float]:
    """Return what repeated texts lose, in units of fused evidence."""
    return {
        chunk: math.log(times / _UNREPEATED) for chunk, times in repetitions.items() if times > _UNREPEATED
    }


def _words_alone(
    lexical: LexicalEvidence, shares: Mapping[ChunkId, float], lost: Mapping[ChunkId, float]
) -> dict[ChunkId, float]:
    """Return the evidence of words where nothing else is known, less what repeated texts lose.

    Frequent words reach the maximum score in texts that do not say exactly the query, too.
    """
    weight = _weight(lexical)
    evidence = {chunk: weight * share - lost.get(chunk, 0.0) for chunk, share in shares.items()}
    return evidence | {chunk: evidence[chunk] + _EXACT_EVIDENCE for chunk in lexical.exact}


def _order_of_words(lexical: LexicalEvidence, evidence: Mapping[ChunkId, float]) -> list[ChunkId]:
    """Rank by evidence; equal ones come in the order of their terms' scores, then of their ids."""
    scores = dict(lexical.ranking)
    return sorted(evidence, key=lambda chunk: (-evidence[chunk], -scores.get(chunk, 0.0), chunk))


def _order_of_meaning(
    dense: Sequence[DenseEvidence], deviations: Mapping[ChunkId, float], lost: Mapping[ChunkId, float]
) -> Sequence[ChunkId]:
    """Return the nearest chunks of all spaces, best first."""
    nearest = (chunk for each in dense for chunk in each.ranking)
    evidence = {chunk: deviations[chunk] - lost.get(chunk, 0.0) for chunk in nearest}
    return sorted(evidence, key=lambda chunk: (-evidence[chunk], chunk))


def _merged(parts: Iterable[Mapping[ChunkId, float]]) -> dict[ChunkId, float]:
    return {chunk: value for part in parts for chunk, value in part.items()}


def _ranks(ranking: Sequence[ChunkId]) -> dict[ChunkId, int]:
    return {chunk: rank for rank, chunk in enumerate(ranking, 1)}
