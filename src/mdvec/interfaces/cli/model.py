"""``mdvec model``: the list of embedding models, and the change from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mdvec.errors import UsageError
from mdvec.interfaces import present
from mdvec.interfaces.cli.common_options import CommandGroup, format_option, wait_option
from mdvec.interfaces.cli.filters import names_option
from mdvec.interfaces.cli.progress import reporting_interruption
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, warn, write, write_json, write_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdvec.types.model_report import ModelChange


@click.command(cls=CommandGroup)
def model() -> None:
    """List the embedding models, or choose one."""


@model.command("ls")
@format_option("table", "json")
@click.pass_obj
def list_(session: Session) -> None:
    """List the known models and where they are used."""
    with session.open() as (workspace, _):
        models = workspace.models.known()
    if session.output == "json":
        write_json(models)
        return
    write_table(present.MODEL_COLUMNS, [present.model_row(each) for each in models])
    for line in present.model_notes(models):
        note(line)


@model.command()
@click.argument("spec", required=False)
@names_option("Only for this collection; may be repeated.")
@click.option("--cancel", is_flag=True, help="Keep the current model and cancel a change to another one.")
@wait_option
@format_option("text", "json")
@click.pass_obj
def use(
    session: Session,
    spec: str | None,
    names: tuple[str, ...],
    cancel: bool,
    wait: float,
) -> None:
    """Change the embedding model of collections.

    Searches use the old model until all vectors of the new one are made.

    SPEC is PROVIDER[:MODEL][@DIMENSION]; 'mdvec model ls' lists the known models.
    """
    from mdvec.types.collection import parse_embedding_spec

    if cancel is (spec is not None):
        msg = "name either a model or --cancel"
        raise UsageError(msg, hint="'mdvec model ls' lists the models.")
    wanted = None if spec is None else parse_embedding_spec(spec)
    with session.open() as (workspace, _):
        if wanted is None:
            _print(workspace.models.cancel(names), session)
            return
        if not workspace.collections(include_disabled=True):
            msg = "there is no collection whose model could be changed"
            raise UsageError(msg, hint=f"Add one with 'mdvec tool add --embedder {spec}'.")
        with reporting_interruption(workspace, names):
            _print(workspace.models.use(wanted, names, wait_s=wait), session)


def _print(changes: Iterable[ModelChange], session: Session) -> None:
    for change in changes:
        if session.output == "json":
            write_json(change)
            continue
        for warning in change.warnings:
            warn(warning)
        next_step = session.command("import", "-n", change.collection)
        write(present.model_change_line(change, next_step) + "\n")
