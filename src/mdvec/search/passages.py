"""Joins neighbouring chunks into passages, and ranks further passages of a document lower."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mdvec.search.candidates import Candidates
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, DocumentId

# A passage takes in its better neighbour until it has this many tokens, if that chunk's evidence is at most
# this much lower than the best one's, in standard deviations.
_ENOUGH_TOKENS = 250
_JOIN_REACH = 4.0

# Of the best passages, so many, those of one document that touch become one of at most so many tokens.
_TOUCHING_AMONG = 10
_TOUCHING_TOKENS = 1000

# The evidence that the second passage of a document loses; it loses the same again at each doubling.
_FURTHER_PASSAGE = 2.0


class Ranked(NamedTuple):
    """A candidate in the order of evidence; a tuple because a search makes hundreds.

    Attributes:
        at: Its position among the candidates.
        place: Its place.
        evidence: The evidence for it, in standard deviations.
        is_folded: Whether a better one has the same words (see :mod:`mdvec.search.families`). It comes after
            all that are not.
    """

    at: int
    place: ChunkPlace
    evidence: float
    is_folded: bool = False


class RankedPassage(Struct, frozen=True):
    """Chunks of one document that are shown as one.

    Attributes:
        best: The best of the chunks.
        chunks: All chunks, in the order of the document.
        evidence: The evidence by which passages are ordered: less if the document has better passages.
    """

    best: Ranked
    chunks: tuple[ChunkPlace, ...]
    evidence: float


class ScoredPassage(Struct, frozen=True):
    """A passage as the answer to one query.

    Attributes:
        passage: The passage.
        score: 0..1, how probably it answers.
        query: The words of the query.
        candidates: What it was made of; None if it was only listed.
        similar: Number of like texts folded into a chunk.
    """

    passage: RankedPassage
    score: float
    query: str
    candidates: Candidates | None = None
    similar: Mapping[ChunkId, int] = {}

    @property
    def is_named(self) -> bool:
        """Whether a date, a value or an identifier in the query names it."""
        return self.candidates is not None and bool(self.candidates.named[self.passage.best.at])

    @property
    def is_in_other_language(self) -> bool:
        """Whether it is in the other kind of script than the query."""
        return self.candidates is not None and bool(self.candidates.other_language[self.passage.best.at])


def merged_passages(
    lists: Iterable[Iterable[ScoredPassage]], *, per_document: int | None, most: int
) -> list[ScoredPassage]:
    """Merge the passages of several queries, the best score first; no chunk is in two of them.

    Args:
        lists: Those of each query, best first; the order of each stays.
        per_document: Most passages of one document; None for any number.
        most: Most passages in all.
    """
    taken: set[ChunkId] = set()
    counts: Counter[DocumentId] = Counter()
    merged: list[ScoredPassage] = []
    for each in heapq.merge(*lists, key=lambda scored: -scored.score):
        if len(merged) == most:
            break
        best = each.passage.best.place
        if best.id in taken or counts[best.document_id] == per_document:
            continue
        # The chunks around the best one, as far as no better passage has them.
        runs = groupby(each.passage.chunks, lambda place: place.id in taken)
        chunks = next(own for _, run in runs if best in (own := tuple(run)))
        taken.update(place.id for place in chunks)
        counts[best.document_id] += 1
        merged.append(replace(each, passage=replace(each.passage, chunks=chunks)))
    return merged


def joined_passages(
    ranked: Iterable[Ranked], *, per_document: int | None, documents: int
) -> list[RankedPassage]:
    """Join candidates into passages, best first.

    The first passages of documents keep the order of the documents' best chunks. The best ten passages do not
    depend on how many documents are considered.

    Args:
        ranked: Best first.
        per_document: Most passages of one document; None for any number.
        documents: How many documents to consider, by their best candidates.
    """
    taken: dict[DocumentId, list[Ranked]] = {}
    for each in ranked:
        if each.place.document_id in taken:
            taken[each.place.document_id].append(each)
        elif len(taken) < max(documents, _TOUCHING_AMONG):
            taken[each.place.document_id] = [each]
    passages = [
        RankedPassage(best, chunks, best.evidence - _FURTHER_PASSAGE * math.log2(number))
        for own in taken.values()
        for number, (best, chunks) in enumerate(_joined(own)[:per_document], 1)
    ]
    passages.sort(key=lambda passage: (passage.best.is_folded, -passage.evidence))
    return [*_touching_joined(passages[:_TOUCHING_AMONG]), *passages[_TOUCHING_AMONG:]]


def single_chunks(ranked: Iterable[Ranked], *, per_document: int | None) -> list[RankedPassage]:
    """Return each candidate as a passage, in order, with at most ``per_document`` of each document."""
    taken: dict[DocumentId, int] = {}
    passages: list[RankedPassage] = []
    for each in ranked:
        document_id = each.place.document_id
        taken[document_id] = taken.get(document_id, 0) + 1
        if per_document is None or taken[document_id] <= per_document:
            passages.append(RankedPassage(each, (each.place,), each.evidence))
    return passages


def _joined(ranked: Sequence[Ranked]) -> list[tuple[Ranked, tuple[ChunkPlace, ...]]]:
    """Join the candidates of one document: repeatedly the best one left with its neighbours in reach."""
    left = {each.place.ordinal: each for each in ranked}
    passages: list[tuple[Ranked, tuple[ChunkPlace, ...]]] = []
    for best in ranked:
        first = last = best.place.ordinal
        if left.get(first) is not best:
            continue
        own = {first: left.pop(first)}
        tokens = best.place.token_count
        while tokens < _ENOUGH_TOKENS:
            neighbours = [
                at for at in (first - 1, last + 1) if at in left and left[at].is_folded == best.is_folded
            ]
            nearest = max(neighbours, key=lambda at: left[at].evidence, default=None)
            if nearest is None or left[nearest].evidence < best.evidence - _JOIN_REACH:
                break
            own[nearest] = left.pop(nearest)
            tokens += own[nearest].place.token_count
            first, last = min(own), max(own)
        passages.append((best, tuple(own[at].place for at in sorted(own))))
    return passages


def _touching_joined(passages: Sequence[RankedPassage]) -> list[RankedPassage]:
    """Join passages that touch; the joined one takes the place of the better one."""
    joined: dict[int, RankedPassage] = {}
    for number, each in enumerate(passages):
        rank, passage = number, each
        while (touching := next((at for at in joined if _touch(joined[at], passage)), None)) is not None:
            other = joined.pop(touching)
            chunks = sorted((*other.chunks, *passage.chunks), key=lambda place: place.ordinal)
            rank, better = min((touching, other), (rank, passage), key=itemgetter(0))
            passage = replace(better, chunks=tuple(chunks))
        joined[rank] = passage
    return [joined[rank] for rank in sorted(joined)]


def _touch(one: RankedPassage, other: RankedPassage) -> bool:
    """Return True if two passages are next to each other in a document, and not too long together."""
    first, last = one.chunks[0], one.chunks[-1]
    begin, end = other.chunks[0], other.chunks[-1]
    return (
        first.document_id == begin.document_id
        and (last.ordinal + 1 == begin.ordinal or end.ordinal + 1 == first.ordinal)
        and sum(place.token_count for place in (*one.chunks, *other.chunks)) <= _TOUCHING_TOKENS
    )
