"""An HTTP client for one service: bounded in time and size, with retries and errors that say what to do."""

from __future__ import annotations

import json as json_format
import math
import random
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, BinaryIO, NoReturn, TypeVar

import httpx2
from msgspec import Struct

from mdvec import run
from mdvec.errors import ServiceAnswerError, ServiceError, ServiceRefusedError, ServiceUnavailableError
from mdvec.net.response import Response, RetryPolicy, redacted
from mdvec.net.transfer import exchange

# Statuses that may be gone the next time; 529 is "overloaded" at some services.
_TRANSIENT = frozenset({408, 425, 429, 529, *range(500, 505), *range(520, 525)})

# A batch of vectors is some megabytes; a response that never ends must not fill the memory.
DEFAULT_MAX_BYTES = 64 << 20

_FIRST_BACKOFF_S = 0.5
_LONGEST_BACKOFF_S = 30.0
_TICK_S = 1.0  # between two reports while waiting

# A proxy cannot reach a service on this machine.
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")

# What happens after a connection is made.
_BROKEN_OFF = (httpx2.ReadError, httpx2.ReadTimeout, httpx2.RemoteProtocolError, httpx2.WriteError)

T = TypeVar("T")


class Clock(Struct, frozen=True):
    """Time and chance, replaceable in tests.

    Attributes:
        now: Seconds since 1970.
        chance: Returns a number from 0 to 1.
    """

    now: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random


class HttpClient:
    """A service at one address. Threads may share it; a wait that the service requests holds for all of them.

    Waiting is reported to the current run as :attr:`mdvec.run.Stage.LIMIT`, and ends when it is cancelled.

    Every request may raise these:

    Raises:
        ServiceAnswerError: If the response cannot be decompressed, or is no JSON where that is requested.
        ServiceRefusedError: If the service refuses, or sends more than it may, and would do so again.
        ServiceUnavailableError: If it cannot be reached or used now, or requests a longer wait.
    """

    def __init__(
        self,
        base_url: str,
        *,
        service: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        max_bytes: int = DEFAULT_MAX_BYTES,
        retry: RetryPolicy | None = None,
        retry_after: Callable[[Response], float | None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare a client; nothing is sent.

        Args:
            base_url: Paths are appended to it, such as ``https://api.github.com``.
            service: Its name in messages, such as ``GitHub``.
            headers: Sent with every request. Those that hold a key or a token are never shown.
            timeout_s: Most seconds from sending a request to the last byte of its response.
            max_bytes: Most bytes of a response, as sent and decompressed.
            retry: When a request is repeated.
            retry_after: Finds in a response, whatever its status, how many seconds the service wants to be
                left alone, where it says so in a way of its own. Infinity gives up at once; None means that
                it does not say.
            clock: For tests.
        """
        self._headers = {"User-Agent": "mdvec", "Accept-Encoding": "gzip, deflate", **(headers or {})}
        self._service = service
        self._retry = retry or RetryPolicy()
        self._own_retry_after = retry_after
        self._clock = clock or Clock()
        self._guard = threading.Lock()
        self._closed_until = 0.0  # in seconds since 1970: the last wait that the service requested
        self._http = httpx2.Client(
            base_url=base_url, headers=self._headers, timeout=timeout_s, mounts=dict.fromkeys(_LOOPBACK)
        )
        self._exchange = partial(
            exchange, self._http, service=service, timeout_s=timeout_s, max_bytes=max_bytes
        )
        weakref.finalize(self, self._http.close)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        expected: Collection[int] = (200,),
    ) -> Response:
        """Ask for something, again where that can help.

        Redirects are followed; ``Authorization`` stays behind when they lead to another host.

        Args:
            path: Below the base address, or a whole address.
            headers: Sent besides the client's own.
            expected: The statuses to return.
        """

        def send() -> Response:
            return self._exchange(self._http.build_request("GET", path, headers=headers))

        return self._send_with_retry(send, _unchanged, expected=expected)

    def request_json(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
    ) -> Any:
        """Send a request, again where that can help, and return the JSON of its response.

        Args:
            method: Such as ``POST``, of which redirects are not followed.
            path: Below the base address, or a whole address.
            json: Sent as the body; None for no body.
            params: Sent as the query.
            retry: Instead of the client's own.
        """
        content = None if json is None else json_format.dumps(json, ensure_ascii=False).encode()
        headers = None if json is None else {"Content-Type": "application/json"}

        def send() -> Response:
            return self._exchange(
                self._http.build_request(method, path, content=content, params=params, headers=headers)
            )

        return self._send_with_retry(send, Response.json, retry=retry)

    def download(self, path: str, file: BinaryIO, *, max_bytes: int, timeout_s: float) -> Response:
        """Write a response to a file, without holding it in memory.

        Redirects are followed; ``Authorization`` stays behind when they lead to another host.

        Args:
            path: Below the base address, or a whole address.
            file: Written from its current position; what an interrupted attempt wrote is cut off again.
            max_bytes: Instead of the client's own.
            timeout_s: Instead of the client's own, for the whole download.

        Returns:
            The response, without its content.
        """
        start = file.tell()

        def send() -> Response:
            file.seek(start)
            file.truncate()
            request = self._http.build_request("GET", path)
            return self._exchange(request, timeout_s=timeout_s, max_bytes=max_bytes, file=file)

        return self._send_with_retry(send, _unchanged)

    def _send_with_retry(
        self,
        send: Callable[[], Response],
        read: Callable[[Response], T],
        *,
        expected: Collection[int] = (200,),
        retry: RetryPolicy | None = None,
    ) -> T:
        """Make a request, whose address may be wrong, and send it until its response can be read."""
        retry = retry or self._retry
        attempt = 0
        while True:
            self._wait_until_open(retry)
            run.current().check()
            requested_s = None
            sent_at = self._clock.now()
            try:
                response = send()
                requested_s = self._requested_wait(response, expected)
                if requested_s is None and response.status in expected:
                    return read(response)
                failure = self._failure(response, requested_s)
            except (httpx2.HTTPError, httpx2.InvalidURL, zlib.error) as error:
                failure = self._transport_failure(error)
            except ServiceError as error:
                failure = error
            attempt += 1
            if not failure.retry:
                raise failure
            if requested_s is not None and math.isfinite(requested_s):
                with self._guard:  # also for whoever sends the next request, if this one is given up
                    self._closed_until = max(self._closed_until, self._clock.now() + requested_s)
            if requested_s is not None and requested_s > retry.max_wait_s:
                self._give_up(failure, requested_s)
            if attempt >= retry.attempts or self._clock.now() - sent_at > retry.max_wait_s:
                raise failure
            if requested_s is None:
                _wait(backoff(attempt - 1, self._clock.chance))

    def _requested_wait(self, response: Response, expected: Collection[int]) -> float | None:
        requested_s = self._own_retry_after(response)
        if requested_s is None and response.status in _TRANSIENT and response.status not in expected:
            requested_s = response.retry_after(self._clock.now())
        return requested_s

    def _failure(self, response: Response, requested_s: float | None) -> ServiceError:
        message = self._hidden(response.error_message())
        detail = f"HTTP {response.status}{': ' if message else ''}{message}"
        if requested_s is not None or response.status in _TRANSIENT:
            msg = f"{self._service} cannot answer now ({detail})"
            return ServiceUnavailableError(msg, status=response.status)
        if 300 <= response.status < 400:
            place = response.headers.get("location", "another address")
            detail = f"HTTP {response.status}: it has moved to {place}"
        return ServiceRefusedError(
            f"{self._service} refuses ({self._hidden(detail)})", status=response.status
        )

    def _transport_failure(self, error: Exception) -> ServiceError:
        address = self._http.base_url
        place = f"{address.host}:{address.port}" if address.port else address.host
        detail = self._hidden(str(error)) or type(error).__name__
        if isinstance(error, zlib.error):
            return ServiceAnswerError(f"{self._service} answers with broken compression: {detail}")
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
            return ServiceRefusedError(f"{self._service} has no usable address: {detail}")
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return ServiceRefusedError(f"{self._service} at {place} has no valid certificate: {detail}")
        if isinstance(error, httpx2.TimeoutException):
            detail = f"no complete response in time ({type(error).__name__})"
        where = "" if place in self._service else f" at {place}"
        what = "breaks off its response" if isinstance(error, _BROKEN_OFF) else "cannot be reached"
        return ServiceUnavailableError(f"{self._service} {what}{where}: {detail}")

    def _give_up(self, failure: ServiceError, requested_s: float) -> NoReturn:
        if requested_s == float("inf"):
            raise failure
        duration = _duration(requested_s)
        msg = f"{failure}; it asks to wait {duration}"
        raise ServiceUnavailableError(msg, hint=f"Run again in {duration}.", status=failure.status) from None

    def _wait_until_open(self, retry: RetryPolicy) -> None:
        """Wait as long as the service requested, in this thread or another one.

        Raises:
            ServiceUnavailableError: If that is longer than the policy allows.
        """
        while (left_s := self._closed_until - self._clock.now()) > 0:
            if left_s > retry.max_wait_s:
                self._give_up(ServiceUnavailableError(f"{self._service} cannot answer now"), left_s)
            _wait(left_s)

    def _hidden(self, text: str) -> str:
        return redacted(text, self._secrets())

    def _secrets(self) -> list[str]:
        """Return the credentials that are sent: the values of headers, and what follows ``Bearer``."""
        values = [
            value
            for name, value in self._headers.items()
            if name.lower() == "authorization" or name.lower().endswith(("key", "token"))
        ]
        return [*values, *(value.split()[-1] for value in values if value.strip())]


def backoff(attempt: int, chance: Callable[[], float]) -> float:
    """Return the wait, in seconds, before a service that requested none is tried again.

    Doubles from half a second to half a minute, give or take a quarter, so that clients which failed together
    do not come back together.
    """
    # The exponent is bounded because 2.0**1024 is an error.
    return float(min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2.0 ** min(attempt, 16)) * (0.75 + chance() / 2))


def _unchanged(response: Response) -> Response:
    return response


def _wait(seconds: float) -> None:
    current = run.current()
    left_s = seconds
    while left_s > 0:
        current.report(run.Stage.LIMIT, math.ceil(left_s), 0)
        nap_s = min(_TICK_S, left_s)
        current.sleep(nap_s)
        left_s -= nap_s


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
