"""S3 on this machine: moto's server, behind a proxy that counts requests and can let them go wrong."""

from __future__ import annotations

import http.client
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import pytest
from tests.waiting import HANG_S

REGION = "us-east-1"


class Fault(StrEnum):
    """What can happen to a request."""

    ERROR = "500 InternalError"
    SLOW_DOWN = "503 SlowDown"
    DENIED = "403 InvalidAccessKeyId"
    RESET = "the connection is reset before anything happens"
    LOST = "what was asked for is done, and the answer is lost"
    TRUNCATED = "half of the answer comes"
    SILENT = "no answer comes"


class Flaky:
    """Lets about one in four requests go wrong, the same ones whatever their order.

    None goes wrong more than three times in a row. Silence is rare, because it takes time.
    """

    kinds = (Fault.ERROR, Fault.SLOW_DOWN, Fault.RESET, Fault.LOST, Fault.TRUNCATED)

    def __init__(self, seed: int, silences: int = 1) -> None:
        self._seed = seed
        self._silences = silences
        self._count = 0
        self._tries: Counter[tuple[str, str]] = Counter()
        self._in_a_row: Counter[tuple[str, str]] = Counter()

    def __call__(self, method: str, path: str) -> Fault | None:
        """Return what happens to a request."""
        key = method, path
        self._tries[key] += 1
        chance = random.Random(f"{self._seed} {key} {self._tries[key]}")
        if chance.random() >= 0.25 or self._in_a_row[key] == 3:
            self._in_a_row[key] = 0
            return None
        self._in_a_row[key] += 1
        if self._silences and method == "GET":
            self._silences -= 1
            return Fault.SILENT
        self._count += 1
        return self.kinds[self._count % len(self.kinds)]


class S3Server:
    """An S3 server with one bucket, and credentials for it in the environment.

    Attributes:
        endpoint: Its address.
        client: Writes and reads objects without being counted, or going wrong.
        asked: The requests since they were last forgotten: method and path, without a query.
        fault: Says what happens to a request, by method and path.
        faults: How often each of them happened.
    """

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        self.asked: list[tuple[str, str]] = []
        self.fault: Callable[[str, str], Fault | None] = lambda method, path: None
        self.faults: Counter[Fault] = Counter()
        self._guard = threading.Lock()
        self.ended = threading.Event()

    def __enter__(self) -> Self:
        import boto3
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.s3.models import s3_backends
        from moto.server import ThreadedMotoServer

        self._patch = pytest.MonkeyPatch()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            self._patch.setenv(name, "testing")
        self._patch.setenv("AWS_REGION", REGION)
        self._moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._moto.start()
        self._backend: Any = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        self._place = self._moto.get_host_and_port()
        self._proxy = _Proxy(self)
        self._thread = threading.Thread(target=self._proxy.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._proxy.server_port}"
        host, port = self._place
        self.client: Any = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name=REGION)
        self.client.create_bucket(Bucket=self.bucket)
        self.clear()  # moto keeps buckets for as long as the process
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self._proxy.shutdown()
        self._proxy.server_close()
        self._thread.join(HANG_S)
        self._moto.stop()
        self._patch.undo()

    def put(self, key: str, content: str | bytes) -> None:
        """Write an object."""
        self.client.put_object(Bucket=self.bucket, Key=key, Body=content)

    def delete(self, key: str) -> None:
        """Remove an object."""
        self.client.delete_object(Bucket=self.bucket, Key=key)

    def fill(self, keys: list[str]) -> None:
        """Make many small objects, without a request for each."""
        for key in keys:
            self._backend.put_object(self.bucket, key, b"x")

    def clear(self) -> None:
        """Remove all objects, and forget the requests."""
        self._backend.buckets[self.bucket].keys.clear()
        self.asked.clear()

    def forget(self) -> None:
        """Forget the requests that came so far."""
        self.asked.clear()

    def read(self) -> list[str]:
        """Return the keys that were read, in order."""
        start = f"/{self.bucket}/"
        return sorted(
            path.removeprefix(start) for method, path in self.asked if method == "GET" and path != start[:-1]
        )

    def take(self, method: str, path: str) -> Fault | None:
        """Note a request, and return what happens to it."""
        with self._guard:
            self.asked.append((method, path))
            fault = self.fault(method, path)
            if fault is not None:
                self.faults[fault] += 1
            return fault

    def forward(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request to moto, and return its answer."""
        host, port = self._place
        connection = http.client.HTTPConnection(host, port, timeout=HANG_S)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: the second would wait for an acknowledgement
    server: _Proxy

    def log_message(self, *_: object) -> None:
        pass

    def handle_one_request(self) -> None:
        with suppress(ConnectionError):
            super().handle_one_request()

    def __getattr__(self, name: str) -> Callable[[], None]:
        if not name.startswith("do_"):
            raise AttributeError(name)
        return self._handle

    def _handle(self) -> None:
        s3 = self.server.s3
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        fault = s3.take(self.command, self.path.partition("?")[0])
        match fault:
            case Fault.ERROR | Fault.SLOW_DOWN | Fault.DENIED:
                number, code = fault.split(" ")
                self._answer(int(number), {}, f"<Error><Code>{code}</Code></Error>".encode())
            case Fault.RESET:
                self._reset()
            case Fault.SILENT:
                s3.ended.wait(HANG_S)
                self._reset()
            case _:
                status, headers, content = s3.forward(self.command, self.path, {**self.headers}, body)
                if fault is Fault.LOST or (fault and not content):
                    self._reset()
                else:
                    self._answer(status, headers, content, cut=fault is Fault.TRUNCATED)

    def _answer(self, status: int, headers: Mapping[str, str], content: bytes, *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in {"content-length", "connection", "transfer-encoding", "date"}:
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        self.wfile.flush()
        self.close_connection |= cut

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, s3: S3Server) -> None:
        self.s3 = s3
        super().__init__(("127.0.0.1", 0), _Handler)
