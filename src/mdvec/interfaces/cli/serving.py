"""``mdvec serve``."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import click

from mdvec import registry
from mdvec.errors import UsageError
from mdvec.interfaces.cli.session import Command, Session, common_options
from mdvec.interfaces.cli.terminal import note, warn


@click.command(cls=Command)
@click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    help="Serve any number of clients over HTTP.  Port 0: a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --http: require the token in this file.  [default: MDVEC_TOKEN]",
)
@click.option("--insecure", is_flag=True, help="With --http: let other machines connect without a token.")
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="With --http: a further name of this server; may be repeated.",
)
@click.option(
    "--allowed-origin",
    "allowed_origins",
    multiple=True,
    metavar="ORIGIN",
    help="With --http: a web site that may use it; may be repeated.",
)
@common_options
@click.pass_context
def serve(ctx: click.Context, /, address: str | None, **http_options: Any) -> None:
    """Let AI agents search, over the Model Context Protocol.

    An agent's client starts this itself and talks to it on standard input and output; 'mdvec install'
    sets that up. With --http it runs as a server of its own.
    """
    session: Session = ctx.obj
    if address is not None:
        ctx.exit(_serve_http(session, address, **http_options))
    if any(http_options.values()):
        msg = "--token-file, --insecure, --allowed-host and --allowed-origin are for a server over HTTP"
        raise UsageError(msg, hint="Give --http 127.0.0.1:8765 too.")
    if sys.stdin is None or sys.stdout is None:  # the next file to be opened would get its number
        msg = "an MCP client needs standard input and output, and one of them is closed"
        raise UsageError(msg, hint="Have the client start it, or give --http 127.0.0.1:8765.")
    if sys.stdin.isatty():
        note("waiting for an MCP client on standard input; press Ctrl-C to end")
    with session.open() as (workspace, config):
        workspace.generation()  # an unusable database is an error here, and not one for the client
        code = _load_door("mcp-stdio")(workspace, config, verbose=session.verbose)
    ctx.exit(code)


def _serve_http(session: Session, address: str, *, token_file: Path | None, **http_options: Any) -> int:
    from mdvec.interfaces.http.options import server_options

    token_file = None if token_file is None else session.cwd / token_file
    options = server_options(address, env=session.env, token_file=token_file, **http_options)
    for warning in options.warnings:
        warn(warning)
    with session.open() as (workspace, config):
        workspace.generation()  # as above
        door = _load_door("mcp-http")
        code: int = door(workspace, config, options, show=note, verbose=session.verbose)
    return code


def _load_door(name: str) -> Any:
    # The SDK makes a million objects that all stay: searching them for garbage again and again would
    # take a tenth of the time to start.
    gc.disable()
    door = registry.load("doors", name)
    gc.freeze()
    gc.enable()
    return door
