"""The models that are listed, and their prices."""

from __future__ import annotations

from functools import cache
from typing import Any

from mdvec.config.schema import PriceSettings
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.model_report import Benchmark, ListedModel, Price


@cache
def _table() -> dict[str, Any]:
    import tomllib  # most searches need no price
    from importlib import resources

    text = resources.files("mdvec.config").joinpath("known_models.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def known_models() -> tuple[ListedModel, ...]:
    """Return the list, in the order in which it is shown, with nothing about this machine."""
    table = _table()
    return tuple(_model(row, table["benchmarks"], table["prices_as_of"]) for row in table["models"])


def price_of(spec: EmbeddingSpec, settings: PriceSettings) -> Price | None:
    """Return what a model or a reranker costs: what is configured, else what is listed.

    Args:
        spec: The model, pinned.
        settings: The configuration's own prices, by ``PROVIDER:MODEL`` or ``MODEL``.
    """
    full_name = f"{spec.provider}:{spec.model}"
    for name in (full_name, spec.model):
        if name in settings.usd_per_million_tokens:
            return Price(settings.usd_per_million_tokens[name], settings.as_of or "")
    if full_name in _table()["rerankers"]:
        return Price(_table()["rerankers"][full_name], _table()["prices_as_of"])
    listed = (each for each in known_models() if (each.provider, each.model) == (spec.provider, spec.model))
    return next((each.price for each in listed), None)


def _model(row: dict[str, Any], benchmarks: dict[str, dict[str, str]], as_of: str) -> ListedModel:
    usd = row.get("usd_per_million_tokens")
    provider, model = row["provider"], row["model"]
    return ListedModel(
        # The builtin provider has one model.
        spec=str(EmbeddingSpec(provider, "" if provider == "builtin" else model)),
        provider=provider,
        model=model,
        dimensions=tuple(row["dimensions"]),
        languages=row["languages"],
        size_mb=row.get("size_mb"),
        price=None if usd is None else Price(usd, as_of),
        offline=row.get("offline", False),
        benchmarks=tuple(
            Benchmark(benchmarks[name]["name"], value, benchmarks[name]["source"])
            for name, value in row.get("figures", {}).items()
        ),
        licence=row.get("licence", ""),
        good_for=row.get("good_for", ""),
    )


def suggestion(wanted: EmbeddingSpec) -> str:
    """Return the known models whose name was given without the provider, as a hint; empty for none."""
    name = wanted.provider
    specs = [known.spec for known in known_models() if name in known.model.split("/")]
    return f"Did you mean {' or '.join(specs)}?" if specs and not wanted.model else ""
