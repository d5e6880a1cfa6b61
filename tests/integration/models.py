"""Models for tests: as many as are named, without any being there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from mdvec import registry
from mdvec.embedding.interface import Role
from mdvec.errors import EmbedderUnavailableError, EmbeddingError
from mdvec.testing.embedder import HashingEmbedder

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix, Parts, Runtime

PROVIDER = "hashing"


class TryingEmbedder(HashingEmbedder):
    """Fails when it is told to.

    Attributes:
        error: Raised by every call that would make a vector.
        missing: What it says is missing.
    """

    __test__ = False

    def __init__(self, *, model: str, dimension: int) -> None:
        super().__init__(model=model, dimension=dimension)
        self.error: EmbeddingError | None = None
        self.missing: EmbedderUnavailableError | None = None

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """What is missing."""
        return self.missing

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embed, or fail."""
        if self.error is not None:
            raise self.error
        return super().embed_queries(texts)

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Embed, or fail."""
        if self.error is not None:
            raise self.error
        yield from super().embed(texts, role, titles)

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:
        """Ten texts in each."""
        return -(-len(texts) // 10)


class Shelf:
    """The models that were made, by name."""

    def __init__(self) -> None:
        self._models: dict[str, TryingEmbedder] = {}

    def __call__(self, *, model: str, dimension: int | None, runtime: Runtime) -> TryingEmbedder:
        """Make one; an :class:`mdvec.embedding.interface.EmbedderFactory`."""
        return self[model or "terms", dimension or 64]

    def __getitem__(self, name: tuple[str, int]) -> TryingEmbedder:
        model, dimension = name
        key = f"{model}@{dimension}"
        return self._models.setdefault(key, TryingEmbedder(model=model, dimension=dimension))

    def put_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let them be named in place of what the registry has."""
        real = registry.load

        def load(stage: str, name: str) -> Any:
            return self if (stage, name) == ("embedding", PROVIDER) else real(stage, name)

        monkeypatch.setattr(registry, "load", load)
