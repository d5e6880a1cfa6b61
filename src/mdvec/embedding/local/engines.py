"""Models in memory, run by torch: with sentence-transformers, or by the code that comes with a model."""

from __future__ import annotations

import gc
import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

from mdvec.embedding.interface import Role
from mdvec.embedding.local.inference import Prompts
from mdvec.embedding.local.layout import clean
from mdvec.embedding.local.model_settings import LocalModelSettings
from mdvec.errors import EmbedderUnavailableError, EmbeddingError
from mdvec.machine import give_memory_back

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AUTO = "auto"

# The libraries have no error classes of their own. Models with files damaged one by one raised these:
_LOAD_ERRORS = (
    *(OSError, EOFError, struct.error, pickle.UnpicklingError, SafetensorError),  # weights
    *(ValueError, KeyError, TypeError, StrictDataclassError),  # settings: they become arguments of functions
    *(RuntimeError, MemoryError),  # torch, if weights and settings do not match
    ImportError,  # a package that the model needs
)
_RUN_ERRORS = (RuntimeError, MemoryError, ValueError, IndexError)
# Code that comes with a model may raise anything, above all with another version of transformers.
_ERRORS_OF_OTHER_CODE = (Exception,)
_MAX_REASON_CHARS = 300


class _TorchModel:
    """A model in memory. Numbers have 32 bits on every device, so that vectors of one are found on another.

    A subclass loads the model when it is made.

    Args:
        folder: The files of the model.
        settings: The device, and whether code that comes with the model may run.
        threads: Threads on the CPU; None leaves it to torch.

    Attributes:
        section: Its settings, for errors.

    Raises:
        EmbedderUnavailableError: If the device is not there, or the model cannot be loaded.
    """

    section: ClassVar[str]

    def __init__(self, folder: Path, settings: LocalModelSettings, threads: int | None) -> None:
        self._folder = folder
        self._runs_code = settings.trust_remote_code
        self._device = _prepared_device(settings.device, threads, self.section)
        self._model: Any = None

    def free(self) -> None:
        self._model = None
        gc.collect()  # modules refer to each other in circles
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        elif self._device.type == "mps":
            torch.mps.empty_cache()
        give_memory_back()

    def _loaded(self, kind: Callable[..., Any]) -> Any:
        """Load a model of sentence-transformers from its files."""
        with self._loading():
            return kind(
                str(self._folder),
                device=str(self._device),
                local_files_only=True,
                trust_remote_code=self._runs_code,
                model_kwargs={"dtype": torch.float32},
            )

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """Raise errors of loading as :class:`EmbedderUnavailableError` with the next step."""
        errors = _ERRORS_OF_OTHER_CODE if self._runs_code else _LOAD_ERRORS
        try:
            yield
        except errors as error:
            msg = f"the model in {self._folder} cannot be loaded: {_reason(error)}"
            raise EmbedderUnavailableError(msg, hint=_hint(error, self.section)) from error

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Explain errors of running, with what to do."""
        errors = _ERRORS_OF_OTHER_CODE if self._runs_code else _RUN_ERRORS
        try:
            yield
        except errors as error:
            msg = f"the model in {self._folder} cannot be run: {_reason(error)}"
            hint = f"If memory is short, lower [{self.section}] batch_size, or set device to 'cpu'."
            raise EmbeddingError(msg, hint=hint) from error


class SentenceTransformersEngine(_TorchModel):
    """A model in memory; see :class:`mdvec.embedding.local.inference.Engine`.

    The model's own files define pooling, further layers and their order.
    """

    section = "embedding.sentence-transformers"

    def __init__(
        self, folder: Path, settings: LocalModelSettings, threads: int | None, prompts: Prompts
    ) -> None:
        from sentence_transformers import SentenceTransformer

        super().__init__(folder, settings, threads)
        self._prompts = prompts
        self._model = self._loaded(SentenceTransformer)

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        with self._running():
            vectors: NDArray[np.float32] = self._model.encode(
                [clean(text) for text in texts],
                prompt=self._prompts[role],
                batch_size=len(texts),
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=False,
            )
        return vectors

    def count_tokens(self, text: str) -> int:
        return len(self._model.tokenizer(clean(text), add_special_tokens=False)["input_ids"])


class PlamoEngine(_TorchModel):
    """A model with ``encode_query`` and ``encode_document`` in code of its own, which is run."""

    section = "embedding.plamo"

    def __init__(self, folder: Path, settings: LocalModelSettings, threads: int | None) -> None:
        from transformers import AutoModel, AutoTokenizer

        super().__init__(folder, settings, threads)
        with self._loading():
            options: dict[str, Any] = {"trust_remote_code": True, "local_files_only": True}
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **options)
            model = AutoModel.from_pretrained(folder, dtype=torch.float32, **options)
            self._model = model.to(self._device).eval()
        missing = [name for name in ("encode_query", "encode_document") if not hasattr(self._model, name)]
        if missing:
            msg = f"the model in {folder} has no {' and no '.join(missing)}"
            raise EmbedderUnavailableError(msg, hint="Use the provider sentence-transformers for it.")

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        encode = self._model.encode_query if role is Role.QUERY else self._model.encode_document
        with self._running(), torch.inference_mode():
            encoded = encode([clean(text) for text in texts], self._tokenizer)
            vectors: NDArray[np.float32] = encoded.to("cpu", torch.float32).numpy()
        return vectors

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer(clean(text), add_special_tokens=False)["input_ids"])


class CrossEncoderEngine(_TorchModel):
    """A model in memory that reads a query and a text at once."""

    section = "rerank.transformers"

    def __init__(self, folder: Path, settings: LocalModelSettings, threads: int | None) -> None:
        from sentence_transformers import CrossEncoder

        super().__init__(folder, settings, threads)
        self._model = self._loaded(CrossEncoder)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score one batch of texts.

        Returns:
            float32, shape (len(texts),); of another shape if the model is for something else.

        Raises:
            EmbeddingError: If the model cannot be run.
        """
        with self._running():
            scores: NDArray[np.float32] = self._model.predict(
                [(clean(query), clean(text)) for text in texts],
                batch_size=len(texts),
                show_progress_bar=False,
            )
        return scores


def choose_device(name: str, *, section: str) -> torch.device:
    """Return the device that a model runs on.

    Args:
        name: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, or ``auto`` for the fastest there is.
        section: Its settings, for the error.

    Raises:
        EmbedderUnavailableError: If it is not there.
    """
    here = ["cpu"]
    if torch.backends.mps.is_available():
        here.insert(0, "mps")
    if torch.cuda.is_available():
        here.insert(0, "cuda")
    if name == AUTO:
        return torch.device(here[0])
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is not None and device.type in here:
        return device
    msg = f"torch finds no device {name!r} here"
    hint = f"Set [{section}] device to one of {', '.join([AUTO, *here])}."
    raise EmbedderUnavailableError(msg, hint=hint)


def _prepared_device(name: str, threads: int | None, section: str) -> torch.device:
    """Return the device, and keep warnings and progress bars of transformers off the terminal."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if threads is not None:
        torch.set_num_threads(threads)
    return choose_device(name, section=section)


def _hint(error: Exception, section: str) -> str:
    if "trust_remote_code" in str(error):
        return (
            "It comes with Python code of its own. Read it; if you trust it, set "
            f"[{section}] trust_remote_code = true."
        )
    if isinstance(error, ImportError) and error.name:
        return f"Run: pip install {error.name}"
    if isinstance(error, MemoryError) or "out of memory" in str(error):
        return f"Choose a smaller model, or set [{section}] device to 'cpu'."
    return "Download its files again, or choose another model."


def _reason(error: Exception) -> str:
    """Return the first paragraph of a message; the rest is advice about other programs."""
    text = " ".join(str(error).strip().partition("\n\n")[0].split()) or type(error).__name__
    return text if len(text) <= _MAX_REASON_CHARS else f"{text[: _MAX_REASON_CHARS - 1]}…"
