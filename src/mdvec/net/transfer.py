"""One HTTP request and its response, bounded in time and size."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import closing
from typing import BinaryIO, TypeVar

import httpx2

from mdvec import run
from mdvec.errors import ServiceRefusedError
from mdvec.net.response import Response

_BLOCK_BYTES = 1 << 16
_CHECK_S = 1.0  # between two looks whether the run is cancelled
_MAX_REDIRECTS = 20
_PLAIN = frozenset({"", "identity"})
_COMPRESSED = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # zlib recognises the header

T = TypeVar("T")


def exchange(
    http: httpx2.Client,
    request: httpx2.Request,
    *,
    service: str,
    timeout_s: float,
    max_bytes: int,
    file: BinaryIO | None = None,
) -> Response:
    """Send a request and read its response; redirects of GET are followed.

    The HTTP library limits the silence between two bytes only. So a thread does the exchange: it is left
    behind when the time is over or the run is cancelled, and ends with the next bytes.

    Args:
        http: The connections.
        request: The request.
        service: Its name in messages.
        timeout_s: Most seconds from sending the request to the last byte of the response.
        max_bytes: Most bytes of the response's body, as sent and decompressed.
        file: Written instead of a content in memory.

    Raises:
        httpx2.HTTPError: If the service cannot be reached, or time is over.
        ServiceRefusedError: If the body is too long or in another encoding than requested.
        zlib.error: If it cannot be decompressed.
    """
    guard = threading.Lock()
    is_over = False

    def transfer() -> Response:
        content = bytearray()
        write: Callable[[bytes], object] = content.extend
        with closing(_open(http, request, service)) as response:
            if file is not None and response.status_code == httpx2.codes.OK:
                write = file.write
            for block in _body(response, max_bytes, service):
                with guard:
                    if is_over:
                        break
                    write(block)
        return Response(service, response.status_code, response.headers, bytes(content))

    outcome = _started(transfer)
    ends_at = time.monotonic() + timeout_s
    try:
        while not outcome.done():
            left_s = ends_at - time.monotonic()
            if left_s <= 0:
                msg = f"it took longer than {timeout_s:g} s"
                raise httpx2.ReadTimeout(msg)
            futures.wait([outcome], timeout=min(_CHECK_S, left_s))
            run.current().check()
        return outcome.result()
    finally:
        with guard:  # from here on nothing is written to the file
            is_over = True


def _started(function: Callable[[], T]) -> futures.Future[T]:
    """Call a function in a thread of its own, which does not keep the process from ending."""
    outcome: futures.Future[T] = futures.Future()

    def work() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            outcome.set_exception(error)

    run.start_thread(work, "mdvec-http")
    return outcome


def _open(http: httpx2.Client, request: httpx2.Request, service: str) -> httpx2.Response:
    """Send a request and follow redirects, whose bodies are not read."""
    for _ in range(_MAX_REDIRECTS):
        response = http.send(request, stream=True, follow_redirects=False)
        if request.method != "GET" or response.next_request is None:
            return response
        response.close()
        request = response.next_request
    msg = f"{service} redirects more than {_MAX_REDIRECTS} times"
    raise ServiceRefusedError(msg)


def _body(response: httpx2.Response, max_bytes: int, service: str) -> Iterator[bytes]:
    """Yield the decompressed body, a block at once; what is sent is limited too, since it may be empty."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _PLAIN | _COMPRESSED:
        msg = f"{service} compressed its response as {encoding!r}, which was not requested"
        raise ServiceRefusedError(msg, status=response.status_code)
    blocks = _limited(response.iter_raw(_BLOCK_BYTES), response.status_code, max_bytes, service)
    if encoding in _PLAIN:
        return blocks
    return _limited(_decompressed(blocks), response.status_code, max_bytes, service)


def _limited(blocks: Iterator[bytes], status: int, max_bytes: int, service: str) -> Iterator[bytes]:
    size = 0
    for block in blocks:
        size += len(block)
        if size > max_bytes:
            msg = f"{service} sends more than {max_bytes:,} bytes, too much for this request"
            raise ServiceRefusedError(msg, status=status)
        yield block


def _decompressed(blocks: Iterator[bytes]) -> Iterator[bytes]:
    decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
    is_empty = True
    for block in blocks:
        is_empty = False
        rest = block
        while rest:
            yield decoder.decompress(rest, _BLOCK_BYTES)
            rest = decoder.unconsumed_tail
    yield decoder.flush()
    if not (decoder.eof or is_empty):
        msg = "it ends too early"
        raise zlib.error(msg)
