"""The embedding models of a workspace: made once, shared by all collections, tried before they are used."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from mdvec import __version__, registry
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config, EmbeddingSettings
from mdvec.embedding.interface import Embedder, EmbedderFactory, Runtime
from mdvec.errors import (
    ConfigError,
    EmbedderUnavailableError,
    EmbeddingError,
    UsageError,
    WorkspaceClosedError,
)
from mdvec.stores.interface import View
from mdvec.types.collection import Collection, EmbeddingSpec
from mdvec.types.ids import SpaceId
from mdvec.types.report import CollectionCounts
from mdvec.types.space import EmbeddingSpace

_PROBE = "dimension"  # embedded to see whether a model works


class Model(Struct, frozen=True):
    """An embedding model, as far as it can be used here.

    Attributes:
        spec: The specification.
        made: What knows its space, whether or not it can be used; None when there is no such provider.
        problem: Why it cannot be used; None when it can.
    """

    spec: EmbeddingSpec
    made: Embedder | None
    problem: EmbedderUnavailableError | None

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

    def space_id(self, collection: Collection, view: View) -> SpaceId | None:
        """Return the space in which a collection is searched; None when it holds no vector of it."""
        if collection.embedding is None and not view.counts(collection.id, None).chunks:
            return None  # no service gets a request for the length of vectors before there is one
        space = self.space
        return None if space is None else view.find_space(space)

    def counts(self, collection: Collection, view: View) -> CollectionCounts:
        """Count what a collection holds; chunks are pending that a search by this model misses."""
        return view.counts(collection.id, self.space_id(collection, view))


class Cluster(Protocol):
    """Machines that embed; made by the registry from an address, and connected to when it is first needed."""

    def embedder(self, own: Embedder, make: Callable[[], Embedder]) -> Embedder:
        """Return an embedder whose passages are embedded there.

        Args:
            own: The embedder here.
            make: Makes it there; it can be pickled.
        """

    def close(self) -> None:
        """Disconnect, if connected."""


class Embedders:
    """The embedders of a workspace, each made when it is first needed and shared by all collections."""

    def __init__(self, config: Config, override: Embedder | None) -> None:
        self._config = config
        self._settings = config.embedding
        self._override = override
        self._guard = threading.Lock()
        self._made: dict[EmbeddingSpec, Embedder] = {}
        self._models: dict[EmbeddingSpec, Model] = {}
        self._cluster: Cluster | None = None
        self._small_only = False
        self._closed = False

    @property
    def configured(self) -> EmbeddingSpec:
        """The model that the configuration names."""
        return EmbeddingSpec(self._settings.provider, self._settings.model or "", self._settings.dimension)

    @property
    def is_overridden(self) -> bool:
        """True if one embedder was given for all specifications."""
        return self._override is not None

    @property
    def is_chosen(self) -> bool:
        """True if the configuration names anything but the default."""
        return self.configured != EmbeddingSpec()

    def make(self, spec: EmbeddingSpec) -> Embedder:
        """Return the embedder of a specification; nothing is loaded or requested.

        Raises:
            ConfigError: If there is no such provider, or it does not offer this.
            WorkspaceClosedError: If they were closed.
        """
        if self._override is not None:
            return self._override
        with self._guard:  # one for all, however many threads come first
            if self._closed:
                raise WorkspaceClosedError
            if spec not in self._made:
                made = self._make(spec)
                if self._small_only and not made.is_small:
                    msg = f"{spec} is for one process alone"
                    raise RuntimeError(msg)
                self._made[spec] = made
            return self._made[spec]

    @property
    def are_small(self) -> bool:
        """Whether other processes may have all the models that were needed here."""
        return self._override is None and all(each.is_small for each in [*self._made.values()])

    def use_small_only(self) -> None:
        """Refuse, by a RuntimeError, to make a model too large for each process to have."""
        self._small_only = True

    def use_cluster(self, cluster: Cluster) -> None:
        """Embed the passages of all models on a cluster from now on."""
        with self._guard:
            self._cluster = cluster
            self._made.clear()
            self._models.clear()

    def _make(self, spec: EmbeddingSpec) -> Embedder:
        factory: EmbedderFactory = registry.load("embedding", spec.provider)
        arguments = self._config.arguments("embedding", spec.provider, factory)
        own = make_embedder(spec, self._settings, arguments)
        if self._cluster is None:
            return own
        # A node runs as many tasks as it has cores.
        settings = msgspec.structs.replace(self._settings, threads=1)
        return self._cluster.embedder(
            own, functools.partial(make_elsewhere, __version__, spec, settings, arguments)
        )

    def model(self, spec: EmbeddingSpec | None) -> Model:
        """Return a model; whether it can be used is found out once.

        Raises:
            ConfigError: If the configuration names a model that does not exist. A collection that does so is
                searched by words: its provider may come from a package that is gone.
        """
        wanted = spec or self.configured
        if wanted not in self._models:
            try:
                embedder = self.make(wanted)
            except ConfigError as error:
                if spec is None:
                    raise
                return Model(wanted, None, EmbedderUnavailableError(str(error), hint=error.hint))
            self._models[wanted] = Model(wanted, embedder, embedder.problem)
        return self._models[wanted]

    def space_of(self, spec: EmbeddingSpec | None) -> EmbeddingSpace | None:
        """Return the space of a model, usable here or not; None when it cannot be known."""
        try:
            return self.make(spec or self.configured).space
        except (ConfigError, EmbeddingError):
            return None

    def pinned(self, spec: EmbeddingSpec | None) -> EmbeddingSpec:
        """Return a specification that means the same whatever is configured, or becomes a provider's default.

        A model in a folder is named by the whole path: the next command may run elsewhere.

        Raises:
            ConfigError: If there is no such provider, or it does not offer this.
            EmbeddingError: If the dimension takes a request to a service, and that fails.
        """
        wanted = spec or self.configured
        embedder = self.make(wanted)
        space = embedder.space
        if self._override is not None:
            return EmbeddingSpec(space.provider, space.model, space.dimension)
        model = wanted.model or space.model if embedder.folder is None else str(embedder.folder)
        return EmbeddingSpec(wanted.provider, model, space.dimension)

    def tried(self, spec: EmbeddingSpec) -> Embedder:
        """Return an embedder that has embedded something, so that what is missing is known.

        Raises:
            ConfigError: If there is no such provider, or it does not offer this.
            EmbeddingError: If the model cannot be used here, or does not answer; the hint says what to do.
        """
        try:
            embedder = self.make(spec)
        except UsageError as error:
            error.hint = _suggestion(spec) or error.hint
            raise
        if embedder.problem is not None:
            raise embedder.problem
        embedder.embed_query(_PROBE)
        return embedder

    def checked(self, spec: EmbeddingSpec) -> EmbeddingSpec:
        """Try a model before anything is written, and return its specification, pinned; see :meth:`tried`."""
        self.tried(spec)
        return self.pinned(spec)

    def unload(self, *, idle_s: float) -> bool:
        """Free the memory of models that were not used for so many seconds; return whether any was freed."""
        made = [*self._made.values()] if self._override is None else [self._override]
        return sum(embedder.unload(idle_s=idle_s) for embedder in made) > 0

    def close(self) -> None:
        """Free all models but one that was given, and make none any more."""
        with self._guard:
            self._closed = True
        for embedder in self._made.values():
            embedder.unload(idle_s=0)


def make_embedder(spec: EmbeddingSpec, settings: EmbeddingSettings, arguments: Mapping[str, Any]) -> Embedder:
    """Make an embedder.

    Args:
        spec: The model.
        settings: ``[embedding]``.
        arguments: The settings of the provider.

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
    """Make an embedder on a machine of a cluster.

    Args:
        version: Of mdvec, where the import runs.
        spec: The model.
        settings: ``[embedding]``.
        arguments: The settings of the provider.

    Raises:
        EmbedderUnavailableError: If another version of mdvec is here.
        ConfigError: If there is no such provider.
    """
    if version != __version__:
        msg = f"mdvec is {__version__} here, but {version} where the import runs"
        raise EmbedderUnavailableError(msg, hint=f"Run there: pip install 'mdvec=={version}'")
    return make_embedder(spec, settings, arguments)


def _suggestion(wanted: EmbeddingSpec) -> str:
    """Return the known models whose name was given without the provider, as a hint; empty for none."""
    from mdvec.config.known_models import known_models

    name = wanted.provider
    specs = [known.spec for known in known_models() if name in known.model.split("/")]
    return f"Did you mean {' or '.join(specs)}?" if specs and not wanted.model else ""
