"""The vectors of one space in memory: a matrix that grows, and views of it that stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mdvec.errors import DamagedDatabaseError
from mdvec.stores.blocks import Block, widened
from mdvec.stores.exact import (
    STORED,
    best_first,
    best_inside,
    candidates,
    exact_products,
    in_order_of,
    in_rows_of,
    largest_of_each,
)
from mdvec.types.ids import ChunkId

_EXPONENT = np.uint16(0x7C00)  # all of its bits are set in infinity and in what is no number
_GROWTH = 1.25


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
        return in_order_of(ids, *largest_of_each(owners.ids[positions], values))

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
            ids, estimates = largest_of_each(owners.ids[positions], products[owners.rows[positions]])
            best = candidates(ids, estimates, limit)
        else:
            ids, estimates = owners.best(products)
            best = best_inside(ids, estimates, limit, inside)
        return best_first(best, self.similarities(owners, best, query[np.newaxis])[0], limit)

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
