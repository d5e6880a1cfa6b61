"""Exact similarities, and the best of many: estimates choose candidates, which are compared exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from mdvec.stores.blocks import widened

Real = TypeVar("Real", np.float32, np.float64)

STORED: Final = np.dtype("<f2")
"""float16, little-endian, whatever the machine."""

_DIGITS = 6  # of a similarity; float16 holds less

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


def largest_of_each(ids: NDArray[np.int64], values: NDArray[Real]) -> tuple[NDArray[np.int64], NDArray[Real]]:
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


def candidates(ids: NDArray[np.int64], estimates: NDArray[np.float32], limit: int) -> list[int]:
    """Return the owners that may be among the nearest ``limit``; some more, in no order."""
    found: list[int] = ids[_top(estimates, _with_spare(limit))].tolist()
    return found


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
            return candidates(ids[kept], estimates[kept], limit)
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
    return largest_of_each(found[order], np.concatenate(values, axis=1)[:, order])
