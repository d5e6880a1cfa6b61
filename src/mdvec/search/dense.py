"""Candidates by meaning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mdvec import trace
from mdvec.model.ids import ChunkId, SpaceId
from mdvec.model.query import Scope
from mdvec.search.fusion import DenseEvidence
from mdvec.stores.interface import VectorIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
