"""The fusion: evidence of meaning and of words on one scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from mdvec.types.ids import ChunkId

# What BM25 is worth in standard deviations of similarity, once it is divided by the square root of the
# maximum score (docs/decisions/0020-words-as-deviations.md).
_LEXICAL_WEIGHT = 0.8

# What it is worth at least to be called exactly as the query.
_NAMED_EVIDENCE = 7.0

# What a word of the query counts in a text of the other writing, where it is a name or a chance meeting.
_OTHER_LANGUAGE_SHARE = 0.8

# Where the score shown to people passes one half, in units of fused evidence.
_SCORE_CENTRE = 3.0

# Below this the vectors are all the same (a collection of one text), and deviations mean nothing.
_MIN_SPREAD = 1e-6


@dataclass(frozen=True, slots=True)
class LexicalEvidence:
    """The evidence of words about the candidates of one query.

    Attributes:
        ranking: Chunks that hold any of the query's terms with their BM25 scores, best first.
        max_score: The score of a chunk that holds all of them, many times; positive when there are any.
        matched_weight: What share of the query's weight lies in terms that any chunk holds, 0..1.
        named: Chunks of documents that are called exactly as the query.
        other_language: Candidates that are written in another way than the query (with spaces between
            words, or without), so that they hold few of its words whatever they are about.
    """

    ranking: Sequence[tuple[ChunkId, float]]
    max_score: float
    matched_weight: float
    named: frozenset[ChunkId] = frozenset()
    other_language: frozenset[ChunkId] = frozenset()


@dataclass(frozen=True, slots=True)
class DenseEvidence:
    """The evidence of vectors about the candidates of one query.

    Attributes:
        ranking: Nearest chunks, best first.
        similarities: Cosine similarity of every candidate that has a vector.
        mean: Mean similarity of unrelated chunks to this query.
        spread: Standard deviation of the same.
    """

    ranking: Sequence[ChunkId]
    similarities: Mapping[ChunkId, float]
    mean: float
    spread: float

    def deviations(self) -> dict[ChunkId, float]:
        """Return how far each similarity is above the mean, in standard deviations; 0 without a spread."""
        return {
            chunk: (similarity - self.mean) / self.spread if self.spread > _MIN_SPREAD else 0.0
            for chunk, similarity in self.similarities.items()
        }


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with all evidence about it.

    Attributes:
        id: The chunk.
        score: 0..1, higher is better.
        similarity: Cosine similarity; None without a vector.
        dense_rank: From 1; None when not among the nearest.
        lexical_rank: From 1; None when no term was found.
        coverage: Share of a full word match, unknown words counted as missing, 0..1; None when words
            were not looked for, or say nothing of a foreign chunk.
    """

    id: ChunkId
    score: float
    similarity: float | None
    dense_rank: int | None
    lexical_rank: int | None
    coverage: float | None


def fuse(lexical: LexicalEvidence, *dense: DenseEvidence) -> list[Candidate]:
    """Rank by ``z + 0.8 * bm25 / sqrt(max_score)``.

    z is the cosine similarity in standard deviations above this query's background in the chunk's space,
    which is what makes spaces comparable. The largest score that a query could reach grows with the number
    of its terms, and what a chunk scores by chance with the square root of that: divided by it, scores of
    short and long queries are on one scale, too (docs/decisions/0020-words-as-deviations.md).

    A chunk without a vector counts as an average one of those that were found by words, so that it is
    neither buried nor favoured while it is pending. In the same way a chunk in another language has at least
    the share of the maximum score that the nearest chunk in the query's own writing has more than the nearest
    one in another: words are compared among chunks that can hold them
    (docs/decisions/0016-two-languages.md).

    Args:
        lexical: The evidence of words.
        dense: The evidence of vectors, in each space; no chunk is in two of them.

    Returns:
        Every chunk of both sides once, best first; ties in order of id.
    """
    shares = _shares(lexical)
    deviations = _merged(each.deviations() for each in dense)
    similarities = _merged(each.similarities for each in dense)
    peers = [deviations[chunk] for chunk in shares if chunk in deviations]
    unknown = sum(peers) / len(peers) if peers else 0.0
    lexical_ranks = _ranks(_order_of_words(lexical, shares))
    dense_ranks = _ranks(_order_of_meaning(dense, deviations))
    words = _evidence_of_words(lexical, shares, deviations)
    fused = {
        chunk: deviations.get(chunk, unknown) + words.get(chunk, 0.0)
        for chunk in deviations.keys() | shares.keys()
    }
    return [
        Candidate(
            chunk,
            _squash(fused[chunk]),
            similarities.get(chunk),
            dense_ranks.get(chunk),
            lexical_ranks.get(chunk),
            _coverage(lexical, shares, chunk),
        )
        for chunk in sorted(fused, key=lambda chunk: (-fused[chunk], chunk))
    ]


def rank_by_similarity(*dense: DenseEvidence) -> list[Candidate]:
    """Rank by meaning alone.

    In one space by cosine similarity, which is the score, too (0 when negative). Similarities of several
    spaces cannot be compared: there deviations are what counts.
    """
    similarities = _merged(each.similarities for each in dense)
    if len(dense) == 1:
        order: Sequence[ChunkId] = dense[0].ranking
        scores = {chunk: max(0.0, similarities[chunk]) for chunk in order}
    else:
        deviations = _merged(each.deviations() for each in dense)
        order = _order_of_meaning(dense, deviations)
        scores = {chunk: _squash(deviations[chunk]) for chunk in order}
    return [
        Candidate(chunk, scores[chunk], similarities[chunk], rank, None, None)
        for rank, chunk in enumerate(order, 1)
    ]


def rank_by_words(lexical: LexicalEvidence) -> list[Candidate]:
    """Rank by words alone: names first, then BM25; the score is the share of the maximum score."""
    shares = _shares(lexical)
    return [
        Candidate(chunk, shares[chunk], None, None, rank, _coverage(lexical, shares, chunk))
        for rank, chunk in enumerate(_order_of_words(lexical, shares), 1)
    ]


def _shares(lexical: LexicalEvidence) -> dict[ChunkId, float]:
    """Return each score as a share of the maximum score, 1 for a document of that name."""
    found = {chunk: min(1.0, score / lexical.max_score) for chunk, score in lexical.ranking}
    return {**found, **dict.fromkeys(lexical.named, 1.0)}


def _evidence_of_words(
    lexical: LexicalEvidence, shares: Mapping[ChunkId, float], deviations: Mapping[ChunkId, float]
) -> dict[ChunkId, float]:
    """Return the evidence of words for each chunk, in standard deviations."""
    counted = {
        chunk: share * _OTHER_LANGUAGE_SHARE if chunk in lexical.other_language else share
        for chunk, share in shares.items()
    }
    credit = _cross_language_credit(counted, deviations, lexical.other_language)
    counted |= {chunk: max(counted.get(chunk, 0.0), credit) for chunk in lexical.other_language}
    weight = _LEXICAL_WEIGHT * math.sqrt(lexical.max_score)
    evidence = {chunk: weight * share for chunk, share in counted.items()}
    return evidence | {chunk: max(evidence[chunk], _NAMED_EVIDENCE) for chunk in lexical.named}


def _cross_language_credit(
    shares: Mapping[ChunkId, float], deviations: Mapping[ChunkId, float], other_language: Set[ChunkId]
) -> float:
    """Return the share that the nearest chunk in the query's writing has more than the nearest other."""
    same, other = deviations.keys() - other_language, deviations.keys() & other_language
    if not (same and other):
        return 0.0
    nearest_same, nearest_other = (
        max(chunks, key=lambda chunk: (deviations[chunk], -chunk)) for chunks in (same, other)
    )
    return max(0.0, shares.get(nearest_same, 0.0) - shares.get(nearest_other, 0.0))


def _coverage(lexical: LexicalEvidence, shares: Mapping[ChunkId, float], chunk: ChunkId) -> float | None:
    if chunk in lexical.other_language and chunk not in shares:
        return None
    return 1.0 if chunk in lexical.named else lexical.matched_weight * shares.get(chunk, 0.0)


def _order_of_words(lexical: LexicalEvidence, shares: Mapping[ChunkId, float]) -> list[ChunkId]:
    """Rank by share; named chunks come in the order of their terms' scores, then of their ids."""
    scores = dict(lexical.ranking)
    return sorted(shares, key=lambda chunk: (-shares[chunk], -scores.get(chunk, 0.0), chunk))


def _order_of_meaning(
    dense: Sequence[DenseEvidence], deviations: Mapping[ChunkId, float]
) -> Sequence[ChunkId]:
    """Return the nearest chunks of all spaces, best first."""
    if len(dense) == 1:
        return dense[0].ranking
    nearest = (chunk for each in dense for chunk in each.ranking)
    return sorted(nearest, key=lambda chunk: (-deviations[chunk], chunk))


def _merged(parts: Iterable[Mapping[ChunkId, float]]) -> dict[ChunkId, float]:
    return {chunk: value for part in parts for chunk, value in part.items()}


def _ranks(ranking: Sequence[ChunkId]) -> dict[ChunkId, int]:
    return {chunk: rank for rank, chunk in enumerate(ranking, 1)}


def _squash(evidence: float) -> float:
    """Map evidence to 0..1 without changing the order."""
    distance = evidence - _SCORE_CENTRE
    return 0.5 + 0.5 * distance / math.hypot(1.0, distance)
