"""The builtin embedder: multilingual-e5-small, with nothing to download and no key."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from mdvec.embedding.builtin.estimate import estimate_tokens
from mdvec.embedding.builtin.model import REVISION, ModelFiles, available, checked_model
from mdvec.embedding.interface import Embedder, Role, Runtime, TokenCounter
from mdvec.errors import ConfigError, EmbedderUnavailableError, EmbeddingError
from mdvec.machine import available_cores, give_memory_back
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.embedding.builtin.engine import BuiltinEngine
    from mdvec.embedding.builtin.tokenizer import Tokenizer
    from mdvec.embedding.interface import Parts

__all__ = ["BuiltinEmbedder", "available"]

MODEL = "multilingual-e5-small"
_DIMENSION = 384
_WINDOW_TOKENS = 512
_MARKER_TOKENS = 2
_PREFIX_TOKENS = 3  # of the longer prefix


def make_builtin(*, model: str, dimension: int | None, runtime: Runtime) -> BuiltinEmbedder:
    """Make the builtin embedder; see :class:`mdvec.embedding.interface.EmbedderFactory`.

    Raises:
        ConfigError: If another model or dimension is named: there is one.
    """
    if model not in ("", MODEL) or dimension not in (None, _DIMENSION):
        msg = f"the builtin model is {MODEL} with {_DIMENSION} dimensions"
        raise ConfigError(msg, hint="Leave model and dimension out, or choose another provider.")
    return BuiltinEmbedder(runtime)


class BuiltinEmbedder(Embedder):
    """Runs the model of the package mdvec-e5; see :class:`mdvec.embedding.interface.Embedder`.

    Making one loads nothing. The first text tokenised maps the vocabulary, the first text embedded the
    network. Without the model tokens are estimated and nothing is embedded. Threads may share it.
    """

    space = EmbeddingSpace(provider="builtin", model=MODEL, revision=REVISION, dimension=_DIMENSION)
    is_small = True  # processes share its weights

    def __init__(self, runtime: Runtime) -> None:
        """Store the settings; the cache remembers which files of the model were checked."""
        self._runtime = runtime
        self._lock = threading.RLock()
        self._tokenizer: Tokenizer | None = None
        self._engine: BuiltinEngine | None = None
        self._warnings: tuple[str, ...] = ()
        self._used_at = time.monotonic()

    @cached_property
    def problem(self) -> EmbedderUnavailableError | None:
        """The error that the model is not installed, or not whole; None if it can be used."""
        try:
            checked_model(self._runtime.cache_dir)
        except EmbedderUnavailableError as error:
            return error
        return None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The reason for the slower encoder, if it is in use; known once the model is loaded."""
        return self._warnings

    @property
    def tokens(self) -> TokenCounter:
        """The model's own tokens, an estimate without weights."""
        window = _WINDOW_TOKENS - _MARKER_TOKENS - _PREFIX_TOKENS
        is_exact = self.problem is None
        return TokenCounter(self._token_ends, window, is_exact, estimate_tokens if is_exact else None)

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:  # noqa: ARG002 - no use for titles
        """Embed texts in one part; see :meth:`mdvec.embedding.interface.Embedder.embed`."""
        engine = self._ready_engine()
        from mdvec.embedding.builtin.engine import Prefix

        prefix = Prefix.QUERY if role is Role.QUERY else Prefix.PASSAGE
        yield range(len(texts)), engine.embed(texts, prefix)

    def unload(self, *, idle_s: float) -> bool:
        """Free the network and the tokenizer if they have not been used for so long.

        A running call keeps what it uses until it is done.
        """
        with self._lock:
            loaded = self._engine is not None or self._tokenizer is not None
            if not loaded or time.monotonic() - self._used_at < idle_s:
                return False
            self._engine = self._tokenizer = None
        give_memory_back()
        return True

    def _token_ends(self, text: str) -> Sequence[int]:
        try:
            tokenizer = self._ready_tokenizer()
        except EmbedderUnavailableError:
            return estimate_token_ends(text)
        return array("i", tokenizer.ends(text).tobytes() if text else b"")

    def _ready_tokenizer(self) -> Tokenizer:
        from mdvec.embedding.builtin.tokenizer import open_tokenizer

        with self._lock:
            self._used_at = time.monotonic()
            if self._tokenizer is None:
                model = checked_model(self._runtime.cache_dir)
                numbers = model.manifest
                self._tokenizer = open_tokenizer(
                    model.folder, unknown=numbers.unknown, longest=numbers.longest
                )
            return self._tokenizer

    def _ready_engine(self) -> BuiltinEngine:
        with self._lock:
            self._used_at = time.monotonic()
            if self._engine is None:
                self._engine = self._open_engine(checked_model(self._runtime.cache_dir))
            return self._engine

    def _open_engine(self, model: ModelFiles) -> BuiltinEngine:
        from mdvec.embedding.builtin import numpy_encoder
        from mdvec.embedding.builtin.engine import BuiltinEngine

        threads = self._runtime.threads or available_cores()
        try:
            from mdvec.embedding.builtin import onnx_encoder

            encoder = onnx_encoder.open_encoder(model)
        except (ImportError, EmbeddingError) as error:
            encoder = numpy_encoder.open_encoder(model)
            threads = 1  # numpy's products use all cores themselves
            self._warnings = (
                f"onnxruntime cannot be used here ({error}): numpy embeds, in about four times the time.",
            )
        batch_tokens = self._runtime.batch_tokens
        return BuiltinEngine(
            model, self._ready_tokenizer(), encoder, threads=threads, batch_tokens=batch_tokens
        )
