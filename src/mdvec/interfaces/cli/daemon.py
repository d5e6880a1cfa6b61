"""``mdvec daemon``, and ``mdvec open``, which opens its page."""

from __future__ import annotations

import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import click

from mdvec.errors import UsageError
from mdvec.interfaces.cli.common_options import (
    CommandGroup,
    WholeNumber,
    command,
    format_option,
)
from mdvec.interfaces.cli.serving import (
    USUAL_ADDRESS,
    lasting_imports,
    opened_for_http,
    serve_over_http,
    token_option,
)
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, warn, write, write_json, write_raw
from mdvec.interfaces.daemon import control
from mdvec.interfaces.daemon.place import LOG, OUTPUT, DaemonError, place_of, running, settings_id, why_not
from mdvec.interfaces.errors import EXIT_FAILED
from mdvec.text.addresses import without_password

_LAST_LINES = 20

_http_option = click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    help=f"Where to serve MCP, JSON-RPC and the page.  [default: {USUAL_ADDRESS}, or a free port]",
)


@click.group(cls=CommandGroup)
def daemon() -> None:
    """Keep an index fresh and searches fast, in the background."""


@daemon.command()
@_http_option
@token_option
def start(session: Session, address: str | None, token_file: Path | None) -> None:
    """Start it, unless it is already running."""
    place = _place(session)
    with control.one_at_a_time(place):
        info = running(place)
        problem = "" if info is None else why_not(info, info.settings)
        if info is not None and not problem:
            told = f"the daemon is already running: process {info.pid}, {info.url}"
            if address is not None or token_file is not None:
                again = session.command("daemon", "stop")
                raise DaemonError(told, hint=f"To start it with these options, first run: {again}")
            note(told)
            return
        if info is not None:
            note(f"{problem}: restarting it")
            control.stop(place, info)
        command = _command(session, address, token_file)
        info = control.start(place, command, cwd=session.cwd, env=session.env)
        if info is None:
            note((place / OUTPUT).read_text("utf-8", "replace").rstrip("\n"))
            msg = "the daemon did not start"
            raise DaemonError(msg, hint="Its output is above; 'mdvec daemon run' shows more.")
    note(f"started: process {info.pid}, {info.url}")


@daemon.command()
@_http_option
@token_option
def run(session: Session, address: str | None, token_file: Path | None) -> int:
    """Run it in the foreground, for a service manager."""
    from mdvec.interfaces.cli.served import commands

    place = _place(session)
    with opened_for_http(session, address, token_file=token_file, log_file=place / LOG) as (
        workspace,
        options,
    ):
        with lasting_imports():
            from mdvec.interfaces.daemon.process import run_daemon
        config = session.loaded.config
        settings = settings_id(config, session.docs_dir)
        run_command = commands(workspace, place.name, settings)
        return run_daemon(
            workspace, config, options, place, run_command, settings=settings, env=session.env, show=note
        )


@daemon.command()
def stop(session: Session) -> None:
    """Stop it."""
    place = _place(session)
    info = running(place)
    if info is None:
        note("the daemon is not running")
        return
    control.stop(place, info)
    note(f"stopped: process {info.pid}")


@daemon.command()
@format_option("text", "json")
def status(session: Session) -> int:
    """Show whether and where it is running; exit with 1 if not."""
    import msgspec

    from mdvec.interfaces.present import moment

    place = _place(session)
    log = _log(session)
    info = running(place)
    problem = "" if info is None else why_not(info, settings_id(session.loaded.config, session.docs_dir))
    if session.output == "json":
        shown = {"running": info is not None, "used": info is not None and not problem, "log": str(log)}
        known = {} if info is None else msgspec.structs.asdict(info)
        known.pop("token", None)
        write_json({**shown, "problem": problem or None, "daemon": known or None})
    elif info is None:
        write("the daemon is not running\n")
    else:
        write(
            f"process: {info.pid}, mdvec {info.version}, since {moment(info.started_ms)}\n"
            f"database: {info.database}\nHTTP: {info.url}\n"
            + (f"socket: {info.socket}\n" if info.socket else "")
            + f"log: {log}\n"
        )
        if problem:
            warn(f"commands do not use the daemon: {problem}")
            stop, start = (session.command("daemon", verb) for verb in ("stop", "start"))
            note(f"hint: Run '{stop}' and '{start}'.")
    return EXIT_FAILED if info is None else 0


@daemon.command()
@click.option(
    "-n",
    "--lines",
    type=WholeNumber(min=1),
    default=_LAST_LINES,
    show_default=True,
    help="How many lines to print.",
)
@click.option("-f", "--follow", is_flag=True, help="Follow the log until Ctrl-C.")
def logs(session: Session, lines: int, follow: bool) -> None:
    """Print the end of its log."""
    log = _log(session)
    log = log if log.exists() else _place(session) / OUTPUT
    if not log.exists():
        note("there is no log yet")
        return
    text = log.read_text("utf-8", "replace")
    write("".join(text.splitlines(keepends=True)[-lines:]))
    if follow:
        for added in _added(log, log.stat().st_size):
            write_raw(added)


@daemon.command()
@_http_option
@token_option
def install(session: Session, address: str | None, token_file: Path | None) -> None:
    """Write the file that starts it at login.

    It is a systemd user unit, or a launchd agent.
    """
    command = _command(session, address, token_file)
    variables = control.inherited(session.env)
    unit = control.unit_for(_place(session), command, cwd=session.cwd, env=variables, platform=sys.platform)
    # The folder is shared with other programs, so its mode stays; the variables are the user's alone.
    unit.path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(unit.path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        file.write(unit.content)
    write(f"{unit.path}\n")
    note(f"next: {unit.start}")


@daemon.command()
def uninstall(session: Session) -> None:
    """Remove the file that 'mdvec daemon install' wrote."""
    unit = control.unit_for(_place(session), (), cwd=session.cwd, env=session.env, platform=sys.platform)
    if not unit.path.exists():
        note("nothing is installed for this database")
        return
    unit.path.unlink()
    write(f"{unit.path}\n")
    note(f"next, if it runs: {unit.stop}")


@command("open")
@click.argument("query", nargs=-1)
@_http_option
@click.option("--no-browser", is_flag=True, help="Only serve the page.")
def open_(session: Session, /, query: tuple[str, ...], address: str | None, no_browser: bool) -> int:
    """Search and read in a browser.

    Opens the page of the daemon if it is running, else serves it until Ctrl-C. A QUERY is searched at once.
    """
    browse: Callable[[str], object] = str if no_browser else webbrowser.open
    page = "/?" + urlencode({"q": " ".join(query)}) if query else "/"

    def visit(url: str) -> None:
        # A browser in the terminal returns when it is closed.
        threading.Thread(target=browse, args=(url + page,), daemon=True).start()

    info = running(_place(session)) if address is None else None
    if info is not None:
        note(f"the daemon serves the page at {info.url}{page}")
        browse(info.url + page)
        return 0
    return serve_over_http(session, address, visit=visit)


def _log(session: Session) -> Path:
    """Return the file of a daemon's log."""
    return Path(session.loaded.config.log.file or _place(session) / LOG)


def _place(session: Session) -> Path:
    return place_of(session.database_place())


def _command(session: Session, address: str | None, token_file: Path | None) -> list[str]:
    from mdvec.interfaces.http.options import parse_address

    if address is not None:
        parse_address(address)  # a mistake is one here, not in the daemon's log
    http = [] if address is None else ["--http", address]
    token = [] if token_file is None else ["--token-file", str(token_file)]
    arguments = session.arguments()
    if any(without_password(each) != each for each in arguments):
        msg = "the daemon's command line, which others can see, would contain a password"
        raise UsageError(msg, hint="Leave the password to ~/.pgpass, or set [store] location.")
    # -P keeps the folder it starts in from standing in for Python's own modules.
    return [sys.executable, "-P", "-m", "mdvec", "daemon", "run", *arguments, *http, *token]


def _added(log: Path, at: int) -> Iterator[str]:
    """Yield text as it is appended to a file, which may be replaced by a new one."""
    while True:
        time.sleep(0.5)
        size = log.stat().st_size if log.exists() else 0
        if size == at:
            continue
        with log.open("rb") as file:
            file.seek(at if size > at else 0)
            added = file.read()
            at = file.tell()
        yield added.decode("utf-8", "replace")
