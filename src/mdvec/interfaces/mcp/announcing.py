"""A server that can tell every client, old or new, that a list has changed."""

from __future__ import annotations

from typing import Any

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

Change = ToolsListChanged | ResourcesListChanged | ResourceUpdated
"""A list that has changed, or a resource; the latter is told to those who subscribed to it."""

# A client that does not read must not keep the others from hearing.
_MOST_S_PER_CLIENT = 5.0


class AnnouncingServer(Server[None]):
    """The SDK's server, with changes of its lists announced in both eras of the protocol.

    Clients of 2026-07-28 listen to a subscription; the SDK serves those. Clients that shook hands
    expect a notification on their connection; the SDK promises them none, so it is done here.

    Args:
        name: Of the server.
        options: As the SDK's server takes them.
    """

    def __init__(self, name: str, **options: Any) -> None:
        self._bus = InMemorySubscriptionBus()
        self._sessions: dict[int, ServerSession] = {}
        super().__init__(name, on_subscriptions_listen=ListenHandler(self._bus), **options)
        self.middleware.append(self._remember_session)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Say what clients are told when they shake hands: that lists change, unless told otherwise."""
        changing = NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions
        )

    async def announce(self, change: Change) -> None:
        """Tell all clients that are connected now."""
        await self._bus.publish(change)
        async with anyio.create_task_group() as group:
            for session in list(self._sessions.values()):
                group.start_soon(_tell, session, change)

    async def _remember_session(
        self, ctx: ServerRequestContext[None, Any], call_next: CallNext
    ) -> HandlerResult:
        if ctx.method == "notifications/initialized":
            # mcp 2.3 has no public way from a session to its connection, which knows when it ends.
            connection = ctx.session._connection
            self._sessions[id(connection)] = ctx.session
            connection.exit_stack.callback(self._sessions.pop, id(connection), None)
        return await call_next(ctx)


async def _tell(session: ServerSession, change: Change) -> None:
    with anyio.move_on_after(_MOST_S_PER_CLIENT):
        match change:
            case ToolsListChanged():
                await session.send_tool_list_changed()
            case ResourcesListChanged():
                await session.send_resource_list_changed()
            case ResourceUpdated():  # they were not promised that they can subscribe
                pass
