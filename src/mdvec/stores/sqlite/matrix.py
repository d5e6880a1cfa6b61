"""The vectors of one space in memory: float16 rows, exact products, growing at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

try:
    import numkong
except ImportError:  # no wheel for this platform
    _HAS_NUMKONG = False
else:
    _HAS_NUMKONG = True

STORED = np.dtype("<f2")
"""float16, little-endian, whatever the machine."""

_BLOCK_ROWS = 4096  # rows that are widened to float32 at a time, 6 MB at 384 dimensions
_DIGITS = 6  # of a similarity; float16 holds less
_GROWTH = 1.25


def encode(vectors: NDArray[np.float32]) -> list[bytes]:
    """Return each row as it is stored."""
    return [row.tobytes() for row in np.ascontiguousarray(vectors, STORED)]


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The rows known at some moment. Later rows do not show in it.

    Attributes:
        ids: Ids of the vectors, ascending, shape (n,).
        rows: float16, shape (n, dim).
    """

    ids: NDArray[np.int64]
    rows: NDArray[np.float16]

    def products(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Multiply every row with a query.

        Args:
            query: float32, shape (dim,).

        Returns:
            float32, shape (n,): good for choosing, see :meth:`similarities`.
        """
        multiply = products_by_numkong if _HAS_NUMKONG else products_by_numpy
        return multiply(self.rows, query)

    def take(self, at: NDArray[np.intp]) -> MatrixView:
        """Copy some rows.

        Args:
            at: Where they stand.
        """
        return MatrixView(self.ids[at], self.rows[at])

    def similarities(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine similarity of every row, without the rounding of the query.

        Args:
            query: float32, shape (dim,), unit length.

        Returns:
            float32, shape (n,), within -1..1; equal for equal rows.
        """
        # The last digit of a float32 product depends on where a row stands.
        return np.clip(np.round(products_by_numpy(self.rows, query), _DIGITS), -1.0, 1.0)


def nearest(products: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Return where the largest products stand, in no order.

    What equals the smallest of them belongs to them, so that chunks of equal vectors can be ordered
    by their ids alone.

    Args:
        products: Shape (n,).
        count: How many at least; 1..n.
    """
    threshold = np.partition(products, len(products) - count)[len(products) - count]
    return np.flatnonzero(products >= threshold)


def products_by_numkong(rows: NDArray[np.float16], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply with SIMD instructions for float16; the query is rounded to float16 too.

    Args:
        rows: Shape (n, dim).
        query: Shape (dim,).

    Returns:
        Shape (n,).
    """
    if not len(rows):  # which it refuses
        return np.empty(0, np.float32)
    narrow = np.ascontiguousarray(query[np.newaxis], np.float16)
    # Asking cdist itself for float32 makes it 30 times slower (numkong 7.8).
    return np.asarray(numkong.cdist(narrow, rows, metric="dot"), np.float32).reshape(-1)


def products_by_numpy(rows: NDArray[np.float16], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply as float32, some rows at a time: no rounding, no SIMD for float16, and so 20 times slower.

    Args:
        rows: Shape (n, dim).
        query: Shape (dim,).

    Returns:
        Shape (n,).
    """
    products = np.empty(len(rows), np.float32)
    for at in range(0, len(rows), _BLOCK_ROWS):
        products[at : at + _BLOCK_ROWS] = rows[at : at + _BLOCK_ROWS].astype(np.float32) @ query
    return products


class VectorMatrix:
    """Rows that only grow. Not safe for two threads, but its views are.

    Attributes:
        seen: The largest id that was looked at, of whatever space.
    """

    def __init__(self, dimension: int, capacity: int) -> None:
        self.seen = 0
        self._ids = np.empty(capacity, np.int64)
        self._rows = np.empty((capacity, dimension), np.float16)
        self._count = 0

    def append(self, ids: Sequence[int], vectors: Sequence[bytes]) -> None:
        """Add rows with ids larger than all before.

        Args:
            ids: Ascending.
            vectors: As :func:`encode` makes them.
        """
        end = self._count + len(ids)
        if end > len(self._ids):
            # Views keep the old arrays: nothing is moved under them.
            capacity = max(end, int(self._count * _GROWTH))
            self._ids = np.concatenate([self._ids[: self._count], np.empty(capacity - self._count, np.int64)])
            rows = np.empty((capacity, self._rows.shape[1]), np.float16)
            rows[: self._count] = self._rows[: self._count]
            self._rows = rows
        self._ids[self._count : end] = ids
        stored = np.frombuffer(b"".join(vectors), STORED)
        self._rows[self._count : end] = stored.reshape(len(ids), self._rows.shape[1])
        self._count = end

    def view(self) -> MatrixView:
        """Return the rows added so far."""
        return MatrixView(self._ids[: self._count], self._rows[: self._count])
