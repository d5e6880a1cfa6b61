"""Makes unit vectors of what services answer, or says why they are none."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdvec.embedding.remote.answers import RawVector
from mdvec.errors import EmbeddingError

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix

_BROKEN = "The model or its server is broken; try another version of it."


def unit_vectors(raw: Sequence[RawVector], count: int, service: str) -> Matrix:
    """Make unit vectors.

    Args:
        raw: As they came, in the order of their texts.
        count: How many were asked for, at least 1.
        service: Who answered, for people.

    Returns:
        float32, shape (count, dim), rows of unit length, finite.

    Raises:
        EmbeddingError: If there are too few or too many, not all are of one length, one has a number that is
            none, or is all zero.
    """
    if len(raw) != count:
        msg = f"{service} answers with {len(raw)} vectors for {count} texts"
        raise EmbeddingError(msg)
    rows = [_numbers(vector, service) for vector in raw]
    if len(lengths := {row.size for row in rows}) > 1 or not rows[0].size:
        msg = f"{service} answers with vectors of {' and '.join(map(str, sorted(lengths)))} numbers"
        raise EmbeddingError(msg, hint=_BROKEN)
    matrix = np.stack(rows)
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        msg = f"{service} answers with a vector that has no number in place {column} (text {row})"
        raise EmbeddingError(msg, hint=_BROKEN)
    largest = np.abs(matrix).max(axis=1)
    if not (largest > 0).all():
        msg = f"{service} answers with a vector of zeros (text {int(np.argmin(largest))})"
        raise EmbeddingError(msg, hint=_BROKEN)
    matrix = matrix / largest[:, None]  # so that squares stay finite
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


def means(matrix: Matrix, owners: Sequence[int], weights: Sequence[int], count: int) -> Matrix:
    """Take the weighted means of the windows of each text.

    Args:
        matrix: One row a window.
        owners: Which text each row belongs to, ascending from 0 without a gap.
        weights: How much each row counts.
        count: How many texts there are.

    Returns:
        float32, shape (count, dim), rows of unit length.
    """
    if len(matrix) == count:  # one window a text
        return matrix
    sums = np.zeros((count, matrix.shape[1]), np.float64)
    np.add.at(sums, list(owners), matrix * np.asarray(weights, np.float64)[:, None])
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    first_rows = matrix[np.searchsorted(owners, np.arange(count))]
    # Windows that point in opposite directions have no mean: then the first one counts.
    return np.asarray(np.where(norms > 0, sums / np.where(norms > 0, norms, 1), first_rows), np.float32)


def _numbers(vector: RawVector, service: str) -> NDArray[np.float64]:
    if not isinstance(vector, str):
        return np.asarray(vector, np.float64)
    try:
        return np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float64)
    except (binascii.Error, ValueError) as error:
        msg = f"{service} answers with a vector that is no base64 of float32: {error}"
        raise EmbeddingError(msg) from error
