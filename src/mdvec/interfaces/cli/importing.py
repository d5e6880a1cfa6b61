"""``mdvec import``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mdvec.errors import ImportStoppedError, MdvecError
from mdvec.interfaces.cli.common_options import WholeNumber, choice_of, command, format_option, wait_option
from mdvec.interfaces.cli.filters import folder_options, names_option
from mdvec.interfaces.cli.progress import SAME_COMMAND, reporting_interruption
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, note_no_collections, print_failure, warn, write
from mdvec.interfaces.errors import EXIT_FAILED, translate
from mdvec.interfaces.present import estimate_summary, import_summary
from mdvec.text.quantity import quantity
from mdvec.types.report import ImportMode, ImportOptions

# More would hide the outcome.
_MOST_WARNINGS = 5

if TYPE_CHECKING:
    from mdvec.workspace import Workspace


@command("import")
@names_option("Only this collection; may be repeated.  [default: all]")
@click.option(
    "-m",
    "--mode",
    type=choice_of(ImportMode),
    default=ImportMode.UPDATE.value,
    show_default=True,
    help="update: only what differs; replace: rebuild; new: fail if there is data already.",
)
@click.option("--chunk-size", "max_tokens", type=WholeNumber(min=8), metavar="TOKENS", help="Largest chunk.")
@click.option(
    "--chunk-overlap",
    "overlap_tokens",
    type=WholeNumber(min=0),
    metavar="TOKENS",
    help="Tokens repeated in the next part of a section.",
)
@click.option(
    "--estimate", is_flag=True, help="Show what would be embedded and what that costs; write nothing."
)
@click.option(
    "--no-embed", "embed", flag_value=False, default=True, help="Index words now, make vectors later."
)
@click.option("--check", is_flag=True, help="Read every file, and repair damaged parts of the index.")
@click.option(
    "--on", "cluster", metavar="CLUSTER", help="Embed on the machines of a cluster: ray or ray://HOST:PORT."
)
@click.option("--allow-empty", is_flag=True, help="Accept that a folder has no documents any more.")
@folder_options
@wait_option
@format_option("text", "json")
def import_(
    session: Session,
    /,
    names: tuple[str, ...],
    estimate: bool,
    cluster: str | None,
    **chosen: Any,
) -> int:
    """Read documents into the index, or bring it up to date.

    Exits with 1 if a document could not be read or a vector could not be made; the rest can be searched. One
    collection that fails does not stop the others.
    """
    options = msgspec.convert({**chosen, "accept_pending": True, "processes": None}, ImportOptions)
    failed = False
    values: list[object] = []
    with (
        session.open(makes=session.docs_dir is not None) as workspace,
        workspace.models.embedding_on(cluster, shows_output=session.verbose),
    ):
        names = tuple(dict.fromkeys(names)) or tuple(each.name for each in workspace.collections())
        if not names:
            there_are = bool(workspace.collections(include_disabled=True))
            note_no_collections(session.import_here(), are_disabled=there_are)
        several = len(names) > 1
        try:
            for name in names:
                if estimate:
                    found = workspace.models.estimate(name, options)
                    values.append(found)
                    _print(found.warnings, estimate_summary(found), session)
                elif not _import_one(name, options, workspace, session, values, is_only_one=not several):
                    failed = True
        finally:
            if values:  # one value, however many collections
                session.wrote_json(values if several else values[0])
    return EXIT_FAILED if failed else 0


def _import_one(
    name: str,
    options: ImportOptions,
    workspace: Workspace,
    session: Session,
    values: list[object],
    *,
    is_only_one: bool,
) -> bool:
    """Import a collection and print the outcome, or add its value; return False if anything failed.

    Raises:
        ImportStoppedError: If the user stops it.
        MdvecError: If it cannot be imported, and is the only one.
    """
    from mdvec.interfaces import answers

    again = session.command("import", "-n", name, "-m", "update")
    resume = f"'{again}'" if session.docs_dir is None else SAME_COMMAND
    try:
        with reporting_interruption(workspace, (name,), resume=resume):
            report = workspace.import_collection(name, options)
    except ImportStoppedError:
        raise
    except MdvecError as error:
        if is_only_one:
            raise
        failure = translate(error)
        print_failure(f"{name}: {failure.message}", session.hint(failure.hint))
        return False
    command = session.command("status", "-n", name)
    more = quantity(len(report.warnings) - _MOST_WARNINGS, "more warning")
    further = f"and {more}; '{command}' has all of them" if report.warnings[_MOST_WARNINGS:] else ""
    values.append(answers.import_report(report))
    _print(report.warnings[:_MOST_WARNINGS], import_summary(report), session, more=further)
    if report.failure is not None:
        failure = translate(report.failure)
        # The command that resumes it replaces the general hint.
        own_hint = "" if failure.hint == report.failure.default_hint else f"{failure.hint} "
        done = (
            f"{report.total_chunks - report.pending_chunks:,} of {report.total_chunks:,} chunks are embedded"
        )
        print_failure(failure.message, f"{own_hint}{done}. Run {resume} to resume.")
    return not (report.failed or report.failure)


def _print(warnings: Iterable[str], text: str, session: Session, more: str = "") -> None:
    """Print an outcome, unless programs read its value."""
    if session.output != "json":
        for warning in warnings:
            warn(session.hint(warning))
        if more:
            note(more)
        write(f"{text}\n")
