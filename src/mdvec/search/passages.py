"""Joins neighbouring chunks into passages, and ranks further passages of a document lower."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from mdvec.search.fusion import Candidate
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, DocumentId

# A passage takes in its better neighbour until it has this many tokens, if that chunk's evidence is at most
# this much lower than the best one's, in standard deviations (docs/decisions/0056-passages-by-length.md).
_ENOUGH_TOKENS = 300
_JOIN_REACH = 4.0

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

    The first passages of documents keep the order of the documents' best chunks.

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
        elif len(taken) < documents:
            taken[document_id] = [each]
    passages = [
        Passage(best, chunks, _loss(number))
        for own in taken.values()
        for number, (best, chunks) in enumerate(_joined(own, places)[:per_document], 1)
    ]
    return sorted(passages, key=lambda passage: -passage.evidence)


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


def _loss(number: int) -> float:
    """Return the evidence that the n-th passage of a document loses, from 1."""
    return _FURTHER_PASSAGE * math.log2(number)
