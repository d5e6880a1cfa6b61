"""MCP over Streamable HTTP: the routes of this door."""

from __future__ import annotations

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp_types import PARSE_ERROR
from pydantic_core import from_json, to_json
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mdvec.config import Config
from mdvec.interfaces.errors import OnBug
from mdvec.interfaces.http.guard import MAX_BODY_BYTES, MCP_PATH, WebDoor, replaying
from mdvec.interfaces.mcp.application import build_server
from mdvec.interfaces.parsing import decode_json
from mdvec.workspace import Workspace

# Clients up to 2025-11-25; a session without a request ends after half an hour.
_MAX_SESSIONS = 1000
_SESSION_IDLE_TIMEOUT_S = 30 * 60.0


def mcp_routes(workspace: Workspace, config: Config, on_bug: OnBug) -> WebDoor:
    """Return the routes of the MCP server."""
    sessions = StreamableHTTPSessionManager(
        build_server(workspace, config, on_bug=on_bug),
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=_MAX_SESSIONS,
        session_idle_timeout=_SESSION_IDLE_TIMEOUT_S,
    )
    # The SDK's own checks of Host and Origin stay off: the guard knows more names, and covers all routes.
    route = Route(MCP_PATH, StreamableHTTPASGIApp(sessions), middleware=[Middleware(_decoding)])
    return WebDoor([route], sessions.run)


def _decoding(app: ASGIApp) -> ASGIApp:
    """Pass on messages decoded as on all doors: the SDK refuses half a character in one era only."""

    async def decode(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            try:
                message = decode_json(await Request(scope, receive).body(), from_json)
            except (ValueError, RecursionError) as error:
                failure = {"code": PARSE_ERROR, "message": f"not JSON: {error}"}
                answer = JSONResponse({"jsonrpc": "2.0", "id": None, "error": failure}, 400)
                await answer(scope, receive, send)
                return
            receive = replaying(to_json(message), receive)
        await app(scope, receive, send)

    return decode
