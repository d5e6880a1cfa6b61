"""The shapes in which measurements leave mdvec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mdvec import __version__
from mdvec.evaluation.metrics import METRICS, PRIMARY
from mdvec.evaluation.model import (
    Comparison,
    EvalReport,
    Interval,
    Outcome,
    Question,
    SetReport,
    SystemReport,
)
from mdvec.interfaces.wire import JsonObject

_DIGITS = 6
_MS_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people.

    Attributes:
        title: What stands above it.
        columns: Their names.
        rows: Their cells.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def report_json(report: EvalReport) -> JsonObject:
    """Return a report as documented in ``docs/reference/json.md``."""
    return {
        "mdvec": __version__,
        "model": report.model,
        "min_grade": report.min_grade,
        "by": list(report.by),
        "sets": [_set_json(each) for each in report.sets],
    }


def set_tables(report: SetReport) -> list[Table]:
    """Return what people want to know of a set: the systems, how they differ, and the groups."""
    tables = [_systems_table(report)]
    if report.comparisons:
        tables.append(_comparisons_table(report))
    if any(system.groups for system in report.systems):
        tables.append(_groups_table(report))
    return tables


def bad_lines(report: SetReport) -> list[str]:
    """Say for each system how many of the documents marked bad it still shows; empty when none are."""
    marked = sum(len(question.bad) for question in report.set.questions)
    if not marked:
        return []
    return [
        f"{system.system}: {sum(len(outcome.bad) for outcome in system.outcomes):,} of {marked:,} "
        "documents marked bad are among the ten best"
        for system in report.systems
    ]


def _set_json(report: SetReport) -> JsonObject:
    return {
        "name": report.set.name,
        "source": report.set.source,
        "documents": report.documents,
        "chunks": report.chunks,
        "notes": list(report.notes),
        "warnings": list(report.warnings),
        "questions": [_question_json(question) for question in report.set.questions],
        "systems": [_system_json(system) for system in report.systems],
        "comparisons": [_comparison_json(each) for each in report.comparisons],
    }


def _question_json(question: Question) -> JsonObject:
    return {
        "id": question.id,
        "text": question.text,
        "relevant": dict(question.relevant),
        "scope": question.scope,
        "exclude": sorted(question.exclude),
        "bad": sorted(question.bad),
        "collection": question.collection,
        "labels": dict(question.labels),
    }


def _system_json(system: SystemReport) -> JsonObject:
    return {
        "system": system.system,
        "metrics": _metrics_json(system.metrics),
        "p50_ms": round(system.p50_ms, _MS_DIGITS),
        "p95_ms": round(system.p95_ms, _MS_DIGITS),
        "tokens": round(system.tokens, 1),
        "groups": [
            {"name": name, "questions": count, "metrics": _metrics_json(metrics)}
            for name, (count, metrics) in system.groups.items()
        ],
        "outcomes": [_outcome_json(outcome) for outcome in system.outcomes],
    }


def _outcome_json(outcome: Outcome) -> JsonObject:
    return {
        "question": outcome.question,
        "ranking": list(outcome.ranking),
        "metrics": {name: round(value, _DIGITS) for name, value in outcome.metrics.items()},
        "latency_ms": round(outcome.latency_ms, _MS_DIGITS),
        "tokens": outcome.tokens,
        "confidence": outcome.confidence,
        "bad": list(outcome.bad),
    }


def _comparison_json(comparison: Comparison) -> JsonObject:
    return {
        "better": comparison.better,
        "other": comparison.other,
        "metric": PRIMARY,
        "difference": _interval_json(comparison.difference),
        "p_value": round(comparison.p_value, _DIGITS),
        "wins": comparison.wins,
        "losses": comparison.losses,
    }


def _metrics_json(metrics: Mapping[str, Interval]) -> JsonObject:
    return {name: _interval_json(interval) for name, interval in metrics.items()}


def _interval_json(interval: Interval) -> JsonObject:
    return {
        "mean": round(interval.mean, _DIGITS),
        "low": round(interval.low, _DIGITS),
        "high": round(interval.high, _DIGITS),
    }


def _systems_table(report: SetReport) -> Table:
    rows: list[tuple[str, ...]] = []
    for system in report.systems:
        values = [system.metrics[metric] for metric in METRICS]
        speed = (f"{system.p50_ms:.1f}", f"{system.p95_ms:.1f}", f"{system.tokens:,.0f}")
        rows.append((system.system, *(f"{value.mean:.4f}" for value in values), *speed))
        rows.append(("  95 %", *map(_span, values), "", "", ""))
    title = (
        f"{report.set.name}: {len(report.set.questions):,} questions, "
        f"{report.documents:,} documents, {report.chunks:,} chunks"
    )
    return Table(title, ("system", *METRICS, "p50 ms", "p95 ms", "tokens"), tuple(rows))


def _comparisons_table(report: SetReport) -> Table:
    return Table(
        f"{report.set.name}: {PRIMARY} of {report.comparisons[0].better} less that of …",
        ("system", "difference", "95 %", "p", "wins", "losses"),
        tuple(
            (
                each.other,
                f"{each.difference.mean:+.4f}",
                f"{each.difference.low:+.3f} to {each.difference.high:+.3f}",
                f"{each.p_value:.4f}",
                f"{each.wins:,}",
                f"{each.losses:,}",
            )
            for each in report.comparisons
        ),
    )


def _groups_table(report: SetReport) -> Table:
    rows = tuple(
        (group, f"{count:,}", system.system, *(f"{metrics[metric].mean:.4f}" for metric in METRICS))
        for group in report.systems[0].groups
        for system in report.systems
        for count, metrics in [system.groups[group]]
    )
    return Table(f"{report.set.name}: by group", ("group", "questions", "system", *METRICS), rows)


def _span(interval: Interval) -> str:
    return f"{interval.low:.3f}-{interval.high:.3f}"
