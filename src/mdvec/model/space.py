"""An embedding space: vectors of different spaces never meet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """What two vectors must share to be comparable.

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


@dataclass(frozen=True, slots=True)
class Unrelated:
    """How similar a model finds a question and a passage that have nothing to do with each other.

    Attributes:
        mean: Mean cosine similarity; far above 0 in many models.
        spread: Its standard deviation; positive.
    """

    mean: float
    spread: float
