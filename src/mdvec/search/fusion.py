"""Puts the evidence of meaning and of words on one scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from mdvec.model.ids import ChunkId

# A perfect word match is worth seven standard deviations of similarity; real ones reach about a third of
# it (docs/decisions/0006-fusion.md).
_LEXICAL_WEIGHT = 7.0

# From so many of the nearest chunks it is seen what words say of each way of writing.
_COMPARED_CHUNKS = 5

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
    """Rank by ``z + 7 * cov``.

    z is the cosine similarity in standard deviations above this query's background in the chunk's space,
    which is what makes spaces comparable; cov is the BM25 score as a share of the largest one the query
    could reach. A chunk without a vector counts as an average one of those that were found by words, so that
    it is neither buried nor favoured while it is pending. In the same way a foreign chunk has at least the
    share that near chunks in the query's own writing have more than near foreign ones: words are compared
    among those that can hold them (docs/decisions/0016-two-languages.md).

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
    least = dict.fromkeys(lexical.foreign, _share_abroad(shares, deviations, lexical.foreign))
    fused = {
        chunk: deviations.get(chunk, unknown)
        + _LEXICAL_WEIGHT * max(shares.get(chunk, 0.0), least.get(chunk, 0.0))
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


def _share_abroad(
    shares: Mapping[ChunkId, float], deviations: Mapping[ChunkId, float], foreign: Set[ChunkId]
) -> float:
    """Return the share that a foreign chunk would have more if it were in the query's writing."""
    if not foreign:
        return 0.0
    nearest = sorted(deviations, key=lambda chunk: (-deviations[chunk], chunk))
    here = [shares.get(chunk, 0.0) for chunk in nearest if chunk not in foreign][:_COMPARED_CHUNKS]
    abroad = [shares.get(chunk, 0.0) for chunk in nearest if chunk in foreign][:_COMPARED_CHUNKS]
    if not (here and abroad):
        return 0.0
    return max(0.0, sum(here) / len(here) - sum(abroad) / len(abroad))


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
