"""Asks one service over HTTP: waits when told to, tries again where that can help, says what went wrong."""

from __future__ import annotations

import json as json_format
import random
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, TypeVar

import httpx2

from mdvec.errors import (
    ServiceAnswerError,
    ServiceError,
    ServiceRefusedError,
    ServiceUnavailableError,
)
from mdvec.net.reply import Reply, redacted
from mdvec.net.retry import backoff, retry_after

# What may go well the next time; 529 is "overloaded" at some services.
_PASSING = frozenset({408, 425, 429, 529, *range(500, 505), *range(520, 525)})

_TICK_S = 1.0  # between two words to the one who waits
_DOWNLOAD_BLOCK_BYTES = 1 << 16

# A proxy has no way to reach what runs on this machine.
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance, so that tests need neither.

    Attributes:
        now: Seconds since 1970.
        sleep: Waits so many seconds.
        chance: Returns a number from 0 to 1.
    """

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request is kept up.

    Attributes:
        attempts: Most times it is sent.
        most_wait_s: A service that asks for more is not waited for.
    """

    attempts: int = 6
    most_wait_s: float = 900.0


def _nothing(_seconds_left: float) -> None:
    pass


def _never(_reply: Reply) -> float | None:
    return None


class HttpClient:
    """A service at one address. May be used by several threads; they share what they are told to wait."""

    def __init__(
        self,
        base_url: str,
        *,
        service: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        attempts: int = 6,
        most_wait_s: float = 900.0,
        on_wait: Callable[[float], None] = _nothing,
        wait_of: Callable[[Reply], float | None] = _never,
        clock: Clock | None = None,
    ) -> None:
        """Prepare a client; nothing is sent.

        Args:
            base_url: What paths are appended to, such as ``https://api.github.com``.
            service: What messages call it, such as ``GitHub``.
            headers: Sent with every request. Those that hold a key or a token are never shown.
            timeout_s: How long nothing may come, in seconds.
            attempts: Most times a request is sent.
            most_wait_s: A service that asks for a longer wait than this is given up at once.
            on_wait: Told the seconds left, once a second, while waiting; what it raises ends the call.
            wait_of: Finds in a reply, whatever its status, how many seconds it says to wait, where a service
                says so in a way of its own. Infinity gives up at once; None means that it does not say.
            clock: For tests.
        """
        self._headers = {"User-Agent": "mdvec", **(headers or {})}
        self._service = service
        self._patience = Patience(attempts, most_wait_s)
        self._on_wait = on_wait
        self._wait_of = wait_of
        self._clock = clock or Clock()
        self._turn = threading.Lock()
        self._closed_until = 0.0  # in seconds since 1970: what the service said last
        self._http = httpx2.Client(
            base_url=base_url, headers=self._headers, timeout=timeout_s, mounts=dict.fromkeys(_LOOPBACK)
        )
        weakref.finalize(self, self._http.close)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        expected: Collection[int] = (200,),
        patience: Patience | None = None,
    ) -> Reply:
        """Ask, and ask again where that can help.

        Redirects of GET are followed; ``Authorization`` stays behind when they lead to another host.

        Args:
            method: Such as ``GET``.
            path: Below the base address, or a whole address.
            json: Sent as the body; None for no body.
            params: Sent as the query.
            headers: Sent besides the client's own.
            expected: The statuses to return.
            patience: Instead of the client's own.

        Raises:
            ServiceRefusedError: If it says no, and would say no again.
            ServiceUnavailableError: If it cannot be reached or used now, or asks for a longer wait.
        """
        return self._persist(
            self._sender(method, path, json, params, headers), _same, expected=expected, patience=patience
        )

    def ask(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        patience: Patience | None = None,
    ) -> Any:
        """Ask for JSON; an answer that was cut off is asked for again. See :meth:`request`.

        Raises:
            ServiceAnswerError: If the answer is no JSON, however often it is asked for.
            ServiceRefusedError: If it says no, and would say no again.
            ServiceUnavailableError: If it cannot be reached or used now, or asks for a longer wait.
        """
        return self._persist(self._sender(method, path, json, params, headers), Reply.json, patience=patience)

    def download(
        self,
        path: str,
        file: BinaryIO,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Write what is at an address to a file, without holding it in memory.

        Redirects are followed; ``Authorization`` stays behind when they lead to another host.

        Args:
            path: Below the base address, or a whole address.
            file: Written from where it stands; what an interrupted attempt wrote is cut off again.
            params: Sent as the query.
            headers: Sent besides the client's own.

        Returns:
            The reply, without its content.

        Raises:
            ServiceRefusedError: If it says no, and would say no again.
            ServiceUnavailableError: If it cannot be reached or used now, or asks for a longer wait.
        """
        start = file.tell()

        def send() -> Reply:
            file.seek(start)
            file.truncate()
            request = self._build("GET", path, None, params, headers)
            response = self._http.send(request, stream=True, follow_redirects=True)
            try:
                if response.status_code != httpx2.codes.OK:
                    response.read()
                    return self._reply(response, response.content)
                file.writelines(response.iter_bytes(_DOWNLOAD_BLOCK_BYTES))
            finally:
                response.close()
            return self._reply(response, b"")

        return self._persist(send, _same)

    def _sender(
        self,
        method: str,
        path: str,
        json: object,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
    ) -> Callable[[], Reply]:
        def send() -> Reply:
            request = self._build(method, path, json, params, headers)
            response = self._http.send(request, follow_redirects=method == "GET")
            return self._reply(response, response.content)

        return send

    def _build(
        self,
        method: str,
        path: str,
        json: object,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
    ) -> httpx2.Request:
        content = None if json is None else json_format.dumps(json, ensure_ascii=False).encode()
        sent = {**({} if content is None else {"Content-Type": "application/json"}), **(headers or {})}
        return self._http.build_request(method, path, content=content, params=params, headers=sent)

    def _reply(self, response: httpx2.Response, content: bytes) -> Reply:
        return Reply(self._service, response.status_code, response.headers, content)

    def _persist(
        self,
        send: Callable[[], Reply],
        read: Callable[[Reply], T],
        *,
        expected: Collection[int] = (200,),
        patience: Patience | None = None,
    ) -> T:
        patience = patience or self._patience
        attempt = 0
        while True:
            self._wait_for_turn(patience)
            asked_s = None
            try:
                reply = send()
                asked_s = self._asked_wait(reply, expected)
                if asked_s is None and reply.status in expected:
                    return read(reply)
                failure: ServiceError = self._failure(reply, asked_s)
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                failure = self._unreachable(error)
            except (httpx2.TooManyRedirects, httpx2.InvalidURL) as error:
                msg = f"{self._service} cannot be asked: {self._hidden(str(error))}"
                raise ServiceRefusedError(msg) from error
            except ServiceAnswerError as error:
                failure = error
            attempt += 1
            if not failure.retry:
                raise failure
            if asked_s is not None and asked_s > patience.most_wait_s:
                self._give_up(failure, asked_s)
            if attempt >= patience.attempts:
                raise failure
            if asked_s is None:
                self._wait(backoff(attempt - 1, self._clock.chance))
            else:
                with self._turn:
                    self._closed_until = max(self._closed_until, self._clock.now() + asked_s)

    def _asked_wait(self, reply: Reply, expected: Collection[int]) -> float | None:
        asked_s = self._wait_of(reply)
        if asked_s is None and reply.status in _PASSING and reply.status not in expected:
            asked_s = retry_after(reply.headers, reply.content, self._clock.now())
        return asked_s

    def _failure(self, reply: Reply, asked_s: float | None) -> ServiceError:
        said = self._hidden(reply.said())
        told = f"HTTP {reply.status}{': ' if said else ''}{said}"
        if asked_s is not None or reply.status in _PASSING:
            return ServiceUnavailableError(f"{self._service} cannot answer now ({told})", status=reply.status)
        if 300 <= reply.status < 400:
            told = f"HTTP {reply.status}: it has moved to {reply.headers.get('location', 'another address')}"
        return ServiceRefusedError(f"{self._service} refuses ({self._hidden(told)})", status=reply.status)

    def _unreachable(self, error: Exception) -> ServiceError:
        address = self._http.base_url
        place = f"{address.host}:{address.port}" if address.port else address.host
        match error:
            case httpx2.UnsupportedProtocol():
                return ServiceRefusedError(
                    f"{self._service} has no usable address: {self._hidden(str(error))}"
                )
            case _ if "CERTIFICATE_VERIFY_FAILED" in str(error):
                told = self._hidden(str(error))
                return ServiceRefusedError(f"{self._service} at {place} is not who it says: {told}")
            case httpx2.TimeoutException():
                told = f"no answer in time ({type(error).__name__})"
            case _:
                told = self._hidden(str(error)) or type(error).__name__
        where = "" if place in self._service else f" at {place}"
        return ServiceUnavailableError(f"{self._service} cannot be reached{where}: {told}")

    def _give_up(self, failure: ServiceError, asked_s: float) -> NoReturn:
        if asked_s == float("inf"):
            raise failure
        msg = f"{failure}; it asks to wait {_duration(asked_s)}"
        raise ServiceUnavailableError(
            msg, hint=f"Run again in {_duration(asked_s)}.", status=failure.status
        ) from None

    def _wait_for_turn(self, patience: Patience) -> None:
        """Wait until the service wants to be asked again, as it told this thread or another one.

        Raises:
            ServiceUnavailableError: If that is longer than the patience.
        """
        while (left_s := self._closed_until - self._clock.now()) > 0:
            if left_s > patience.most_wait_s:
                duration = _duration(left_s)
                msg = f"{self._service} cannot answer now; it asks to wait {duration}"
                raise ServiceUnavailableError(msg, hint=f"Run again in {duration}.")
            self._wait(left_s)

    def _wait(self, seconds: float) -> None:
        left_s = seconds
        while left_s > 0:
            self._on_wait(left_s)
            nap_s = min(_TICK_S, left_s)
            self._clock.sleep(nap_s)
            left_s -= nap_s

    def _hidden(self, text: str) -> str:
        return redacted(text, self._secrets())

    def _secrets(self) -> list[str]:
        """What is sent to prove who we are: a header's value, and what follows ``Bearer`` in it."""
        values = [
            value
            for name, value in self._headers.items()
            if name.lower() == "authorization" or name.lower().endswith(("key", "token"))
        ]
        return [*values, *(value.split()[-1] for value in values if value.strip())]


def _same(reply: Reply) -> Reply:
    return reply


def _duration(seconds: float) -> str:
    """Say a duration in words that suit its length."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
