"""The configured reranker, made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from msgspec import Struct

from mdvec import registry
from mdvec.embedding.interface import Reranker, RerankerFactory
from mdvec.errors import ConfigError, did_you_mean
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.model_report import Price


class ConfiguredReranker(Struct, frozen=True):
    """A reranker, and how it is used.

    Attributes:
        name: Its provider and model, for everyone who sees an answer: never a path.
        reranker: The model.
        passages: How many passages it reads.
        price: What it costs; None when that is nothing, or not known.
    """

    name: str
    reranker: Reranker
    passages: int
    price: Price | None = None


class OnDemandReranker:
    """Makes the reranker once, for all threads.

    Attributes:
        spec: ``PROVIDER[:MODEL]``.
    """

    def __init__(
        self,
        spec: str,
        *,
        passages: int,
        timeout_s: float,
        threads: int | None,
        settings_of: Callable[[str, str, object], Mapping[str, object]],
        price_of: Callable[[EmbeddingSpec], Price | None],
    ) -> None:
        """Store the settings; nothing is made.

        Args:
            spec: ``PROVIDER[:MODEL]``.
            passages: How many passages it reads.
            timeout_s: Most seconds for one judgement.
            threads: Threads to compute with; None for one per core.
            settings_of: Returns the settings of an extension, by stage, name and factory.
            price_of: Returns the price of a model.
        """
        self.spec = spec
        self._passages = passages
        self._timeout_s = timeout_s
        self._threads = threads
        self._settings_of = settings_of
        self._price_of = price_of
        self._guard = threading.Lock()
        self._made: ConfiguredReranker | None = None

    def ready(self) -> ConfiguredReranker:
        """Return it; nothing is loaded or sent.

        Raises:
            ConfigError: If there is no such reranker, or a setting of it is impossible.
        """
        with self._guard:
            if self._made is None:
                self._made = self._make()
            return self._made

    @property
    def is_small(self) -> bool:
        """Whether other processes may have it, too."""
        return self.ready().reranker.is_small

    def unload(self, *, idle_s: float) -> bool:
        """Free its memory if it was not used for so many seconds; return whether any was freed."""
        return self._made is not None and self._made.reranker.unload(idle_s=idle_s)

    def _make(self) -> ConfiguredReranker:
        provider, _, model = self.spec.partition(":")
        if not registry.has("rerankers", provider):
            known = registry.names("rerankers")
            msg = f"[search] rerank: there is no reranker {provider!r}{did_you_mean(provider, known)}"
            raise ConfigError(msg, hint=f"Known: {', '.join(known)}. Write PROVIDER or PROVIDER:MODEL.")
        factory: RerankerFactory = registry.load("rerankers", provider)
        settings = self._settings_of("rerankers", provider, factory)
        made = factory(model=model, timeout_s=self._timeout_s, threads=self._threads, **settings)
        named = EmbeddingSpec(provider, made.model)
        return ConfiguredReranker(str(named), made, self._passages, self._price_of(named))
