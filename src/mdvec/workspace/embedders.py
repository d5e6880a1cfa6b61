"""Makes the embedders that collections name, each once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from mdvec import registry
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder, EmbedderFactory, Runtime
from mdvec.errors import ConfigError, EmbedderUnavailableError, EmbeddingError
from mdvec.stores.interface import Store
from mdvec.types.collection import Collection, EmbeddingSpec
from mdvec.types.ids import SpaceId


@dataclass(frozen=True, slots=True)
class Model:
    """A model, as far as it can be used here.

    Attributes:
        spec: What was asked for.
        made: What knows its space, whether or not it can be used; None when there is no such provider.
        problem: Why it cannot be used; None when it can.
    """

    spec: EmbeddingSpec
    made: Embedder | None
    problem: EmbedderUnavailableError | None

    @property
    def embedder(self) -> Embedder | None:
        """What makes its vectors; None when it cannot be used."""
        return self.made if self.problem is None else None

    @property
    def name(self) -> str:
        """Its space, for people; the spec where that is not known."""
        space = space_key(self)
        return str(self.spec) if space is None else space


class Embedders:
    """The embedders of a workspace, each made when it is first needed and shared by those who name it.

    Args:
        config: What is used where nothing is named, and how.
        override: Used instead of whatever is named.
        on_progress: Told the per cent done of a model that is built or loaded.
        on_wait: Told the seconds left until a service is asked again.
    """

    def __init__(
        self,
        config: Config,
        override: Embedder | None,
        *,
        on_progress: Callable[[int], None],
        on_wait: Callable[[float], None],
    ) -> None:
        self._config = config
        self._settings = config.embedding
        self._override = override
        self._on_progress = on_progress
        self._on_wait = on_wait
        self._guard = threading.Lock()
        self._made: dict[EmbeddingSpec, Embedder] = {}
        self._models: dict[EmbeddingSpec, Model] = {}

    @property
    def configured(self) -> EmbeddingSpec:
        """What the configuration names."""
        return EmbeddingSpec(self._settings.provider, self._settings.model or "", self._settings.dimension)

    @property
    def is_chosen(self) -> bool:
        """Whether the configuration names anything but the default."""
        return self.configured != EmbeddingSpec()

    def make(self, spec: EmbeddingSpec) -> Embedder:
        """Return the embedder of a spec; nothing is loaded or asked for.

        Raises:
            ConfigError: If there is no such provider, or it does not offer this.
        """
        if self._override is not None:
            return self._override
        with self._guard:  # one for all, however many threads ask first
            if spec not in self._made:
                factory: EmbedderFactory = registry.load("embedding", spec.provider)
                self._made[spec] = factory(
                    model=spec.model,
                    dimension=spec.dimension,
                    runtime=Runtime(
                        cache_dir=self._settings.cache_dir or default_cache_dir(),
                        threads=self._settings.threads,
                        batch_tokens=self._settings.batch_tokens,
                        on_progress=self._on_progress,
                        on_wait=self._on_wait,
                    ),
                    **self._config.arguments("embedding", spec.provider, factory),
                )
            return self._made[spec]

    def model(self, spec: EmbeddingSpec | None) -> Model:
        """Say what can be done with a model here; asked for once.

        Args:
            spec: What a collection names; None for what is configured.

        Raises:
            ConfigError: If the configuration names what there is not. A collection that does is searched by
                words: its provider may come from a package that is gone.
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

    def space_of(self, spec: EmbeddingSpec | None) -> str | None:
        """Return the key of a model's space, usable here or not; None when it cannot be known."""
        try:
            return self.make(spec or self.configured).space.key
        except (ConfigError, EmbeddingError):
            return None

    def pinned(self, spec: EmbeddingSpec | None) -> EmbeddingSpec:
        """Return a spec that means the same whatever is configured, or becomes a provider's own choice.

        A model in a folder is named by the whole path: the next command may run elsewhere.

        Raises:
            ConfigError: If there is no such provider, or it does not offer this.
            EmbeddingError: If a service had to be asked for the dimension and did not answer.
        """
        wanted = spec or self.configured
        embedder = self.make(wanted)
        space = embedder.space
        if self._override is not None:
            return EmbeddingSpec(space.provider, space.model, space.dimension)
        model = wanted.model or space.model if embedder.folder is None else str(embedder.folder)
        return EmbeddingSpec(wanted.provider, model, space.dimension)

    def find_space(self, spec: EmbeddingSpec | None, store: Store) -> SpaceId | None:
        """Return the space of a model, usable here or not; None when there is no vector of it."""
        try:
            return store.vectors.find_space(self.make(spec or self.configured).space)
        except (ConfigError, EmbeddingError):
            return None

    def named(self, spec: EmbeddingSpec) -> EmbeddingSpec:
        """Return a spec with the name of the model, where that is known; else as it is."""
        try:
            return self.pinned(spec)
        except (ConfigError, EmbeddingError):
            return spec

    def unload(self, *, idle_s: float) -> bool:
        """Free the memory of models that were not used for so many seconds.

        Returns:
            Whether there was anything to free.
        """
        made = [*self._made.values()] if self._override is None else [self._override]
        return sum(embedder.unload(idle_s=idle_s) for embedder in made) > 0


def space_key(model: Model) -> str | None:
    """Return the key of a usable model's space; None when it cannot be known."""
    if model.embedder is None:
        return None
    try:
        return model.embedder.space.key
    except (ConfigError, EmbeddingError):
        return None


def known_space(collection: Collection, model: Model, store: Store) -> SpaceId | None:
    """Return the space a collection is searched in; None when there is no vector of it, or it is not known.

    It is known of many a model that cannot be used now: what was embedded is not pending for that.
    """
    try:
        return searched_space(collection, model, store)
    except (ConfigError, EmbeddingError):
        return None


def searched_space(collection: Collection, model: Model, store: Store) -> SpaceId | None:
    """Return the space a collection is searched in; None when there is no vector of it yet.

    Raises:
        ConfigError: If the model does not offer what is asked of it.
        EmbeddingError: If its space cannot be known here and now.
    """
    if model.made is None:
        return None
    if collection.embedding is None and not store.catalog.counts(collection.id, None).chunks:
        return None  # a service is not asked how long the vectors are that nobody has made
    return store.vectors.find_space(model.made.space)
