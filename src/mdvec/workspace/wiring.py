"""Makes the parts that a configuration names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import Any

from mdvec import registry, run
from mdvec.chunking.interface import Chunker, ChunkerFactory, TokenEnds
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder
from mdvec.errors import ConfigError
from mdvec.indexing.prepare import Recipe
from mdvec.settings import settings_kind
from mdvec.sources.interface import Source, SourceFactory
from mdvec.stores.interface import Store
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.report import ImportStage, Progress
from mdvec.workspace.embedders import Embedders, Model

_BYTES_PER_MB = 1_000_000

# The context line above a chunk takes tokens too; this many are left for it below the model's limit.
_CONTEXT_TOKENS = 64

# What an estimate is called in a chunker's fingerprint: models that all estimate cut alike.
_ESTIMATE = "estimate"

_SIZES = tuple(each.name for each in fields(ChunkingSpec) if each.name != "strategy")

# Of the thread that asks: who needs a model or a source first waits for it, and is told how far it is.
_listener: ContextVar[Progress | None] = ContextVar("mdvec_listener", default=None)


class Parts:
    """Implementations for one workspace, each made when it is first needed.

    Attributes:
        embedders: The models.

    Args:
        config: What names them.
        embedder: Used instead of whatever model is named when given.
    """

    def __init__(self, config: Config, embedder: Embedder | None = None) -> None:
        self._config = config
        self.embedders = Embedders(
            config,
            embedder,
            on_progress=lambda percent: _tell(ImportStage.MODEL, percent, 100),
            on_wait=lambda seconds_left: _tell(ImportStage.LIMIT, math.ceil(seconds_left), 0),
        )

    @contextmanager
    def telling(self, listener: Progress) -> Iterator[None]:
        """Tell a listener what this thread waits for: a model that is built, a service, files to arrive."""
        outer = _listener.get()
        _listener.set(listener)
        try:
            with run.bound(
                run.Run(lambda stage, done, total, _="": listener(ImportStage(stage), done, total))
            ):
                yield
        finally:
            # Not by its token: a generator that listens may end in another context than it began in.
            _listener.set(outer)

    def model(self, collection: Collection) -> Model:
        """Return the model whose vectors a collection is searched by.

        Raises:
            ConfigError: If the configuration decides, and names what there is not.
        """
        return self.embedders.model(collection.embedding)

    def source(self, spec: SourceSpec) -> Source:
        """Open a collection's source; see :class:`mdvec.sources.interface.SourceFactory`.

        Raises:
            ConfigError: If there is no such kind of source.
        """
        from mdvec.sources.selection import ScanSettings

        scanner = self._config.scanner
        factory: SourceFactory = registry.load("sources", spec.kind)
        return factory(
            location=spec.location,
            include=spec.include,
            exclude=spec.exclude,
            scan=ScanSettings(
                **given(extensions=scanner.extensions, exclude_dirs=scanner.exclude_dirs),
                max_file_bytes=int(scanner.max_file_mb * _BYTES_PER_MB),
            ),
            cache_dir=self._config.embedding.cache_dir or default_cache_dir(),
            **self._config.arguments("sources", spec.kind, factory),
        )

    def recipe(self, spec: ChunkingSpec, model: Model) -> Recipe:
        """Say how a collection's documents are prepared.

        Args:
            spec: How they are cut.
            model: Whose tokens are counted.

        Raises:
            ConfigError: If the chunks asked for are none, or the chunker does not know a setting.
        """
        from mdvec.documents.parse import PARSER_VERSION, parse_document

        return Recipe(parse_document, PARSER_VERSION, self._chunker(spec, model))

    def size_warnings(self, spec: ChunkingSpec, model: Model) -> tuple[str, ...]:
        """Say when the chunks asked for are larger than what the model reads at once."""
        asked = spec.max_tokens if spec.max_tokens is not None else self._config.chunking.max_tokens
        counts_tokens = "max_tokens" in _sizes_of(registry.load("chunking", spec.strategy))
        if model.embedder is None or asked is None or not counts_tokens:
            return ()
        most = model.embedder.max_tokens - _CONTEXT_TOKENS
        if asked <= most:
            return ()
        return (
            f"chunks of {asked} tokens are larger than what {model.spec} reads at once ({most}): longer ones "
            "are embedded in parts, whose mean is taken",
        )

    @property
    def configured_chunking(self) -> ChunkingSpec:
        """How documents are cut when nobody says; sizes stay the configuration's, whatever it says later."""
        return ChunkingSpec(self._config.chunking.strategy)

    def check_chunking(self, spec: ChunkingSpec) -> None:
        """See whether documents can be cut so.

        Raises:
            ConfigError: If there is no such chunker, or it does not know a setting, or refuses it.
        """
        self._chunker(spec, None)

    def _chunker(self, spec: ChunkingSpec, model: Model | None) -> Chunker:
        factory: ChunkerFactory = registry.load("chunking", spec.strategy)
        known = _sizes_of(factory)
        own = given(**{name: getattr(spec, name) for name in _SIZES})
        unknown = own.keys() - known
        if unknown:
            msg = f"the chunker {spec.strategy!r} does not know {', '.join(sorted(unknown))}"
            raise ConfigError(msg, hint="Leave it out, or choose another chunker with --chunker.")
        embedder = None if model is None else model.embedder
        token_ends: TokenEnds = estimate_token_ends
        tokenizer = _ESTIMATE
        if embedder is not None:
            token_ends = embedder.token_ends
            tokenizer = embedder.space.model if embedder.counts_exactly else _ESTIMATE
        configured = given(**{name: getattr(self._config.chunking, name) for name in known})
        return factory(
            token_ends=token_ends,
            tokenizer_name=tokenizer,
            token_limit=None if embedder is None else embedder.max_tokens,
            **{**configured, **self._config.arguments("chunking", spec.strategy, factory), **own},
        )


def _sizes_of(chunker: ChunkerFactory) -> set[str]:
    """Return the sizes of a collection that a chunker declares to know."""
    return {*settings_kind(chunker).__struct_fields__} & {*_SIZES}


def _tell(stage: ImportStage, done: int, total: int) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


def given(**options: object) -> dict[str, Any]:
    """Keep what is set: what was there before, or is the default, stands for the rest."""
    return {name: value for name, value in options.items() if value is not None}


def make_store(location: Path | str, config: Config | None = None) -> Store:
    """Open a store, making a database file and its folder when they are not there.

    Its factory receives the location, its settings, and ``vector_index`` if the configuration names one; a
    factory that can search one says so by the attribute ``takes_vector_index``.

    Args:
        location: A path, or an address.
        config: Has the settings of the store, and of the vector index beside it.

    Raises:
        ConfigError: If there is no store for the address, or it is not installed, or it cannot use the index.
    """
    config = config or Config()
    name = registry.named_store(str(location))
    factory = registry.load("stores", name)
    settings = config.arguments("stores", name, factory)
    if config.store.vectors is not None:
        if not getattr(factory, "takes_vector_index", False):
            msg = f"the store {name!r} searches its own vectors, and no index beside it"
            raise ConfigError(msg, hint="Leave out [store] vectors.")
        settings["vector_index"] = _vector_index(config.store.vectors, config)
    made: Store = factory(Path(location) if name == "sqlite" else location, **settings)
    return made


def _vector_index(location: str, config: Config) -> Any:
    name, place = registry.named_vector_index(location)
    factory = registry.load("vector_indexes", name)
    return factory(place, **config.arguments("vector_indexes", name, factory))
