"""Runs a model by the code that comes with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdvec.embedding.local.engine import Role
from mdvec.embedding.local.loading import cannot_load, cannot_run, prepare_libraries, silence_transformers
from mdvec.embedding.local.tokens import clean
from mdvec.errors import EmbedderUnavailableError

prepare_libraries()

import torch  # noqa: E402 - these read the environment when they are imported
from transformers import AutoModel, AutoTokenizer  # noqa: E402

from mdvec.embedding.local.device import choose_device, free_device, use_threads  # noqa: E402

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PROVIDER = "plamo"
_METHODS = ("encode_query", "encode_document")


class PlamoEngine:
    """A model in memory; see :class:`mdvec.embedding.local.engine.Engine`. Numbers have 32 bits."""

    def __init__(self, folder: Path, *, device: str, threads: int | None) -> None:
        """Load a model and run its code.

        Args:
            folder: Its files.
            device: See :func:`mdvec.embedding.local.device.choose_device`.
            threads: Threads on the CPU; None leaves it to torch.

        Raises:
            EmbedderUnavailableError: If it cannot be loaded, or its code has no ``encode_query``.
        """
        self._folder = folder
        self._device = choose_device(device, provider=_PROVIDER)
        silence_transformers()
        use_threads(threads)
        with cannot_load(folder, provider=_PROVIDER):
            options: dict[str, Any] = {"trust_remote_code": True, "local_files_only": True}
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **options)
            model = AutoModel.from_pretrained(folder, dtype=torch.float32, **options)
            self._model: Any = model.to(self._device).eval()
        missing = [name for name in _METHODS if not hasattr(self._model, name)]
        if missing:
            msg = f"the model in {folder} has no {' and no '.join(missing)}"
            raise EmbedderUnavailableError(msg, hint="Use the provider sentence-transformers for it.")

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Run one batch; see :meth:`mdvec.embedding.local.engine.Engine.encode`."""
        encode = self._model.encode_query if role is Role.QUERY else self._model.encode_document
        with cannot_run(self._folder, provider=_PROVIDER), torch.inference_mode():
            vectors: NDArray[np.float32] = (
                encode([clean(text) for text in texts], self._tokenizer).to("cpu", torch.float32).numpy()
            )
        return vectors

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text."""
        return len(self._tokenizer(clean(text), add_special_tokens=False)["input_ids"])

    def free(self) -> None:
        """Give the memory back."""
        self._model = self._tokenizer = None
        free_device(self._device)
