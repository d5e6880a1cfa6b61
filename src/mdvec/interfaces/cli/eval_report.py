"""The report of ``mdvec eval`` as JSON and as tables, and the verdict of its gate. It loads numpy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mdvec import __version__
from mdvec.errors import UsageError
from mdvec.evaluation.metrics import DEPTH, METRICS, PRIMARY
from mdvec.evaluation.report import EvalReport, SetReport, by_grade, failures, main_system
from mdvec.interfaces.answers import JsonObject
from mdvec.interfaces.cli.terminal import (
    json_text,
    note,
    print_failure,
    table_text,
    table_width,
    warn,
    write,
)
from mdvec.interfaces.present import reranked_line
from mdvec.interfaces.printing import printable
from mdvec.text.quantity import quantity
from mdvec.types.hit import Reranking

if TYPE_CHECKING:
    from mdvec.evaluation.gate import Verdict


def check_output(output: Path, gate: Path | None, sets: Iterable[Path]) -> None:
    """Create the folder of a report, and check that the report can be written there.

    Raises:
        UsageError: If it is the record of the gate, which a worse report would then replace, or one of the
            sets that are measured.
        OSError: If it cannot be written.
    """
    if gate is not None and output.exists() and output.samefile(gate):
        msg = f"{output} is the record of --gate, and --output would replace it"
        raise UsageError(msg, hint="Give --output another file, or record again without --gate.")
    if output.exists() and any(output.samefile(each) for each in sets if each.exists()):
        msg = f"{output} holds the questions, and --output would replace it"
        raise UsageError(msg, hint="Give --output another file.")
    output.parent.mkdir(parents=True, exist_ok=True)
    if not output.exists():
        output.touch()
        output.resolve().unlink()  # not the link that leads there
    elif output.is_file():  # opening and closing a pipe would end it for its reader
        output.open("ab").close()  # its content stays until the report replaces it


def say(text: str) -> None:
    """Print a note for people to standard error, where the result is not."""
    note(printable(text))


def print_notes(report: EvalReport) -> None:
    """Print the notes on the sets, before their figures."""
    for each in report.sets:
        for text in (*each.set.notes, *bad_lines(each), *_reranked_lines(each)):
            say(f"{each.set.name}: {text}")
        for text in each.warnings:
            warn(printable(f"{each.set.name}: {text}"))


def print_report(
    report: EvalReport, shown: str, failures: int | None, output: Path | None, *, own_failures: int
) -> None:
    """Print a report.

    Args:
        report: The report.
        shown: The format: ``table``, ``json`` or ``html``.
        failures: Most failed questions of a set; None for the default.
        output: The file to write instead.
        own_failures: The default of the user's own questions; of other sets none are listed.
    """
    if shown == "json":
        text = json_text(report_json(report))
    elif shown == "html":
        from mdvec.evaluation.page import MAX_FAILURES, render

        text = render(report, max_failures=MAX_FAILURES if failures is None else failures)
    else:
        width = table_width() if output is None else None
        listed = own_failures if failures is None else failures
        text = "\n".join(
            f"{printable(table.title)}\n\n{table_text(table.columns, table.rows, width)}"
            for each in report.sets
            for table in set_tables(each, max_failures=listed if each.set.own else failures or 0)
        )
    if output is None:
        write(text)
    else:
        output.write_text(text, encoding="utf-8", errors="backslashreplace")
        note(f"written to {output}")


def print_verdict(verdict: Verdict) -> bool:
    """Print the verdict of the gate; return whether it is open."""
    for line in verdict.failures:
        say(f"gate: {line}")
    for line in verdict.better:
        say(f"gate: better: {line}")
    if verdict.failures:
        print_failure(
            "the gate is closed: the figures are worse than recorded",
            "If that is intended, record again with --format json --output F.",
        )
    else:
        note(f"gate: {verdict.passed:,} values are as good as recorded, or better")
    return not verdict.failures


_DIGITS = 6
_MS_DIGITS = 3
_SHOWN_PATHS = 3
_NOT_IN_JSON = frozenset({"best_text"})  # texts of documents


class Table(Struct, frozen=True):
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
    """Return a line for each system on the documents marked bad that it shows; none without marks."""
    marked = sum(len(question.bad) for question in report.set.questions)
    if not marked:
        return []
    return [
        f"{system.system}: {sum(len(outcome.bad) for outcome in system.outcomes):,} of "
        f"{quantity(marked, 'document')} marked bad among the ten best"
        for system in report.systems
    ]


def _reranked_lines(report: SetReport) -> Iterator[str]:
    """Yield the work of a reranker for all questions, and its cost."""
    for system in report.systems:
        read = [outcome.reranked for outcome in system.outcomes if outcome.reranked is not None]
        if read:
            prices = [each.usd for each in read if each.usd is not None]
            total = Reranking(
                read[0].model,
                sum(each.passages for each in read),
                sum(each.tokens for each in read),
                sum(prices) if prices else None,
            )
            yield f"{system.system}: {reranked_line(total)}"


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
    """Return a value of JSON: fields by name, rounded numbers, sorted sets."""
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
        rows.append(("  95 %", *(f"{value.low:.3f}-{value.high:.3f}" for value in values), "", "", ""))
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
