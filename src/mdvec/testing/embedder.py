"""An embedder without a model: texts that share words are near each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mdvec.embedding.interface import TEXTS_AT_ONCE_HERE
from mdvec.embedding.unrelated import PASSAGES
from mdvec.errors import EmbedderUnavailableError
from mdvec.text.hashing import text_hash
from mdvec.text.terms import index_terms
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix, Parts, Runtime, Vector


def make_hashing(*, model: str, dimension: int | None, runtime: Runtime) -> HashingEmbedder:  # noqa: ARG001 - the port's
    """Make one as the registry does: any model, each with a space of its own."""
    return HashingEmbedder(model=model or "terms", dimension=dimension or 256)


class HashingEmbedder:
    """Feature hashing of terms into a small unit vector; deterministic in every process.

    Each model hashes in its own way: vectors of two of them have nothing to do with each other.

    Attributes:
        embedded: Every passage it was ever given, in order, but for those it was measured with.
        queries: Every query it was ever given by itself, in order.
        measured: How often it was given those of :mod:`mdvec.embedding.unrelated`.
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
        self.embedded: list[str] = []
        self.queries: list[str] = []
        self._space = EmbeddingSpace("hashing", model, revision, dimension)
        self._salt = "" if model == "terms" else f"{model}\0"

    @property
    def space(self) -> EmbeddingSpace:
        """A space of its own."""
        return self._space

    @property
    def folder(self) -> None:
        """None: it has a name."""

    @property
    def max_tokens(self) -> int:
        """As many as the builtin model takes."""
        return 500

    @property
    def texts_at_once(self) -> int:
        """What it makes in a few seconds."""
        return TEXTS_AT_ONCE_HERE

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """What it was made with."""
        return self._problem

    @property
    def counts_exactly(self) -> bool:
        """No."""
        return False

    @property
    def warnings(self) -> tuple[str, ...]:
        """None."""
        return ()

    def token_ends(self, text: str) -> Sequence[int]:
        """Estimated tokens."""
        return estimate_token_ends(text)

    def embed_query(self, text: str) -> Vector:
        """Embed like a passage."""
        self.queries.append(text)
        return self._vector(text)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embed like passages."""
        return self._matrix(texts)

    def check(self) -> None:
        """Raise what it was made with."""
        if self._problem is not None:
            raise self._problem

    def embed_passages(self, texts: Sequence[str], titles: Sequence[str] = ()) -> Matrix:  # noqa: ARG002 - the port's
        """Embed each text by itself."""
        if tuple(texts) == PASSAGES:
            self.measured += 1
        else:
            self.embedded.extend(texts)
        return self._matrix(texts)

    def embed_in_parts(self, texts: Sequence[str], titles: Sequence[str] = ()) -> Parts:
        """Embed passages in one part; see :meth:`mdvec.embedding.interface.Embedder.embed_in_parts`."""
        yield range(len(texts)), self.embed_passages(texts, titles)

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:  # noqa: ARG002 - the port's
        """None: it runs here."""
        return 0

    def unload(self, *, idle_s: float) -> bool:  # noqa: ARG002 - the port's signature
        """Nothing to free."""
        return False

    def _matrix(self, texts: Sequence[str]) -> Matrix:
        rows = [self._vector(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self._space.dimension), np.float32)

    def _vector(self, text: str) -> Vector:
        # The constant keeps texts without terms finite, and gives all texts something in common,
        # as real models do.
        vector = np.full(self._space.dimension, 0.02, np.float32)
        terms = index_terms(text)
        for term in (*terms.main, *terms.minor):
            digest = int.from_bytes(text_hash(self._salt + term)[:4], "little")
            vector[digest % self._space.dimension] += 1.0 if digest & 0x80000000 else -1.0
        return np.asarray(vector / np.linalg.norm(vector), np.float32)
