"""Candidates by meaning: texts and names near the query, with what stands before and after them.

A chunk is as near as its text, and nearer when its document is called what the query asks for: with ``s`` the
cosine similarity of query and text, and ``t`` the largest one of query and any name of the document, it is
``u = max(s, (1 - NAME_SHARE) * s + NAME_SHARE * t)`` (docs/decisions/0009-names-as-vectors.md). Its neighbours
count a little: with ``v`` the mean ``u`` of the chunks right before and after it, it is
``(u + NEIGHBOUR_SHARE * v) / (1 + NEIGHBOUR_SHARE)`` (docs/decisions/0017-neighbours.md).

Stores find by plain similarity of texts and of names; the candidates that gives are scored here exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mdvec import run
from mdvec.search.fusion import DenseEvidence
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId
from mdvec.types.query import Where
from mdvec.types.space import Unrelated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME_SHARE = 0.5
"""How much the name of a document says of a chunk, where it says more than the chunk's text."""

NEIGHBOUR_SHARE = 0.2
"""How much the chunks before and after say of a chunk, next to what it says itself."""

# Candidates for each chunk that is ranked: its text may be near, or one of its document's names. A quarter of
# this gives the same ten best (docs/decisions/0024-one-seam.md).
import os

_TEXTS_PER_RANK = float(os.environ.get("TPR", "2"))
_RANKS_PER_NAME = float(os.environ.get("RPN", "2"))
_PL = float(os.environ.get("PL", "2"))

# The mean and spread of similarities in a space are those of so many chunks.
_SAMPLE_CHUNKS = 512

# Beside another space, the background of n chunks is known from them by n parts, and from unrelated texts of
# the model by so many: the one good hit among five notes is a fifth of their background.
_PRIOR_CHUNKS = 30


@dataclass(frozen=True, slots=True)
class QuerySpace:
    """A space and the query in it.

    Attributes:
        id: The space.
        collections: The collections that are searched in it.
        vector: The query, shape (dim,), unit length.
        unrelated: The similarity of texts that are unrelated to such a query in its model; None where that
            was not measured yet.
        chunks: How many chunks these collections hold.
    """

    id: SpaceId
    collections: tuple[CollectionId, ...]
    vector: NDArray[np.float32]
    unrelated: Unrelated | None
    chunks: int


def candidates_in(space: QuerySpace, view: View, *, where: Where, depth: int) -> list[ChunkId]:
    """Return the chunks that may be among the ``depth`` nearest of a space, in no order."""
    inside = replace(where, collections=space.collections)
    if set(space.collections) == set(where.collections):
        inside = where
    with run.current().step("dense") as details:
        texts = view.nearest_chunks(space.id, space.vector, inside, int(_TEXTS_PER_RANK * depth))
        names = view.nearest_documents(space.id, space.vector, inside, int(depth / _RANKS_PER_NAME))
        named = view.places_in([document for document, _ in names], inside, int(_PL * depth))
        details.update(texts=len(texts), named=len(named))
    return list(dict.fromkeys([*(chunk for chunk, _ in texts), *(place.id for place in named)]))


def evidence_in(
    space: QuerySpace,
    candidates: Iterable[ChunkId],
    others: Iterable[ChunkId],
    places: Mapping[ChunkId, ChunkPlace],
    view: View,
    *,
    depth: int,
    alone: bool,
) -> DenseEvidence:
    """Score the candidates of a space exactly.

    Args:
        space: The space.
        candidates: From :func:`candidates_in`; the best ``depth`` of them are ranked.
        others: Chunks that were found in another way; those of other spaces are left out.
        places: The places of all of them and of their neighbours.
        view: The snapshot.
        depth: How many chunks to rank.
        alone: Whether this is the only space; else its figures have to be comparable with another's.
    """
    own = {key: place for key, place in places.items() if place.collection_id in space.collections}
    with run.current().step("rescore", chunks=len(own)):
        near = _nearness(space, own, view)
        ranked = sorted(
            (chunk for chunk in candidates if chunk in near), key=lambda chunk: (-near[chunk], chunk)
        )[:depth]
        similarities = {chunk: near[chunk] for chunk in (*ranked, *others) if chunk in near}
        mean, spread = _background(space, view)
    if not alone and space.unrelated is not None:
        known = space.chunks / (space.chunks + _PRIOR_CHUNKS)
        mean = known * mean + (1 - known) * space.unrelated.mean
        spread = known * spread + (1 - known) * space.unrelated.spread
    return DenseEvidence(ranked, similarities, mean, spread)


def _nearness(space: QuerySpace, places: Mapping[ChunkId, ChunkPlace], view: View) -> dict[ChunkId, float]:
    """Return how near chunks are, for those that have a vector and whose neighbours are among them."""
    documents = list({place.document_id for place in places.values()})
    texts = view.chunk_similarities(space.id, space.vector, list(places))
    names = view.name_similarities(space.id, space.vector, documents)
    lifted: dict[tuple[DocumentId, int], float] = {}
    for key, similarity in texts.items():
        place = places[key]
        by_name = (1 - NAME_SHARE) * similarity + NAME_SHARE * names.get(place.document_id, -1.0)
        lifted[place.document_id, place.ordinal] = max(similarity, by_name)
    return {key: _smoothed(places[key], lifted) for key in texts}


def _smoothed(place: ChunkPlace, lifted: Mapping[tuple[DocumentId, int], float]) -> float:
    document_id, ordinal = place.document_id, place.ordinal
    own = lifted[document_id, ordinal]
    before, after = lifted.get((document_id, ordinal - 1)), lifted.get((document_id, ordinal + 1))
    if before is None and after is None:
        return own
    if before is None or after is None:
        beside = before if after is None else after
        assert beside is not None  # noqa: S101 - one of the two is there
    else:
        beside = (before + after) / 2
    return (own + NEIGHBOUR_SHARE * beside) / (1 + NEIGHBOUR_SHARE)


def _background(space: QuerySpace, view: View) -> tuple[float, float]:
    """Return mean and spread of the similarity of the query and any text."""
    sample = view.sampled_similarities(space.id, space.vector, _SAMPLE_CHUNKS)
    return (float(sample.mean()), float(sample.std())) if len(sample) else (0.0, 0.0)


def neighbourhood(ids: Sequence[ChunkId], view: View) -> dict[ChunkId, ChunkPlace]:
    """Return the places of chunks and of their neighbours, by chunk."""
    with run.current().step("places", chunks=len(ids)):
        return {place.id: place for place in view.places(ids)}
