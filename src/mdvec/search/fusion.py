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

# The least evidence of words for a document whose name is exactly the query.
_NAMED_EVIDENCE = 7.0

# What exact evidence adds to the evidence of words: in the order of hits, and in their scores. In the scores
# it is less, since other texts may answer in other words.
_EXACT_EVIDENCE = 7.0
_EXACT_IN_SCORES = 2.0

# The weight of words in an other-language chunk, where a word of the query is a name or a coincidence.
_OTHER_LANGUAGE_SHARE = 0.8

# Other-language chunks get cross-language credit if they are nearer to the query than unrelated texts: none
# up to _ORDINARY standard deviations above these, all of it from _RELATED on. The credit of a chunk falls to
# nothing at _CREDIT_REACH deviations behind the nearest such chunk.
_ORDINARY, _RELATED = 1.0, 3.0
_CREDIT_REACH = 1.5

# A text that occurs in more chunks than this is repeated.
_UNREPEATED = 3

_NOT_REPEATED: Mapping[ChunkId, int] = {}

# With a smaller spread all vectors are equal (a collection of one text), and deviations have no meaning.
_MIN_SPREAD = 1e-6


class LexicalEvidence(Struct, frozen=True):
    """The evidence of words about the candidates of one query.

    Attributes:
        ranking: Chunks that contain query terms, with their BM25 scores, best first.
        max_score: The largest BM25 score that a chunk could reach; positive if ``ranking`` is not empty.
        matched_weight: The share of the query's weight in terms that some chunk contains, 0..1.
        named: Chunks of documents whose name is exactly the query.
        all_known: Whether each query term, function words aside, occurs in some chunk.
        exact: The few chunks with exact evidence.
        other_language: The candidates in the other kind of script (with or without spaces between words).
            They contain few words of the query, whatever they are about.
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
        nearness: For each candidate with a vector, its similarity with names and neighbours counted in.
        plain_nearness: The same with the query in its question form, in which models are measured.
        similarities: Plain cosine similarity of query and text.
        mean: Mean similarity of the query and the chunks of the space.
        spread: Standard deviation of the same.
        unrelated: The similarity of unrelated texts in the model; None if it was not measured.
        ordinary: For each other-language chunk, its similarity to unrelated passages in the query's script.
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
        """Return the nearness of each candidate in standard deviations above the mean; 0 without a spread."""
        return {
            chunk: (near - self.mean) / self.spread if self.spread > _MIN_SPREAD else 0.0
            for chunk, near in self.nearness.items()
        }

    def relatedness(self, chunk: ChunkId) -> float:
        """Return 0 for a chunk as near to the query as unrelated texts are, rising to 1 for a related one."""
        if self.unrelated is None:
            return 1.0
        deviations = (self.plain_nearness[chunk] - self.unrelated.mean) / self.unrelated.spread
        return max(0.0, min(1.0, (deviations - _ORDINARY) / (_RELATED - _ORDINARY)))


class Candidate(NamedTuple):
    """A chunk with all evidence about it. It is a tuple because a search makes hundreds.

    Attributes:
        id: The chunk.
        evidence: The fused evidence, in standard deviations; higher is better.
        similarity: Plain cosine similarity; None without a vector.
        nearness: The similarity with names and neighbours counted in, from which confidence is computed.
        dense_rank: From 1; None if it is not among the nearest.
        lexical_rank: From 1; None if it contains no query term.
        coverage: BM25 score as a share of the maximum score, unknown words counted as missing, 0..1; None if
            words were not used, or if it is an other-language chunk.
        in_scores: The evidence from which scores are computed: without most of what exact evidence adds.
        ordinary: Similarity of its text to unrelated passages in the query's script; None without a vector,
            and for a chunk in that script.
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

    z is the nearness in standard deviations above the query's background in the chunk's space, so that spaces
    can be compared. The maximum score grows with the number of query terms, and the score that a chunk
    reaches by chance grows with the square root of that number. Divided by the square root, scores of short
    and long queries are on one scale (docs/decisions/0020-words-as-deviations.md).

    A chunk without a vector counts as an average one of those found by words, so that it is neither buried
    nor favoured while it is pending. Likewise, a near other-language chunk gets cross-language credit: the
    lead in word evidence that the nearest chunk in the query's script has over the nearest other-language
    chunk (docs/decisions/0030-own-writing.md).

    If n texts are equal, each is the one that is looked for in one case of n: hence the logarithm
    (docs/decisions/0031-repeated-text.md).

    Args:
        lexical: The evidence of words.
        dense: The evidence of vectors, one item a space; no chunk is in two of them.
        repetitions: How many chunks have the same text as a chunk, if more than one.
        revise: Revises the evidence by comparing the candidates with each other.

    Returns:
        Every candidate once, best first; ties in order of id.
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
    """Rank by meaning alone: by deviations, which can be compared between spaces.

    Repeated texts lose evidence as in :func:`fuse`.
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
    """Rank by words alone: exact evidence first, then BM25; repeated texts lose as in :func:`fuse`."""
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
    """Return each score as a share of the maximum score; 1 for exact evidence and for a document so named."""
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
    """Return the cross-language credit of each other-language chunk, as a share of the maximum score.

    It is at most the lead of the nearest chunk in the query's script over the nearest other-language chunk.
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
    # Function words alone do not carry the subject, in whatever order they stand.
    if chunk in lexical.named or (chunk in lexical.exact and lexical.matched_weight):
        return 1.0
    return lexical.matched_weight * shares.get(chunk, 0.0)


def _weight(lexical: LexicalEvidence) -> float:
    """Return the evidence that the whole maximum score is worth, in standard deviations."""
    return _LEXICAL_WEIGHT * math.sqrt(lexical.max_score)


def _lost(repetitions: Mapping[ChunkId, int]) -> dict[ChunkId, float]:
    """Return the evidence that each repeated text loses."""
    return {
        chunk: math.log(times / _UNREPEATED) for chunk, times in repetitions.items() if times > _UNREPEATED
    }


def _words_alone(
    lexical: LexicalEvidence, shares: Mapping[ChunkId, float], lost: Mapping[ChunkId, float]
) -> dict[ChunkId, float]:
    """Return the evidence if only words are known, less what repeated texts lose.

    Exact evidence comes on top: frequent words reach the maximum score in other texts, too.
    """
    weight = _weight(lexical)
    evidence = {chunk: weight * share - lost.get(chunk, 0.0) for chunk, share in shares.items()}
    return evidence | {chunk: evidence[chunk] + _EXACT_EVIDENCE for chunk in lexical.exact}


def _order_of_words(lexical: LexicalEvidence, evidence: Mapping[ChunkId, float]) -> list[ChunkId]:
    """Rank by evidence; break ties by BM25 score, then by id."""
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
