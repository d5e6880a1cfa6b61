"""``mdvec serve``, ``rpc`` and ``watch``, and ``mdvec token``, which makes tokens for a server."""

from __future__ import annotations

import gc
import hashlib
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdvec.errors import UsageError
from mdvec.interfaces.cli.common_options import (
    EXISTING_FILE,
    CommandGroup,
    WholeNumber,
    command,
    format_option,
)
from mdvec.interfaces.cli.filters import folder_options, names_option
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, note_no_collections, warn, write

if TYPE_CHECKING:
    from mdvec.interfaces.http.options import ServerOptions
    from mdvec.workspace import Workspace

USUAL_ADDRESS = "127.0.0.1:8765"
"""Where a server listens over HTTP when no address is named. The page may be among people's bookmarks."""

token_option = click.option(
    "--token-file",
    type=EXISTING_FILE,
    metavar="FILE",
    help="Require the token in this file over HTTP.  [default: MDVEC_TOKEN]",
)
"""``--token-file`` of the commands that serve over HTTP."""

_TOKEN_BYTES = 32
_SIGNALS_S = 0.5
"""Seconds between two looks of a waiting command at the signals that have come."""


@command()
@click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    help="Serve any number of clients over HTTP.  Port 0 chooses a free one.",
)
@token_option
@click.option("--insecure", is_flag=True, help="With --http: let other machines connect without a token.")
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="With --http: another name of this server; may be repeated.",
)
@click.option(
    "--allowed-origin",
    "allowed_origins",
    multiple=True,
    metavar="ORIGIN",
    help="With --http: a web site that may use this server; may be repeated.",
)
@click.option(
    "--processes",
    type=WholeNumber(1),
    metavar="N",
    help="With --http: answer up to N searches at a time, each in its own process.  1: all in the server.",
)
@click.option("--no-watch", is_flag=True, help="Do not keep the index up to date.")
@folder_options
def serve(session: Session, /, address: str | None, no_watch: bool, **http_options: Any) -> int:
    """Let AI agents search, over the Model Context Protocol.

    An agent's client starts this itself and talks to it on standard input and output; 'mdvec install'
    sets that up. With --http it runs as a server of its own.
    """
    if address is not None:
        return serve_over_http(session, address, watches=not no_watch, **http_options)
    if any(http_options.values()):
        known = "--token-file, --insecure, --allowed-host, --allowed-origin and --processes"
        msg = f"{known} are for a server over HTTP"
        raise UsageError(msg, hint=f"Give --http {USUAL_ADDRESS} too.")
    with _opened_for_stdio(session, "an MCP client", watches=not no_watch) as workspace:
        with lasting_imports():
            from mdvec.interfaces.mcp.stdio import serve_stdio
        return serve_stdio(workspace, session.loaded.config)


@command()
def rpc(session: Session) -> int:
    """Let a program search and index, over JSON-RPC 2.0.

    The program starts this itself and talks to it on standard input and output, one JSON object a line.
    In a project with an index or a .search-docs.json, it uses the index of the project.
    """
    from mdvec.config.paths import folder_of, is_of_search_docs

    session.use_index_here()
    if session.docs_dir is None and session.database is None:
        loaded = session.loaded
        if (
            loaded.path is not None
            and is_of_search_docs(loaded.path)
            and loaded.config.store.location is None
        ):
            session.docs_dir = folder_of(loaded.path)
            session.load_config()  # which the folder decides, too
    with _opened_for_stdio(session, "a JSON-RPC client") as workspace:
        with lasting_imports():
            from mdvec.interfaces.rpc.methods import serve_rpc_stdio
        return serve_rpc_stdio(workspace)


@command()
@names_option()
def watch(session: Session, names: tuple[str, ...]) -> None:
    """Keep the index up to date until Ctrl-C.

    'mdvec serve' does the same while it runs. Of several processes, one does the work; the others stand by.
    """
    ended = threading.Event()
    with session.open(serves=True) as workspace:
        workspace.freshness.watch(names, force=True)
        if not workspace.collections():
            note_no_collections(are_disabled=bool(workspace.collections(include_disabled=True)))
        for each in workspace.collections():
            if each.last_indexed_ms is None and (not names or each.name in names):
                command = session.command("import", *(() if session.docs_dir else ("-n", each.name)))
                warn(f"{each.name} is not watched, as it was never imported; run '{command}' first")
        before = signal.signal(signal.SIGTERM, lambda *_: ended.set())
        try:
            note("keeping the index up to date; press Ctrl-C to end")
            # The system may hand a signal to another thread. A wait without an end would then not notice it.
            while not ended.wait(_SIGNALS_S):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            signal.signal(signal.SIGTERM, before)


@click.command(cls=CommandGroup)
def token() -> None:
    """Make tokens for a server over HTTP."""


@token.command()
@names_option("A collection that it may read; may be repeated.", required=True)
@format_option("text", "json")
def new(session: Session, names: tuple[str, ...]) -> None:
    """Make a token that may read some collections, and print it once.

    Add the lines below it to the configuration of the server, which keeps nothing but a hash of the token.
    """
    from mdvec.config.syntax import toml_value

    with session.open() as workspace:
        collections = list(dict.fromkeys(workspace.collection(name).name for name in names))
    made = secrets.token_urlsafe(_TOKEN_BYTES)
    entry: dict[str, object] = {
        "hash": hashlib.sha256(made.encode()).hexdigest(),
        "collections": collections,
    }
    if session.wrote_json({"token": made, **entry}):
        return
    lines = "".join(f"{key} = {toml_value(value)}\n" for key, value in entry.items())
    write(f"# token: {made}\n\n[[access.tokens]]\n{lines}")
    note("the token is shown only this once; add [[access.tokens]] to the configuration of the server")


@contextmanager
def _opened_for_stdio(session: Session, client: str, *, watches: bool = True) -> Iterator[Workspace]:
    if sys.stdin is None or sys.stdout is None:  # the next file to be opened would get its number
        msg = f"{client} needs standard input and output, but one of them is closed"
        raise UsageError(msg, hint=f"Have the client start it, or run 'mdvec serve --http {USUAL_ADDRESS}'.")
    if sys.stdin.isatty():
        note(f"waiting for {client} on standard input; press Ctrl-C to end")
    with session.open(serves=True) as workspace:
        workspace.generation()  # an unusable database is an error here, and not one for the client
        if watches:
            workspace.freshness.watch()
        yield workspace


def serve_over_http(
    session: Session, address: str | None, *, visit: Callable[[str], None] = lambda _: None, **how: Any
) -> int:
    """Serve MCP, JSON-RPC and the page until Ctrl-C, and return the exit code.

    ``visit`` receives the URL of the page as soon as it is served; ``how`` is for :func:`opened_for_http`.

    Raises:
        UsageError: If the options contradict each other, or would let everybody in.
        ListenError: If the address cannot be listened at.
    """
    with opened_for_http(session, address, **how) as (workspace, options):
        with lasting_imports():
            from mdvec.interfaces.app import serve_http
            from mdvec.interfaces.http.guard import MCP_PATH

        def ready(url: str) -> None:
            elsewhere = ", at every other address of this machine, too" if options.address.is_wildcard else ""
            note(f"serving MCP at {url}{MCP_PATH} and the page at {url}/{elsewhere}; press Ctrl-C to end")
            visit(url)

        return serve_http(workspace, session.loaded.config, options, ready=ready)


@contextmanager
def opened_for_http(
    session: Session,
    address: str | None,
    *,
    watches: bool = True,
    processes: int | None = None,
    log_file: Path | None = None,
    **http_options: Any,
) -> Iterator[tuple[Workspace, ServerOptions]]:
    """Open the workspace that a server over HTTP searches, and check the options of the server.

    Without an address, the usual one is meant, or a free port. ``log_file`` is where the log goes if the
    configuration names no file.

    Yields:
        The workspace, and the options of the server.

    Raises:
        UsageError: If the options contradict each other, or would let everybody in.
    """
    from mdvec.interfaces.http.options import server_options
    from mdvec.workspace import use_processes

    config = session.loaded.config
    options = server_options(
        USUAL_ADDRESS if address is None else address,
        env=session.env,
        access=config.access.tokens,
        any_port=address is None,
        **http_options,
    )
    for warning in options.warnings:
        warn(warning)
    with session.open(serves=True, log_file=log_file) as workspace:
        workspace.generation()  # an unusable database is an error here, and not one for clients
        use_processes(workspace, processes or config.serve.processes)
        if watches:
            workspace.freshness.watch()
        yield workspace, options


@contextmanager
def lasting_imports() -> Iterator[None]:
    """Import a server; its objects live as long as the process."""
    # The SDK makes a million objects: searching them for garbage again and again would take a tenth of the
    # time to start.
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
