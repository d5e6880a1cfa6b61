"""The vectors of a space as one matrix: products with a query, and the nearest rows with exact similarities.

Products choose candidates, and may be rounded; candidates are compared exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, Final, TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from mdvec.errors import DamagedDatabaseError
from mdvec.stores.records import VectorKind
from mdvec.types.ids import ChunkId

try:
    import numkong
except ImportError:  # no wheel for this platform
    _HAS_NUMKONG = False
else:
    _HAS_NUMKONG = True

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Real = TypeVar("Real", np.float32, np.float64)

STORED: Final = "<f2"
"""float16, little-endian on every machine."""

_EXPONENT = np.uint16(0x7C00)  # all of its bits are set in infinity and in what is no number

# A float16 that is moved so far has its sign and its digits where a float32 has them; the exponents of a
# float32 begin so much lower.
_DIGITS_MOVED = 13
_SIGN_AND_DIGITS = np.int32(0x8FFFE000 - 2**32)
_EXPONENTS_APART = np.float32(2.0**112)

_WIDENED_AT_ONCE = 4096  # rows, 6 MB of float32 at 384 dimensions
_COMPARED_AT_ONCE = 128  # rows, in float64
_LARGEST_CODE = 127
_MEAN_OF_ROWS = 16_384  # the mean of a sample of this size is near enough that of all rows

_DIGITS = 6  # of a similarity; float16 has fewer

# Products are rounded: the last of the nearest may come out behind, of which there are more among more.
_SPARE = 32
_SPARE_SHARE = 0.125

# A filter usually lets a good part through; where it does not, more are looked at, as its share demands.
_FIRST_FACTOR = 2
_LARGEST_FACTOR = 16
_MARGIN = 1.25

# With this many values or more, a sample shows about where the largest begin.
_SAMPLED_FROM = 32_768
_SAMPLE = 4096


def encode(vectors: Floats) -> list[bytes]:
    """Return each row as it is stored."""
    return [row.tobytes() for row in np.ascontiguousarray(vectors, STORED)]


def rows_of(stored: Sequence[bytes], dtype: str, dimension: int) -> NDArray[np.float16]:
    """Return vectors from a database as rows of a matrix, shape (n, dim).

    Raises:
        DamagedDatabaseError: If one contains NaN or infinity.
    """
    rows = np.frombuffer(b"".join(stored), dtype).astype(np.float16, copy=False)
    if ((rows.view(np.uint16) & _EXPONENT) == _EXPONENT).any():  # much faster than isfinite
        msg = "a vector is damaged"
        raise DamagedDatabaseError(msg)
    return rows.reshape(len(stored), dimension)


def widened(rows: NDArray[np.float16]) -> Floats:
    """Return finite numbers as float32, in a quarter of the time that ``astype`` takes."""
    bits = np.asarray(rows, np.float16).view(np.int16).astype(np.int32)
    bits <<= _DIGITS_MOVED
    bits &= _SIGN_AND_DIGITS
    found = bits.view(np.float32)
    found *= _EXPONENTS_APART
    return found


def _multiplied(rows: NDArray[Any], query: NDArray[Any]) -> Floats:
    if not len(rows):  # numkong refuses an empty array
        return np.empty(0, np.float32)
    # Asking cdist itself for float32 makes it 30 times slower, and its threads none faster (numkong 7.8).
    return np.asarray(numkong.cdist(query[np.newaxis], rows, metric="dot"), np.float32).reshape(-1)


def exact_products(rows: NDArray[np.float16], queries: Floats) -> NDArray[np.float64]:
    """Return cosine similarities within -1..1, equal for equal rows; shape (queries, rows)."""
    # BLAS would keep every core busy for some microseconds of work, and the last digits of its product depend
    # on the position of a row.
    wide = queries.astype(np.float64)[:, np.newaxis]
    found = np.empty((len(queries), len(rows)))
    for start in range(0, len(rows), _COMPARED_AT_ONCE):
        some = slice(start, start + _COMPARED_AT_ONCE)
        found[:, some] = np.vecdot(widened(rows[some]).astype(np.float64), wide)
    return as_similarities(found)


def as_similarities(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return products of unit vectors as every store shows them: with six digits, within -1..1."""
    return np.clip(np.round(products, _DIGITS), -1.0, 1.0)


def in_rows_of(wanted: Sequence[int], ids: Sequence[int], vectors: Floats) -> Floats:
    """Return vectors, shape (m, dim), as rows of the wanted ids, shape (n, dim), NaN where there is none."""
    row_of = {key: row for row, key in enumerate(ids)}
    known = [(at, row_of[key]) for at, key in enumerate(wanted) if key in row_of]
    found = np.full((len(wanted), vectors.shape[1]), np.nan, np.float32)
    found[[at for at, _ in known]] = vectors[[row for _, row in known]]
    return found


def in_order_of(wanted: Sequence[int] | Ids, ids: Ids, values: NDArray[np.float64]) -> NDArray[np.float64]:
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
    """Return the nearest of some owners with their similarities, ties in order of id; NaN is left out.

    Those as near as the last one belong to them, whatever the limit.
    """
    known = (pair for pair in zip(ids, near.tolist(), strict=True) if not math.isnan(pair[1]))
    ranked = sorted(known, key=lambda pair: (-pair[1], pair[0]))
    return [*ranked[:limit], *takewhile(lambda pair: pair[1] == ranked[limit - 1][1], ranked[limit:])]


def best_allowed(
    ids: Ids, estimates: Floats, limit: int, allowed_of: Callable[[Sequence[int]], set[int]]
) -> list[int]:
    """Return the allowed owners that may be among the nearest ``limit``; some more, in no order.

    Args:
        ids: Owners, each once.
        estimates: About how near they are.
        limit: How many will be returned.
        allowed_of: Returns those of some owners that may be found.
    """
    size = _FIRST_FACTOR * limit + _SPARE
    while True:
        top = _top(estimates, size)
        owners = ids[top].tolist()
        allowed = allowed_of(owners)
        if len(allowed) >= _with_spare(limit) or size >= len(ids):
            found = top[np.fromiter((owner in allowed for owner in owners), np.bool_, len(owners))]
            return _candidates(ids[found], estimates[found], limit)
        needed = _MARGIN * _with_spare(limit) / max(len(allowed), 1)
        size = int(size * min(max(needed, 1.5), _LARGEST_FACTOR)) + 1


def _candidates(ids: Ids, estimates: Floats, limit: int) -> list[int]:
    """Return the owners that may be among the nearest ``limit``; some more, in no order."""
    found: list[int] = ids[_top(estimates, _with_spare(limit))].tolist()
    return found


def _with_spare(limit: int) -> int:
    """Return how many to estimate so that the nearest ``limit`` are among them."""
    return limit + _SPARE + int(_SPARE_SHARE * limit)


def _top(values: Floats, count: int) -> NDArray[np.intp]:
    """Return the positions of the largest values, in no order.

    What equals the smallest of them belongs to them, so that equal vectors can be ordered by their owners.
    """
    if count >= len(values):
        return np.arange(len(values))
    among = _about_top(values, count)
    chosen = values if among is None else values[among]
    threshold = np.partition(chosen, len(chosen) - count)[len(chosen) - count]
    found = np.flatnonzero(chosen >= threshold)
    return found if among is None else among[found]


def _about_top(values: Floats, count: int) -> NDArray[np.intp] | None:
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


class Codes(Struct, frozen=True):
    """Rows in one byte a number: half the memory to read, and near enough to choose candidates.

    The texts of a model have much in common, so the difference from their mean is what is coded.

    Attributes:
        bytes: The differences in steps of each row, int8, shape (n, dim).
        steps: The step of each row, float32, shape (n,).
        offsets: The product of each row's difference with the mean, float32, shape (n,).
        mean: The mean of the rows, float32, shape (dim,).
    """

    bytes: NDArray[np.int8]
    steps: Floats
    offsets: Floats
    mean: Floats

    @classmethod
    def of(cls, rows: NDArray[np.float16]) -> Codes:
        """Return the codes of rows, shape (n, dim); one row at least."""
        sample = rows[:: max(1, len(rows) // _MEAN_OF_ROWS)]
        mean = sample.astype(np.float32).mean(axis=0)
        count = len(rows)
        codes = cls(
            np.empty(rows.shape, np.int8), np.empty(count, np.float32), np.empty(count, np.float32), mean
        )
        for at in range(0, count, _WIDENED_AT_ONCE):
            some = slice(at, at + _WIDENED_AT_ONCE)
            difference = widened(rows[some]) - mean
            steps = np.maximum(difference.max(axis=1), -difference.min(axis=1)) / _LARGEST_CODE
            steps[steps == 0] = 1.0
            codes.offsets[some] = difference @ mean
            difference /= steps[:, np.newaxis]
            codes.bytes[some] = np.rint(difference, out=difference)
            codes.steps[some] = steps
        return codes

    def products(self, query: Floats) -> Floats:
        """Return about the product of every row and a query, shape (n,)."""
        # With x = mean + d and q = mean + e: q·x = q·mean + mean·d + e·d.
        difference = query - self.mean
        step = float(np.abs(difference).max()) / _LARGEST_CODE or 1.0
        narrow = np.rint(difference / step).astype(np.int8)
        found = _multiplied(self.bytes, narrow)
        found *= self.steps
        found *= step
        found += self.offsets
        found += float(query @ self.mean)
        return found


class VectorBlock(Struct, frozen=True):
    """Some vectors in order of their ids.

    Attributes:
        ids: Ids of the vectors, ascending, shape (n,).
        rows: The vectors, shape (n, dim).
        codes: What is multiplied with a query instead of the rows; None for the rows themselves.
    """

    ids: Ids
    rows: NDArray[np.float16]
    codes: Codes | None = None

    def products(self, query: Floats) -> Floats:
        """Return about the product of every row and a query, shape (n,)."""
        if _HAS_NUMKONG and self.codes is not None:
            return self.codes.products(query)
        if _HAS_NUMKONG:
            return _multiplied(self.rows, query.astype(np.float16))
        found = np.empty(len(self.rows), np.float32)
        for at in range(0, len(found), _WIDENED_AT_ONCE):  # no SIMD for float16, and so 20 times slower
            some = slice(at, at + _WIDENED_AT_ONCE)
            found[some] = widened(self.rows[some]) @ query
        return found


class Owners(Struct, frozen=True, dict=True):
    """The owners of the rows of a matrix.

    Attributes:
        ids: Ids of the owners, ascending, shape (n,); an owner of several rows is repeated.
        rows: The row of each, shape (n,).
    """

    ids: Ids
    rows: Ids

    def adding(self, ids: Ids, rows: Ids) -> Owners:
        """Return these and more owners; the new ones in any order."""
        if not len(ids):
            return self
        all_ids, all_rows = np.concatenate([self.ids, ids]), np.concatenate([self.rows, rows])
        if not np.all(all_ids[:-1] <= all_ids[1:]):  # some got their vector later than younger ones
            order = np.argsort(all_ids, kind="stable")
            all_ids, all_rows = all_ids[order], all_rows[order]
        return Owners(all_ids, all_rows)

    def only(self, wanted: Sequence[int] | Ids) -> Owners:
        """Return the wanted owners that are here."""
        ids = np.sort(np.asarray(wanted, np.int64))
        ids = ids[np.flatnonzero(np.diff(ids, prepend=-1))]  # each once; much faster than np.unique
        first = np.searchsorted(self.ids, ids, side="left")
        counts = np.searchsorted(self.ids, ids, side="right") - first
        # One range for each owner, all of them laid end to end.
        at = np.repeat(first - (np.cumsum(counts) - counts), counts)
        at += np.arange(len(at))
        return Owners(self.ids[at], self.rows[at])

    def largest(self, values: NDArray[Real]) -> tuple[Ids, NDArray[Real]]:
        """Return each owner once, ascending, with the largest of its values.

        Args:
            values: Those of each row, along the last axis.
        """
        if self._starts is None:
            return self.ids, values
        return self.ids[self._starts], np.maximum.reduceat(values, self._starts, axis=-1)

    @cached_property
    def _starts(self) -> NDArray[np.intp] | None:
        """Where each owner begins; None if each has one row."""
        is_next = self.ids[1:] != self.ids[:-1]
        return None if is_next.all() else np.flatnonzero(np.concatenate([[True], is_next]))


NO_OWNERS: Final = {kind: Owners(np.empty(0, np.int64), np.empty(0, np.int64)) for kind in VectorKind}


class Matrix(Struct, frozen=True):
    """The vectors of a space as they were at some moment.

    Owners that were deleted may still be here, so a search passes those that exist.

    Attributes:
        blocks: The vectors, in order of their ids; one block at least.
        owners: The chunks whose texts they are, and the documents whose names they are.
    """

    blocks: tuple[VectorBlock, ...]
    owners: Mapping[VectorKind, Owners] = field(default_factory=NO_OWNERS.copy)

    def __len__(self) -> int:
        return sum(len(each.ids) for each in self.blocks)

    def with_block(self, added: VectorBlock) -> Matrix:
        """Return this matrix and more vectors, whose ids are larger than all ids here."""
        if not len(added.ids):
            return self
        blocks = [each for each in self.blocks if len(each.ids)]
        # Few blocks, and each row is copied few times. A block with codes may be mapped from a file.
        while blocks and blocks[-1].codes is None and len(blocks[-1].ids) <= len(added.ids):
            added = _joined([blocks.pop(), added])
        return Matrix((*blocks, added), self.owners)

    def with_owners(self, kind: VectorKind, pairs: Ids) -> Matrix:
        """Return this matrix and more owners.

        Args:
            kind: Texts for chunks, names for documents.
            pairs: Owners with the ids of their vectors, which are here; shape (n, 2).
        """
        rows = np.zeros(len(pairs), np.int64)
        for each in self.blocks:
            rows += np.searchsorted(each.ids, pairs[:, 1])
        return Matrix(self.blocks, {**self.owners, kind: self.owners[kind].adding(pairs[:, 0], rows)})

    def whole(self) -> VectorBlock:
        """Return all vectors in one block."""
        return self.blocks[0] if len(self.blocks) == 1 else _joined(self.blocks)

    def products(self, query: Floats) -> Floats:
        """Return about the cosine similarity of every row, shape (n,): good for choosing candidates."""
        if len(self.blocks) == 1:
            return self.blocks[0].products(query)
        return np.concatenate([block.products(query) for block in self.blocks])

    def similarities(self, kind: VectorKind, wanted: Sequence[int], queries: Floats) -> NDArray[np.float64]:
        """Return the exact cosine similarities of some owners; of several rows the largest counts.

        Args:
            kind: Texts for chunks, names for documents.
            wanted: Ids of n owners.
            queries: Shape (k, dim), unit length.

        Returns:
            Shape (k, n); NaN for an owner without a row.
        """
        owners = self.owners[kind].only(wanted)
        return in_order_of(wanted, *owners.largest(exact_products(self._rows(owners.rows), queries)))

    def vectors(self, wanted: Sequence[ChunkId]) -> Floats:
        """Return the vectors of n chunks' texts, shape (n, dim); rows of NaN where there is none."""
        chunks = self.owners[VectorKind.TEXT].only(wanted)
        return in_rows_of(wanted, chunks.ids.tolist(), widened(self._rows(chunks.rows)))

    def nearest(
        self,
        kind: VectorKind,
        products: Floats,
        query: Floats,
        limit: int,
        allowed: Callable[[Sequence[int]], set[int]] | frozenset[int],
    ) -> list[tuple[int, float]]:
        """Return the nearest owners that may be found.

        Args:
            kind: Texts for chunks, names for documents.
            products: From :meth:`products`.
            query: Shape (dim,), unit length.
            limit: How many owners are wanted.
            allowed: The owners that may be found, where they are few; else returns those of some that may.

        Returns:
            Owners with their exact similarities, as :func:`best_first` returns them.
        """
        owners = self.owners[kind]
        if isinstance(allowed, frozenset):
            owners = owners.only([*allowed])
        if limit <= 0 or not len(owners.ids):
            return []
        ids, estimates = owners.largest(products[owners.rows])
        if isinstance(allowed, frozenset):
            best = _candidates(ids, estimates, limit)
        else:
            best = best_allowed(ids, estimates, limit, allowed)
        return best_first(best, self.similarities(kind, best, query[np.newaxis])[0], limit)

    def _rows(self, rows: Ids) -> NDArray[np.float16]:
        """Return some rows, shape (n, dim)."""
        if len(self.blocks) == 1:
            return self.blocks[0].rows[rows]
        found = np.empty((len(rows), self.blocks[0].rows.shape[1]), np.float16)
        start = 0
        for block in self.blocks:
            end = start + len(block.rows)
            here = (rows >= start) & (rows < end)
            found[here] = block.rows[rows[here] - start]
            start = end
        return found


def _joined(blocks: Sequence[VectorBlock]) -> VectorBlock:
    return VectorBlock(
        np.concatenate([each.ids for each in blocks]), np.concatenate([each.rows for each in blocks])
    )
