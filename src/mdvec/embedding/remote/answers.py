"""Finds the vectors in what services answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from mdvec.errors import EmbeddingError

RawVector = Sequence[float] | str
"""Numbers, or base64 of little-endian float32."""

T = TypeVar("T")


class ListedVector(msgspec.Struct, frozen=True):
    """A vector in an answer as OpenAI and Voyage write it.

    Attributes:
        embedding: The numbers.
        index: Which text it belongs to; None where a service does not say, in order then.
    """

    embedding: list[float] | str
    index: int | None = None


def read_answer(answer: object, kind: type[T], service: str) -> T:
    """Check the shape of an answer.

    Raises:
        EmbeddingError: If it has another one; the message says where.
    """
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        msg = f"{service} answers with something else than vectors: {error}"
        raise EmbeddingError(msg) from error


def in_order_of_index(listed: Sequence[ListedVector], count: int, service: str) -> list[RawVector]:
    """Put vectors into the order of their texts.

    Args:
        listed: As they came.
        count: How many were asked for.
        service: Who answered, for people.

    Raises:
        EmbeddingError: If one is missing or there twice.
    """
    if all(item.index is None for item in listed):
        return [item.embedding for item in listed]
    by_index = {item.index: item.embedding for item in listed}
    if len(by_index) != len(listed) or set(by_index) != set(range(count)):
        indices = ", ".join(str(item.index) for item in listed[:10])
        msg = f"{service} does not say which vector belongs to which text (indices {indices})"
        raise EmbeddingError(msg)
    return [by_index[index] for index in range(count)]
