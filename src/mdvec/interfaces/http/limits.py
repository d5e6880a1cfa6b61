"""How much a request may bring, and how many may be answered at once."""

from __future__ import annotations

import re
from http import HTTPStatus

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mdvec.interfaces.http.problems import problem

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Largest body of a request."""

MAX_JSON_DEPTH = 64
"""Deepest JSON that is certainly read; twice as deep is certainly refused."""

MAX_REQUESTS = 64
"""Most requests that are answered at once."""

MAX_STREAMS = 256
"""Most streams that are open at once: clients that wait for news, and cost next to nothing."""

_BODY_TIMEOUT_S = 30.0
_RETRY_AFTER = {"Retry-After": "1"}
# The closing quote may be missing: looking for it from every quote would take the square of the length.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
# How MCP says that it waits for news: a GET in the handshake era, this method since 2026-07-28.
_LISTEN_METHOD = "subscriptions/listen"


def limited_bodies(app: ASGIApp) -> ASGIApp:
    """Refuse bodies that are too large, too slow, or JSON that nests too deeply.

    The body is read here, whole, whether it comes with its length or in pieces.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        declared = Headers(scope=scope).get("content-length", "0")
        body = None
        if not (declared.isdecimal() and int(declared) > MAX_BODY_BYTES):
            with anyio.move_on_after(_BODY_TIMEOUT_S) as deadline:
                body = await _read(receive)
            if deadline.cancelled_caught:
                refusal = problem(
                    HTTPStatus.REQUEST_TIMEOUT, "The body took too long.", {"Connection": "close"}
                )
                await refusal(scope, receive, send)
                return
        if body is None:
            detail = f"The body is larger than {MAX_BODY_BYTES // 1024**2} MiB."
            # The rest of the body is not waited for.
            refusal = problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, {"Connection": "close"})
            await refusal(scope, receive, send)
        elif nests_too_deeply(body):
            refusal = problem(HTTPStatus.BAD_REQUEST, "The JSON nests too deeply.")
            await refusal(scope, receive, send)
        else:
            await app(scope, _replayed(body, receive), send)

    return checked


def limited_concurrency(app: ASGIApp, *, exempt: str) -> ASGIApp:
    """Refuse what exceeds the number of requests or of streams; a client that only listens blocks nobody.

    Args:
        app: Answers what is let through.
        exempt: The path that is always answered.
    """
    free = {"requests": MAX_REQUESTS, "streams": MAX_STREAMS}

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == exempt:
            await app(scope, receive, send)
            return
        listens = Headers(scope=scope).get("mcp-method") == _LISTEN_METHOD
        kind = "streams" if scope["method"] == "GET" or listens else "requests"
        if free[kind] == 0:
            refusal = problem(
                HTTPStatus.SERVICE_UNAVAILABLE, f"Too many {kind} at once; try again.", _RETRY_AFTER
            )
            await refusal(scope, receive, send)
            return
        free[kind] -= 1
        try:
            await app(scope, receive, send)
        finally:
            free[kind] += 1

    return checked


def nests_too_deeply(body: bytes) -> bool:
    """Whether JSON nests so deeply that reading it could exhaust the stack; cheap for any body."""
    # A bracket that is closed by a brace is no JSON, so one kind of them will do.
    brackets = _STRING.sub(b"", body).translate(_ONE_KIND, _NO_BRACKETS)
    for _ in range(MAX_JSON_DEPTH):
        outer = brackets.replace(b"[]", b"")  # the innermost level goes
        if len(outer) == len(brackets):
            break
        brackets = outer
    return brackets.count(b"[") > MAX_JSON_DEPTH


async def _read(receive: Receive) -> bytes | None:
    """Return the body; None when it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body", False):  # the end, or the client went away
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives the body once more, and then what comes after it."""
    pending = True

    async def replay() -> Message:
        nonlocal pending
        if pending:
            pending = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay
