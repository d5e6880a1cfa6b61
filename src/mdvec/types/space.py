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


@dataclass(frozen=True, slots=True)
class UnrelatedTexts:
    """The same by how the texts are written: a model may know one language and find all others alike.

    Attributes:
        spaced: With spaces between words, such as English.
        unspaced: Without, such as Japanese.
    """

    spaced: Unrelated
    unspaced: Unrelated

    def written(self, *, unspaced: bool) -> Unrelated:
        """Return what is so of texts that are written in one of the two ways."""
        return self.unspaced if unspaced else self.spaced
