"""Makes the parts that a configuration names."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any

from mdvec import registry
from mdvec.chunking.interface import Chunker, TokenEnds
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder, Runtime
from mdvec.errors import ConfigError, EmbedderUnavailableError
from mdvec.indexing.prepare import Recipe
from mdvec.model.collection import ChunkingSpec, SourceSpec
from mdvec.sources.interface import Source
from mdvec.stores.interface import Store
from mdvec.text.tokens import estimate_token_ends

_BYTES_PER_MB = 1_000_000

# The context line above a chunk takes tokens too; this many are left for it below the model's limit.
_CONTEXT_TOKENS = 64

# Of the thread that asks: who needs the model first builds it, and is told how far it is.
_on_model_progress: ContextVar[Callable[[int], None]] = ContextVar("mdvec_model_progress")


class Parts:
    """Implementations for one workspace, each made when it is first needed.

    Args:
        config: What names them.
        embedder: Used instead of the configured one when given.
    """

    def __init__(self, config: Config, embedder: Embedder | None = None) -> None:
        self._config = config
        self._embedder = embedder
        self._guard = threading.Lock()

    def report_model_progress_to(self, listener: Callable[[int], None]) -> None:
        """Send the per cent done of building a model in this thread to a listener."""
        _on_model_progress.set(listener)

    def _named_embedder(self) -> Embedder:
        with self._guard:  # a model is loaded once, however many threads ask first
            if self._embedder is None:
                settings = self._config.embedding
                self._embedder = registry.load("embedding", settings.provider)(
                    model="",
                    dimension=None,
                    runtime=Runtime(
                        cache_dir=settings.cache_dir or default_cache_dir(),
                        threads=settings.threads,
                        batch_tokens=settings.batch_tokens,
                        on_progress=lambda percent: _on_model_progress.get(_ignore)(percent),
                    ),
                )
            return self._embedder

    @property
    def embedder(self) -> Embedder | None:
        """The embedder; None when it cannot be used here (see ``embedder_problem``)."""
        return self._named_embedder() if self.embedder_problem is None else None

    @cached_property
    def embedder_problem(self) -> EmbedderUnavailableError | None:
        """Why there is no embedder; None when there is one."""
        return self._named_embedder().problem

    def embedder_warnings(self) -> tuple[str, ...]:
        """What the embedder wants the user to know."""
        return self.embedder.warnings if self.embedder is not None else ()

    def free_idle_model(self, idle_s: float) -> bool:
        """Free the memory of a model that was not used for so many seconds.

        Returns:
            Whether there was anything to free.
        """
        return self._embedder is not None and self._embedder.unload(idle_s=idle_s)

    def source(self, spec: SourceSpec) -> Source:
        """Open a collection's source."""
        scanner = self._config.scanner
        made: Source = registry.load("sources", spec.kind)(
            location=spec.location,
            include=spec.include,
            exclude=spec.exclude,
            max_file_bytes=int(scanner.max_file_mb * _BYTES_PER_MB),
            **given(extensions=scanner.extensions, exclude_dirs=scanner.exclude_dirs),
        )
        return made

    def recipe(self, spec: ChunkingSpec) -> Recipe:
        """Say how a collection's documents are prepared.

        Raises:
            ConfigError: If the chunks asked for are larger than what the embedder sees, or no chunks.
        """
        from mdvec.documents.parse import PARSER_VERSION, parse_document

        return Recipe(parse_document, PARSER_VERSION, self._chunker(spec))

    def _chunker(self, spec: ChunkingSpec) -> Chunker:
        chunking = self._config.chunking
        max_tokens = chunking.max_tokens if spec.max_tokens is None else spec.max_tokens
        overlap = chunking.overlap_tokens if spec.overlap_tokens is None else spec.overlap_tokens
        token_ends: TokenEnds = estimate_token_ends
        tokenizer = "estimate"
        if self.embedder is not None:
            token_ends, tokenizer = self.embedder.token_ends, self.embedder.space.model
            most = self.embedder.max_tokens - _CONTEXT_TOKENS
            if max_tokens is not None and max_tokens > most:
                msg = f"chunks of {max_tokens} tokens are too large for {tokenizer}"
                raise ConfigError(msg, hint=f"Choose at most {most} (--chunk-size, [chunking] max_tokens).")
        made: Chunker = registry.load("chunking", spec.strategy)(
            token_ends=token_ends,
            tokenizer_name=tokenizer,
            **given(max_tokens=max_tokens, min_tokens=chunking.min_tokens, overlap_tokens=overlap),
        )
        return made


def _ignore(_percent: int) -> None:
    pass


def given(**options: object) -> dict[str, Any]:
    """Keep what is set: what was there before, or is the default, stands for the rest."""
    return {name: value for name, value in options.items() if value is not None}


def make_store(database: Path) -> Store:
    """Open a database, making it and its folder when they are not there."""
    made: Store = registry.load("stores", "sqlite")(database)
    return made


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
