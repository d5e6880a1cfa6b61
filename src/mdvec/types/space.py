"""An embedding space: vectors of different spaces never meet."""

from __future__ import annotations

import re

from msgspec import Struct

_KEY = re.compile(r"([^:]*):(.*)@(.*):(\d+):t(\d+)", re.DOTALL)


class EmbeddingSpace(Struct, frozen=True):
    """The properties that two vectors must share to be comparable.

    Attributes:
        provider: Name of the adapter, such as ``builtin``.
        model: Name of the model.
        revision: Version of its weights.
        dimension: Length of a vector.
        text_format: Version of how texts are prepared (prefixes, windows).
    """

    provider: str
    model: str
    revision: str
    dimension: int
    text_format: int = 1

    @property
    def key(self) -> str:
        """One string that names the space; equal keys mean comparable vectors."""
        return f"{self.provider}:{self.model}@{self.revision}:{self.dimension}:t{self.text_format}"

    @classmethod
    def from_key(cls, key: str) -> EmbeddingSpace:
        """Return the space with a key.

        Raises:
            ValueError: If it is not the key of a space.
        """
        found = _KEY.fullmatch(key)
        if found is None:
            msg = f"not an embedding space: {key!r}"
            raise ValueError(msg)
        provider, model, revision, dimension, text_format = found.groups()
        return cls(provider, model, revision, int(dimension), int(text_format))


class Unrelated(Struct, frozen=True):
    """The similarity that a model gives to questions and passages that have nothing in common.

    Attributes:
        mean: Mean cosine similarity; far above 0 in many models.
        spread: Its standard deviation; positive.
        passages: Mean vector of the passages, float32 with the low byte first.
    """

    mean: float
    spread: float
    passages: bytes


class UnrelatedTexts(Struct, frozen=True):
    """The same by writing system: a model may know one language and find all others alike.

    Attributes:
        spaced: With spaces between words, such as English.
        unspaced: Without, such as Japanese.
    """

    spaced: Unrelated
    unspaced: Unrelated
