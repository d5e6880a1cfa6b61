"""The sources, chunkers and models of a workspace, as the configuration and each collection want them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from mdvec import registry
from mdvec.chunking.interface import Chunker, ChunkerFactory, TokenEnds
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config
from mdvec.documents import PARSER_VERSION
from mdvec.embedding.interface import Embedder
from mdvec.errors import ConfigError
from mdvec.indexing.recipe import Recipe
from mdvec.machine import available_cores
from mdvec.settings import settings_kind
from mdvec.sources.interface import Source, SourceFactory
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec, SourceSpec
from mdvec.types.document import Document
from mdvec.workspace.wiring.embedders import Embedders, Model

if TYPE_CHECKING:  # a search prepares nothing
    from mdvec.indexing.preparation import Processes

_BYTES_PER_MB = 1_000_000

# One process reads and writes: more than so many would wait for it.
_MAX_PROCESSES = 4

# The context line above a chunk takes tokens too; this many are left for it below the model's limit.
_CONTEXT_TOKENS = 64

# The name of the estimate in a chunker's fingerprint: models that all estimate cut alike.
_ESTIMATE = "estimate"

_SIZES = tuple(name for name in ChunkingSpec.__struct_fields__ if name != "strategy")

# When memory is short, a model that was not used for a minute is not needed now.
_IDLE_WHEN_SHORT_S = 60.0


class Parts:
    """Implementations for one workspace.

    Attributes:
        embedders: The models.
    """

    def __init__(self, config: Config, embedder: Embedder | None = None) -> None:
        self._config = config
        self.embedders = Embedders(config, embedder)

    def model(self, collection: Collection) -> Model:
        """Return the model whose vectors a collection is searched by.

        Raises:
            ConfigError: If the configuration decides, and names a model that does not exist.
        """
        return self.embedders.model(collection.embedding)

    def next_model(self, collection: Collection) -> Model | None:
        """Return the model that a collection is changing to."""
        return None if collection.next_embedding is None else self.embedders.model(collection.next_embedding)

    def cutting_model(self, collection: Collection) -> Model:
        """Return the model whose tokens count when documents are cut: of two, the one that will stay."""
        following = self.next_model(collection)
        return self.model(collection) if following is None or following.embedder is None else following

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
            include=spec.include or scanner.include,
            exclude=(*spec.exclude, *scanner.exclude),
            scan=ScanSettings(
                **set_only(extensions=scanner.extensions, exclude_dirs=scanner.exclude_dirs),
                max_file_bytes=int(scanner.max_file_mb * _BYTES_PER_MB),
                gitignore=scanner.gitignore,
            ),
            cache_dir=self._config.embedding.cache_dir or default_cache_dir(),
            **self._config.arguments("sources", spec.kind, factory),
        )

    def recipe(self, spec: ChunkingSpec, model: Model) -> Recipe:
        """Return how a collection's documents are prepared.

        Raises:
            ConfigError: If the chunker does not exist, or does not know a setting.
        """
        versions = spec.strategy == "vault" or self._config.documents.versions
        return Recipe(
            functools.partial(_parse, versions=versions),
            f"{PARSER_VERSION}v" if versions else PARSER_VERSION,
            self._chunker(spec, model),
        )

    def processes(self, spec: ChunkingSpec, model: Model, number: int | None) -> Processes | None:
        """Return the processes that may prepare documents; None where there is but one, or one embedder."""
        from mdvec.indexing.preparation import Processes

        number = min(available_cores(), _MAX_PROCESSES) if number is None else number
        if number < 2 or self.embedders.is_overridden:
            return None
        return Processes(number, functools.partial(make_recipe, self._config, spec, model.spec))

    def size_warnings(self, spec: ChunkingSpec, model: Model) -> tuple[str, ...]:
        """Return a warning when chunks are larger than what the model reads at once."""
        wanted = spec.max_tokens if spec.max_tokens is not None else self._config.chunking.max_tokens
        counts_tokens = "max_tokens" in _sizes_of(registry.load("chunking", spec.strategy))
        if model.embedder is None or wanted is None or not counts_tokens:
            return ()
        most = model.embedder.tokens.max_tokens - _CONTEXT_TOKENS
        if wanted <= most:
            return ()
        return (
            f"chunks of {wanted} tokens are larger than what {model.spec} reads at once ({most}): "
            "longer ones are embedded in parts, whose mean is taken",
        )

    @property
    def configured_chunking(self) -> ChunkingSpec:
        """How documents are cut by default; sizes stay the configuration's, whatever it says later."""
        return ChunkingSpec(self._config.chunking.strategy)

    def check_chunking(self, spec: ChunkingSpec) -> None:
        """Check that documents can be cut so.

        Raises:
            ConfigError: If there is no such chunker, or it does not know a setting, or refuses it.
        """
        self._chunker(spec, None)

    def idle_limit_s(self) -> float | None:
        """Return how long a model may stay in memory without being used, in seconds; None without a limit."""
        import psutil

        settings = self._config.embedding
        in_use = float(psutil.virtual_memory().percent) / 100
        return idle_limit_s(settings.auto_unload_minutes, settings.memory_threshold, in_use)

    def _chunker(self, spec: ChunkingSpec, model: Model | None) -> Chunker:
        factory: ChunkerFactory = registry.load("chunking", spec.strategy)
        known = _sizes_of(factory)
        own = set_only(**{name: getattr(spec, name) for name in _SIZES})
        unknown = own.keys() - known
        if unknown:
            msg = f"the chunker {spec.strategy!r} does not know {', '.join(sorted(unknown))}"
            raise ConfigError(msg, hint="Leave it out, or choose another chunker with --chunker.")
        # Whether the model can be used now must not matter: without its key, nothing has changed.
        embedder = None if model is None else model.made
        token_ends: TokenEnds = estimate_token_ends
        tokenizer, limit, estimate = _ESTIMATE, None, None
        if embedder is not None:
            tokens = embedder.tokens
            token_ends, limit, estimate = tokens.ends, tokens.max_tokens, tokens.estimate
            tokenizer = embedder.space.model if tokens.is_exact else _ESTIMATE
        known_estimate = getattr(factory, "takes_token_estimate", False)
        estimating = {"token_estimate": estimate} if known_estimate else {}
        configured = set_only(**{name: getattr(self._config.chunking, name) for name in known})
        return factory(
            token_ends=token_ends,
            tokenizer_name=tokenizer,
            token_limit=limit,
            **estimating,
            **{**configured, **self._config.arguments("chunking", spec.strategy, factory), **own},
        )


def make_recipe(config: Config, spec: ChunkingSpec, model: EmbeddingSpec) -> Recipe:
    """Make in another process what :meth:`Parts.recipe` returns here."""
    parts = Parts(config)
    return parts.recipe(spec, parts.embedders.model(model))


def _parse(path: str, text: str, *, versions: bool) -> Document:
    """Parse a file; what reads Markdown is imported for the first one."""
    from mdvec.documents.parse import parse_document

    return parse_document(path, text, versions=versions)


def _sizes_of(chunker: ChunkerFactory) -> set[str]:
    """Return the sizes of a collection that a chunker declares to know."""
    return {*settings_kind(chunker).__struct_fields__} & {*_SIZES}


def idle_limit_s(auto_unload_minutes: float, memory_threshold: float, in_use: float) -> float | None:
    """Return how long a model may stay in memory without being used.

    Args:
        auto_unload_minutes: The limit while there is memory; 0 for none.
        memory_threshold: Above which share memory is short, 0..1.
        in_use: The share of memory that is in use, 0..1.

    Returns:
        Seconds; None without a limit.
    """
    usual_s = auto_unload_minutes * 60 if auto_unload_minutes > 0 else None
    if in_use <= memory_threshold:
        return usual_s
    return _IDLE_WHEN_SHORT_S if usual_s is None else min(usual_s, _IDLE_WHEN_SHORT_S)


def set_only(**options: object) -> dict[str, Any]:
    """Return the options that are not None: for the others a default holds."""
    return {name: value for name, value in options.items() if value is not None}
