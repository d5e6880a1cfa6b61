"""The shapes in which what is said about models leaves mdvec, shared by all doors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import assert_never

from mdvec.interfaces.present import JsonObject
from mdvec.types.model_report import ImportEstimate, ListedModel, ModelChange, ModelChangeOutcome

# The one figure a table has room for: of the most models, and of Japanese.
_MAIN_BENCHMARK = "JMTEB retrieval, 11 sets"

_USD_DIGITS = 6

MODEL_COLUMNS = ("model", "dimension", "languages", "MB", "USD/1M", "offline", "JMTEB", "here", "used by")
"""What :func:`model_row` shows."""


def model_json(model: ListedModel) -> JsonObject:
    """Return what is known of a model, its fields in the order of :class:`ListedModel`."""
    return asdict(model)


def model_row(model: ListedModel) -> tuple[str, ...]:
    """Return a model for people; what is not known is empty."""
    return (
        model.spec,
        ", ".join(map(str, model.dimensions)),
        model.languages,
        "" if model.size_mb is None else str(model.size_mb),
        "" if model.price is None else f"{model.price.usd_per_million_tokens:g}",
        "yes" if model.offline else "no",
        next((f"{each.value:.2f}" for each in model.benchmarks if each.name == _MAIN_BENCHMARK), ""),
        "no" if model.problem else "yes",
        ", ".join(model.collections),
    )


def model_notes(models: Sequence[ListedModel]) -> Iterator[str]:
    """Say where the figures are from, how old the prices are, and how what is missing can be had."""
    figures = (each for model in models for each in model.benchmarks if each.name == _MAIN_BENCHMARK)
    if figure := next(figures, None):
        yield f"JMTEB: {figure.name}, mean nDCG@10 in per cent, from {figure.source}"
    days = sorted({model.price.as_of for model in models if model.price is not None and model.price.as_of})
    if days:
        yield f"prices as of {', '.join(days)}; [prices] in mdvec.toml changes them"
    hints: dict[str, list[str]] = {}
    for model in models:
        if model.problem:
            hints.setdefault(f"{model.problem}. {model.hint}", []).append(model.spec)
    yield from (f"{', '.join(specs)}: {hint}" for hint, specs in hints.items())


def model_change_json(change: ModelChange) -> JsonObject:
    """Return what became of a change, its fields in the order of :class:`ModelChange`."""
    return {**asdict(change), "elapsed_ms": round(change.elapsed_ms, 1)}


def model_change_line(change: ModelChange) -> str:
    """Say what became of a change."""
    match change.outcome:
        case ModelChangeOutcome.CHANGED:
            return (
                f"{change.collection}: {change.model} from now on; {change.embedded_chunks:,} of "
                f"{change.total_chunks:,} chunks embedded, in {change.elapsed_ms / 1000:.1f} s"
            )
        case ModelChangeOutcome.CHOSEN:
            next_step = f"next: mdvec import -n {change.collection}"
            return f"{change.collection}: {change.model} will make its vectors; {next_step}"
        case ModelChangeOutcome.SAME:
            return f"{change.collection}: {_model_in_use(change)}; nothing to change"
        case ModelChangeOutcome.CANCELLED:
            return f"{change.collection}: the change was cancelled; {_model_in_use(change)}"
        case _:
            assert_never(change.outcome)


def _model_in_use(change: ModelChange) -> str:
    return f"uses {change.model}" if change.model else "uses the configured model"


def estimate_json(estimate: ImportEstimate) -> JsonObject:
    """Return what an import would embed, its fields in the order of :class:`ImportEstimate`."""
    return {**asdict(estimate), "usd": None if estimate.usd is None else round(estimate.usd, _USD_DIGITS)}


def estimate_summary(estimate: ImportEstimate) -> str:
    """Return three lines for people."""
    tokens = f"{estimate.tokens:,} tokens" + ("" if estimate.exact else " (estimated)")
    requests = f", {estimate.requests:,} requests" if estimate.requests else ""
    if estimate.price is None:
        cost = "price: not known" if estimate.requests else "price: none"
    else:
        day = f" as of {estimate.price.as_of}" if estimate.price.as_of else ""
        rate = f"{estimate.price.usd_per_million_tokens:g} USD for a million tokens"
        cost = f"price: {estimate.usd:.4f} USD, at {rate}{day}"
    return (
        f"{estimate.collection}: {estimate.documents:,} documents to read, by {estimate.model}\n"
        f"to embed: {estimate.chunks:,} chunks, {estimate.names:,} names, {tokens}{requests}\n{cost}"
    )
