"""Runs a model with sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdvec.embedding.local.engine import Prompts, Role
from mdvec.embedding.local.loading import cannot_load, cannot_run, prepare_libraries, silence_transformers
from mdvec.embedding.local.tokens import clean

prepare_libraries()

import torch  # noqa: E402 - these read the environment when they are imported
from sentence_transformers import SentenceTransformer  # noqa: E402

from mdvec.embedding.local.device import choose_device, free_device, use_threads  # noqa: E402

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PROVIDER = "sentence-transformers"


class SentenceTransformersEngine:
    """A model in memory; see :class:`mdvec.embedding.local.engine.Engine`.

    Pooling, further layers and their order are those of the model's own files. Numbers have 32 bits on every
    device, so that vectors made on one can be searched from another.
    """

    def __init__(
        self, folder: Path, prompts: Prompts, *, device: str, threads: int | None, trust_remote_code: bool
    ) -> None:
        """Load a model.

        Args:
            folder: Its files.
            prompts: What stands before a text.
            device: See :func:`mdvec.embedding.local.device.choose_device`.
            threads: Threads on the CPU; None leaves it to torch.
            trust_remote_code: Whether code that comes with the model may run.

        Raises:
            EmbedderUnavailableError: If it cannot be loaded.
        """
        self._folder = folder
        self._prompts = prompts
        self._device = choose_device(device, provider=_PROVIDER)
        silence_transformers()
        use_threads(threads)
        with cannot_load(folder, provider=_PROVIDER):
            self._model: Any = SentenceTransformer(
                str(folder),
                device=str(self._device),
                local_files_only=True,
                trust_remote_code=trust_remote_code,
                model_kwargs={"dtype": torch.float32},
            )

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Run one batch; see :meth:`mdvec.embedding.local.engine.Engine.encode`."""
        with cannot_run(self._folder, provider=_PROVIDER):
            vectors: NDArray[np.float32] = self._model.encode(
                [clean(text) for text in texts],
                prompt=self._prompts.of(role),
                batch_size=len(texts),
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=False,
            )
        return vectors

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text."""
        return len(self._model.tokenizer(clean(text), add_special_tokens=False)["input_ids"])

    def free(self) -> None:
        """Give the memory back."""
        self._model = None
        free_device(self._device)
