"""The MCP server of a workspace, for any transport; it announces changes by any process."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server import subscriptions
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, PARSE_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mdvec import __version__
from mdvec.config import Config
from mdvec.errors import InvalidArgumentsError, MdvecError
from mdvec.interfaces.errors import log_bug
from mdvec.interfaces.mcp.definitions import INSTRUCTIONS, get_prompt, list_prompts
from mdvec.interfaces.mcp.places import STATUS
from mdvec.interfaces.mcp.resources import Resources
from mdvec.interfaces.mcp.threads import Threads
from mdvec.interfaces.mcp.tools import Tools
from mdvec.interfaces.mcp.wording import failure_for_client, failure_text, marked_json
from mdvec.interfaces.parsing import decode_json
from mdvec.types.collection import Collection
from mdvec.workspace import Workspace

if TYPE_CHECKING:  # standard streams do without
    from mdvec.interfaces.http.guard import WebDoor

# Errors repeat input of the client, of any length. A longer text than this is cut to its start.
_MAX_ERROR_CHARS = 1000
_START_CHARS = 200


def build_server(workspace: Workspace, config: Config) -> AnnouncingServer:
    """Return the server; a transport runs it.

    The workspace stays open while it runs.

    Returns:
        The server. Its lifespan, which a transport enters once, watches the workspace for changes.
    """
    # Without a handler Python prints the SDK's warnings; a program that sets up logging receives them.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    threads = Threads(workspace)
    tools = Tools(workspace, config, threads)
    resources = Resources(workspace, threads, most_tokens=config.mcp.max_tokens)

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(announce_changes, workspace, server, threads)
            group.start_soon(free_idle_model, workspace, threads)
            yield
            group.cancel_scope.cancel()

    server = AnnouncingServer(
        "mdvec",
        title="mdvec",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        # No argument of a tool is repeated in a header; the SDK would list all tools to find that out.
        get_tool_input_schema=lambda _: None,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=resources.complete,
    )
    server.middleware.append(_translate)
    return server


async def _translate(ctx: ServerRequestContext[None, Any], call_next: CallNext) -> HandlerResult:
    """Turn every exception of a handler into a short JSON-RPC error."""
    try:
        return await call_next(ctx)
    except ValidationError:  # the SDK has words for invalid parameters
        raise
    except MCPError as error:
        raise MCPError(error.code, _shortened(error.message), _shortened(error.data)) from error
    except Exception as error:
        failure = failure_for_client(error)
        text = failure_text(replace(failure, message=_shortened(failure.message)))
        data = marked_json({"code": failure.code, "hint": failure.hint})
        raise MCPError(INTERNAL_ERROR, text, data) from error


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _MAX_ERROR_CHARS:
            return f"{value[:_START_CHARS]}…"
        case dict():
            return {key: _shortened(each) for key, each in value.items()}
        case _:
            return value


# --- changes by any process, announced to all clients, old and new -----------------------------------------

Change = subscriptions.ToolsListChanged | subscriptions.ResourcesListChanged | subscriptions.ResourceUpdated
"""A list that has changed, or a resource; the latter is announced to its subscribers."""

# A database that cannot say when it changes is looked at after so long at most.
_MAX_WAIT_S = 5.0
_RETRY_S = 1.0
_LOOK_FOR_IDLE_MODEL_EVERY_S = 15.0
# A client that does not read must not delay the others.
_MAX_S_PER_CLIENT = 5.0


class AnnouncingServer(Server[None]):
    """The SDK's server, which also announces changes of its lists in both eras of the protocol.

    Clients of 2026-07-28 listen to a subscription, which the SDK serves. Clients of the handshake era
    expect a notification on their connection; the SDK sends them none, so this class does.
    """

    def __init__(self, name: str, **options: Any) -> None:
        self._bus = subscriptions.InMemorySubscriptionBus()
        self._sessions: list[ServerSession] = []
        super().__init__(name, on_subscriptions_listen=subscriptions.ListenHandler(self._bus), **options)
        self.middleware.append(self._remember_session)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return the capabilities of the handshake: lists change, unless the caller decides otherwise."""
        changing = NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions
        )

    async def announce(self, change: Change) -> None:
        """Announce a change to all clients that are connected now."""
        await self._bus.publish(change)
        async with anyio.create_task_group() as group:
            for session in [*self._sessions]:
                group.start_soon(_notify, session, change)

    async def _remember_session(
        self, ctx: ServerRequestContext[None, Any], call_next: CallNext
    ) -> HandlerResult:
        result = await call_next(ctx)
        session, begins = ctx.session, ctx.method == "notifications/initialized"
        # The requests of one connection have sessions of their own, which share the parameters of its client.
        known = any(each.client_params is session.client_params for each in self._sessions)
        if begins and not known and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            self._sessions.append(session)
            try:  # this notification has a task of its own, which the SDK cancels when the connection ends
                await anyio.sleep_forever()
            finally:
                self._sessions.remove(session)
        return result


async def announce_changes(workspace: Workspace, server: AnnouncingServer, threads: Threads) -> None:
    """Watch the database until cancelled, and announce the lists that changed."""
    seen: tuple[int, list[Collection]] | None = None
    while True:
        try:
            seen = await _look(workspace, server, threads, seen)
            await threads.wait(partial(workspace.wait_for_change, seen[0], timeout_s=_MAX_WAIT_S))
            continue
        except MdvecError:  # the next request receives it
            pass
        except Exception as error:  # noqa: BLE001 - a worker's loop: the server lives on
            log_bug(error)
        await anyio.sleep(_RETRY_S)


async def free_idle_model(workspace: Workspace, threads: Threads) -> None:
    """Free the model when it has been idle for long enough, until cancelled."""
    while True:
        await anyio.sleep(_LOOK_FOR_IDLE_MODEL_EVERY_S)
        try:
            await threads.call(workspace.free_idle_model)
        except Exception as error:  # noqa: BLE001 - a worker's loop: the server lives on
            log_bug(error)


async def _look(
    workspace: Workspace,
    server: AnnouncingServer,
    threads: Threads,
    seen: tuple[int, list[Collection]] | None,
) -> tuple[int, list[Collection]]:
    """Announce the differences to the last look.

    Returns:
        The generation of the database, and its enabled collections then.
    """
    generation = await threads.call(workspace.generation)
    if seen is not None and seen[0] == generation:
        return seen
    now = await threads.call(workspace.collections)
    if seen is not None:
        await server.announce(subscriptions.ResourceUpdated(STATUS))
        if _parts(seen[1], "name", "description") != _parts(now, "name", "description"):
            await server.announce(subscriptions.ToolsListChanged())
        # Imports alone change documents.
        if _parts(seen[1], "name", "last_indexed_ms") != _parts(now, "name", "last_indexed_ms"):
            await server.announce(subscriptions.ResourcesListChanged())
    return generation, now


def _parts(collections: list[Collection], *fields: str) -> list[object]:
    return [attrgetter(*fields)(each) for each in collections]


async def _notify(session: ServerSession, change: Change) -> None:
    with anyio.move_on_after(_MAX_S_PER_CLIENT):
        match change:
            case subscriptions.ToolsListChanged():
                await session.send_tool_list_changed()
            case subscriptions.ResourcesListChanged():
                await session.send_resource_list_changed()
            case subscriptions.ResourceUpdated():  # the handshake offers no subscription
                pass


# --- over HTTP -----------------------------------------------------------------------------------------

# Clients up to 2025-11-25; a session without a request ends after half an hour.
_MAX_SESSIONS = 1000
_SESSION_IDLE_TIMEOUT_S = 30 * 60.0


def mcp_routes(workspace: Workspace, config: Config) -> WebDoor:
    """Return the routes of the server over Streamable HTTP."""
    from mdvec.interfaces.http.guard import MAX_BODY_BYTES, MCP_PATH, WebDoor, replaying

    sessions = StreamableHTTPSessionManager(
        build_server(workspace, config),
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=_MAX_SESSIONS,
        session_idle_timeout=_SESSION_IDLE_TIMEOUT_S,
    )
    # The SDK's own checks of Host and Origin stay off: the guard knows more names, and covers all routes.
    app = StreamableHTTPASGIApp(sessions)

    def decoding(app: ASGIApp) -> ASGIApp:
        """Pass on messages decoded as on all doors: the SDK refuses half a character in one era only."""

        async def decode(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["method"] == "POST":
                try:
                    message = decode_json(await Request(scope, receive).body(), from_json)
                except InvalidArgumentsError as error:
                    failure = {"code": PARSE_ERROR, "message": str(error)}
                    answer = JSONResponse({"jsonrpc": "2.0", "id": None, "error": failure}, 400)
                    await answer(scope, receive, send)
                    return
                receive = replaying(to_json(message), receive)
            await app(scope, receive, send)

        return decode

    return WebDoor([Route(MCP_PATH, app, middleware=[Middleware(decoding)])], sessions.run)
