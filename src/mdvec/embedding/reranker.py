"""The configured reranker."""

from __future__ import annotations

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


def make_reranker(
    spec: str,
    *,
    passages: int,
    timeout_s: float,
    threads: int | None,
    settings_of: Callable[[str, str, object], Mapping[str, object]],
    price_of: Callable[[EmbeddingSpec], Price | None],
) -> ConfiguredReranker:
    """Make a reranker; nothing is loaded or sent.

    Args:
        spec: ``PROVIDER[:MODEL]``.
        passages: How many passages it reads.
        timeout_s: Most seconds for one judgement.
        threads: Threads to compute with; None for one per core.
        settings_of: Returns the settings of an extension, by stage, name and factory.
        price_of: Returns the price of a model.

    Raises:
        ConfigError: If there is no such reranker, or a setting of it is impossible.
    """
    provider, _, model = spec.partition(":")
    if not registry.has("rerankers", provider):
        known = registry.names("rerankers")
        msg = f"[search] rerank: there is no reranker {provider!r}{did_you_mean(provider, known)}"
        raise ConfigError(msg, hint=f"Known: {', '.join(known)}. Write PROVIDER or PROVIDER:MODEL.")
    factory: RerankerFactory = registry.load("rerankers", provider)
    settings = settings_of("rerankers", provider, factory)
    made = factory(model=model, timeout_s=timeout_s, threads=threads, **settings)
    named = EmbeddingSpec(provider, made.model)
    return ConfiguredReranker(str(named), made, passages, price_of(named))
