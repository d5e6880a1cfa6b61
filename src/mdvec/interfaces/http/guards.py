"""Stands before every route: who may ask, from where, and how much.

Each guard wraps an ASGI application and answers itself when it refuses. What a refusal says never repeats
what was sent, so that no token and no text gets into an answer.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mdvec.interfaces.http.hosts import is_known_host, is_known_origin
from mdvec.interfaces.http.limits import limited_bodies, limited_concurrency
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.http.problems import problem

HEALTH_PATH = "/health"
"""The one path that needs no token and is answered under any load."""

# Nobody is to guess the type of an answer, keep it, or show it inside another page.
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)
# What a page of an allowed origin may send and read: the headers of MCP over HTTP.
_CORS_METHODS = ("GET", "POST", "DELETE")
_CORS_HEADERS = (
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
)
_CORS_EXPOSED = ("mcp-session-id", "mcp-protocol-version", "www-authenticate")

Report = Callable[[Exception], None]
"""Told of a bug that a request ran into."""


def guarded(app: ASGIApp, options: ServerOptions, port: int, report: Report) -> ASGIApp:
    """Put all guards before an application.

    From the outside in: errors and headers, Host, Origin, token, number of requests, size of a body.

    Args:
        app: Answers what is let through.
        options: Whom to let in.
        port: The port that is really listened at.
        report: Told of bugs.
    """
    inner = limited_concurrency(limited_bodies(app), exempt=HEALTH_PATH)
    if options.token is not None:
        inner = with_token(inner, options.token, exempt=HEALTH_PATH)
    if options.allowed_origins:
        # Before the token: a browser asks whether it may without one.
        inner = CORSMiddleware(
            inner,
            allow_origins=options.allowed_origins,
            allow_methods=_CORS_METHODS,
            allow_headers=_CORS_HEADERS,
            expose_headers=_CORS_EXPOSED,
            # The page may be on the internet and this server on the user's machine: that is what was allowed.
            allow_private_network=True,
        )
    checked = from_known_hosts(inner, options, port)

    async def outermost(scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "lifespan":
                await app(scope, receive, send)
            case "http":
                await _answered(checked, scope, receive, send, report)
            case _:
                await send({"type": "websocket.close", "code": 1008})

    return outermost


def from_known_hosts(app: ASGIApp, options: ServerOptions, port: int) -> ASGIApp:
    """Refuse requests that were sent to another name, or by a web page of another place.

    A page on the internet can make its name point to 127.0.0.1 and have the browser ask there (DNS
    rebinding). Then Host and Origin carry that name.

    Args:
        app: Answers what is let through.
        options: Which names and origins are known.
        port: The port that is really listened at.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not is_known_host(hosts[0], options, port):
            refusal = problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "This server is not known under the name in the Host header; --allowed-host adds one.",
            )
        elif not all(is_known_origin(value, options, port) for value in headers.getlist("origin")):
            refusal = problem(
                HTTPStatus.FORBIDDEN,
                "Pages of this origin may not use this server; --allowed-origin adds one.",
            )
        else:
            await app(scope, receive, send)
            return
        await refusal(scope, receive, send)

    return checked


def with_token(app: ASGIApp, token: str, *, exempt: str) -> ASGIApp:
    """Refuse requests without the token (RFC 6750).

    Args:
        app: Answers what is let through.
        token: The token.
        exempt: The path that needs none.
    """
    expected = token.encode("ascii")

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        values = Headers(scope=scope).getlist("authorization")
        scheme, _, given = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        is_bearer = scheme.lower() == "bearer"
        # Headers are Latin-1; the comparison takes the same time wherever the first difference is.
        matches = hmac.compare_digest(given.strip().encode("latin-1", "replace"), expected)
        if scope["path"] == exempt or (is_bearer and matches):
            await app(scope, receive, send)
            return
        challenge = 'Bearer realm="mdvec"'
        if is_bearer:
            challenge += ', error="invalid_token", error_description="This is not the token of this server"'
        detail = "The token is wrong." if is_bearer else "A token is needed: Authorization: Bearer TOKEN."
        refusal = problem(HTTPStatus.UNAUTHORIZED, detail, {"WWW-Authenticate": challenge})
        await refusal(scope, receive, send)

    return checked


async def _answered(app: ASGIApp, scope: Scope, receive: Receive, send: Send, report: Report) -> None:
    """Answer with our headers, and with 500 where there is a bug."""
    started = False

    async def with_headers(message: Message) -> None:
        nonlocal started
        if message["type"] == "http.response.start":
            started = True
            names = {name.lower() for name, _ in message["headers"]}
            added = [each for each in _HEADERS if each[0] not in names]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    try:
        await app(scope, receive, with_headers)
    except Exception as error:  # noqa: BLE001 - the last resort of a request: the others go on
        report(error)
        if not started:
            refusal = problem(HTTPStatus.INTERNAL_SERVER_ERROR, "This is a bug in mdvec.")
            await refusal(scope, receive, with_headers)
