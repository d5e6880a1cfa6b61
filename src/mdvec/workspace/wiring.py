"""Makes the parts that a configuration names."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from mdvec import registry
from mdvec.chunking.interface import Chunker, TokenEnds
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder
from mdvec.errors import ConfigError, EmbedderUnavailableError
from mdvec.indexing.prepare import Recipe
from mdvec.model.collection import ChunkingSpec, SourceSpec
from mdvec.sources.interface import Source
from mdvec.stores.interface import Store
from mdvec.text.tokens import estimate_token_ends

_BYTES_PER_MB = 1_000_000

# The context line above a chunk takes tokens too; this many are left for it below the model's limit.
_CONTEXT_TOKENS = 64


class Parts:
    """Implementations for one workspace, each made when it is first needed.

    Args:
        config: What names them.
        embedder: Used instead of the configured one when given.
    """

    def __init__(self, config: Config, embedder: Embedder | None = None) -> None:
        self._config = config
        self._given_embedder = embedder
        self._on_model_progress: Callable[[int], None] = lambda _: None

    def report_model_progress_to(self, listener: Callable[[int], None]) -> None:
        """Send the per cent done of building a model to a listener."""
        self._on_model_progress = listener

    @cached_property
    def _named_embedder(self) -> Embedder:
        if self._given_embedder is not None:
            return self._given_embedder
        settings = self._config.embedding
        made: Embedder = registry.load("embedding", settings.provider)(
            cache_dir=settings.cache_dir or default_cache_dir(),
            threads=settings.threads,
            batch_tokens=settings.batch_tokens,
            progress=lambda percent: self._on_model_progress(percent),
        )
        return made

    @property
    def embedder(self) -> Embedder | None:
        """The embedder; None when it cannot be used here (see ``embedder_problem``)."""
        return self._named_embedder if self.embedder_problem is None else None

    @cached_property
    def embedder_problem(self) -> EmbedderUnavailableError | None:
        """Why there is no embedder; None when there is one."""
        return self._named_embedder.problem

    def embedder_warnings(self) -> tuple[str, ...]:
        """What the embedder wants the user to know."""
        return self.embedder.warnings if self.embedder is not None else ()

    def source(self, spec: SourceSpec) -> Source:
        """Open a collection's source."""
        scanner = self._config.scanner
        made: Source = registry.load("sources", spec.kind)(
            location=spec.location,
            include=spec.include,
            exclude=spec.exclude,
            max_file_bytes=int(scanner.max_file_mb * _BYTES_PER_MB),
            **_given(extensions=scanner.extensions, exclude_dirs=scanner.exclude_dirs),
        )
        return made

    def recipe(self, spec: ChunkingSpec) -> Recipe:
        """Say how a collection's documents are prepared.

        Raises:
            ConfigError: If the collection asks for chunks that its embedder cannot see whole.
        """
        from mdvec.documents.parse import PARSER_VERSION, parse_document

        return Recipe(parse_document, PARSER_VERSION, self._chunker(spec))

    def _chunker(self, spec: ChunkingSpec) -> Chunker:
        token_ends: TokenEnds = estimate_token_ends
        tokenizer = "estimate"
        if self.embedder is not None:
            token_ends, tokenizer = self.embedder.token_ends, self.embedder.space.model
            most = self.embedder.max_tokens - _CONTEXT_TOKENS
            if spec.max_tokens is not None and spec.max_tokens > most:
                msg = f"chunks of {spec.max_tokens} tokens are too large for {tokenizer}"
                raise ConfigError(msg, hint=f"Choose at most {most} tokens (--chunk-size).")
        chunking = self._config.chunking
        overlap = chunking.overlap_tokens if spec.overlap_tokens is None else spec.overlap_tokens
        made: Chunker = registry.load("chunking", spec.strategy)(
            token_ends=token_ends,
            tokenizer_name=tokenizer,
            **_given(
                max_tokens=spec.max_tokens or chunking.max_tokens,
                min_tokens=chunking.min_tokens,
                overlap_tokens=overlap,
            ),
        )
        return made


def _given(**options: object) -> dict[str, Any]:
    """Keep what is set: an adapter's own defaults stand for the rest."""
    return {name: value for name, value in options.items() if value is not None}


def make_store(database: Path) -> Store:
    """Open a database, making it and its folder when they are not there."""
    made: Store = registry.load("stores", "sqlite")(database)
    return made


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
