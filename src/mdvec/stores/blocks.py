"""Blocks of vectors: float16 rows, and one-byte codes of them that are faster to multiply with a query."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

try:
    import numkong
except ImportError:  # no wheel for this platform
    _HAS_NUMKONG = False
else:
    _HAS_NUMKONG = True

_ROWS_AT_ONCE = 4096  # that are widened to float32, 6 MB at 384 dimensions
_LARGEST_CODE = 127
_MEAN_OF_ROWS = 16_384  # the mean of a sample of this size is near enough that of all rows

# A float16 that is moved so far has its sign and its digits where a float32 has them; the exponents of a
# float32 begin so much lower.
_DIGITS_MOVED = 13
_SIGN_AND_DIGITS = np.int32(0x8FFFE000 - 2**32)
_EXPONENTS_APART = np.float32(2.0**112)

Floats = NDArray[np.float32]


def widened(rows: NDArray[np.float16]) -> Floats:
    """Return finite numbers as float32, in a quarter of the time that ``astype`` takes."""
    bits = np.asarray(rows, np.float16).view(np.int16).astype(np.int32)
    bits <<= _DIGITS_MOVED
    bits &= _SIGN_AND_DIGITS
    found = bits.view(np.float32)
    found *= _EXPONENTS_APART
    return found


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


class Block(Struct, frozen=True):
    """Some vectors in order of their keys.

    Attributes:
        keys: What they are found by, ascending, int64, shape (n,).
        rows: float16, shape (n, dim).
        codes: What stands for the rows in a search for candidates; None where the rows do.
    """

    keys: NDArray[np.int64]
    rows: NDArray[np.float16]
    codes: Codes | None = None

    def products(self, query: Floats) -> Floats:
        """Return about the product of every row and a query, shape (n,)."""
        if self.codes is not None and _HAS_NUMKONG:
            return self.codes.products(query)
        if _HAS_NUMKONG:
            return products_by_numkong(self.rows, query)
        return products_by_numpy(self.rows, query)


def coded(rows: NDArray[np.float16]) -> Codes:
    """Return bytes that stand for rows, shape (n, dim); one row at least."""
    sample = rows[:: max(1, len(rows) // _MEAN_OF_ROWS)]
    mean = sample.astype(np.float32).mean(axis=0)
    codes = Codes(
        np.empty(rows.shape, np.int8), np.empty(len(rows), np.float32), np.empty(len(rows), np.float32), mean
    )
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        some = slice(at, at + _ROWS_AT_ONCE)
        difference = widened(rows[some]) - mean
        steps = np.maximum(difference.max(axis=1), -difference.min(axis=1)) / _LARGEST_CODE
        steps[steps == 0] = 1.0
        codes.offsets[some] = difference @ mean
        difference /= steps[:, np.newaxis]
        codes.bytes[some] = np.rint(difference, out=difference)
        codes.steps[some] = steps
    return codes


def products_by_numkong(rows: NDArray[np.float16], query: Floats) -> Floats:
    """Multiply with SIMD instructions for float16; the query is rounded to float16 too.

    Args:
        rows: Shape (n, dim).
        query: Shape (dim,).

    Returns:
        Shape (n,).
    """
    return _multiplied(rows, query.astype(np.float16))


def products_by_numpy(rows: NDArray[np.float16], query: Floats) -> Floats:
    """Multiply as float32, some rows at a time: no rounding, no SIMD for float16, and so 20 times slower.

    Args:
        rows: Shape (n, dim).
        query: Shape (dim,).

    Returns:
        Shape (n,).
    """
    products = np.empty(len(rows), np.float32)
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        products[at : at + _ROWS_AT_ONCE] = widened(rows[at : at + _ROWS_AT_ONCE]) @ query
    return products


def _multiplied(rows: NDArray[Any], query: NDArray[Any]) -> Floats:
    if not len(rows):  # which it refuses
        return np.empty(0, np.float32)
    # Asking cdist itself for float32 makes it 30 times slower, and its threads none faster (numkong 7.8).
    return np.asarray(numkong.cdist(query[np.newaxis], rows, metric="dot"), np.float32).reshape(-1)
