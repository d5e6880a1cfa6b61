"""``mdvec model``: which models there are, and the change from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mdvec.errors import UsageError
from mdvec.interfaces.cli.formats import chosen_format, format_option
from mdvec.interfaces.cli.interruption import SAME_COMMAND, saying_what_is_pending
from mdvec.interfaces.cli.progress import shown_progress
from mdvec.interfaces.cli.session import Group, Session, common_options
from mdvec.interfaces.cli.terminal import note, warn, write, write_json, write_table
from mdvec.interfaces.cli.waiting import wait_option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdvec.types.model_report import ModelChange


@click.command(cls=Group)
@common_options
def model() -> None:
    """Choose what makes the vectors."""


@model.command("ls")
@format_option("table", "json")
@common_options
@click.pass_obj
def list_(session: Session, format_name: str | None) -> None:
    """List the known models, and those in use."""
    from mdvec.interfaces import models as shown

    with session.open() as (workspace, config):
        models = workspace.models.known()
    if chosen_format(format_name, config, ("table", "json")) == "json":
        write_json([shown.model_json(each) for each in models])
        return
    write_table(shown.MODEL_COLUMNS, [shown.model_row(each) for each in models])
    for line in shown.model_notes(models):
        note(line)


@model.command()
@click.argument("spec", required=False)
@click.option("-n", "--name", "names", multiple=True, help="Only for this collection; may be repeated.")
@click.option("--cancel", is_flag=True, help="Keep the model in use, and forget a change that is under way.")
@wait_option
@format_option("text", "json")
@common_options
@click.pass_obj
def use(
    session: Session,
    spec: str | None,
    names: tuple[str, ...],
    cancel: bool,
    wait: float,
    format_name: str | None,
) -> None:
    """Change the model of collections; the old one answers until the new one is complete.

    SPEC is PROVIDER[:MODEL][@DIMENSION]; 'mdvec model ls' lists what is known.
    """
    from mdvec.types.embedding_spec import parse_embedding_spec

    if cancel is (spec is not None):
        msg = "give either a model or --cancel"
        raise UsageError(msg, hint="'mdvec model ls' lists the known ones.")
    wanted = None if spec is None else parse_embedding_spec(spec)
    with session.open() as (workspace, config), shown_progress() as progress:
        output = chosen_format(format_name, config, ("text", "json"))
        if wanted is None:
            _print(workspace.models.cancel(names), output)
            return
        if not workspace.collections(include_disabled=True):
            msg = "there is no collection whose model could be changed"
            raise UsageError(msg, hint=f"Add one with 'mdvec tool add --embedder {spec}'.")
        with saying_what_is_pending(workspace, names, go_on=SAME_COMMAND):
            _print(workspace.models.use(wanted, names, wait_s=wait, progress=progress), output)


def _print(changes: Iterable[ModelChange], output: str) -> None:
    from mdvec.interfaces import models as shown

    for change in changes:
        if output == "json":
            write_json(shown.model_change_json(change))
            continue
        for warning in change.warnings:
            warn(warning)
        write(shown.model_change_line(change) + "\n")
