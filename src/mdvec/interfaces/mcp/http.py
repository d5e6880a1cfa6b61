"""MCP over Streamable HTTP: the routes of this door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.routing import Route

from mdvec.interfaces.errors import OnBug
from mdvec.interfaces.http.app import MCP_PATH, WebDoor
from mdvec.interfaces.http.guard import MAX_BODY_BYTES
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.mcp.application import build_server

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

# Clients up to 2025-11-25; a session without a request ends after half an hour.
_MAX_SESSIONS = 1000
_SESSION_IDLE_TIMEOUT_S = 30 * 60.0


def mcp_routes(workspace: Workspace, config: Config, _: ServerOptions, *, on_bug: OnBug) -> WebDoor:
    """Return the routes of the MCP server."""
    sessions = StreamableHTTPSessionManager(
        build_server(workspace, config, on_bug=on_bug),
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=_MAX_SESSIONS,
        session_idle_timeout=_SESSION_IDLE_TIMEOUT_S,
    )
    # The SDK's own checks of Host and Origin stay off: the guard knows more names, and covers all routes.
    return WebDoor([Route(MCP_PATH, StreamableHTTPASGIApp(sessions))], sessions.run)
