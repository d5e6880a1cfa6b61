"""Runs an ASGI application until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

_HEADER_TIMEOUT_S = 10.0
_IDLE_TIMEOUT_S = 30
# Answers that are on their way then may arrive; open streams are cut.
_GRACE_S = 1
# A thread that indexes cannot be interrupted inside a batch. What it has not committed by then goes
# with the process, which is safe at any instant: the next import does it again.
_MOST_S_TO_END = 1.5
# Connections, not requests: a guard counts those. It keeps a flood from using up file descriptors.
_MAX_CONNECTIONS = 512
_MAX_HEADER_BYTES = 32 * 1024


class _Protocol(H11Protocol):
    """HTTP/1.1 that does not wait for ever for the headers of a request."""

    _headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # asyncio does this for listeners of its own alone. Without it an answer of several parts waits
        # for the client's delayed acknowledgement, 40 ms on Linux.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_headers()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_headers()  # of a request that began to come in before

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_came()
        super().connection_lost(exc)

    def _watch_headers(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._headers_came()
        elif self.conn.trailing_data[0]:
            self._expect_headers()

    def _expect_headers(self) -> None:
        if self._headers_due is None:
            self._headers_due = self.loop.call_later(_HEADER_TIMEOUT_S, self.transport.close)

    def _headers_came(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None


class _Server(uvicorn.Server):
    """A server that ends like any other call when a signal comes, instead of raising the signal again."""

    stopped_by: int | None = None

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()  # or they would be raised again now

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.stopped_by is None:
            self.stopped_by = sig
            timer = threading.Timer(_MOST_S_TO_END, os._exit, (_code_of(sig),))
            timer.daemon = True
            timer.start()
        super().handle_exit(sig, frame)


def serve(app: ASGIApp, listener: socket.socket, *, ready: Callable[[], None]) -> int:
    """Answer requests until SIGTERM or Ctrl-C.

    From then on the process has a second and a half to end by itself: this is for a process that does
    nothing else.

    Args:
        app: Answers them.
        listener: The listening socket; it is closed at the end.
        ready: Called when requests are answered.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        RuntimeError: If the application does not start.
    """
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="on",
        loop="asyncio",
        # The guards tell what goes wrong; who asks for what is nobody's business.
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=_IDLE_TIMEOUT_S,
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
    )
    server = _Server(config, ready)
    with listener:
        server.run(sockets=[listener])
    if server.stopped_by is None and not server.started:
        msg = "the server did not start"
        raise RuntimeError(msg)
    return _code_of(server.stopped_by)


def _code_of(number: int | None) -> int:
    """Return the exit code for the signal that ended the server."""
    return 130 if number == signal.SIGINT else 0
