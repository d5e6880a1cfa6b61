"""``mdvec rpc``: JSON-RPC on standard input and output, one message a line."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mdvec.interfaces.errors import OnBug, bug_listener
from mdvec.interfaces.exit import EXIT_CODES, exit_soon
from mdvec.interfaces.rpc.dispatcher import Method, RpcClient
from mdvec.interfaces.rpc.methods import all_methods
from mdvec.interfaces.streams import private_streams, read_lines, write_all

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace


# What was sent before the end of the input is answered, however long the model takes to load.
_LAST_ANSWERS_S = 30.0
_LOOK_EVERY_S = 0.5

_MAX_CONNECTIONS = 256
_RETRY_AFTER_S = 0.2
# A program that does not read its answers must not keep a thread for ever.
_SEND_TIMEOUT_S = 60.0
MoreMethods = Mapping[str, tuple[type[Struct], Callable[[Any], object]]]
"""Further methods by name: their parameters, and what answers them."""


def serve_rpc_stdio(workspace: Workspace, _: Config, *, verbose: bool = False) -> int:
    """Serve one client on the standard streams.

    It ends when the client closes its end, when the parent process dies, at SIGTERM or at Ctrl-C. From then
    on the process ends at once, even if threads are running: use it only in a process that does nothing else.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.
    """
    codes: list[int] = []  # the first one counts
    ended = threading.Event()

    def end(code: int = 0) -> None:
        codes.append(code)
        ended.set()

    for number, code_after in EXIT_CODES.items():
        signal.signal(number, partial(_end_at_signal, end, code_after))
    with private_streams() as (wire_in, wire_out):

        def send(message: bytes) -> None:
            try:
                write_all(wire_out, message + b"\n")
            except OSError:  # the client has gone
                end()

        def read() -> None:
            for line in read_lines(wire_in):
                client.receive(line)
            client.wait(_LAST_ANSWERS_S)
            end()

        workspace.sections.resume()
        on_bug = bug_listener(verbose=verbose)
        client = RpcClient(all_methods(workspace), send, on_bug, around=workspace.explaining)
        threading.Thread(target=read, name="mdvec-stdin", daemon=True).start()
        # Standard input may stay open: another child of the parent can have inherited it.
        parent = os.getppid()
        while not ended.wait(_LOOK_EVERY_S) and os.getppid() == parent:
            pass
        code = codes[0] if codes else 0
        exit_soon(code)
        client.close()
    return code


def _end_at_signal(end: Callable[[int], None], code: int, _number: int, _frame: FrameType | None) -> None:
    end(code)


@contextmanager
def serve_rpc_socket(
    workspace: Workspace, listener: socket.socket, *, more: MoreMethods, on_bug: OnBug
) -> Iterator[None]:
    """Serve programs for as long as the context lasts; what they have in work then is cancelled.

    Args:
        workspace: What to serve.
        listener: The listening socket; it is closed at the end.
        more: Methods only for these programs.
        on_bug: Receives unexpected exceptions.
    """
    methods = all_methods(workspace) | {name: Method(*each) for name, each in more.items()}
    free = threading.Semaphore(_MAX_CONNECTIONS)
    open_now: set[socket.socket] = set()

    def take(connection: socket.socket) -> None:
        if not free.acquire(blocking=False):
            connection.close()
            return
        open_now.add(connection)
        try:
            threading.Thread(target=talk, args=(connection,), name="mdvec-rpc-read", daemon=True).start()
        except RuntimeError:
            end(connection)
            raise

    def end(connection: socket.socket) -> None:
        connection.close()
        open_now.discard(connection)
        free.release()

    def talk(connection: socket.socket) -> None:
        client = RpcClient(methods, sender(connection), on_bug, around=workspace.explaining)
        try:
            for line in read_lines(connection.fileno()):
                client.receive(line)
        finally:
            client.close()
            end(connection)

    threading.Thread(target=_accept, args=(listener, take), name="mdvec-rpc-accept", daemon=True).start()
    try:
        yield
    finally:
        listener.close()
        for connection in [*open_now]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, take: Callable[[socket.socket], None]) -> None:
    """Take connections until the listener is closed."""
    while listener.fileno() >= 0:
        try:
            connection, _ = listener.accept()
            take(connection)
        except (OSError, RuntimeError):  # out of files or threads: later there may be some
            time.sleep(_RETRY_AFTER_S)


def sender(connection: socket.socket) -> Callable[[bytes], None]:
    """Return what sends lines to a program; one that does not read them is disconnected."""
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(_SEND_TIMEOUT_S))

    def send(message: bytes) -> None:
        try:
            connection.sendall(message + b"\n")
        except OSError:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    return send


def _timeval(seconds: float) -> bytes:
    import struct

    return struct.pack("@ll", int(seconds), 0)
