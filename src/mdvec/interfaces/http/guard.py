"""The guard of an HTTP server: who may connect, from which pages, and how much a request may bring.

A refusal repeats nothing of the request, so that neither a token nor a text gets into a response.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from urllib.parse import urlencode

import anyio
from msgspec import Struct, field
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send

from mdvec import __version__
from mdvec.errors import (
    MdvecError,
    NotAllowedError,
    NotFoundError,
    OutOfFilesError,
    UnreadableFileError,
    UsageError,
)
from mdvec.interfaces.errors import log_bug
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.http.rights import LOGIN_PATH, bearer_token, right_of_request
from mdvec.machine import is_out_of_files

HEALTH_PATH = "/health"
"""The path that needs no token, and is served while all places for requests are taken."""

MCP_PATH = "/mcp"
"""The path for clients of all revisions of the Model Context Protocol."""

RPC_PATH = "/rpc"
"""The path of JSON-RPC."""

JSON = "application/json"
"""The type of arguments and messages."""

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Largest body of a request."""

MAX_REQUESTS = 64
"""Most requests that are served at once."""

MAX_STREAMS = 256
"""Most open streams: clients that wait for events, and cost next to nothing."""

_BODY_TIMEOUT_S = 30.0
_RETRY_AFTER_S = "1"
_TOO_LARGE = 413
# Most clients send a body whole before they read the response: the connection may not end until then.
_DISCARD_S = 5.0
# An MCP client waits for events by a GET up to 2025-11-25, by this method since 2026-07-28.
_LISTEN_METHOD = "subscriptions/listen"
_CORS_EXPOSED = ("mcp-session-id", "mcp-protocol-version", "www-authenticate")
# Browsers may not guess the type of a response, store it, or show it inside another page.
_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


class WebDoor(Struct, frozen=True):
    """The part of one door in the HTTP server.

    Attributes:
        routes: The routes that it serves.
        lifespan: Entered before the first request and left after the last; None without one.
        body_limits: Largest body of a request in bytes, by path, where it is not the usual one.
        open_paths: Paths, and beginnings of paths that end in ``/``, that need no token.
        refuse: Shows a browser that an address is not served; None leaves that to another door.
    """

    routes: Sequence[Route | Mount]
    lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None
    body_limits: Mapping[str, int] = field(default_factory=dict)
    open_paths: frozenset[str] = frozenset()
    refuse: Callable[[Request, HTTPException], Response] | None = None


def guarded(
    doors: Sequence[WebDoor],
    options: ServerOptions,
    port: int,
    *,
    restricted: Mapping[bytes, Sequence[WebDoor]] = {},
) -> ASGIApp:
    """Return the application of some doors behind one guard.

    Each request passes, in this order: Host, Origin, token, number of requests, size of the body.
    Host and Origin stop DNS rebinding: a page on the internet makes its own name point to this machine, and
    the browser then sends that name.

    Args:
        doors: For requests that may do everything.
        options: Which requests to accept.
        port: The port the server really listens at.
        restricted: The doors of each token that may read only some collections, by its digest. Nothing is
            shared with other tokens: no route, no session, no cache.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for door in (*doors, *itertools.chain(*restricted.values())):
                if door.lifespan is not None:
                    await stack.enter_async_context(door.lifespan())
            yield

    app = _application(doors, lifespan)
    apps: dict[bytes | None, ASGIApp] = {None: app}
    apps.update((digest, _application(each)) for digest, each in restricted.items())
    inner = CORSMiddleware(
        _admitting(apps, options, doors),
        allow_origins=options.allowed_origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        expose_headers=_CORS_EXPOSED,
        # The page may be on the internet and this server on the user's machine: the user allowed just that.
        allow_private_network=True,
    )

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await (_misdirected(scope, options, port) or inner)(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    return guard


def _application(doors: Sequence[WebDoor], lifespan: Lifespan[Starlette] | None = None) -> ASGIApp:
    """Return an application of the routes of doors and ``/health``."""
    refuse = next((door.refuse for door in doors if door.refuse), None)

    async def fail(_: Request, error: Exception) -> Response:
        if is_out_of_files(error):
            return problem(HTTPStatus.SERVICE_UNAVAILABLE, str(OutOfFilesError()))
        log_bug(error)
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "This is a bug in mdvec.")

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - the handler of this type
        if refuse is not None and _is_browser(request.method, request.headers):
            return refuse(request, error)
        if error.status_code == HTTPStatus.NOT_FOUND:
            return problem(error.status_code, "There is nothing here.")
        return problem(error.status_code, f"{HTTPStatus(error.status_code).description}.", error.headers)

    routes = [route for door in doors for route in door.routes]
    app = Starlette(
        routes=[Route(HEALTH_PATH, _health, methods=["GET"]), *routes],
        lifespan=lifespan,
        exception_handlers={HTTPException: refused, Exception: fail},
    )
    app.router.redirect_slashes = False
    return app


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if message["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
                headers.setdefault("retry-after", _RETRY_AFTER_S)
        await send(message)

    return send_with_headers


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **members: object
) -> Response:
    """Return an error as problem details (RFC 9457), with further members."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **members}
    return Response(json.dumps(body), status, headers, media_type="application/problem+json")


def status_of(error: Exception) -> HTTPStatus:
    """Return the status of a response that reports an error."""
    match error:
        case NotFoundError() | UnreadableFileError():
            return HTTPStatus.NOT_FOUND
        case UsageError():
            return HTTPStatus.BAD_REQUEST
        case NotAllowedError():
            return HTTPStatus.FORBIDDEN
        case MdvecError() if error.retry:
            return HTTPStatus.SERVICE_UNAVAILABLE
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__})


def is_json(headers: Headers) -> bool:
    """Return True if the body is JSON: a browser asks the server before a page elsewhere sends this type."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == JSON


def _is_browser(method: str, headers: Headers) -> bool:
    """Return True if someone opens an address to look at it."""
    return method == "GET" and "text/html" in headers.get("accept", "")


def _misdirected(scope: Scope, options: ServerOptions, port: int) -> Response | None:
    headers = Headers(scope=scope)
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not options.accepts_host(hosts[0], port):
        detail = "This server is not known by the name in the Host header; --allowed-host adds one."
        return problem(HTTPStatus.MISDIRECTED_REQUEST, detail)
    if not all(options.accepts_origin(value, port) for value in headers.getlist("origin")):
        detail = "Pages of this origin may not use this server; --allowed-origin adds one."
        return problem(HTTPStatus.FORBIDDEN, detail)
    return None


def _is_open(path: str, open_paths: Sequence[str]) -> bool:
    return any(path == each or (each.endswith("/") and path.startswith(each)) for each in open_paths)


def _unauthorized(scope: Scope, headers: Headers) -> Response:
    """Return the response to a request without a token (RFC 6750); a browser gets the form for it."""
    is_bearer = bearer_token(headers) is not None
    if not is_bearer and _is_browser(scope["method"], headers):
        wanted = scope["path"] + (f"?{query}" if (query := scope["query_string"].decode("latin-1")) else "")
        return RedirectResponse(f"{LOGIN_PATH}?{urlencode({'next': wanted})}", HTTPStatus.SEE_OTHER)
    challenge = 'Bearer realm="mdvec"'
    if is_bearer:
        challenge += ', error="invalid_token", error_description="This is not a token of this server"'
    detail = "The token is wrong." if is_bearer else "A token is needed: Authorization: Bearer TOKEN."
    return _rpc_problem(HTTPStatus.UNAUTHORIZED, detail, {"WWW-Authenticate": challenge})


def _rpc_problem(status: int, detail: str, headers: Mapping[str, str]) -> Response:
    """Return a problem that is an error of JSON-RPC, too."""
    error = {"code": -32000, "message": detail}
    return problem(status, detail, headers, jsonrpc="2.0", id=None, error=error)


async def _send_refusal(refusal: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a refusal at once, whole; then discard the rest of a body that is too large."""
    # Clients of MCP send JSON. They show the error of JSON-RPC, and only in a response of this type.
    if is_json(Headers(scope=scope)):
        refusal.headers["content-type"] = JSON
    if refusal.status_code != _TOO_LARGE:
        await refusal(scope, receive, send)
        return

    async def send_open(message: Message) -> None:
        await send({**message, "more_body": True} if "body" in message else message)

    await refusal(scope, receive, send_open)
    with anyio.move_on_after(_DISCARD_S):
        while (await receive()).get("more_body", False):
            pass
    await send({"type": "http.response.body", "body": b""})


def _admitting(
    apps: Mapping[bytes | None, ASGIApp], options: ServerOptions, doors: Sequence[WebDoor]
) -> ASGIApp:
    """Pass each request on to the application of its token, with its body, as far as there are free places.

    ``apps`` has the applications by the digests of tokens; None is the one with everything.
    """
    body_limits = {path: limit for door in doors for path, limit in door.body_limits.items()}
    open_paths = [path for door in doors for path in door.open_paths]
    free = {"requests": MAX_REQUESTS, "streams": MAX_STREAMS}

    async def admit(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if scope["path"] == HEALTH_PATH and scope["method"] in ("GET", "HEAD"):
            await apps[None](scope, receive, send)
            return
        right = right_of_request(options.rights, headers, options.ended)
        waits = scope["method"] == "GET" and "text/event-stream" in headers.get("accept", "")
        kind = "streams" if waits or headers.get("mcp-method") == _LISTEN_METHOD else "requests"
        refusal = None
        if options.rights and right is None and not _is_open(scope["path"], open_paths):
            refusal = _unauthorized(scope, headers)
        elif free[kind] == 0:
            detail = f"Too many {kind} at once; try again."
            refusal = _rpc_problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, {})
        if refusal is not None:
            await _send_refusal(refusal, scope, receive, send)
            return
        app = apps[None if right is None or right.collections is None else right.digest]
        free[kind] -= 1
        try:
            body = await _body(headers, receive, body_limits.get(scope["path"], MAX_BODY_BYTES))
            if isinstance(body, Response):
                await _send_refusal(body, scope, receive, send)
            else:
                await app(scope, replaying(body, receive), send)
        finally:
            free[kind] += 1

    return admit


async def _body(headers: Headers, receive: Receive, limit: int) -> bytes | Response:
    """Return the body, whole, or the response that refuses it without waiting for the rest."""
    close = {"Connection": "close"}
    large = _rpc_problem(_TOO_LARGE, f"The body is larger than {limit // 1024**2} MiB.", close)
    if int(headers.get("content-length", "0")) > limit:
        return large
    with anyio.move_on_after(_BODY_TIMEOUT_S):
        body = bytearray()
        more = True
        while more:  # until the end, or until the client disconnects
            message = await receive()
            body += message.get("body", b"")
            if len(body) > limit:
                return large
            more = message.get("more_body", False)
        return bytes(body)
    return _rpc_problem(408, "The body took too long.", close)


def replaying(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that gives a body again after it was read, and then the messages after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
