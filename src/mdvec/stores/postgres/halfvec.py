"""Vectors as pgvector sends and reads them: two lengths of two bytes, then the numbers, high bytes first."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdvec.stores.postgres.connection import Binary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STORED = "substring(halfvec_send(v.vector) FROM 5)"
"""The numbers of a vector, in SQL."""


def decode(vectors: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Return vectors as the server sends them (``STORED``), shape (n, dim)."""
    import numpy as np

    numbers = np.frombuffer(b"".join(vectors), ">f2").astype(np.float32)
    return numbers.reshape(len(vectors), dimension)


def as_halfvec(vector: NDArray[np.float32]) -> Binary:
    """Return a vector, shape (dim,), as a ``halfvec``; rounded here, as every store rounds."""
    return Binary(_items(vector[None], ">f2").tobytes()[4:])


def as_vector(vector: NDArray[np.float32]) -> Binary:
    """Return a vector, shape (dim,), as a ``vector``."""
    return Binary(_items(vector[None], ">f4").tobytes()[4:])


def as_halfvecs(vectors: NDArray[np.float32], oid: int) -> Binary:
    """Return vectors, shape (n, dim), as an array of ``halfvec``, a type that has this number."""
    one_dimension, without_nulls, first_index = 1, 0, 1
    head = struct.pack(">2iI2i", one_dimension, without_nulls, oid, len(vectors), first_index)
    return Binary(head + _items(vectors, ">f2").tobytes())


def _items(vectors: NDArray[np.float32], number: str) -> NDArray[np.void]:
    """Return vectors as an array holds them: each after the count of its bytes."""
    import numpy as np

    count, dimension = vectors.shape
    fields = [("size", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("numbers", number, (dimension,))]
    items = np.zeros(count, fields)
    items["size"] = items.dtype.itemsize - items.dtype["size"].itemsize
    items["dimension"] = dimension
    items["numbers"] = vectors
    return items
