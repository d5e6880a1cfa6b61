"""The daemon's process: it keeps the index fresh and serves MCP, JSON-RPC and the page until a signal."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mdvec import __version__, registry
from mdvec.clock import now_ms
from mdvec.config.trust import make_private_folder
from mdvec.errors import ListenError
from mdvec.interfaces.daemon.calls import Methods
from mdvec.interfaces.daemon.place import DaemonError, DaemonInfo, DaemonPlace, settings_id, socket_path
from mdvec.interfaces.errors import bug_listener
from mdvec.interfaces.http.address import Authority
from mdvec.interfaces.http.app import build_app, url_of
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.http.server import bind, serve
from mdvec.locks import locked

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

# One that is ending holds its lock for a moment still.
_LOCK_WAIT_S = 0.5
_BACKLOG = 128


def run_daemon(
    workspace: Workspace,
    config: Config,
    options: ServerOptions,
    place: DaemonPlace,
    methods: Callable[[Workspace, str, str], Methods],
    *,
    docs_dir: Path | None,
    env: Mapping[str, str],
    any_port: bool,
    show: Callable[[str], None],
    verbose: bool = False,
) -> int:
    """Serve until SIGTERM or Ctrl-C.

    Args:
        workspace: What is served.
        config: The settings.
        options: Of the HTTP server.
        place: Where the daemon is.
        methods: Returns the methods for commands of its user: of a workspace, the name of the place, and
            what identifies the settings.
        docs_dir: The folder of the workspace, if it is used without registering it.
        env: Environment variables.
        any_port: Whether to take a free port if the one of the options is in use.
        show: Receives messages for people.
        verbose: Whether bugs are shown.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        DaemonError: If the daemon of this database is already running.
        ListenError: If the address cannot be listened at.
    """
    on_bug = bug_listener(verbose=verbose)
    with _only_daemon(place):
        listener = _bind(options.address, any_port=any_port)
        port: int = listener.getsockname()[1]
        path = socket_path(place, env)
        serve_rpc = registry.load("doors", "rpc-socket")
        settings = settings_id(config, docs_dir)
        more = methods(workspace, place.folder.name, settings)
        with (
            _listening(path) as rpc_listener,
            serve_rpc(workspace, rpc_listener, more=more, on_bug=on_bug),
        ):
            info = DaemonInfo(
                pid=os.getpid(),
                version=__version__,
                settings=settings,
                socket=str(path),
                url=url_of(options.address, port),
                database=workspace.location,
                started_ms=now_ms(),
            )

            def ready() -> None:
                place.write(info)
                show(f"the daemon serves {info.database} at {info.url} and {path}")

            app = build_app(workspace, config, options, port, on_bug=on_bug)
            try:
                return serve(app, listener, ready=ready)
            finally:
                place.clear()  # before the sockets close, so that no client uses them


@contextmanager
def _only_daemon(place: DaemonPlace) -> Iterator[None]:
    """Keep other daemons away from a database, and remove what one that was killed has left.

    Raises:
        DaemonError: If there is one already.
    """
    make_private_folder(place.folder)
    with locked(place.lock, wait_s=_LOCK_WAIT_S) as held:
        if not held:
            info = place.read()
            msg = "the daemon of this database is already running" + (f": process {info.pid}" if info else "")
            raise DaemonError(msg, hint="Run 'mdvec daemon status' to see it.")
        place.clear()
        yield


def _bind(address: Authority, *, any_port: bool) -> socket.socket:
    try:
        return bind(address)
    except ListenError:
        if not any_port:
            raise
        return bind(Authority(address.host, 0))


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """Listen at a Unix socket for as long as the context lasts; what an earlier daemon left is removed."""
    path.unlink(missing_ok=True)  # we hold the lock, so no process listens there
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(os.fspath(path))
        path.chmod(0o600)  # and its folder was its user's alone before
        listener.listen(_BACKLOG)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)
