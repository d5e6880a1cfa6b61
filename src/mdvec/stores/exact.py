"""Exact search among the vectors of one space, in memory: float16 rows, one product for each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from mdvec.errors import DamagedDatabaseError

try:
    import numkong
except ImportError:  # no wheel for this platform
    _HAS_NUMKONG = False
else:
    _HAS_NUMKONG = True

Real = TypeVar("Real", np.float32, np.float64)

STORED: Final = np.dtype("<f2")
"""float16, little-endian, whatever the machine."""

_BLOCK_ROWS = 4096  # rows that are widened to float32 at a time, 6 MB at 384 dimensions
_EXPONENT = np.uint16(0x7C00)  # all of its bits are set in infinity and in what is no number
_DIGITS = 6  # of a similarity; float16 holds less
_GROWTH = 1.25

# Estimates are of half precision: the last of the nearest may come out just behind.
_SPARE = 32

# A filter usually lets a good part through; where it does not, more and more are looked at.
_FIRST_FACTOR = 2
_NEXT_FACTOR = 8


def encode(vectors: NDArray[np.float32]) -> list[bytes]:
    """Return each row as it is stored."""
    return [row.tobytes() for row in np.ascontiguousarray(vectors, STORED)]


def decode(stored: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Return vectors that :func:`encode` made, shape (n, dim)."""
    return np.frombuffer(b"".join(stored), STORED).reshape(len(stored), dimension).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of the rows of a matrix.

    Attributes:
        ids: Ids of the owners, ascending, int64, shape (n,); an owner of several rows is repeated.
        rows: The row of each, int64, shape (n,).
    """

    ids: NDArray[np.int64]
    rows: NDArray[np.int64]

    def adding(self, ids: NDArray[np.int64], rows: NDArray[np.int64]) -> Owners:
        """Return these and more owners; the new ones in any order."""
        if not len(ids):
            return self
        all_ids, all_rows = np.concatenate([self.ids, ids]), np.concatenate([self.rows, rows])
        if not np.all(all_ids[:-1] <= all_ids[1:]):  # some got their vector later than younger ones
            order = np.argsort(all_ids, kind="stable")
            all_ids, all_rows = all_ids[order], all_rows[order]
        return Owners(all_ids, all_rows)

    def positions(self, wanted: Iterable[int]) -> NDArray[np.intp]:
        """Return the positions of those of the wanted owners that are here, ascending."""
        ids = np.unique(np.fromiter(wanted, np.int64))
        first = np.searchsorted(self.ids, ids, side="left")
        counts = np.searchsorted(self.ids, ids, side="right") - first
        total = int(counts.sum())
        # One range for each owner, all of them laid end to end.
        starts = np.repeat(first - (np.cumsum(counts) - counts), counts)
        return starts + np.arange(total)


NO_OWNERS: Final = Owners(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class ExactView:
    """The vectors of a space as they were at some moment; later ones do not show in it.

    Owners that were deleted may still be here, so a search passes those that exist.

    Attributes:
        rows: float16, shape (n, dim).
        chunks: The chunks whose texts they are.
        documents: The documents whose names they are.
    """

    rows: NDArray[np.float16]
    chunks: Owners
    documents: Owners

    def products(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return about the cosine similarity of every row, shape (n,): good for choosing candidates."""
        multiply = products_by_numkong if _HAS_NUMKONG else products_by_numpy
        return multiply(self.rows, query)

    def similarities(
        self, owners: Owners, wanted: Iterable[int], query: NDArray[np.float32]
    ) -> dict[int, float]:
        """Return the exact cosine similarity of some owners; of several rows the largest counts.

        Args:
            owners: ``chunks`` or ``documents``.
            wanted: Ids of owners; those without a row are left out.
            query: Shape (dim,), unit length.
        """
        positions = owners.positions(wanted)
        if not len(positions):
            return {}
        ids, values = owners.ids[positions], _exact(self.rows[owners.rows[positions]], query)
        ids, values = _largest_of_each(ids, values)
        return dict(zip(ids.tolist(), values.tolist(), strict=True))

    def nearest(
        self,
        owners: Owners,
        products: NDArray[np.float32],
        query: NDArray[np.float32],
        limit: int,
        inside: Callable[[Sequence[int]], set[int]] | frozenset[int],
    ) -> list[tuple[int, float]]:
        """Return the nearest owners that may be found.

        Args:
            owners: ``chunks`` or ``documents``.
            products: From :meth:`products`.
            query: Shape (dim,), unit length.
            limit: Most owners to return.
            inside: The owners that may be found, where they are few; else returns those of some that may.

        Returns:
            Owners with their exact similarities, best first; ties in order of id.
        """
        if limit <= 0 or not len(owners.ids):
            return []
        if isinstance(inside, frozenset):
            positions = owners.positions(inside)
            ids, estimates = _largest_of_each(owners.ids[positions], products[owners.rows[positions]])
            best = ids[_top(estimates, limit + _SPARE)].tolist()
        else:
            ids, estimates = _largest_of_each(owners.ids, products[owners.rows])
            best = best_inside(ids, estimates, limit, inside)
        exact = self.similarities(owners, best, query)
        return sorted(exact.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def sample(self, count: int) -> list[int]:
        """Return the ids of at most ``count`` chunks, spread evenly over all, ascending."""
        return spread_evenly(self.chunks.ids, count)


def spread_evenly(ids: NDArray[np.int64], count: int) -> list[int]:
    """Return at most ``count`` of some ids that ascend."""
    at = np.linspace(0, len(ids) - 1, min(len(ids), count)).astype(np.intp)
    chosen: list[int] = ids[at].tolist() if len(ids) else []
    return chosen


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


class ExactMatrix:
    """Rows that only grow, with what they belong to. Not safe for two threads, but its views are.

    Args:
        dimension: Length of a vector.
        capacity: Rows to reserve.
    """

    def __init__(self, dimension: int, capacity: int) -> None:
        self.chunks = NO_OWNERS
        self.documents = NO_OWNERS
        self._keys = np.empty(capacity, np.int64)
        self._rows = np.empty((capacity, dimension), np.float16)
        self._count = 0

    def append(self, keys: Sequence[int], vectors: Sequence[bytes]) -> None:
        """Add rows.

        Args:
            keys: What they are found by, ascending and larger than all before.
            vectors: As :func:`encode` makes them.

        Raises:
            DamagedDatabaseError: If one holds something that is no number.
        """
        end = self._count + len(keys)
        if end > len(self._keys):
            # Views keep the old arrays: nothing is moved under them.
            capacity = max(end, int(self._count * _GROWTH))
            more = np.empty(capacity - self._count, np.int64)
            self._keys = np.concatenate([self._keys[: self._count], more])
            rows = np.empty((capacity, self._rows.shape[1]), np.float16)
            rows[: self._count] = self._rows[: self._count]
            self._rows = rows
        self._keys[self._count : end] = keys
        stored = np.frombuffer(b"".join(vectors), STORED)
        if ((stored.view("<u2") & _EXPONENT) == _EXPONENT).any():  # much faster than isfinite
            msg = "a vector is damaged"
            raise DamagedDatabaseError(msg)
        self._rows[self._count : end] = stored.reshape(len(keys), self._rows.shape[1])
        self._count = end

    def rows_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of keys that are here, shape (n,)."""
        return np.asarray(np.searchsorted(self._keys[: self._count], keys), np.int64)

    def view(self) -> ExactView:
        """Return what is here now."""
        return ExactView(self._rows[: self._count], self.chunks, self.documents)


def _exact(rows: NDArray[np.float16], query: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return cosine similarities within -1..1, equal for equal rows."""
    # The last digit of a product depends on where a row stands. In float32 rounding would not always hide it.
    products = rows.astype(np.float64) @ query.astype(np.float64)
    return np.clip(np.round(products, _DIGITS), -1.0, 1.0)


def _largest_of_each(
    ids: NDArray[np.int64], values: NDArray[Real]
) -> tuple[NDArray[np.int64], NDArray[Real]]:
    """Return each id once, with its largest value; ids ascend."""
    if not len(ids):
        return ids, values
    is_first = np.concatenate([[True], ids[1:] != ids[:-1]])
    if is_first.all():
        return ids, values
    starts = np.flatnonzero(is_first)
    return ids[starts], np.maximum.reduceat(values, starts)


def _top(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Return where the largest values stand, in no order.

    What equals the smallest of them belongs to them, so that equal vectors can be ordered by their owners.
    """
    if count >= len(values):
        return np.arange(len(values))
    threshold = np.partition(values, len(values) - count)[len(values) - count]
    return np.flatnonzero(values >= threshold)


def best_inside(
    ids: NDArray[np.int64],
    estimates: NDArray[np.float32],
    limit: int,
    inside: Callable[[Sequence[int]], set[int]],
) -> list[int]:
    """Return the owners inside that may be among the nearest ``limit``; some more, in no order.

    Args:
        ids: Owners, each once.
        estimates: About how near they are.
        limit: How many will be returned.
        inside: Returns those of some owners that may be found.
    """
    size = _FIRST_FACTOR * limit + _SPARE
    while True:
        top = _top(estimates, size)
        allowed = inside(ids[top].tolist())
        if len(allowed) >= limit + _SPARE or size >= len(ids):
            kept = top[np.isin(ids[top], np.fromiter(allowed, np.int64, len(allowed)))]
            best: list[int] = ids[kept[_top(estimates[kept], limit + _SPARE)]].tolist()
            return best
        size *= _NEXT_FACTOR


def largest_similarities(
    batches: Iterable[tuple[Sequence[int], Sequence[bytes]]], query: NDArray[np.float32]
) -> dict[int, float]:
    """Return the exact cosine similarity of owners; of several vectors of one the largest counts.

    Args:
        batches: Owners and their vectors, as :func:`encode` makes them; one batch is in memory at a time.
        query: Shape (dim,), unit length.
    """
    found: dict[int, float] = {}
    for owners, vectors in batches:
        rows = np.frombuffer(b"".join(vectors), STORED).reshape(len(vectors), len(query))
        for owner, similarity in zip(owners, _exact(rows, query).tolist(), strict=True):
            if similarity > found.get(owner, -2.0):
                found[owner] = similarity
    return found
