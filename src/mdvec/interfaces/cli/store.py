"""``mdvec store``: what is kept beside the database."""

from __future__ import annotations

import click

from mdvec.interfaces.cli.session import Group, Session, chosen_format, common_options, format_option
from mdvec.interfaces.cli.terminal import write, write_json
from mdvec.interfaces.passage import visible


@click.command(cls=Group)
@common_options
def store() -> None:
    """Look after the database."""


@store.command()
@format_option("text", "json")
@common_options
@click.pass_obj
def rebuild(session: Session, format_name: str | None) -> None:
    """Empty the vector index and fill it again; nothing is embedded."""
    with session.open() as (workspace, config):
        rebuilt = workspace.rebuild_vector_index()
    if chosen_format(format_name, config, ("text", "json")) == "json":
        write_json(rebuilt)
        return
    write(f"{visible(rebuilt.location)}: {rebuilt.vectors:,} vectors\n")
