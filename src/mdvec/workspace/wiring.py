"""Makes the parts that a configuration names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from mdvec import registry, run
from mdvec.chunking.interface import Chunker, TokenEnds
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder
from mdvec.errors import ConfigError
from mdvec.indexing.prepare import Recipe
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.report import ImportStage, Progress
from mdvec.sources.interface import Source
from mdvec.stores.interface import Store
from mdvec.text.tokens import estimate_token_ends
from mdvec.workspace.embedders import Embedders, Model

_BYTES_PER_MB = 1_000_000

# The context line above a chunk takes tokens too; this many are left for it below the model's limit.
_CONTEXT_TOKENS = 64

# What an estimate is called in a chunker's fingerprint: models that all estimate cut alike.
_ESTIMATE = "estimate"

_SIZES = tuple(each.name for each in fields(ChunkingSpec) if each.name != "strategy")


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
        self.embedders = Embedders(config.embedding, embedder)

    @contextmanager
    def telling(self, listener: Progress) -> Iterator[None]:
        """Pass the progress of what is called meanwhile to a listener."""

        def report(stage: run.Stage, done: int, total: int, _detail: str = "") -> None:
            listener(ImportStage(stage.value), done, total)

        with run.bound(run.Run(report)):
            yield

    def model(self, collection: Collection) -> Model:
        """Return the model whose vectors a collection is searched by.

        Raises:
            ConfigError: If the configuration decides, and names what there is not.
        """
        return self.embedders.model(collection.embedding)

    def source(self, spec: SourceSpec) -> Source:
        """Open a collection's source; its factory is given what it names of all that there is.

        Raises:
            ConfigError: If there is no such kind of source.
        """
        scanner = self._config.scanner
        factory = registry.load("sources", spec.kind)
        offered = {
            **given(extensions=scanner.extensions, exclude_dirs=scanner.exclude_dirs),
            **self._own_settings(spec.kind),
            "location": spec.location,
            "include": spec.include,
            "exclude": spec.exclude,
            "max_file_bytes": int(scanner.max_file_mb * _BYTES_PER_MB),
            "cache_dir": self._config.embedding.cache_dir or default_cache_dir(),
            "on_fetch": lambda done, total: run.current().report(run.Stage.FETCH, done, total),
        }
        made: Source = factory(**_taken(factory, offered))
        return made

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
        counts_tokens = _taken(registry.load("chunking", spec.strategy), {"max_tokens": asked})
        if model.embedder is None or asked is None or not counts_tokens:
            return ()
        most = model.embedder.tokens.max_tokens - _CONTEXT_TOKENS
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
        factory = registry.load("chunking", spec.strategy)
        own = given(**{name: getattr(spec, name) for name in _SIZES})
        unknown = own.keys() - _taken(factory, own).keys()
        if unknown:
            msg = f"the chunker {spec.strategy!r} does not know {', '.join(sorted(unknown))}"
            raise ConfigError(msg, hint="Leave it out, or choose another chunker with --chunker.")
        embedder = None if model is None else model.embedder
        token_ends: TokenEnds = estimate_token_ends
        tokenizer, limit = _ESTIMATE, None
        if embedder is not None:
            tokens = embedder.tokens
            token_ends, limit = tokens.ends, tokens.max_tokens
            tokenizer = embedder.space.model if tokens.is_exact else _ESTIMATE
        configured = given(**{name: getattr(self._config.chunking, name) for name in _SIZES})
        counting = {
            "token_ends": token_ends,
            "tokenizer_name": tokenizer,
            "token_limit": limit,
        }
        made: Chunker = factory(**_taken(factory, {**configured, **own, **counting}))
        return made

    def _own_settings(self, kind: str) -> dict[str, Any]:
        """Return what is set in a source's own section, if it has one."""
        section = getattr(self._config, kind, None)
        return {} if section is None else given(**{name: getattr(section, name) for name in _keys(section)})


def _keys(section: Any) -> tuple[str, ...]:
    keys: tuple[str, ...] = section.__struct_fields__
    return keys


def _taken(factory: Any, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the arguments that a factory names, or all of them when it takes any."""
    parameters = inspect.signature(factory).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return dict(offered)
    return {name: value for name, value in offered.items() if name in parameters}


def given(**options: object) -> dict[str, Any]:
    """Keep what is set: what was there before, or is the default, stands for the rest."""
    return {name: value for name, value in options.items() if value is not None}


def make_store(database: Path) -> Store:
    """Open a database, making it and its folder when they are not there."""
    made: Store = registry.load("stores", "sqlite")(database)
    return made
