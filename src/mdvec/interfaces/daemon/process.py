"""The daemon's process: it keeps the index fresh and serves MCP, JSON-RPC and the page until a signal."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mdvec import __version__
from mdvec.clock import now_ms
from mdvec.config import Config
from mdvec.config.trust import make_private_folder, write_private
from mdvec.interfaces.app import serve_http
from mdvec.interfaces.daemon.client import COMMAND_PATH, INFO, LOCK
from mdvec.interfaces.daemon.place import DaemonError, DaemonInfo, read_info, socket_path
from mdvec.interfaces.http.guard import MAX_REQUESTS, WebDoor, problem
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.http.rights import Right, bearer_token, right_of_token, rights_of
from mdvec.locks import locked
from mdvec.workspace import Workspace

RunCommand = Callable[[bytes], bytes]
"""Runs a command line of its user, in JSON, and returns the outcome in JSON."""

# One that is ending holds its lock for a moment still.
_LOCK_WAIT_S = 0.5


def run_daemon(
    workspace: Workspace,
    config: Config,
    options: ServerOptions,
    place: Path,
    run_command: RunCommand,
    *,
    settings: str,
    env: Mapping[str, str],
    show: Callable[[str], None],
) -> int:
    """Serve until SIGTERM or Ctrl-C.

    ``settings`` is their digest, see :func:`mdvec.interfaces.daemon.place.settings_id`.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        DaemonError: If the daemon of this database is already running.
        ListenError: If the address cannot be listened at.
    """
    with _only_daemon(place), _unix_listener(socket_path(place, env)) as (path, listeners):
        token = secrets.token_urlsafe(32)
        owner = rights_of(token, ())
        if options.rights:  # programs of its user on this machine need none of the tokens for others
            options = replace(options, rights=(*options.rights, *owner))

        def ready(url: str) -> None:
            info = DaemonInfo(
                pid=os.getpid(),
                version=__version__,
                settings=settings,
                socket=path,
                url=url,
                database=workspace.location,
                started_ms=now_ms(),
                token=token,
            )
            write_private(place / INFO, msgspec.json.encode(info))
            show(f"the daemon serves {info.database} at {' and '.join(filter(None, (url, path)))}")

        door = _command_door(run_command, owner)
        try:
            return serve_http(workspace, config, options, ready=ready, more=[door], listeners=listeners)
        finally:
            _forget(place)  # before the sockets close, so that no client uses them


def _command_door(run: RunCommand, owner: Sequence[Right]) -> WebDoor:
    """Return the route that runs commands of those who can read the daemon's own token."""
    threads = CapacityLimiter(MAX_REQUESTS)

    async def answer(request: Request) -> Response:
        if right_of_token(owner, bearer_token(request.headers) or "") is None:
            return problem(HTTPStatus.UNAUTHORIZED, "This is for commands of the daemon's user.")
        try:
            outcome = await to_thread.run_sync(run, await request.body(), limiter=threads)
        except msgspec.DecodeError as error:
            return problem(HTTPStatus.BAD_REQUEST, f"This is no command line: {error}.")
        return Response(outcome, media_type="application/json")

    return WebDoor([Route(COMMAND_PATH, answer, methods=["POST"])], open_paths=frozenset({COMMAND_PATH}))


@contextmanager
def _only_daemon(place: Path) -> Iterator[None]:
    """Keep other daemons away from a database, and remove the files of one that was killed.

    Raises:
        DaemonError: If there is one already.
    """
    make_private_folder(place)
    with locked(place / LOCK, wait_s=_LOCK_WAIT_S) as held:
        if not held:
            info = read_info(place)
            msg = "the daemon of this database is already running" + (f": process {info.pid}" if info else "")
            raise DaemonError(msg, hint="Run 'mdvec daemon status' to see it.")
        _forget(place)
        yield


def _forget(place: Path) -> None:
    """Remove the daemon's description of itself."""
    with suppress(OSError):
        (place / INFO).unlink()


@contextmanager
def _unix_listener(path: Path | None) -> Iterator[tuple[str, list[socket.socket]]]:
    """Listen at a Unix socket for as long as the context lasts; the file of an earlier daemon is removed.

    Yields:
        The path and the listening socket; empty without a path.
    """
    if path is None:
        yield "", []
        return
    path.unlink(missing_ok=True)  # we hold the lock, so no process listens there
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(path))
        path.chmod(0o600)  # and its folder was its user's alone before
        try:
            yield str(path), [listener]
        finally:
            path.unlink(missing_ok=True)
