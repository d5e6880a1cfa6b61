"""The sources, chunkers and models of a workspace, as the configuration and each collection want them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mdvec import __version__, registry
from mdvec.chunking.interface import Chunker, ChunkerFactory, TokenEnds
from mdvec.config.known_models import price_of, suggestion
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config, EmbeddingSettings
from mdvec.config.trust import refuse_code_of_publisher
from mdvec.embedding.interface import (
    Cluster,
    ConfiguredReranker,
    Embedder,
    EmbedderFactory,
    RerankerFactory,
    Runtime,
)
from mdvec.errors import (
    ConfigError,
    EmbedderUnavailableError,
    EmbeddingError,
    MdvecError,
    UsageError,
    WorkspaceClosedError,
    did_you_mean,
)
from mdvec.indexing.work import Recipe
from mdvec.machine import available_cores
from mdvec.search.query_vectors import SearchedCollection
from mdvec.settings import set_only, settings_kind
from mdvec.sources.interface import Source, SourceFactory
from mdvec.stores.interface import Store, View
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.change import SourceEntry
from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec, SourceSpec
from mdvec.types.ids import SpaceId
from mdvec.types.report import CollectionCounts
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.indexing.prepare import Processes

_PROBE = "dimension"  # embedded to see whether a model works

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


class Model(Struct, frozen=True):
    """An embedding model, as far as it can be used here.

    Attributes:
        spec: The specification.
        made: Knows its space, whether or not it can be used; None when there is no such provider.
        problem: Why it cannot be used; None when it can.
        is_given: Whether one embedder was given for all specifications.
    """

    spec: EmbeddingSpec
    made: Embedder | None
    problem: EmbedderUnavailableError | None
    is_given: bool = False

    @property
    def embedder(self) -> Embedder | None:
        """The embedder that makes its vectors; None when it cannot be used."""
        return self.made if self.problem is None else None

    @property
    def space(self) -> EmbeddingSpace | None:
        """Its space; None where that cannot be known now. Known of many a model that cannot be used."""
        if self.made is None:
            return None
        try:
            return self.made.space
        except (ConfigError, EmbeddingError):
            return None

    @property
    def name(self) -> str:
        """Its space, for people; the specification where that is not known."""
        space = None if self.embedder is None else self.space
        return str(self.spec) if space is None else space.key

    def known(self) -> Embedder:
        """Return what knows its space and counts its tokens, whether or not it can be used.

        Raises:
            ConfigError: If there is no such provider.
        """
        if self.made is None:
            raise ConfigError(str(self.problem), hint=self.problem.hint if self.problem else "")
        return self.made

    def pinned(self) -> EmbeddingSpec:
        """Return a specification that means the same whatever is configured, or becomes a provider's default.

        A model in a folder is named by the whole path: the next command may run elsewhere.

        Raises:
            ConfigError: If there is no such provider.
            EmbeddingError: If the dimension takes a request to a service, and that fails.
        """
        made, spec = self.known(), self.spec
        space = made.space
        if self.is_given:
            return EmbeddingSpec(space.provider, space.model, space.dimension)
        model = spec.model or space.model if made.folder is None else str(made.folder)
        return EmbeddingSpec(spec.provider, model, space.dimension)

    def space_id(self, collection: Collection, view: View) -> SpaceId | None:
        """Return the space in which a collection is searched; None when it holds no vector of it."""
        return self.space_or_problem(collection, view)[0]

    def space_or_problem(
        self, collection: Collection, view: View
    ) -> tuple[SpaceId | None, MdvecError | None]:
        """Return the space in which a collection is searched, and why it cannot be searched by meaning.

        A collection without a vector of it has no space, which alone is no problem.
        """
        if self.made is None:
            return None, self.problem
        if collection.embedding is None and not view.collections.counts(collection.id, None).chunks:
            return None, self.problem  # no service is asked for the length of vectors before there is one
        try:
            space = self.made.space
        except (ConfigError, EmbeddingError) as error:  # its files are gone, or its server is away
            return None, self.problem or error
        return view.spaces.find(space), self.problem

    def counts(self, collection: Collection, view: View) -> CollectionCounts:
        """Count what a collection holds; chunks are pending that a search by this model misses."""
        return view.collections.counts(collection.id, self.space_id(collection, view))

    def pending(self, collection: Collection, store: Store) -> int:
        """Count the pending chunks, likewise."""
        with store.read() as view:
            return self.counts(collection, view).pending_chunks


class ModelPool:
    """The models of a workspace, each made when it is first needed and shared by all collections.

    :meth:`for_` is the way to a model; :meth:`check` also tries it.

    Attributes:
        configured: The model that the configuration names.
        is_chosen: Whether that is anything but the default.
        reranker_spec: The reranker as it is configured, ``PROVIDER[:MODEL]``; empty for none.
        small_only: Whether a model too large for each process to have is refused, by a RuntimeError.
    """

    def __init__(self, config: Config, override: Embedder | None, location: str = "") -> None:
        self._config = config
        settings = config.embedding
        self.configured = EmbeddingSpec(settings.provider, settings.model or "", settings.dimension)
        self.is_chosen = self.configured != EmbeddingSpec()
        self._override = override
        self._location = location
        self._guard = threading.Lock()
        self._models: dict[EmbeddingSpec, Model] = {}
        self._cluster: Cluster | None = None
        self.small_only = False
        self._closed = False
        self.reranker_spec = config.search.rerank or ""
        self._reranker: ConfiguredReranker | None = None

    def reranker(self) -> ConfiguredReranker | None:
        """Return the reranker, which is made once; None if none is configured. Nothing is loaded or sent.

        Raises:
            ConfigError: If there is no such reranker, or a setting of it is impossible.
        """
        with self._guard:
            if self._reranker is None and self.reranker_spec:
                self._reranker = self._make_reranker()
            return self._reranker

    @property
    def are_small(self) -> bool:
        """Whether other processes may have all the models that were needed here."""
        if self._override is not None:
            return False
        made = self.reranker()
        return (made is None or made.reranker.is_small) and all(
            each.known().is_small for each in [*self._models.values()]
        )

    def use_cluster(self, cluster: Cluster) -> None:
        """Embed the passages of all models on a cluster from now on."""
        with self._guard:
            self._cluster = cluster
            self._models.clear()

    def for_(self, spec: EmbeddingSpec | None) -> Model:
        """Return a model, the configured one for None; whether it can be used is found out once.

        Nothing is loaded or requested.

        Raises:
            ConfigError: If the configuration names a model that does not exist. A collection that does so is
                searched by words: its provider may come from a package that is gone.
            WorkspaceClosedError: If the models were closed.
        """
        wanted = spec or self.configured
        with self._guard:  # one for all, however many threads come first
            if self._closed:
                raise WorkspaceClosedError
            if wanted in self._models:
                return self._models[wanted]
            try:
                made = self._make(wanted)
            except ConfigError as error:
                if spec is None:
                    raise
                problem = EmbedderUnavailableError(str(error), hint=suggestion(wanted) or error.hint)
                return Model(wanted, None, problem)
            if self.small_only and not made.is_small:
                msg = f"{wanted} is for one process alone"
                raise RuntimeError(msg)
            model = Model(wanted, made, made.problem, is_given=self._override is not None)
            self._models[wanted] = model
            return model

    def check(self, spec: EmbeddingSpec) -> EmbeddingSpec:
        """Try a model before anything is written, and return its specification, pinned.

        Raises:
            ConfigError: If there is no such provider, or it does not offer this.
            EmbeddingError: If the model cannot be used here, or does not answer; the hint says what to do.
        """
        model = self.for_(spec)
        embedder = model.known()
        if embedder.problem is not None:  # it may have come or gone since it was made
            raise embedder.problem
        embedder.embed_query(_PROBE)
        return model.pinned()

    def problem_of(self, spec: EmbeddingSpec) -> MdvecError | None:
        """Return the reason why a model cannot be used here, without taking it into use."""
        try:
            return self._make(spec).problem
        except UsageError as error:
            return error

    def unload(self, *, idle_s: float) -> bool:
        """Free the memory of models that were not used for so many seconds; return whether any was freed."""
        made = [self._override] if self._override else [each.known() for each in [*self._models.values()]]
        freed = self._reranker is not None and self._reranker.reranker.unload(idle_s=idle_s)
        return sum(embedder.unload(idle_s=idle_s) for embedder in made) > 0 or freed

    def close(self) -> None:
        """Free all models but one that was given, and make none any more."""
        with self._guard:
            self._closed = True
        if self._override is None:
            self.unload(idle_s=0)

    def _make_reranker(self) -> ConfiguredReranker:
        provider, _, model = self.reranker_spec.partition(":")
        if not registry.has("rerankers", provider):
            known = registry.names("rerankers")
            msg = f"[search] rerank: there is no reranker {provider!r}{did_you_mean(provider, known)}"
            raise ConfigError(msg, hint=f"Known: {', '.join(known)}. Write PROVIDER or PROVIDER:MODEL.")
        factory: RerankerFactory = registry.load("rerankers", provider)
        settings = self._config.arguments("rerankers", provider, factory)
        how, threads = self._config.rerank, self._config.embedding.threads
        made = factory(model=model, timeout_s=how.timeout_s, threads=threads, **settings)
        named = EmbeddingSpec(provider, made.model)
        return ConfiguredReranker(str(named), made, how.passages, price_of(named, self._config.prices))

    def _make(self, spec: EmbeddingSpec) -> Embedder:
        if self._override is not None:
            return self._override
        factory: EmbedderFactory = registry.load("embedding", spec.provider)
        arguments = self._config.arguments("embedding", spec.provider, factory)
        if arguments.get("trust_remote_code"):
            refuse_code_of_publisher(self._location, spec, self.configured)
        settings = self._config.embedding
        own = make_embedder(spec, settings, arguments)
        if self._cluster is None:
            return own
        # A node runs as many tasks as it has cores.
        settings = msgspec.structs.replace(settings, threads=1)
        return self._cluster.embedder(
            own, functools.partial(make_elsewhere, __version__, spec, settings, arguments)
        )


def make_embedder(spec: EmbeddingSpec, settings: EmbeddingSettings, arguments: Mapping[str, Any]) -> Embedder:
    """Make an embedder, given ``[embedding]`` and the settings of its provider.

    Raises:
        ConfigError: If there is no such provider, or it does not offer this.
    """
    factory: EmbedderFactory = registry.load("embedding", spec.provider)
    runtime = Runtime(
        cache_dir=settings.cache_dir or default_cache_dir(),
        threads=settings.threads,
        batch_tokens=settings.batch_tokens,
    )
    return factory(model=spec.model, dimension=spec.dimension, runtime=runtime, **arguments)


def make_elsewhere(
    version: str, spec: EmbeddingSpec, settings: EmbeddingSettings, arguments: Mapping[str, Any]
) -> Embedder:
    """Make an embedder on a machine of a cluster; mdvec has this version where the import runs.

    Raises:
        EmbedderUnavailableError: If another version of mdvec is here.
        ConfigError: If there is no such provider.
    """
    if version != __version__:
        msg = f"mdvec is {__version__} here, but {version} where the import runs"
        raise EmbedderUnavailableError(msg, hint=f"Run there: pip install 'mdvec=={version}'")
    return make_embedder(spec, settings, arguments)


class Stages:
    """The stages of one workspace, each implementation as it is configured.

    Attributes:
        models: The models.
        configured_chunking: The default way to cut documents; sizes stay the configuration's, whatever it
            says later.
    """

    def __init__(self, config: Config, embedder: Embedder | None = None, location: str = "") -> None:
        self._config = config
        self.models = ModelPool(config, embedder, location)
        self.configured_chunking = ChunkingSpec(config.chunking.strategy)
        self._differs: dict[SourceSpec, Callable[[SourceEntry], bool]] = {}

    def model(self, collection: Collection) -> Model:
        """Return the model whose vectors a collection is searched by.

        Raises:
            ConfigError: If the configuration decides, and names a model that does not exist.
        """
        return self.models.for_(collection.embedding)

    def searched(self, collection: Collection, view: View) -> SearchedCollection:
        """Return a collection as it is searched."""
        model = self.model(collection)
        space_id, problem = model.space_or_problem(collection, view)
        if collection.source not in self._differs:  # made once: its patterns are parsed then
            self._differs[collection.source] = self.source(collection.source).differs
        differs = self._differs[collection.source]
        return SearchedCollection(collection, model.embedder, space_id, problem, differs)

    def next_model(self, collection: Collection) -> Model | None:
        """Return the model that a collection is changing to."""
        return None if collection.next_embedding is None else self.models.for_(collection.next_embedding)

    def cutting_model(self, collection: Collection) -> Model:
        """Return the model whose tokens count when documents are cut: of two, the one that will stay."""
        next_model = self.next_model(collection)
        return self.model(collection) if next_model is None or next_model.embedder is None else next_model

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
                follow=self._config.documents.follow,
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
        return Recipe(self._chunker(spec, model), versions)

    def processes(self, spec: ChunkingSpec, model: Model, number: int | None) -> Processes | None:
        """Return the processes that may prepare documents; None where there is but one, or one embedder."""
        from mdvec.indexing.prepare import Processes

        number = min(available_cores(), _MAX_PROCESSES) if number is None else number
        if number < 2 or model.is_given:
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
        usual_s = settings.auto_unload_minutes * 60 if settings.auto_unload_minutes > 0 else None
        if psutil.virtual_memory().percent <= 100 * settings.memory_threshold:
            return usual_s
        return _IDLE_WHEN_SHORT_S if usual_s is None else min(usual_s, _IDLE_WHEN_SHORT_S)

    def _chunker(self, spec: ChunkingSpec, model: Model | None) -> Chunker:
        factory: ChunkerFactory = registry.load("chunking", spec.strategy)
        known = _sizes_of(factory)
        own = set_only(**{name: getattr(spec, name) for name in _SIZES})
        if unknown := own.keys() - known:
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
        estimating = {"token_estimate": estimate} if getattr(factory, "takes_token_estimate", False) else {}
        configured = set_only(**{name: getattr(self._config.chunking, name) for name in known})
        return factory(
            token_ends=token_ends,
            tokenizer_name=tokenizer,
            token_limit=limit,
            **estimating,
            **{**configured, **self._config.arguments("chunking", spec.strategy, factory), **own},
        )


def make_recipe(config: Config, spec: ChunkingSpec, model: EmbeddingSpec) -> Recipe:
    """Make in another process what :meth:`Stages.recipe` returns here."""
    stages = Stages(config)
    return stages.recipe(spec, stages.models.for_(model))


def _sizes_of(chunker: ChunkerFactory) -> set[str]:
    """Return the sizes of a collection that a chunker declares to know."""
    return {*settings_kind(chunker).__struct_fields__} & {*_SIZES}
