"""Candidates by meaning, in each space that is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mdvec import trace
from mdvec.types.ids import ChunkId, CollectionId, SpaceId
from mdvec.types.query import Scope
from mdvec.types.space import Unrelated
from mdvec.search.fusion import DenseEvidence
from mdvec.stores.interface import Catalog, Store, VectorIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Beside another space, what is usual in one of n chunks is known from them by n parts, and from what is
# usual in its model by so many: the one good hit among five notes is a fifth of what is usual there.
_PRIOR_CHUNKS = 30


@dataclass(frozen=True, slots=True)
class AskedSpace:
    """A space and what is looked for in it.

    Attributes:
        id: The space.
        collections: The collections whose vectors are looked at in it.
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


def find_in_spaces(
    spaces: Sequence[AskedSpace], *, index: VectorIndex, limit: int, scope: Scope
) -> list[DenseEvidence]:
    """Return the nearest chunks in each space, comparable with those of the others.

    Args:
        spaces: No collection is in two of them.
        index: Where to look.
        limit: Most chunks of each space.
        scope: Where to look; in each space only its own collections are.
    """
    found = [
        find_by_meaning(
            space.vector, index=index, space_id=space.id, limit=limit, scope=_inside(scope, space)
        )
        for space in spaces
    ]
    if len(found) < 2:
        return found
    return [_steadied(evidence, space) for evidence, space in zip(found, spaces, strict=True)]


def complete_in_spaces(
    evidence: Sequence[DenseEvidence],
    others: Iterable[ChunkId],
    spaces: Sequence[AskedSpace],
    *,
    store: Store,
    scope: Scope,
) -> list[DenseEvidence]:
    """Add the similarities of chunks that were found in another way, each in the space of its collection."""
    others = list(others)
    if [set(space.collections) for space in spaces] == [set(scope.collections)]:
        parts = [others]
    else:
        parts = _by_space(others, spaces, store.catalog)
    return [
        complete(each, part, space.vector, index=store.vectors, space_id=space.id)
        for each, part, space in zip(evidence, parts, spaces, strict=True)
    ]


def find_by_meaning(
    query: NDArray[np.float32], *, index: VectorIndex, space_id: SpaceId, limit: int, scope: Scope
) -> DenseEvidence:
    """Return the chunks nearest to a query vector, shape (dim,)."""
    with trace.step("dense") as details:
        matches = index.search(space_id, query, limit, scope)
        details.update(found=len(matches.ids))
    similarities = dict(zip(matches.ids, matches.similarities, strict=True))
    return DenseEvidence(matches.ids, similarities, matches.mean, matches.spread)


def complete(
    evidence: DenseEvidence,
    others: Iterable[ChunkId],
    query: NDArray[np.float32],
    *,
    index: VectorIndex,
    space_id: SpaceId,
) -> DenseEvidence:
    """Add the similarities of chunks that were found in another way."""
    unknown = [chunk for chunk in others if chunk not in evidence.similarities]
    with trace.step("similarities", chunks=len(unknown)):
        added = index.similarities(space_id, query, unknown) if unknown else {}
    return DenseEvidence(evidence.ranking, {**evidence.similarities, **added}, evidence.mean, evidence.spread)


def _inside(scope: Scope, space: AskedSpace) -> Scope:
    if set(space.collections) == set(scope.collections):
        return scope
    return replace(scope, collections=space.collections)


def _by_space(
    chunks: Sequence[ChunkId], spaces: Sequence[AskedSpace], catalog: Catalog
) -> list[list[ChunkId]]:
    # A text may have vectors in a space that its collection has left, or that another one is in.
    collection_of = catalog.collections_of(chunks)
    return [[chunk for chunk in chunks if collection_of.get(chunk) in space.collections] for space in spaces]


def _steadied(evidence: DenseEvidence, space: AskedSpace) -> DenseEvidence:
    if space.unrelated is None:
        return evidence
    own = space.chunks / (space.chunks + _PRIOR_CHUNKS)
    return replace(
        evidence,
        mean=own * evidence.mean + (1 - own) * space.unrelated.mean,
        spread=own * evidence.spread + (1 - own) * space.unrelated.spread,
    )
