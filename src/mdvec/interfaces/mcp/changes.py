"""Watches the database for changes by any process, and announces them to all clients, old and new."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mdvec.errors import MdvecError
from mdvec.interfaces.errors import OnBug
from mdvec.interfaces.mcp.places import STATUS
from mdvec.interfaces.mcp.threads import Threads
from mdvec.types.collection import Collection

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

Change = ToolsListChanged | ResourcesListChanged | ResourceUpdated
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
        self._bus = InMemorySubscriptionBus()
        self._sessions: list[ServerSession] = []
        super().__init__(name, on_subscriptions_listen=ListenHandler(self._bus), **options)
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
        # The requests of one connection have sessions of their own, which share what the client said.
        known = any(each.client_params is session.client_params for each in self._sessions)
        if begins and not known and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            self._sessions.append(session)
            try:  # this notification has a task of its own, which the SDK cancels when the connection ends
                await anyio.sleep_forever()
            finally:
                self._sessions.remove(session)
        return result


async def announce_changes(
    workspace: Workspace, server: AnnouncingServer, threads: Threads, on_bug: OnBug
) -> None:
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
            on_bug(error)
        await anyio.sleep(_RETRY_S)


async def free_idle_model(workspace: Workspace, threads: Threads, on_bug: OnBug) -> None:
    """Free the model whenever it was idle for long enough, until cancelled."""
    while True:
        await anyio.sleep(_LOOK_FOR_IDLE_MODEL_EVERY_S)
        try:
            await threads.call(workspace.free_idle_model)
        except Exception as error:  # noqa: BLE001 - a worker's loop: the server lives on
            on_bug(error)


async def _look(
    workspace: Workspace,
    server: AnnouncingServer,
    threads: Threads,
    seen: tuple[int, list[Collection]] | None,
) -> tuple[int, list[Collection]]:
    """Announce the differences to what was seen before.

    Returns:
        The generation of the database, and its enabled collections then.
    """
    generation = await threads.call(workspace.generation)
    if seen is not None and seen[0] == generation:
        return seen
    now = await threads.call(workspace.collections)
    if seen is not None:
        await server.announce(ResourceUpdated(STATUS))
        if _as_tools(seen[1]) != _as_tools(now):
            await server.announce(ToolsListChanged())
        if _as_resources(seen[1]) != _as_resources(now):
            await server.announce(ResourcesListChanged())
    return generation, now


def _as_tools(collections: list[Collection]) -> list[tuple[str, str]]:
    return [(each.name, each.description) for each in collections]


def _as_resources(collections: list[Collection]) -> list[tuple[str, int | None]]:
    """Return what resources depend on: names, and times of imports, which alone change documents."""
    return [(each.name, each.last_indexed_ms) for each in collections]


async def _notify(session: ServerSession, change: Change) -> None:
    with anyio.move_on_after(_MAX_S_PER_CLIENT):
        match change:
            case ToolsListChanged():
                await session.send_tool_list_changed()
            case ResourcesListChanged():
                await session.send_resource_list_changed()
            case ResourceUpdated():  # the handshake offers no subscription
                pass
