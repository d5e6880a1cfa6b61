"""A real HTTP server on this machine that goes wrong when it is told to."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.waiting import wait_until

DROPPED = 0
"""Status of an answer that never comes: the connection is reset."""


@dataclass(frozen=True)
class Asked:
    """A request.

    Attributes:
        method: Such as ``POST``.
        path: With the query.
        headers: By lower-case name.
        body: Parsed; None when there is none.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    """What is sent back.

    Attributes:
        status: HTTP status, or ``DROPPED``.
        body: Sent as JSON; bytes as they are.
        headers: Besides the usual ones.
        delay_s: How long the server is silent before.
        requests: How many requests must have arrived before.
        missing_bytes: How much of the body is announced but not sent.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    requests: int = 0
    missing_bytes: int = 0


class HttpServer:
    """Answers as :meth:`answer` says; ``failures`` are answered first, one each.

    Attributes:
        asked: Every request, in order of arrival.
        failures: What the next requests get instead of an answer.
        most_at_once: Most requests that were under way at the same time.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.failures: deque[Answer] = deque()
        self.most_at_once = 0
        self._at_once = 0
        self._guard = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, asked: Asked) -> Answer:
        """Answer a request that is not to fail."""
        return Answer(200, {"path": asked.path, "body": asked.body})

    def take(self, asked: Asked) -> Answer:
        """Note a request and answer it."""
        with self._guard:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.asked.append(asked)
            failure = self.failures.popleft() if self.failures else None
        answer = failure or self.answer(asked)
        wait_until(lambda: len(self.asked) >= answer.requests)
        time.sleep(answer.delay_s)
        with self._guard:
            self._at_once -= 1
        return answer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet: the second would wait for an acknowledgement

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, json.loads(raw) if raw else None)
                self._send(server.take(asked))

            do_GET = do_POST  # noqa: N815 - as http.server calls it

            def _send(self, answer: Answer) -> None:
                if answer.status == DROPPED:
                    # No farewell: the client sees a reset connection.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                    self.connection.close()
                    return
                is_raw = isinstance(answer.body, bytes)
                content = answer.body if is_raw else json.dumps(answer.body).encode()
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    if not is_raw:
                        self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content[: len(content) - answer.missing_bytes])
                except OSError:  # the client has stopped listening
                    self.close_connection = True
                if answer.missing_bytes:
                    self.close_connection = True

        return Handler


class EndlessServer:
    """Sends a chunked body that never ends, until the client closes the connection.

    Args:
        block: Sent again and again; empty to send nothing.
        head: Instead of the whole head; the blocks follow it as they are then.
        pause_s: Before each block.

    Attributes:
        requests: How many have come.
        asked: Set when the first one has come.
    """

    def __init__(self, block: bytes, *, head: bytes = b"", pause_s: float = 0.0) -> None:
        self.requests = 0
        self.asked = threading.Event()
        self._block = block if head or not block else b"%x\r\n%s\r\n" % (len(block), block)
        self._head = head or b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._pause_s = pause_s
        self._is_over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while b"\r\n\r\n" not in connection.recv(1 << 16):
                pass
            self.requests += 1
            self.asked.set()
            connection.sendall(self._head)
            while not self._is_over.wait(self._pause_s):
                connection.sendall(self._block)
