"""The life of an HTTP server: it listens, serves requests, and ends at a signal."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from mdvec import run
from mdvec.errors import ListenError, OutOfFilesError
from mdvec.interfaces.http.options import Authority
from mdvec.interfaces.streams import EXIT_CODES, exit_soon
from mdvec.machine import is_out_of_files

# Connections that wait to be accepted.
_BACKLOG = 128
_MAX_HEADER_BYTES = 32 * 1024
# A connection that brings no whole request headers from one look to the next is closed.
_LOOK_EVERY_S = 10.0
_TICKS_PER_S = 10
_NOTE_EVERY_S = 10.0
# Responses that are being sent then may arrive; open streams are cut.
_GRACE_S = 1


def bind(authority: Authority) -> socket.socket:
    """Return a socket that listens at an address; its name has the real port.

    Raises:
        ListenError: If the address is taken, or not one of this machine.
    """
    # A name is resolved here once, so that the server listens at the address that the guard knows.
    host = "127.0.0.1" if authority.host == "localhost" else authority.host
    try:
        [(family, _, _, _, place), *_] = socket.getaddrinfo(
            host, authority.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listener = socket.create_server(
            place[:2] if family == socket.AF_INET else place,
            family=family,
            backlog=_BACKLOG,
            # Only :: itself is meant to take IPv4, too.
            dualstack_ipv6=family == socket.AF_INET6
            and authority.is_wildcard
            and socket.has_dualstack_ipv6(),
        )
    except OSError as error:
        raise _listen_error(authority, error) from error
    # Connections inherit it. Without it a response of several parts waits for the client's delayed
    # acknowledgement, 40 ms on Linux.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.settimeout(0)
    return listener


def _listen_error(authority: Authority, error: OSError) -> ListenError:
    if isinstance(error, socket.gaierror):
        return ListenError(f"there is no host {authority.host!r}", hint="Check the name given with --http.")
    match error.errno:
        case errno.EADDRINUSE:
            msg = f"port {authority.port} of {authority.host} is in use"
            free = Authority(authority.host, 0)
            hint = (
                f"Stop the program that listens there, or use another port: --http {free} finds a free one."
            )
        case errno.EADDRNOTAVAIL:
            msg = f"{authority.host} is not an address of this machine"
            hint = "Use 127.0.0.1, or another address of this machine."
        case errno.EACCES:
            msg = f"port {authority.port} may not be used by this user"
            hint = "Use a port above 1023."
        case _:
            msg = f"cannot listen on {authority}: {os.strerror(error.errno) if error.errno else error}"
            hint = "Use 127.0.0.1, or another port."
    return ListenError(msg, hint=hint)


class _Server(uvicorn.Server):
    """uvicorn, which returns at a signal instead of raising it again, and closes silent connections."""

    exit_code = 0

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._silent: set[tuple[object, object]] = set()
        self._noted_s = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        self.exit_code = EXIT_CODES.get(signal.Signals(sig), 0)
        exit_soon(self.exit_code)
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        if counter == 0:
            asyncio.get_running_loop().set_exception_handler(self._note_failure)
            self._ready()
        if counter % int(_LOOK_EVERY_S * _TICKS_PER_S) == 0:
            self._close_silent()
        return await super().on_tick(counter)

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log that connections wait until files can be opened; leave other failures to asyncio."""
        error = context.get("exception")
        if self.should_exit and isinstance(error, ValueError) and "file descriptor" in str(error):
            return  # asyncio listens again one second after it ran out of files, even on a closed socket
        if not is_out_of_files(error):
            loop.default_exception_handler(context)
        elif loop.time() - self._noted_s > _NOTE_EVERY_S:  # asyncio reports each connection that waits
            self._noted_s = loop.time()
            run.log("out of files", level="warning", reason=str(OutOfFilesError()))

    def _close_silent(self) -> None:
        """Close connections that still wait for the headers of the same request as at the last look."""
        # uvicorn limits the time between requests, not the time the headers of one take.
        connections = [each for each in self.server_state.connections if isinstance(each, H11Protocol)]
        silent = {(each, each.cycle) for each in connections if each.conn.their_state is h11.IDLE}
        for connection, _ in silent & self._silent:
            connection.transport.close()
        self._silent = {*silent}


def serve(app: ASGIApp, *listeners: socket.socket, ready: Callable[[], None]) -> int:
    """Serve requests until SIGTERM or Ctrl-C.

    From then on the process ends in a moment, even if threads are running: this is for a process that does
    nothing else.

    The sockets are closed at the end; ``ready`` is called when requests are served.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        RuntimeError: If the application does not start.
    """
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        loop="asyncio",
        # The guard counts requests: uvicorn's limit counts idle connections, too, and refuses /health.
        limit_concurrency=None,
        # The guard reports failures; requests are private.
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(2 * _LOOK_EVERY_S),
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
    )
    server = _Server(config, ready)
    try:
        server.run(sockets=[*listeners])
    except SystemExit as error:  # uvicorn's way to say so
        msg = "the server did not start"
        raise RuntimeError(msg) from error
    finally:
        for listener in listeners:
            listener.close()
    return server.exit_code
