"""Exact search among the vectors of one space, in memory: products choose candidates, which are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mdvec.errors import DamagedDatabaseError
from mdvec.stores.blocks import Block, widened
from mdvec.types.ids import ChunkId

Real = TypeVar("Real", np.float32, np.float64)

STORED: Final = np.dtype("<f2")
"""float16, little-endian, whatever the machine."""

_EXPONENT = np.uint16(0x7C00)  # all of its bits are set in infinity and in what is no number
_DIGITS = 6  # of a similarity; float16 holds less
_GROWTH = 1.25

# Estimates are rounded: the last of the nearest may come out behind, of which there are more among more.
_SPARE = 32
_SPARE_SHARE = 0.125

# A filter usually lets a good part through; where it does not, more are looked at, as its share demands.
_FIRST_FACTOR = 2
_LARGEST_FACTOR = 16
_MARGIN = 1.25

# With this many values or more, a sample shows about where the largest begin.
_SAMPLED_FROM = 32_768
_SAMPLE = 4096

# The rows compared exactly at once; bounds the memory for them in float64.
_ROWS_AT_ONCE = 128


def encode(vectors: NDArray[np.float32]) -> list[bytes]:
    """Return each row as it is stored."""
    return [row.tobytes() for row in np.ascontiguousarray(vectors, STORED)]


def decode(stored: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Return vectors that :func:`encode` made, shape (n, dim)."""
    return np.frombuffer(b"".join(stored), STORED).reshape(len(stored), dimension).astype(np.float32)


def in_rows_of(
    wanted: Sequence[int], ids: Sequence[int], vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return vectors, shape (m, dim), as rows of the wanted ids, shape (n, dim), NaN where there is none."""
    row_of = {key: row for row, key in enumerate(ids)}
    known = [(at, row_of[key]) for at, key in enumerate(wanted) if key in row_of]
    found = np.full((len(wanted), vectors.shape[1]), np.nan, np.float32)
    found[[at for at, _ in known]] = vectors[[row for _, row in known]]
    return found


class Owners(Struct, frozen=True, dict=True):
    """The owners of the rows of a matrix.

    Attributes:
        ids: Ids of the owners, ascending, int64, shape (n,); an owner of several rows is repeated.
        rows: The row of each, int64, shape (n,).
    """

    ids: NDArray[np.int64]
    rows: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.intp] | None:
        """Where each owner begins; None if each has one row."""
        is_first = np.concatenate([[True], self.ids[1:] != self.ids[:-1]])
        return None if is_first.all() else np.flatnonzero(is_first)

    def adding(self, ids: NDArray[np.int64], rows: NDArray[np.int64]) -> Owners:
        """Return these and more owners; the new ones in any order."""
        if not len(ids):
            return self
        all_ids, all_rows = np.concatenate([self.ids, ids]), np.concatenate([self.rows, rows])
        if not np.all(all_ids[:-1] <= all_ids[1:]):  # some got their vector later than younger ones
            order = np.argsort(all_ids, kind="stable")
            all_ids, all_rows = all_ids[order], all_rows[order]
        return Owners(all_ids, all_rows)

    def positions(self, wanted: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the positions of those of the wanted owners that are here, ascending."""
        ids = np.sort(wanted)
        ids = ids[np.flatnonzero(np.diff(ids, prepend=-1))]  # each once; much faster than np.unique
        first = np.searchsorted(self.ids, ids, side="left")
        counts = np.searchsorted(self.ids, ids, side="right") - first
        total = int(counts.sum())
        # One range for each owner, all of them laid end to end.
        starts = np.repeat(first - (np.cumsum(counts) - counts), counts)
        return starts + np.arange(total)

    def best(self, products: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return each owner once, with the largest product of its rows; ids ascend."""
        values = products[self.rows]
        if self.starts is None:
            return self.ids, values
        return self.ids[self.starts], np.maximum.reduceat(values, self.starts)


NO_OWNERS: Final = Owners(np.empty(0, np.int64), np.empty(0, np.int64))


class ExactView(Struct, frozen=True):
    """The vectors of a space as they were at some moment; later ones do not show in it.

    Owners that were deleted may still be here, so a search passes those that exist.

    Attributes:
        blocks: The vectors, the rows of one block after those of the other.
        chunks: The chunks whose texts they are.
        documents: The documents whose names they are.
    """

    blocks: tuple[Block, ...]
    chunks: Owners
    documents: Owners

    def products(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return about the cosine similarity of every row, shape (n,): good for choosing candidates."""
        found = [block.products(query) for block in self.blocks]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def similarities(
        self, owners: Owners, wanted: Sequence[int], queries: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return the exact cosine similarities of some owners; of several rows the largest counts.

        Args:
            owners: ``chunks`` or ``documents``.
            wanted: Ids of n owners.
            queries: Shape (k, dim), unit length.

        Returns:
            Shape (k, n); NaN for an owner without a row.
        """
        ids = np.array(wanted, np.int64)
        positions = owners.positions(ids)
        values = exact_products(self._rows(owners.rows[positions]), queries)
        return in_order_of(ids, *_largest_of_each(owners.ids[positions], values))

    def vectors(self, wanted: Sequence[ChunkId]) -> NDArray[np.float32]:
        """Return the vectors of n chunks' texts, shape (n, dim); rows of NaN where there is none."""
        positions = self.chunks.positions(np.array(wanted, np.int64))
        rows = widened(self._rows(self.chunks.rows[positions]))
        return in_rows_of(wanted, self.chunks.ids[positions].tolist(), rows)

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
            positions = owners.positions(np.array([*inside], np.int64))
            ids, estimates = _largest_of_each(owners.ids[positions], products[owners.rows[positions]])
            best = ids[_top(estimates, _with_spare(limit))].tolist()
        else:
            ids, estimates = owners.best(products)
            best = best_inside(ids, estimates, limit, inside)
        return best_first(best, self.similarities(owners, best, query[np.newaxis])[0], limit)

    def sample(self, count: int) -> list[ChunkId]:
        """Return the ids of at most ``count`` chunks, spread evenly over all, ascending."""
        return spread_evenly(self.chunks.ids, count)

    def whole(self) -> Block:
        """Return all vectors in one block."""
        if len(self.blocks) == 1:
            return self.blocks[0]
        return Block(
            np.concatenate([each.keys for each in self.blocks]),
            np.concatenate([each.rows for each in self.blocks]),
        )

    def _rows(self, rows: NDArray[np.int64]) -> NDArray[np.float16]:
        """Return some rows, shape (n, dim)."""
        if len(self.blocks) == 1:
            return self.blocks[0].rows[rows]
        found = np.empty((len(rows), self.blocks[0].rows.shape[1]), np.float16)
        start = 0
        for block in self.blocks:
            end = start + len(block.rows)
            inside = (rows >= start) & (rows < end)
            found[inside] = block.rows[rows[inside] - start]
            start = end
        return found


def spread_evenly(ids: NDArray[np.int64], count: int) -> list[ChunkId]:
    """Return at most ``count`` of some chunks, whose ids ascend."""
    at = np.linspace(0, len(ids) - 1, min(len(ids), count)).astype(np.intp)
    chosen: list[ChunkId] = ids[at].tolist() if len(ids) else []
    return chosen


class ExactMatrix:
    """Rows that only grow, with what they belong to. Not safe for two threads, but its views are.

    Args:
        dimension: Length of a vector.
        capacity: Rows to reserve.
        first: Rows that stay as they are; those that are added come behind them.
    """

    def __init__(self, dimension: int, capacity: int, first: Block | None = None) -> None:
        self.chunks = NO_OWNERS
        self.documents = NO_OWNERS
        self._first = first
        self._keys = np.empty(capacity, np.int64)
        self._rows = np.empty((capacity, dimension), np.float16)
        self._count = 0

    def __len__(self) -> int:
        return self.added + (0 if self._first is None else len(self._first.keys))

    @property
    def added(self) -> int:
        """How many rows were added to the first ones."""
        return self._count

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
        rows = np.zeros(len(keys), np.int64)
        for each in self._blocks():  # the keys of a block are larger than all of the one before it
            rows += np.searchsorted(each.keys, keys)
        return rows

    def view(self) -> ExactView:
        """Return what is here now."""
        return ExactView(self._blocks(), self.chunks, self.documents)

    def _blocks(self) -> tuple[Block, ...]:
        added = Block(self._keys[: self._count], self._rows[: self._count])
        if self._first is None:
            return (added,)
        return (self._first, added) if self._count else (self._first,)


def exact_products(rows: NDArray[np.float16], queries: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return cosine similarities within -1..1, equal for equal rows; shape (queries, rows)."""
    # BLAS would keep every core busy for some microseconds of work, and the last digits of its product depend
    # on where a row stands.
    wide = queries.astype(np.float64)[:, np.newaxis]
    found = np.empty((len(queries), len(rows)))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        found[:, some] = np.vecdot(widened(rows[some]).astype(np.float64), wide)
    return as_similarities(found)


def as_similarities(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return products of unit vectors as every store shows them: with six digits, within -1..1."""
    return np.clip(np.round(products, _DIGITS), -1.0, 1.0)


def _largest_of_each(
    ids: NDArray[np.int64], values: NDArray[Real]
) -> tuple[NDArray[np.int64], NDArray[Real]]:
    """Return each id once, with its largest value, along the last axis; ids ascend."""
    if not len(ids):
        return ids, values
    is_first = np.concatenate([[True], ids[1:] != ids[:-1]])
    if is_first.all():
        return ids, values
    starts = np.flatnonzero(is_first)
    return ids[starts], np.maximum.reduceat(values, starts, axis=-1)


def in_order_of(
    wanted: Sequence[int] | NDArray[np.int64], ids: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the values of some owners in their order, shape (k, n); NaN for those that are not there.

    Args:
        wanted: n owners.
        ids: Those that are there, ascending, each once, shape (m,).
        values: Theirs, shape (k, m).
    """
    found = np.full((len(values), len(wanted)), np.nan)
    if len(ids):
        at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
        np.copyto(found, values[:, at], where=ids[at] == wanted)
    return found


def best_first(ids: Sequence[int], near: NDArray[np.float64], limit: int) -> list[tuple[int, float]]:
    """Return the nearest of some owners with their similarities, ties in order of id; NaN is left out."""
    known = (pair for pair in zip(ids, near.tolist(), strict=True) if not math.isnan(pair[1]))
    return sorted(known, key=lambda pair: (-pair[1], pair[0]))[:limit]


def _top(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Return where the largest values stand, in no order.

    What equals the smallest of them belongs to them, so that equal vectors can be ordered by their owners.
    """
    if count >= len(values):
        return np.arange(len(values))
    among = _about_top(values, count)
    chosen = values if among is None else values[among]
    threshold = np.partition(chosen, len(chosen) - count)[len(chosen) - count]
    found = np.flatnonzero(chosen >= threshold)
    return found if among is None else among[found]


def _about_top(values: NDArray[np.float32], count: int) -> NDArray[np.intp] | None:
    """Return the positions of at least the ``count`` largest values; None if all are needed.

    A partition of a million values takes ten times as long as a comparison.
    """
    step = len(values) // _SAMPLE
    if len(values) < _SAMPLED_FROM or count * 8 > len(values):
        return None
    sample = values[::step]
    share = 2 * count / len(values) + 8 / len(sample)
    at = max(0, int(len(sample) * (1 - share)))
    found = np.flatnonzero(values >= np.partition(sample, at)[at])
    return found if len(found) >= count else None


def _with_spare(limit: int) -> int:
    """Return how many to estimate so that the nearest ``limit`` are among them."""
    return limit + _SPARE + int(_SPARE_SHARE * limit)


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
    wanted = _with_spare(limit)
    size = _FIRST_FACTOR * limit + _SPARE
    while True:
        top = _top(estimates, size)
        owners = ids[top].tolist()
        allowed = inside(owners)
        if len(allowed) >= wanted or size >= len(ids):
            kept = top[np.fromiter((owner in allowed for owner in owners), np.bool_, len(owners))]
            best: list[int] = ids[kept[_top(estimates[kept], wanted)]].tolist()
            return best
        needed = _MARGIN * wanted / max(len(allowed), 1)
        size = int(size * min(max(needed, 1.5), _LARGEST_FACTOR)) + 1


def largest_similarities(
    batches: Iterable[tuple[Sequence[int], Sequence[bytes]]], queries: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the exact cosine similarities of owners; of several vectors of one the largest counts.

    Args:
        batches: Owners and their vectors, as :func:`encode` makes them; one batch is in memory at a time.
        queries: Shape (k, dim), unit length.

    Returns:
        The owners, ascending, each once, shape (n,), and their similarities, shape (k, n).
    """
    ids, values = [np.empty(0, np.int64)], [np.empty((len(queries), 0))]
    for owners, vectors in batches:
        rows = np.frombuffer(b"".join(vectors), STORED).reshape(len(vectors), queries.shape[1])
        ids.append(np.array(owners, np.int64))
        values.append(exact_products(rows, queries))
    found = np.concatenate(ids)
    order = np.argsort(found, kind="stable")
    return _largest_of_each(found[order], np.concatenate(values, axis=1)[:, order])
