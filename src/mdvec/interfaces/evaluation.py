"""Reports of ``mdvec eval`` as JSON and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mdvec import __version__
from mdvec.evaluation.metrics import DEPTH, METRICS, PRIMARY
from mdvec.evaluation.report import EvalReport, Interval, SetReport, by_grade, failures, main_system
from mdvec.interfaces.encoding import JsonObject
from mdvec.text.quantity import quantity

_DIGITS = 6
_MS_DIGITS = 3
_SHOWN_PATHS = 3
_NOT_IN_JSON = frozenset({"best_text"})  # texts of documents


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people, with a title above it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def report_json(report: EvalReport) -> JsonObject:
    """Return a report as documented in ``docs/reference/json.md``."""
    return {
        "mdvec": __version__,
        "model": report.model,
        "by": list(report.by),
        "elapsed_ms": round(report.elapsed_ms, _MS_DIGITS),
        "sets": [_set_json(each) for each in report.sets],
    }


def set_tables(report: SetReport, *, max_failures: int = 0) -> list[Table]:
    """Return the tables of a set: the systems, their differences, the groups and the failed questions."""
    tables = [_systems_table(report)]
    if report.comparisons:
        tables.append(_comparisons_table(report))
    if any(system.groups for system in report.systems):
        tables.append(_groups_table(report))
    if max_failures and report.systems:
        tables += _failures_tables(report, max_failures)
    return tables


def bad_lines(report: SetReport) -> list[str]:
    """Return a line for each system: how many documents marked bad it shows. Without marks there is none."""
    marked = sum(len(question.bad) for question in report.set.questions)
    if not marked:
        return []
    return [
        f"{system.system}: {sum(len(outcome.bad) for outcome in system.outcomes):,} of "
        f"{quantity(marked, 'document')} marked bad among the ten best"
        for system in report.systems
    ]


def _set_json(report: SetReport) -> JsonObject:
    return {
        "name": report.set.name,
        "source": report.set.source,
        "min_grade": report.set.min_grade,
        "documents": report.documents,
        "chunks": report.chunks,
        "elapsed_ms": round(report.elapsed_ms, _MS_DIGITS),
        "notes": report.set.notes,
        "warnings": report.warnings,
        "questions": _plain(report.set.questions),
        "systems": _plain(report.systems),
        "comparisons": [
            {"better": each.better, "other": each.other, "metric": PRIMARY, **_plain(each)}
            for each in report.comparisons
        ],
    }


def _plain(value: Any, key: str = "") -> Any:
    """Return what JSON can hold: fields by name, rounded numbers, sorted sets."""
    match value:
        case float():
            return round(value, _MS_DIGITS if key.endswith("_ms") else _DIGITS)
        case frozenset():
            return sorted(value)
        case list() | tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {name: _plain(each, name) for name, each in value.items()}
        case msgspec.Struct():
            names = (name for name in value.__struct_fields__ if name not in _NOT_IN_JSON)
            return {name: _plain(getattr(value, name), name) for name in names}
    return value


def _systems_table(report: SetReport) -> Table:
    rows: list[tuple[str, ...]] = []
    for system in report.systems:
        values = [system.metrics[metric] for metric in METRICS]
        speed = (f"{system.p50_ms:.1f}", f"{system.p95_ms:.1f}", f"{system.tokens:,.0f}")
        rows.append((system.system, *(f"{value.mean:.4f}" for value in values), *speed))
        rows.append(("  95 %", *map(_span, values), "", "", ""))
    title = (
        f"{report.set.name}: {quantity(len(report.set.questions), 'question')}, "
        f"{quantity(report.documents, 'document')}, {quantity(report.chunks, 'chunk')}"
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
        (
            each.name,
            f"{each.questions:,}",
            system,
            *(f"{each.metrics[metric].mean:.4f}" for metric in METRICS),
        )
        for groups in zip(*(system.groups for system in report.systems), strict=True)
        for system, each in zip((system.system for system in report.systems), groups, strict=True)
    )
    return Table(f"{report.set.name}: by group", ("group", "questions", "system", *METRICS), rows)


def _failures_tables(report: SetReport, most: int) -> list[Table]:
    system = main_system(report.systems)
    failed = failures(report.set.questions, system.outcomes)
    if not failed:
        return []
    rows = tuple(
        (question.text, _some(by_grade(question)), _some(outcome.ranking) or "nothing")
        for question, outcome in failed[:most]
    )
    first = f", the first {most:,}" if len(failed) > most else ""
    title = (
        f"{report.set.name}: {len(failed):,} of {len(report.set.questions):,} questions failed with "
        f"{system.system} (no relevant document among {DEPTH}){first}"
    )
    return [Table(title, ("question", "relevant", "found instead"), rows)]


def _some(paths: Sequence[str]) -> str:
    more = f", and {len(paths) - _SHOWN_PATHS:,} more" if len(paths) > _SHOWN_PATHS else ""
    return ", ".join(paths[:_SHOWN_PATHS]) + more


def _span(interval: Interval) -> str:
    return f"{interval.low:.3f}-{interval.high:.3f}"
