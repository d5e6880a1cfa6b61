"""The reranker of a workspace, made when it is first needed."""

from __future__ import annotations

import threading

from mdvec import registry
from mdvec.config.schema import Config
from mdvec.embedding.interface import RerankerFactory
from mdvec.errors import ConfigError, did_you_mean
from mdvec.search.reranking import ConfiguredReranker
from mdvec.types.collection import EmbeddingSpec


class WorkspaceReranker:
    """The reranker that ``[search] rerank`` names. Threads may share it.

    Attributes:
        spec: As it is configured; empty for none.
    """

    def __init__(self, config: Config) -> None:
        self.spec = config.search.rerank or ""
        self._config = config
        self._guard = threading.Lock()
        self._made: ConfiguredReranker | None = None

    def ready(self) -> ConfiguredReranker | None:
        """Return it; None when none is configured. Nothing is loaded or sent.

        Raises:
            ConfigError: If there is no such reranker, or a setting of it is impossible.
        """
        if not self.spec:
            return None
        with self._guard:
            if self._made is None:
                self._made = self._make()
            return self._made

    @property
    def is_small(self) -> bool:
        """Whether other processes may have it, too."""
        made = self.ready()
        return made is None or made.reranker.is_small

    def unload(self, *, idle_s: float) -> bool:
        """Free its memory if it was not used for so many seconds; return whether any was freed."""
        return self._made is not None and self._made.reranker.unload(idle_s=idle_s)

    def _make(self) -> ConfiguredReranker:
        from mdvec.config.known_models import price_of

        provider, _, model = self.spec.partition(":")
        if not registry.has("rerankers", provider):
            known = registry.names("rerankers")
            msg = f"[search] rerank: there is no reranker {provider!r}{did_you_mean(provider, known)}"
            raise ConfigError(msg, hint=f"Known: {', '.join(known)}. Write PROVIDER or PROVIDER:MODEL.")
        factory: RerankerFactory = registry.load("rerankers", provider)
        settings = self._config.rerank
        reranker = factory(
            model=model,
            timeout_s=settings.timeout_s,
            threads=self._config.embedding.threads,
            **self._config.arguments("rerankers", provider, factory),
        )
        # Not as it is configured: it is shown to whoever asks, and a path is not theirs to know.
        spec = EmbeddingSpec(provider, reranker.model)
        price = price_of(spec, self._config.prices)
        usd = None if price is None else price.usd_per_million_tokens
        return ConfiguredReranker(str(spec), reranker, settings.passages, usd)
