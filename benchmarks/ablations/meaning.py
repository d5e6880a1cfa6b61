"""Other ways to use vectors: of the question, of all chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
from msgspec.structs import replace

from benchmarks.ablations.index import Index, Vector
from benchmarks.ablations.variant import Evidence, Query
from mdvec.search.fusion import DenseEvidence
from mdvec.search.proximity import evidence_in, nearest_in, neighbourhood
from mdvec.types.ids import ChunkId

# How far a question moves towards its best documents, and among how many chunks these are looked for.
_FEEDBACK_SHARE = 0.3
_FEEDBACK_DEPTH = 100

# What is taken off a chunk for being near to everything, and how many chunks stand for everything.
_HUBNESS_SHARE = 0.3
_HUBNESS_SAMPLE = 256


def moved_towards_best(documents: int) -> Callable[[Query], Vector]:
    """Return pseudo-relevance feedback: the question moves towards the best chunks of its best documents.

    Args:
        documents: How many.

    References:
        Rocchio, "Relevance feedback in information retrieval", 1971; the best documents are taken for good.
    """

    def aim(query: Query) -> Vector:
        index = query.index
        near = nearest_in(query.space, index.view, where=query.where, depth=_FEEDBACK_DEPTH)
        places = neighbourhood(near, index.view)
        evidence = evidence_in(query.space, near, (), places, index.view, depth=_FEEDBACK_DEPTH, alone=True)
        best: dict[str, ChunkId] = {}
        for chunk in evidence.ranking:
            best.setdefault(index.path_of[chunk], chunk)
        rows = [index.rows[chunk] for chunk in list(best.values())[:documents]]
        if not rows:
            return query.vector
        target = index.vectors[rows].mean(axis=0)
        moved = (1 - _FEEDBACK_SHARE) * query.vector + _FEEDBACK_SHARE * target
        return np.asarray(moved / np.linalg.norm(moved), np.float32)

    return aim


def less_hubness(evidence: Evidence, query: Query) -> Evidence:
    """Take a share of a chunk's mean similarity to others off: some are near to every question.

    References:
        Radovanović, Nanopoulos and Ivanović, "Hubs in space", JMLR 2010.
    """
    index, excess = query.index, _excess(query.index)
    similarities = {
        chunk: similarity - _HUBNESS_SHARE * float(excess[index.rows[chunk]])
        for chunk, similarity in evidence.dense.nearness.items()
    }
    return replace(evidence, dense=_with(evidence.dense, similarities))


@lru_cache(maxsize=1)
def _excess(index: Index) -> Vector:
    """Return each chunk's mean similarity to a sample of all, above the mean of these; shape (chunks,)."""
    count = len(index.vectors)
    sample = np.linspace(0, count - 1, min(count, _HUBNESS_SAMPLE)).astype(np.intp)
    hubness = index.vectors @ index.vectors[sample].mean(axis=0)
    return np.asarray(hubness - hubness.mean(), np.float32)


def _with(dense: DenseEvidence, similarities: Mapping[ChunkId, float]) -> DenseEvidence:
    ranking = sorted(dense.ranking, key=lambda chunk: (-similarities[chunk], chunk))
    return replace(dense, ranking=ranking, nearness=similarities)
