"""``mdvec open``."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable
from urllib.parse import urlencode

import click

from mdvec.errors import ListenError
from mdvec.interfaces.cli.common_options import Command
from mdvec.interfaces.cli.daemon import running_daemon
from mdvec.interfaces.cli.serving import USUAL_ADDRESS, serve_over_http
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note

_ANY_PORT = "127.0.0.1:0"


@click.command("open", cls=Command)
@click.argument("query", nargs=-1)
@click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    help=f"Where to serve it.  [default: {USUAL_ADDRESS}, or a free port]",
)
@click.option("--no-browser", is_flag=True, help="Only serve the page.")
@click.pass_context
def open_(ctx: click.Context, /, query: tuple[str, ...], address: str | None, no_browser: bool) -> None:
    """Search and read in a browser.

    Opens the page of the daemon if it is running, else serves it until Ctrl-C. Words after the command are
    searched at once.
    """
    session: Session = ctx.obj
    browse: Callable[[str], object] = str if no_browser else webbrowser.open
    page = "/?" + urlencode({"q": " ".join(query)}) if query else "/"

    def visit(url: str) -> None:
        # A browser in the terminal returns when it is closed.
        threading.Thread(target=browse, args=(url + page,), daemon=True).start()

    info = running_daemon(session) if address is None else None
    if info is not None:
        note(f"the daemon serves the page at {info.url}{page}")
        browse(info.url + page)
        return
    try:
        code = serve_over_http(session, address or USUAL_ADDRESS, visit=visit)
    except ListenError:
        if address is not None:
            raise
        code = serve_over_http(session, _ANY_PORT, visit=visit)
    ctx.exit(code)
