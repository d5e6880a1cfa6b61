"""``mdvec token``."""

from __future__ import annotations

import hashlib
import secrets

import click

from mdvec.interfaces.cli.configuration import toml_value
from mdvec.interfaces.cli.filters import names_option
from mdvec.interfaces.cli.session import Command, Group, Session, common_options, format_option
from mdvec.interfaces.cli.terminal import note, write, write_json

_TOKEN_BYTES = 32


@click.command(cls=Group)
@common_options
def token() -> None:
    """Make tokens for a server over HTTP."""


@token.command(cls=Command)
@names_option("A collection that it may read; may be repeated.", required=True)
@format_option("text", "json")
@common_options
@click.pass_obj
def new(session: Session, names: tuple[str, ...]) -> None:
    """Make a token that may read some collections, and print it once.

    Add the lines below it to the configuration of the server, which keeps nothing but a hash of the token.
    """
    with session.open() as (workspace, _):
        collections = list(dict.fromkeys(workspace.collection(name).name for name in names))
    made = secrets.token_urlsafe(_TOKEN_BYTES)
    entry: dict[str, object] = {
        "hash": hashlib.sha256(made.encode()).hexdigest(),
        "collections": collections,
    }
    if session.output == "json":
        write_json({"token": made, **entry})
        return
    lines = "".join(f"{key} = {toml_value(value)}\n" for key, value in entry.items())
    write(f"# token: {made}\n\n[[access.tokens]]\n{lines}")
    note("the token is shown this once; add [[access.tokens]] to the configuration of the server")
