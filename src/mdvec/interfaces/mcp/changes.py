"""Notices what any process did to the database, and tells the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged

from mdvec.errors import MdvecError
from mdvec.interfaces.mcp.addresses import STATUS
from mdvec.interfaces.mcp.announcing import AnnouncingServer
from mdvec.interfaces.mcp.failures import OnBug
from mdvec.interfaces.mcp.threads import Threads
from mdvec.types.collection import Collection

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

# One row is read each time.
_LOOK_EVERY_S = 1.0
_LOOK_FOR_IDLE_MODEL_EVERY_S = 15.0


async def announce_changes(
    workspace: Workspace, server: AnnouncingServer, threads: Threads, on_bug: OnBug
) -> None:
    """Watch the database until cancelled, and announce the lists that changed.

    Args:
        workspace: What to watch.
        server: Whose clients to tell.
        threads: Where to look.
        on_bug: Is told of exceptions that nobody expected; the watch goes on.
    """
    seen: tuple[int, list[Collection]] | None = None
    while True:
        try:
            seen = await _look(workspace, server, threads, seen)
        except MdvecError:  # nobody has asked; who does is told
            pass
        except Exception as error:  # noqa: BLE001 - a worker's loop: the server lives on
            on_bug(error)
        await anyio.sleep(_LOOK_EVERY_S)


async def free_idle_model(workspace: Workspace, threads: Threads, on_bug: OnBug) -> None:
    """Free the model whenever it was idle for long enough, until cancelled.

    Args:
        workspace: What holds it.
        threads: Where to do it.
        on_bug: Is told of exceptions that nobody expected.
    """
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
    """Compare with what was seen before; announce what differs.

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
    """Documents come and go with imports, and an import says when it had all of them."""
    return [(each.name, each.last_indexed_ms) for each in collections]
