"""Puts the evidence of meaning and of words on one scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from mdvec.types.ids import ChunkId

# What BM25 is worth in standard deviations of similarity, once it is divided by the square root of the
# perfect score (docs/decisions/0020-words-as-deviations.md).
_LEXICAL_WEIGHT = 0.8

# What it is worth at least to be called what the query says.
_NAMED_EVIDENCE = 7.0

# What a word of the query says in a text of the other writing, where it is a name or a chance meeting.
_FOREIGN_SHARE = 0.8

# Where the score shown to people passes one half, in units of fused evidence.
_SCORE_CENTRE = 3.0

# Below this the vectors are all the same (a collection of one text), and deviations mean nothing.
_MIN_SPREAD = 1e-6


@dataclass(frozen=True, slots=True)
class LexicalEvidence:
    """What words say about the candidates of one query.

    Attributes:
        ranking: Chunks that hold any of the query's terms with their BM25 scores, best first.
        perfect: The score of a chunk that holds all of them, many times; positive when there are any.
        known: What share of the query's weight lies in terms that any chunk holds, 0..1.
        named: Chunks of documents that are called what the query says.
        foreign: Candidates that are written in another way than the query (with spaces between words, or
            without), so that they hold few of its words whatever they are about.
    """

    ranking: Sequence[tuple[ChunkId, float]]
    perfect: float
    known: float
    named: frozenset[ChunkId] = frozenset()
    foreign: frozenset[ChunkId] = frozenset()


@dataclass(frozen=True, slots=True)
class DenseEvidence:
    """What vectors say about the candidates of one query.

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
    """A chunk with all that is known about it.

    Attributes:
        id: The chunk.
        score: 0..1, higher is better.
        similarity: Cosine similarity; None without a vector.
        dense_rank: From 1; None when not among the nearest.
        lexical_rank: From 1; None when no term was found.
        coverage: Share of a perfect word match, unknown words counted as missing, 0..1; None when words
            were not looked for, or say nothing of a foreign chunk.
    """

    id: ChunkId
    score: float
    similarity: float | None
    dense_rank: int | None
    lexical_rank: int | None
    coverage: float | None


def fuse(lexical: LexicalEvidence, *dense: DenseEvidence) -> list[Candidate]:
    """Rank by ``z + 0.8 * bm25 / sqrt(perfect)``.

    z is the cosine similarity in standard deviations above this query's background in the chunk's space,
    which is what makes spaces comparable. The largest score that a query could reach grows with the number
    of its terms, and what a chunk scores by chance with the square root of that: divided by it, scores of
    short and long queries are on one scale, too (docs/decisions/0020-words-as-deviations.md).

    A chunk without a vector counts as an average one of those that were found by words, so that it is
    neither buried nor favoured while it is pending. In the same way a foreign chunk has at least the share
    of the perfect score that the nearest chunk in the query's own writing has more than the nearest foreign
    one: words are compared among those that can hold them (docs/decisions/0016-two-languages.md).

    Args:
        lexical: What words say.
        dense: What vectors say, in each space; no chunk is in two of them.

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
    spaces say nothing to each other: there deviations are what counts.
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
    """Rank by words alone: names first, then BM25; the score is the share of a perfect match."""
    shares = _shares(lexical)
    return [
        Candidate(chunk, shares[chunk], None, None, rank, _coverage(lexical, shares, chunk))
        for rank, chunk in enumerate(_order_of_words(lexical, shares), 1)
    ]


def _shares(lexical: LexicalEvidence) -> dict[ChunkId, float]:
    """Return each score as a share of the perfect one, 1 for what is called so."""
    found = {chunk: min(1.0, score / lexical.perfect) for chunk, score in lexical.ranking}
    return {**found, **dict.fromkeys(lexical.named, 1.0)}


def _evidence_of_words(
    lexical: LexicalEvidence, shares: Mapping[ChunkId, float], deviations: Mapping[ChunkId, float]
) -> dict[ChunkId, float]:
    """Return what words say of each chunk, in standard deviations."""
    counted = {
        chunk: share * _FOREIGN_SHARE if chunk in lexical.foreign else share
        for chunk, share in shares.items()
    }
    abroad = _lacking_abroad(counted, deviations, lexical.foreign)
    counted |= {chunk: max(counted.get(chunk, 0.0), abroad) for chunk in lexical.foreign}
    weight = _LEXICAL_WEIGHT * math.sqrt(lexical.perfect)
    evidence = {chunk: weight * share for chunk, share in counted.items()}
    return evidence | {chunk: max(evidence[chunk], _NAMED_EVIDENCE) for chunk in lexical.named}


def _lacking_abroad(
    shares: Mapping[ChunkId, float], deviations: Mapping[ChunkId, float], foreign: Set[ChunkId]
) -> float:
    """Return the share that the nearest chunk in the query's writing has more than the nearest other."""
    here, abroad = deviations.keys() - foreign, deviations.keys() & foreign
    if not (here and abroad):
        return 0.0
    nearest_here, nearest_abroad = (
        max(chunks, key=lambda chunk: (deviations[chunk], -chunk)) for chunks in (here, abroad)
    )
    return max(0.0, shares.get(nearest_here, 0.0) - shares.get(nearest_abroad, 0.0))


def _coverage(lexical: LexicalEvidence, shares: Mapping[ChunkId, float], chunk: ChunkId) -> float | None:
    if chunk in lexical.foreign and chunk not in shares:
        return None
    return 1.0 if chunk in lexical.named else lexical.known * shares.get(chunk, 0.0)


def _order_of_words(lexical: LexicalEvidence, shares: Mapping[ChunkId, float]) -> list[ChunkId]:
    """Rank by share; what is called so comes in the order of its terms' scores, then of its id."""
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
