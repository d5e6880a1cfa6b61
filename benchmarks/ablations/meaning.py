"""Other ways to use vectors: of the question, of all chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
from msgspec.structs import replace

from benchmarks.ablations.index import Index, Vector
from benchmarks.ablations.variant import Evidence, Query
from mdvec.embedding.interface import embed_all
from mdvec.search.fusion import DenseEvidence
from mdvec.search.proximity import evidence_in, nearest_in, neighbourhood
from mdvec.text.scripts import is_unspaced_query
from mdvec.text.words import STOP_WORDS
from mdvec.types.ids import ChunkId

# How far a question moves towards its best documents, and among how many chunks these are looked for.
_FEEDBACK_SHARE = 0.3
_FEEDBACK_DEPTH = 100

# What is taken off a chunk for being near to everything, and how many chunks stand for everything.
_HUBNESS_SHARE = 0.3
_HUBNESS_SAMPLE = 256


def embedded_as(*, passage: float = 0.0, content: float = 0.0) -> Callable[[Query], Vector]:
    """Return the question's vector plus those of other forms of it, unit length.

    Args:
        passage: Weight of the question as a passage; 0 leaves Japanese questions as they are shipped.
        content: Weight of its content words, where it is English.
    """

    def aim(query: Query) -> Vector:
        index, vector, unspaced = query.index, query.index.embed(query.text), is_unspaced_query(query.text)
        if unspaced and not passage:
            return query.vector
        if passage:
            vector = vector + passage * embed_all(index.embedder, [query.text])[0]
        words = [word for word in query.text.split() if word.lower().strip("?,.!") not in STOP_WORDS]
        if content and words and not unspaced:
            vector = vector + content * index.embed(" ".join(words))
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    return aim


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
