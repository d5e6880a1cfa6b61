"""``mdvec serve --http``: the MCP server over Streamable HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.routing import Route

from mdvec.interfaces.http.address import Authority
from mdvec.interfaces.http.guard import MAX_BODY_BYTES, guarded
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.http.server import bind, serve
from mdvec.interfaces.mcp.application import bug_listener, build_server

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

MCP_PATH = "/mcp"
"""The path for clients of all revisions of the protocol."""

# Clients up to 2025-11-25; a session without a request ends after half an hour.
_MAX_SESSIONS = 1000
_SESSION_IDLE_TIMEOUT_S = 30 * 60.0


def serve_http(
    workspace: Workspace,
    config: Config,
    options: ServerOptions,
    *,
    show: Callable[[str], None],
    verbose: bool = False,
) -> int:
    """Serve any number of clients over HTTP until SIGTERM or Ctrl-C.

    Args:
        workspace: What to serve.
        config: Its settings.
        options: Where to listen and which requests to accept.
        show: Receives a line with the URL as soon as requests are served.
        verbose: Whether to print the tracebacks of bugs.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        ListenError: If the address cannot be listened at.
    """
    on_bug = bug_listener(verbose=verbose)
    sessions = StreamableHTTPSessionManager(
        build_server(workspace, config, on_bug=on_bug),
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=_MAX_SESSIONS,
        session_idle_timeout=_SESSION_IDLE_TIMEOUT_S,
    )
    listener = bind(options.address)
    port: int = listener.getsockname()[1]
    # The SDK's own checks of Host and Origin stay off: the guard knows more names, and covers all routes.
    routes = [Route(MCP_PATH, StreamableHTTPASGIApp(sessions))]
    app = guarded(routes, options, port, on_bug=on_bug, lifespan=lambda _: sessions.run())
    return serve(
        app,
        listener,
        ready=lambda: show(f"serving MCP at {_url(options.address, port)}; press Ctrl-C to end"),
    )


def _url(address: Authority, port: int) -> str:
    if not address.is_wildcard:
        return f"http://{Authority(address.host, port)}{MCP_PATH}"
    # Clients cannot connect to an address that stands for all others.
    loopback = Authority("::1" if ":" in address.host else "127.0.0.1", port)
    return f"http://{loopback}{MCP_PATH} and at every other address of this machine"
