"""The models that are listed, and their prices."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from mdvec.config.schema import PriceSettings
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.model_report import ListedModel, Price


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

    The configuration names it ``PROVIDER:MODEL`` or ``MODEL``.
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
    provider, usd = row["provider"], row.get("usd_per_million_tokens")
    figures = row.get("figures", {})
    described = {
        **row,
        # The builtin provider has one model.
        "spec": str(EmbeddingSpec(provider, "" if provider == "builtin" else row["model"])),
        "price": None if usd is None else Price(usd, as_of),
        "benchmarks": [{**benchmarks[name], "value": value} for name, value in figures.items()],
    }
    return msgspec.convert(described, ListedModel)


def suggestion(wanted: EmbeddingSpec) -> str:
    """Return the known models whose name was given without the provider, as a hint; empty for none."""
    name = wanted.provider
    specs = [known.spec for known in known_models() if name in known.model.split("/")]
    return f"Did you mean {' or '.join(specs)}?" if specs and not wanted.model else ""
