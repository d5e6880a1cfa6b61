"""An embedder without a model: texts that share words are near each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mdvec.embedding.interface import Embedder, Role, TokenCounter
from mdvec.embedding.unrelated import PASSAGES
from mdvec.errors import EmbedderUnavailableError
from mdvec.text.hashing import text_hash
from mdvec.text.indexed_terms import index_terms
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix, Parts, Runtime, Vector


def make_hashing(*, model: str, dimension: int | None, runtime: Runtime) -> HashingEmbedder:  # noqa: ARG001 - the port's
    """Make one as the registry does: any model, each with a space of its own."""
    return HashingEmbedder(model=model or "terms", dimension=dimension or 256)


class HashingEmbedder(Embedder):
    """Feature hashing of terms into a small unit vector; deterministic in every process.

    Each model hashes in its own way: vectors of two of them have nothing to do with each other.

    Attributes:
        queries: Every query it has embedded by itself, in order.
        measured: How often it has embedded those of :mod:`mdvec.embedding.unrelated`.
    """

    def __init__(
        self,
        *,
        model: str = "terms",
        dimension: int = 256,
        revision: str = "1",
        problem: EmbedderUnavailableError | None = None,
    ) -> None:
        self._problem = problem
        self.measured = 0
        self._passages: list[str] = []
        self.queries: list[str] = []
        self._space = EmbeddingSpace("hashing", model, revision, dimension)
        self._salt = "" if model == "terms" else f"{model}\0"

    @property
    def embedded(self) -> list[str]:
        """Every passage it has embedded, in order, but for those it was measured with, and queries."""
        return [text for text in self._passages if text not in self.queries]

    def forget(self) -> None:
        """Empty the list of embedded passages."""
        self._passages.clear()

    @property
    def space(self) -> EmbeddingSpace:
        """A space of its own."""
        return self._space

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """What it was made with."""
        return self._problem

    @property
    def tokens(self) -> TokenCounter:
        """Estimated; as many at once as the builtin model takes."""
        return TokenCounter(estimate_token_ends, 500, is_exact=False)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embed like passages."""
        if self._problem is not None:
            raise self._problem
        self.queries += texts
        return np.stack([*map(self._vector, texts)])

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:  # noqa: ARG002 - the port's
        """Embed each text by itself, all in one part."""
        if role is Role.DOCUMENT:
            if tuple(texts) == PASSAGES:
                self.measured += 1
            else:
                self._passages += texts
        rows = [self._vector(text) for text in texts]
        yield range(len(texts)), np.stack(rows) if rows else np.empty((0, self._space.dimension), np.float32)

    def _vector(self, text: str) -> Vector:
        # The constant keeps texts without terms finite, and gives all texts something in common,
        # as real models do.
        vector = np.full(self._space.dimension, 0.02, np.float32)
        terms = index_terms(text)
        for term in (*terms.main.split(), *terms.minor.split()):
            digest = int.from_bytes(text_hash(self._salt + term)[:4], "little")
            vector[digest % self._space.dimension] += 1.0 if digest & 0x80000000 else -1.0
        return np.asarray(vector / np.linalg.norm(vector), np.float32)
