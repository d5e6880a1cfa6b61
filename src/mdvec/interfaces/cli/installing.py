"""``mdvec install`` and ``mdvec uninstall``."""

from __future__ import annotations

import difflib
import itertools
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from mdvec.errors import ClientFileBusyError, UsageError
from mdvec.interfaces.cli.session import Command, Session, common_options
from mdvec.interfaces.cli.terminal import note, warn, write_documents
from mdvec.text.addresses import scheme_of, without_password

if TYPE_CHECKING:
    from mdvec.interfaces.clients.catalogue import ClientName, Launch
    from mdvec.interfaces.clients.files import TextFile

_AnyFunction = TypeVar("_AnyFunction", bound=Callable[..., Any])

_CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini-cli")
_ENTRY_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# How often an edit starts again because the client wrote the file at the same moment.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class _Change:
    """What became of a file.

    Attributes:
        written: Whether it was written, not only shown.
        backup: Where its old content is kept; None when there was none.
    """

    written: bool
    backup: Path | None = None


def _client_options(function: _AnyFunction) -> _AnyFunction:
    """Add what both commands take."""
    decorators = (
        click.argument("client", type=click.Choice(_CLIENTS)),
        click.option(
            "--project",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            metavar="DIR",
            help="Only for the project in this folder.",
        ),
        click.option(
            "--name", "entry_name", default="mdvec", show_default=True, help="Name of the entry for mdvec."
        ),
        click.option(
            "--file",
            "file_path",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="PATH",
            help="Edit this file instead of the client's own.",
        ),
        click.option("--dry-run", is_flag=True, help="Show what would change and write nothing."),
    )
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


@click.command(cls=Command)
@_client_options
@click.option(
    "--http", "url", metavar="URL", help="Use the server that runs at this URL, such as mdvec serve --http."
)
@click.option(
    "--token-env",
    "token_variable",
    metavar="NAME",
    help="With --http: the variable the client takes the token from.  [default: MDVEC_TOKEN, where needed]",
)
@common_options
@click.pass_obj
def install(
    session: Session,
    client: str,
    project: Path | None,
    entry_name: str,
    file_path: Path | None,
    dry_run: bool,
    url: str | None,
    token_variable: str | None,
) -> None:
    """Set up an MCP client to use mdvec.

    What else is in the client's file stays as it is, and a copy is kept beside it.
    """
    from mdvec.interfaces.clients.catalogue import CLIENTS, ClientName, entry_of
    from mdvec.interfaces.clients.edits import installed

    name = ClientName(client)
    launch = _launch(session, url, token_variable)
    entry = entry_of(name, launch)
    path = _path(session, name, project, file_path)
    _check_name(entry_name)
    known = CLIENTS[name]
    folder_was_there = path.parent.is_dir()
    change = _change(path, dry_run, lambda file: installed(file, known, entry_name, entry))
    if change is None:
        note(f"{path} has this entry already: nothing to do")
        return
    if not change.written:
        note("nothing was written: --dry-run")
        return
    note(f"{known.title} finds mdvec as {entry_name!r}: {path}")
    _tell_backup(change)
    if not folder_was_there and project is None:
        warn(f"{path.parent} was not there: is {known.title} installed for this user?")
    if launch.token_variable:
        note(f"next: set {launch.token_variable} to the server's token where {known.title} starts")
    note(f"next: {known.after}")


@click.command(cls=Command)
@_client_options
@common_options
@click.pass_obj
def uninstall(
    session: Session,
    client: str,
    project: Path | None,
    entry_name: str,
    file_path: Path | None,
    dry_run: bool,
) -> None:
    """Take mdvec out of an MCP client's file.

    Only the entry goes; a file that was made for it and holds nothing else goes, too.
    """
    from mdvec.interfaces.clients.catalogue import CLIENTS, ClientName
    from mdvec.interfaces.clients.edits import uninstalled

    name = ClientName(client)
    path = _path(session, name, project, file_path)
    _check_name(entry_name)
    known = CLIENTS[name]
    change = _change(path, dry_run, lambda file: uninstalled(file, known, entry_name))
    if change is None:
        note(f"{path} has no entry {entry_name!r}: nothing to do")
        return
    if not change.written:
        note("nothing was written: --dry-run")
        return
    note(f"removed {entry_name!r} from {path}" if path.exists() else f"removed {path}: it held nothing else")
    _tell_backup(change)
    note(f"next: {known.after}")


def _launch(session: Session, url: str | None, token_variable: str | None) -> Launch:
    from mdvec.interfaces.clients.catalogue import Launch
    from mdvec.interfaces.http.address import Authority
    from mdvec.interfaces.http.options import TOKEN_VARIABLE

    if url is None:
        if token_variable is not None:
            msg = "--token-env is for a server that is running"
            raise UsageError(msg, hint="Give --http URL too.")
        return Launch(command=_command(session))
    if any((session.docs_dir, session.data_dir, session.config, session.database)):
        msg = "a running server has its own folder, database and configuration"
        raise UsageError(msg, hint="Give them to 'mdvec serve --http', and only the URL here.")
    host = _checked_host(url)
    if token_variable is None:
        # On loopback a server needs no token, and some clients refuse to start with a variable not set.
        needed = TOKEN_VARIABLE in session.env or not Authority(host).is_loopback
        token_variable = TOKEN_VARIABLE if needed else ""
    elif token_variable and not _VARIABLE_NAME.fullmatch(token_variable):
        msg = f"not the name of a variable: {token_variable!r}"
        raise UsageError(msg, hint="Give the name, such as MDVEC_TOKEN; the token itself is written nowhere.")
    return Launch(url=url, token_variable=token_variable)


def _checked_host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        usable = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or host is None:
        msg = f"not the URL of a server: {url!r}"
        raise UsageError(msg, hint="Write it as 'mdvec serve --http' prints it: http://127.0.0.1:8765/mcp.")
    if parts.username is not None or parts.password is not None:
        msg = "a URL with a password would be written into the client's file"
        raise UsageError(msg, hint="Use --token-env.")
    return host


def _command(session: Session) -> tuple[str, ...]:
    """Return what starts mdvec as it works here, wherever the client is started."""
    if session.data_dir is not None and session.docs_dir is None:
        msg = "--data-dir says where the index of --docs-dir goes"
        raise UsageError(msg, hint="Give --docs-dir too, or name a database with --database.")
    loaded = session.load_config()
    from_env = sorted({origin for origin in loaded.origins.values() if origin.startswith("MDVEC_")})
    config, database = session.config, session.database
    if config is None and loaded.path is not None and not _is_users_own(loaded.path):
        config = loaded.path
    location = loaded.config.store.location
    is_set_here = loaded.origins.get("store.location") in from_env
    if database is None and session.docs_dir is None and location and is_set_here and not scheme_of(location):
        database = location
        from_env.remove(loaded.origins["store.location"])
    if from_env:
        warn(f"{', '.join(from_env)} is set here, but may not be where the client starts")
    # -P keeps the folder the client happens to start in from standing in for Python's own modules.
    command = [sys.executable, "-P", "-m", "mdvec", "serve"]
    options = {
        "--docs-dir": session.docs_dir,
        "--data-dir": session.data_dir,
        "--config": config,
        "--database": database,
    }
    for option, path in options.items():
        if path is not None and scheme_of(str(path)):
            command += [option, _without_secrets(str(path))]
        elif path is not None:
            command += [option, os.path.abspath(session.cwd / path)]  # noqa: PTH100 - .. goes, links stay
    return tuple(command)


def _without_secrets(address: str) -> str:
    if without_password(address) != address:
        msg = "an address with a password would be written into the client's file"
        raise UsageError(
            msg, hint="Set MDVEC_STORE_LOCATION where the client starts, or leave out the password."
        )
    return address


def _is_users_own(path: Path) -> bool:
    """Whether a configuration is found without being named, wherever mdvec starts."""
    from mdvec.config import paths

    return path.parent == paths.user_config_dir()


def _path(session: Session, name: ClientName, project: Path | None, file_path: Path | None) -> Path:
    from mdvec.interfaces.clients.catalogue import Surroundings, file_of

    if file_path is not None:
        if project is not None:
            msg = "--project and --file both name a file"
            raise UsageError(msg, hint="Give one of them.")
        return session.cwd / file_path
    variable = "USERPROFILE" if sys.platform == "win32" else "HOME"
    home = session.env.get(variable)
    here = Surroundings(sys.platform, Path(home) if home else Path.home(), session.env)
    return session.cwd / file_of(name, here, None if project is None else session.cwd / project)


def _check_name(name: str) -> None:
    if not _ENTRY_NAME.fullmatch(name):
        msg = f"not a name for an entry: {name!r}"
        raise UsageError(msg, hint="Use letters, digits, - and _, 64 at most.")


def _change(path: Path, dry_run: bool, edit: Callable[[TextFile], str | None]) -> _Change | None:
    """Edit a file, or show how it would change.

    Args:
        path: The file.
        dry_run: Whether to write nothing.
        edit: Returns the text the file is to have; None for no file.

    Returns:
        What was done; None when there was nothing to change.
    """
    from mdvec.interfaces.clients.files import read_file, replace_file

    for attempt in itertools.count(1):
        file = read_file(path)
        text = edit(file)
        if text == file.text:
            break
        if dry_run:
            _show(file, text)
            return _Change(written=False)
        try:
            return _Change(written=True, backup=replace_file(file, text))
        except ClientFileBusyError:
            if attempt == _ATTEMPTS:
                raise
    return None


def _show(file: TextFile, text: str | None) -> None:
    before = file.text.splitlines(keepends=True)
    after = (text or "").splitlines(keepends=True)
    old = "/dev/null" if file.data is None else str(file.path)
    new = "/dev/null" if text is None else str(file.path)
    lines = difflib.unified_diff(before, after, old, new)
    write_documents(
        "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)
    )


def _tell_backup(change: _Change) -> None:
    if change.backup is not None:
        note(f"the file as it was: {change.backup}")
