"""The HTTP application: all web doors behind one address and one guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from socket import socket

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from mdvec.config import Config
from mdvec.errors import ListenError
from mdvec.interfaces.http.api import api_routes
from mdvec.interfaces.http.guard import (
    JSON,
    MAX_REQUESTS,
    RPC_PATH,
    WebDoor,
    guarded,
    is_json,
    problem,
)
from mdvec.interfaces.http.options import Authority, ServerOptions
from mdvec.interfaces.http.server import bind, serve
from mdvec.interfaces.mcp.application import mcp_routes
from mdvec.interfaces.rpc.dispatcher import RpcClient
from mdvec.interfaces.rpc.methods import METHODS
from mdvec.interfaces.streams import MAX_LINE_BYTES
from mdvec.interfaces.web.routes import page_routes
from mdvec.workspace import RestrictedWorkspace, Workspace


def build_app(
    workspace: Workspace,
    config: Config,
    options: ServerOptions,
    port: int,
    *,
    more: Sequence[WebDoor] = (),
) -> ASGIApp:
    """Return the application of all web doors, and more, behind one guard.

    Each token that may read only some collections has its own doors, to a workspace with no others.
    """

    def doors_of(workspace: Workspace) -> list[WebDoor]:
        return [
            mcp_routes(workspace, config),
            _rpc_routes(workspace),
            api_routes(workspace),
            page_routes(workspace, options),
        ]

    restricted = {
        each.digest: doors_of(RestrictedWorkspace(workspace, each.collections))
        for each in options.rights
        if each.collections is not None
    }
    return guarded([*doors_of(workspace), *more], options, port, restricted=restricted)


def _rpc_routes(workspace: Workspace) -> WebDoor:
    """Return the route of JSON-RPC: one message a request, one answer a response, and no notifications."""
    threads = CapacityLimiter(MAX_REQUESTS)

    def answered(message: bytes) -> bytes | None:
        sent: list[bytes] = []
        client = RpcClient(workspace, METHODS, sent.append, notifies=False)
        client.receive(message)
        client.wait()
        client.close()
        return sent[0] if sent else None

    async def answer(request: Request) -> Response:
        if not is_json(request.headers):
            return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"A message has the type {JSON}.")
        response = await to_thread.run_sync(answered, await request.body(), limiter=threads)
        if response is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return Response(response, media_type=JSON)

    return WebDoor([Route(RPC_PATH, answer, methods=["POST"])], body_limits={RPC_PATH: MAX_LINE_BYTES})


def serve_http(
    workspace: Workspace,
    config: Config,
    options: ServerOptions,
    *,
    ready: Callable[[str], None],
    more: Sequence[WebDoor] = (),
    listeners: Sequence[socket] = (),
) -> int:
    """Serve any number of clients over HTTP until SIGTERM or Ctrl-C.

    ``ready`` receives the URL as soon as requests are served. ``more`` are further doors, and ``listeners``
    further sockets to listen at, which are closed at the end.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        ListenError: If the address cannot be listened at.
    """
    address = options.address
    try:
        listener = bind(address)
    except ListenError:
        if not options.any_port:
            raise
        listener = bind(Authority(address.host, 0))
    port: int = listener.getsockname()[1]
    app = build_app(workspace, config, options, port, more=more)
    return serve(app, listener, *listeners, ready=lambda: ready(_url_of(address, port)))


def _url_of(address: Authority, port: int) -> str:
    """Return the URL of a server, for clients on this machine."""
    # Clients cannot connect to an address that means all others.
    loopback = "::1" if ":" in address.host else "127.0.0.1"
    return f"http://{Authority(loopback if address.is_wildcard else address.host, port)}"
