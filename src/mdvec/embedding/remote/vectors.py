"""Vectors in the responses of services."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from mdvec.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.embedding.interface import Matrix

RawVector = Sequence[float] | str
"""Numbers, or base64 of little-endian float32."""

T = TypeVar("T")

_BROKEN = "The model or its server is broken; try another version of it."


class IndexedVector(msgspec.Struct, frozen=True):
    """A vector in a response of OpenAI or Voyage.

    Attributes:
        embedding: The numbers.
        index: Position of its text; None if the service does not send it: then they are in order.
    """

    embedding: list[float] | str
    index: int | None = None


class IndexedVectors(msgspec.Struct, frozen=True):
    """A response of OpenAI or Voyage."""

    data: list[IndexedVector]


def parse_as(body: object, kind: type[T], service: str, *, wanted: str = "vectors") -> T:
    """Return the JSON of a response as a type.

    Raises:
        EmbeddingError: If it has another shape; the message names the place.
    """
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        msg = f"{service} returned something other than {wanted}: {error}"
        raise EmbeddingError(msg) from error


def parse_indexed(body: object, count: int, service: str) -> list[RawVector]:
    """Return the vectors in the JSON of OpenAI or Voyage, in the order of their texts.

    Raises:
        EmbeddingError: If it has another shape, or a vector is missing or duplicate.
    """
    found = parse_as(body, IndexedVectors, service).data
    if all(item.index is None for item in found):
        return [item.embedding for item in found]
    by_index = {item.index: item.embedding for item in found}
    if len(by_index) != len(found) or set(by_index) != set(range(count)):
        indices = ", ".join(str(item.index) for item in found[:10])
        msg = f"{service} does not say which vector belongs to which text (indices {indices})"
        raise EmbeddingError(msg)
    return [by_index[index] for index in range(count)]


def unit_vectors(raw: Sequence[RawVector], count: int, service: str) -> Matrix:
    """Return vectors at unit length.

    Returns:
        float32, shape (count, dim), rows of unit length in the order of ``raw``, finite.

    Raises:
        EmbeddingError: If there are too few or too many, their lengths differ, one has a number that is not
            finite, or is all zero.
    """
    import numpy as np

    if len(raw) != count:
        msg = f"{service} returned {len(raw)} vectors for {count} texts"
        raise EmbeddingError(msg)
    rows = [_numbers(vector, service) for vector in raw]
    if len(lengths := {row.size for row in rows}) > 1 or not rows[0].size:
        msg = f"{service} returned vectors of {' and '.join(map(str, sorted(lengths)))} dimensions"
        raise EmbeddingError(msg, hint=_BROKEN)
    matrix = np.stack(rows)
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        msg = f"{service} returned a vector whose value {column} is not a number (text {row})"
        raise EmbeddingError(msg, hint=_BROKEN)
    largest = np.abs(matrix).max(axis=1)
    if not (largest > 0).all():
        msg = f"{service} returned a vector of zeros (text {int(np.argmin(largest))})"
        raise EmbeddingError(msg, hint=_BROKEN)
    matrix = matrix / largest[:, None]  # so that squares stay finite
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


def _numbers(vector: RawVector, service: str) -> NDArray[np.float64]:
    import numpy as np

    if not isinstance(vector, str):
        return np.asarray(vector, np.float64)
    try:
        return np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float64)
    except (binascii.Error, ValueError) as error:
        msg = f"{service} returned a vector that is not base64 of float32: {error}"
        raise EmbeddingError(msg) from error
