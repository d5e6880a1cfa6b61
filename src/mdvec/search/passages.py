"""Joins neighbouring chunks into passages, and ranks further passages of a document lower."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from mdvec.search.fusion import Candidate
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, DocumentId

# A passage takes in its better neighbour until it has this many tokens, if that chunk's evidence is at most
# this much lower than the best one's, in standard deviations (docs/decisions/0056-passages-by-length.md).
_ENOUGH_TOKENS = 250
_JOIN_REACH = 4.0

# Of the best passages, so many, those of one document that touch become one of at most so many tokens
# (docs/decisions/0057-touching-passages.md).
_TOUCHING_AMONG = 10
_TOUCHING_TOKENS = 1000

# The evidence that the second passage of a document loses; it loses the same again at each doubling.
_FURTHER_PASSAGE = 2.0


class Passage(Struct, frozen=True):
    """Chunks of one document that are shown as one.

    Attributes:
        best: The best of the chunks.
        chunks: All chunks, in the order of the document.
        lost: The evidence subtracted because the document has better passages.
    """

    best: Candidate
    chunks: tuple[ChunkId, ...]
    lost: float = 0.0

    @property
    def evidence(self) -> float:
        """The evidence by which passages are ordered."""
        return self.best.evidence - self.lost

    @property
    def in_scores(self) -> float:
        """The evidence from which scores are computed."""
        return self.best.in_scores - self.lost


def joined_passages(
    candidates: Iterable[Candidate],
    places: Mapping[ChunkId, ChunkPlace],
    *,
    per_document: int | None,
    documents: int,
) -> list[Passage]:
    """Join candidates into passages, best first.

    The first passages of documents keep the order of the documents' best chunks. The best ten passages do not
    depend on how many documents are considered.

    Args:
        candidates: Best first.
        places: Where they stand.
        per_document: Most passages of one document; None for any number.
        documents: How many documents to consider, by their best candidates.
    """
    taken: dict[DocumentId, list[Candidate]] = {}
    for each in candidates:
        document_id = places[each.id].document_id
        if document_id in taken:
            taken[document_id].append(each)
        elif len(taken) < max(documents, _TOUCHING_AMONG):
            taken[document_id] = [each]
    passages = [
        Passage(best, chunks, _loss(number))
        for own in taken.values()
        for number, (best, chunks) in enumerate(_joined(own, places)[:per_document], 1)
    ]
    passages.sort(key=lambda passage: -passage.evidence)
    return [*_touching_joined(passages[:_TOUCHING_AMONG], places), *passages[_TOUCHING_AMONG:]]


def single_chunks(
    candidates: Iterable[Candidate], places: Mapping[ChunkId, ChunkPlace], *, per_document: int | None
) -> list[Passage]:
    """Return each candidate as a passage, in order, with at most ``per_document`` of each document."""
    taken: dict[DocumentId, int] = {}
    passages: list[Passage] = []
    for each in candidates:
        document_id = places[each.id].document_id
        taken[document_id] = taken.get(document_id, 0) + 1
        if per_document is None or taken[document_id] <= per_document:
            passages.append(Passage(each, (each.id,)))
    return passages


def _joined(
    candidates: Sequence[Candidate], places: Mapping[ChunkId, ChunkPlace]
) -> list[tuple[Candidate, tuple[ChunkId, ...]]]:
    """Join the candidates of one document: repeatedly the best one left with its neighbours in reach."""
    left = {places[each.id].ordinal: each for each in candidates}
    passages: list[tuple[Candidate, tuple[ChunkId, ...]]] = []
    for best in candidates:
        first = last = places[best.id].ordinal
        if left.get(first) is not best:
            continue
        own = {first: left.pop(first)}
        tokens = places[best.id].token_count
        while tokens < _ENOUGH_TOKENS:
            beside = [at for at in (first - 1, last + 1) if at in left]
            nearest = max(beside, key=lambda at: left[at].evidence, default=None)
            if nearest is None or left[nearest].evidence < best.evidence - _JOIN_REACH:
                break
            own[nearest] = left.pop(nearest)
            tokens += places[own[nearest].id].token_count
            first, last = min(own), max(own)
        passages.append((best, tuple(own[at].id for at in sorted(own))))
    return passages


def _touching_joined(passages: Sequence[Passage], places: Mapping[ChunkId, ChunkPlace]) -> list[Passage]:
    """Join passages that touch; each stands where the better one stood."""
    joined: dict[int, Passage] = {}
    for number, each in enumerate(passages):
        rank, passage = number, each
        while (
            beside := next((at for at in joined if _touch(joined[at], passage, places)), None)
        ) is not None:
            other = joined.pop(beside)
            chunks = sorted((*other.chunks, *passage.chunks), key=lambda chunk: places[chunk].ordinal)
            rank, better = min((beside, other), (rank, passage), key=itemgetter(0))
            passage = replace(better, chunks=tuple(chunks))
        joined[rank] = passage
    return [joined[rank] for rank in sorted(joined)]


def _touch(one: Passage, other: Passage, places: Mapping[ChunkId, ChunkPlace]) -> bool:
    """Return True if two passages are next to each other in a document, and not too long together."""
    first, last = places[one.chunks[0]], places[one.chunks[-1]]
    begin, end = places[other.chunks[0]], places[other.chunks[-1]]
    return (
        first.document_id == begin.document_id
        and (last.ordinal + 1 == begin.ordinal or end.ordinal + 1 == first.ordinal)
        and sum(places[chunk].token_count for chunk in (*one.chunks, *other.chunks)) <= _TOUCHING_TOKENS
    )


def _loss(number: int) -> float:
    """Return the evidence that the n-th passage of a document loses, from 1."""
    return _FURTHER_PASSAGE * math.log2(number)
