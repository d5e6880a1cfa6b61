"""``mdvec import``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mdvec.errors import UsageError
from mdvec.interfaces.cli.formats import choice_of, chosen_format, format_option
from mdvec.interfaces.cli.interruption import SAME_COMMAND, saying_what_is_pending
from mdvec.interfaces.cli.progress import shown_progress
from mdvec.interfaces.cli.session import Command, Session, common_options
from mdvec.interfaces.cli.terminal import print_failure, warn, write, write_json
from mdvec.interfaces.cli.waiting import wait_option
from mdvec.interfaces.errors import EXIT_FAILED, translate
from mdvec.types.report import ImportMode

if TYPE_CHECKING:
    from mdvec.errors import EmbeddingError
    from mdvec.types.model_report import ImportEstimate


@click.command("import", cls=Command)
@click.option("-n", "--name", "names", multiple=True, help="The collection to import; may be repeated.")
@click.option(
    "-m",
    "--mode",
    type=choice_of(ImportMode),
    help="new: fails when there is data already; replace: builds it again; update: only what differs."
    "  [default: new; update with --docs-dir]",
)
@click.option("--chunk-size", type=click.IntRange(min=8), metavar="TOKENS", help="Largest chunk.")
@click.option(
    "--chunk-overlap",
    type=click.IntRange(min=0),
    metavar="TOKENS",
    help="Repeated in the next part of a section.",
)
@click.option(
    "--estimate", is_flag=True, help="Say what would be embedded and what that costs; write nothing."
)
@click.option("--no-embed", is_flag=True, help="Index the words now, leave the vectors for later.")
@click.option("--allow-empty", is_flag=True, help="Accept that a folder has no documents any more.")
@wait_option
@format_option("text", "json")
@common_options
@click.pass_context
def import_(
    ctx: click.Context,
    names: tuple[str, ...],
    mode: str | None,
    chunk_size: int | None,
    chunk_overlap: int | None,
    estimate: bool,
    no_embed: bool,
    allow_empty: bool,
    wait: float,
    format_name: str | None,
) -> None:
    """Read a collection's documents into the index.

    Exits with 1 when a document could not be read, or not all vectors could be made; the rest is searchable.
    """
    from mdvec.interfaces import present

    session: Session = ctx.obj
    if not names and session.docs_dir is None:
        msg = "which collection is to be imported?"
        raise UsageError(msg, hint="Give -n NAME; 'mdvec tool ls' lists them.")
    if mode is None:
        mode = ImportMode.UPDATE if session.docs_dir is not None else ImportMode.NEW
    failed = False
    with session.open() as (workspace, config), shown_progress() as progress:
        names = names or tuple(each.name for each in workspace.collections())
        output = chosen_format(format_name, config, ("text", "json"))
        if estimate:
            for name in names:
                found = workspace.models.estimate(
                    name,
                    mode=ImportMode(mode),
                    allow_empty=allow_empty,
                    max_tokens=chunk_size,
                    overlap_tokens=chunk_overlap,
                    progress=progress,
                )
                _print_estimate(found, output)
            return
        for name in names:
            go_on = f"'mdvec import -n {name} -m update'" if session.docs_dir is None else SAME_COMMAND
            with saying_what_is_pending(workspace, (name,), go_on=go_on):
                report = workspace.import_collection(
                    name,
                    mode=ImportMode(mode),
                    embed=not no_embed,
                    allow_empty=allow_empty,
                    max_tokens=chunk_size,
                    overlap_tokens=chunk_overlap,
                    accept_pending=True,
                    wait_s=wait,
                    progress=progress,
                )
            failed = failed or bool(report.failed or report.failure)
            if output == "json":
                write_json(present.import_json(report))
            else:
                for warning in report.warnings:
                    warn(warning)
                write(present.import_summary(report) + "\n")
            if report.failure is not None:
                _tell_failure(report.failure, f"{present.embedded_so_far(report)}. Run {go_on} to go on.")
    if failed:
        ctx.exit(EXIT_FAILED)


def _tell_failure(error: EmbeddingError, pending: str) -> None:
    """Say why vectors are missing, and what to do about it.

    Args:
        error: What ended the import.
        pending: How far it is, and what goes on with it: more than the error itself can say of that.
    """
    failure = translate(error)
    own_hint = "" if failure.hint == error.default_hint else f"{failure.hint} "
    print_failure(failure.message, own_hint + pending)


def _print_estimate(estimate: ImportEstimate, output: str) -> None:
    from mdvec.interfaces import models as shown

    if output == "json":
        write_json(shown.estimate_json(estimate))
        return
    for warning in estimate.warnings:
        warn(warning)
    write(shown.estimate_summary(estimate) + "\n")
