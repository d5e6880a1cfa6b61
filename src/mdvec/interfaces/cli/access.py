"""``mdvec token`` and ``mdvec trust``: who may read, and what may configure."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

import click

from mdvec.errors import NotFoundError, UsageError
from mdvec.interfaces.cli.common_options import FOLDER, Command, CommandGroup, format_option
from mdvec.interfaces.cli.filters import names_option
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, write, write_json
from mdvec.interfaces.printing import visible

_TOKEN_BYTES = 32


@click.command(cls=CommandGroup)
def token() -> None:
    """Make tokens for a server over HTTP."""


@token.command()
@names_option("A collection that it may read; may be repeated.", required=True)
@format_option("text", "json")
@click.pass_obj
def new(session: Session, names: tuple[str, ...]) -> None:
    """Make a token that may read some collections, and print it once.

    Add the lines below it to the configuration of the server, which keeps nothing but a hash of the token.
    """
    from mdvec.config.syntax import toml_value

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
    note("the token is shown only this once; add [[access.tokens]] to the configuration of the server")


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", required=False, type=FOLDER)
@click.option("--list", "listing", is_flag=True, help="List the trusted folders.")
@click.option("--remove", is_flag=True, help="Stop trusting DIR.")
def trust(folder: Path | None, listing: bool, remove: bool) -> None:
    """Trust the configuration and the index that come with a folder.

    They may then choose models, sources, keys, and where data goes. Later changes of the folder are trusted
    too; folders inside it are not.
    """
    from mdvec.config.trust import distrust, trusted_folders
    from mdvec.config.trust import trust as remember

    if (folder is None) != listing or (listing and remove):
        msg = "mdvec trust takes a folder, or --list alone"
        raise UsageError(
            msg, hint="Run 'mdvec trust DIR', 'mdvec trust --remove DIR' or 'mdvec trust --list'."
        )
    if folder is None:
        write("".join(f"{visible(str(each))}\n" for each in trusted_folders()))
        return
    if remove:
        if not distrust(folder):
            msg = f"{folder} is not trusted"
            raise NotFoundError(msg, hint="Run 'mdvec trust --list' to see the folders that are.")
        note(f"not trusted any more: {folder.resolve()}")
        return
    if not folder.is_dir():
        msg = f"{folder} is not a folder"
        raise UsageError(msg, hint="Name a folder that exists.")
    note(f"trusted: {folder.resolve()}" if remember(folder) else f"already trusted: {folder.resolve()}")
