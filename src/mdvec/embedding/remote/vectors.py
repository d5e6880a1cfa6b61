"""Makes unit vectors of what services answer, or says why they are none."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdvec.embedding.remote.answers import RawVector
from mdvec.embedding.remote.packing import Window
from mdvec.errors import EmbeddingError

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix, Vector

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


class Joiner:
    """Makes one vector of the windows of a text, in whatever order and company they come."""

    def __init__(self) -> None:
        self._open: dict[int, list[tuple[Window, Vector]]] = {}

    def add(self, cut: Sequence[Window], rows: Matrix) -> tuple[list[int], Matrix]:
        """Take some windows, and give the texts that are complete with them.

        Args:
            cut: The windows, each of them once in all calls.
            rows: Their vectors, shape (len(cut), dim).

        Returns:
            Which texts, any number of them, and the means of their windows weighted by tokens: float32, shape
            (number of texts, dim), rows of unit length.
        """
        texts: list[int] = []
        vectors: list[Vector] = []
        for window, row in zip(cut, rows, strict=True):
            known = self._open.setdefault(window.owner, [])
            known.append((window, row))
            if len(known) == window.count:
                texts.append(window.owner)
                vectors.append(_mean(self._open.pop(window.owner)))
        return texts, np.array(vectors, np.float32).reshape(len(vectors), rows.shape[1])


def _mean(known: list[tuple[Window, Vector]]) -> Vector:
    if len(known) == 1:
        return known[0][1]
    known.sort(key=lambda each: each[0].place)
    weights = np.array([window.tokens for window, _ in known], np.float64)
    total = weights @ np.stack([row for _, row in known])
    norm = np.linalg.norm(total)
    # Windows that point in opposite directions have no mean: then the first one counts.
    return np.asarray(total / norm if norm > 0 else known[0][1], np.float32)


def _numbers(vector: RawVector, service: str) -> NDArray[np.float64]:
    if not isinstance(vector, str):
        return np.asarray(vector, np.float64)
    try:
        return np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float64)
    except (binascii.Error, ValueError) as error:
        msg = f"{service} answers with a vector that is no base64 of float32: {error}"
        raise EmbeddingError(msg) from error
