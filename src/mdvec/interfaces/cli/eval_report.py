"""Prints the report of ``mdvec eval``, and the verdict of its gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mdvec.errors import UsageError
from mdvec.interfaces.cli.terminal import (
    aligned_text,
    json_text,
    note,
    print_failure,
    warn,
    write,
    write_table,
)
from mdvec.interfaces.printing import printable

if TYPE_CHECKING:
    from mdvec.evaluation.gate import Verdict
    from mdvec.evaluation.report import EvalReport
    from mdvec.interfaces.evaluation import Table

DEFAULT_FAILURES = 5
"""Failed questions that are listed of the user's own."""


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
    """Print a note for people to standard error, beside the result."""
    note(printable(text))


def print_notes(report: EvalReport) -> None:
    """Print what is to be known of the sets before their figures."""
    from mdvec.interfaces.evaluation import bad_lines

    for each in report.sets:
        for text in (*each.set.notes, *bad_lines(each)):
            say(f"{each.set.name}: {text}")
        for text in each.warnings:
            warn(printable(f"{each.set.name}: {text}"))


def print_report(report: EvalReport, shown: str, failures: int | None, output: Path | None) -> None:
    """Print a report.

    Args:
        report: The report.
        shown: The format: ``table``, ``json`` or ``html``.
        failures: Most failed questions of a set; None for the default.
        output: The file to write instead.
    """
    if shown == "table" and output is None:
        for position, table in enumerate(_tables(report, failures)):
            write(printable(table.title).join(("\n" if position else "", "\n\n")))
            write_table(table.columns, table.rows)
        return
    text = _text(report, shown, failures)
    if output is None:
        write(text)
    else:
        output.write_text(text, encoding="utf-8", errors="backslashreplace")
        note(f"written to {output}")


def _text(report: EvalReport, shown: str, failures: int | None) -> str:
    if shown == "json":
        from mdvec.interfaces.evaluation import report_json

        return json_text(report_json(report))
    if shown == "html":
        from mdvec.evaluation.page import MAX_FAILURES, render

        return render(report, max_failures=MAX_FAILURES if failures is None else failures)
    return "\n".join(
        f"{table.title}\n\n{aligned_text(table.columns, table.rows)}" for table in _tables(report, failures)
    )


def _tables(report: EvalReport, failures: int | None) -> Iterator[Table]:
    from mdvec.interfaces.evaluation import set_tables

    for each in report.sets:
        default = DEFAULT_FAILURES if each.set.own else 0
        yield from set_tables(each, max_failures=default if failures is None else failures)


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
