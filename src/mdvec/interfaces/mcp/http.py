"""``mdvec serve --http``: the MCP server over Streamable HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mdvec import __version__
from mdvec.interfaces.http.address import Authority, bind
from mdvec.interfaces.http.guards import HEALTH_PATH, guarded
from mdvec.interfaces.http.limits import MAX_BODY_BYTES
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.http.problems import problem
from mdvec.interfaces.http.serving import serve
from mdvec.interfaces.mcp.application import build_server, watch_over

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from mdvec.config import Config
    from mdvec.workspace import Workspace

MCP_PATH = "/mcp"
"""Where clients of both eras of the protocol connect."""

# Clients of the handshake era; one that goes without a word is forgotten after half an hour.
_MAX_SESSIONS = 1000
_SESSION_IDLE_TIMEOUT_S = 30 * 60.0


def serve_http(
    workspace: Workspace,
    config: Config,
    options: ServerOptions,
    *,
    tell: Callable[[str], None],
    verbose: bool = False,
) -> int:
    """Serve any number of clients over HTTP until SIGTERM or Ctrl-C.

    Args:
        workspace: What to serve.
        config: Its settings.
        options: Where to listen and whom to let in.
        tell: Is told the URL as soon as requests are answered.
        verbose: Whether to print where a bug was met.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        ListenError: If the address cannot be listened at.
    """
    on_bug = watch_over(verbose=verbose)
    listener = bind(options.address)
    port: int = listener.getsockname()[1]
    app = guarded(_application(build_server(workspace, config, on_bug=on_bug)), options, port, on_bug)
    place = _reached_at(options.address, port)
    return serve(app, listener, ready=lambda: tell(f"serving MCP at {place}; press Ctrl-C to end"))


def _reached_at(address: Authority, port: int) -> str:
    """Say under which URL clients connect; an address that stands for all others is none of them."""
    if not address.is_wildcard:
        return f"http://{Authority(address.host, port)}{MCP_PATH}"
    loopback = Authority("::1" if ":" in address.host else "127.0.0.1", port)
    return f"http://{loopback}{MCP_PATH} and at every other address of this machine"


def _application(server: Server[None]) -> Starlette:
    sessions = StreamableHTTPSessionManager(
        server,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=_MAX_SESSIONS,
        session_idle_timeout=_SESSION_IDLE_TIMEOUT_S,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    app = Starlette(
        routes=[
            # The SDK's own checks of Host and Origin stay off: the guards know more names, and all routes.
            Route(MCP_PATH, StreamableHTTPASGIApp(sessions)),
            Route(HEALTH_PATH, _health, methods=["GET"]),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _refused, Exception: _broken},
    )
    app.router.redirect_slashes = False
    return app


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__})


async def _refused(_: Request, error: Exception) -> Response:
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    if status is HTTPStatus.NOT_FOUND:
        return problem(status, f"There is nothing here. MCP is at {MCP_PATH}.")
    headers = error.headers if isinstance(error, HTTPException) else None
    return problem(status, f"{status.description}.", headers)


async def _broken(_: Request, error: Exception) -> Response:  # noqa: ARG001 - Starlette's signature
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "This is a bug in mdvec.")
