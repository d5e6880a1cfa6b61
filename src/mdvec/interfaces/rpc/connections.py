"""JSON-RPC on a Unix socket: any number of programs of one user, one message a line."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mdvec.interfaces.errors import OnBug
from mdvec.interfaces.rpc.dispatcher import Client, Method
from mdvec.interfaces.rpc.methods import all_methods
from mdvec.interfaces.streams import read_lines

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

_MOST_CONNECTIONS = 256
# A program that does not read its answers must not keep a thread for ever.
_SEND_TIMEOUT_S = 60.0

MoreMethods = Mapping[str, tuple[type[Struct], Callable[[Any], object]]]
"""Further methods by name: their parameters, and what answers them."""


@contextmanager
def serve_rpc_socket(
    workspace: Workspace, listener: socket.socket, *, more: MoreMethods, on_bug: OnBug
) -> Iterator[None]:
    """Serve programs for as long as the context lasts; what they have in work then is cancelled.

    Args:
        workspace: What to serve.
        listener: The listening socket; it is closed at the end.
        more: Methods for these programs alone.
        on_bug: Receives unexpected exceptions.
    """
    methods = all_methods(workspace) | {name: Method(*each) for name, each in more.items()}
    free = threading.Semaphore(_MOST_CONNECTIONS)
    open_now: set[socket.socket] = set()

    def accept() -> None:
        with suppress(OSError):  # closed at the end
            while True:
                connection, _ = listener.accept()
                if not free.acquire(blocking=False):
                    connection.close()
                    continue
                open_now.add(connection)
                threading.Thread(target=talk, args=(connection,), name="mdvec-rpc-read", daemon=True).start()

    def talk(connection: socket.socket) -> None:
        client = Client(methods, sender(connection), on_bug, around=workspace.explaining)
        try:
            with connection:
                for line in read_lines(connection.fileno()):
                    client.receive(line)
        finally:
            client.close()
            open_now.discard(connection)
            free.release()

    threading.Thread(target=accept, name="mdvec-rpc-accept", daemon=True).start()
    try:
        yield
    finally:
        listener.close()
        for connection in [*open_now]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


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
