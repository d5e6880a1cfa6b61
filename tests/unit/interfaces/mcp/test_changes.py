"""Changes that other processes make, told to clients of both eras."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable

import anyio
import pytest
from mcp import Client
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import InitializedNotification
from msgspec.structs import replace
from tests.bugs import reported_bugs
from tests.unit.interfaces.fake_workspace import COLLECTION, FakeWorkspace
from tests.unit.interfaces.mcp.agent import asked, talk
from tests.waiting import HANG_S

from mdvec.config import Config
from mdvec.errors import StoreError
from mdvec.interfaces.mcp import application
from mdvec.interfaces.mcp.application import build_server
from mdvec.interfaces.mcp.places import STATUS
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId

WORK = replace(COLLECTION, id=CollectionId(2), name="work", last_indexed_ms=None)
TOOLS, RESOURCES = ToolsListChanged(), ResourcesListChanged()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for changes all the time."""
    for name in ("_MAX_WAIT_S", "_RETRY_S"):
        monkeypatch.setattr(application, name, 0.01)


async def looked(workspace: FakeWorkspace) -> None:
    """Wait until the server has looked for changes once more, from beginning to end."""
    before = len(asked(workspace, "generation"))
    await until(lambda: len(asked(workspace, "generation")) > before + 1)


async def until(condition: Callable[[], object]) -> None:
    """Let the server work until something holds."""
    with anyio.fail_after(HANG_S):
        while not condition():
            await anyio.sleep(0.01)


async def collect(subscription: AsyncIterable[object], expected: set[object]) -> set[object]:
    """Return what a client hears until it has heard what is expected, and right after that."""
    heard: set[object] = set()
    for seconds, enough in ((HANG_S, expected), (0.1, None)):
        with anyio.move_on_after(seconds):
            async for event in subscription:
                heard.add(event)
                if heard == enough:
                    break
    return heard


def hears(workspace: FakeWorkspace, change: Callable[[], None], *expected: object) -> bool:
    """Return True if a client of 2026-07-28 that listens during a change hears just what is expected."""

    async def say(client: Client) -> set[object]:
        async with client.listen(
            tools_list_changed=True, resources_list_changed=True, resource_subscriptions=[STATUS]
        ) as subscription:
            await looked(workspace)
            change()
            return await collect(subscription, set(expected))

    return talk(workspace, say) == set(expected)


def become(workspace: FakeWorkspace, *collections: Collection) -> Callable[[], None]:
    """Return a change of the workspace's collections."""

    def change() -> None:
        workspace.known = list(collections)
        workspace.changes += 1

    return change


def test_a_new_collection_changes_both_lists(workspace: FakeWorkspace) -> None:
    """Its tool appears, and its documents may."""
    assert hears(workspace, become(workspace, COLLECTION, WORK), TOOLS, RESOURCES, ResourceUpdated(STATUS))


def test_a_new_description_changes_the_tools(workspace: FakeWorkspace) -> None:
    """The documents are the same."""
    assert hears(
        workspace, become(workspace, replace(COLLECTION, description="new")), TOOLS, ResourceUpdated(STATUS)
    )


def test_a_disabled_collection_changes_both_lists(workspace: FakeWorkspace) -> None:
    """It has neither a tool nor listed documents any more."""
    assert hears(
        workspace,
        become(workspace, replace(COLLECTION, enabled=False)),
        TOOLS,
        RESOURCES,
        ResourceUpdated(STATUS),
    )


def test_an_import_changes_the_resources(workspace: FakeWorkspace) -> None:
    """The tools are the same."""
    assert hears(
        workspace,
        become(workspace, replace(COLLECTION, last_indexed_ms=1)),
        RESOURCES,
        ResourceUpdated(STATUS),
    )


def test_other_writes_change_no_list(workspace: FakeWorkspace) -> None:
    """A batch of vectors makes no client ask for tools again."""
    assert hears(workspace, become(workspace, COLLECTION), ResourceUpdated(STATUS))


def test_clients_that_shook_hands_are_told(workspace: FakeWorkspace) -> None:
    """They were promised so when they connected, and the tool is there when they ask."""
    heard: list[str] = []

    async def listen(message: object) -> None:
        heard.append(type(message).__name__)

    async def say(client: Client) -> list[str]:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        await looked(workspace)
        become(workspace, COLLECTION, WORK)()
        await until(lambda: len(heard) > 1)
        return [tool.name for tool in (await client.list_tools()).tools]

    names = talk(workspace, say, era="legacy", message_handler=listen)
    assert names[-2:] == ["notes", "work"]
    assert heard == ["ToolListChangedNotification", "ResourceListChangedNotification"]


def test_a_client_is_told_once_and_forgotten_when_it_leaves(workspace: FakeWorkspace) -> None:
    """However often it says that it is there: each of its requests has a session of its own."""
    heard: list[str] = []

    async def listen(message: object) -> None:
        heard.append(type(message).__name__)

    async def run() -> None:
        server = build_server(workspace, Config())
        for _ in range(2):
            async with Client(server, mode="legacy", message_handler=listen) as client:
                for _ in range(3):
                    await client.session.send_notification(InitializedNotification())
                await client.list_tools()
                heard.clear()
                await server.announce(ToolsListChanged())
                await until(lambda: heard)
                await client.list_tools()
                assert heard == ["ToolListChangedNotification"]
                assert len(server._sessions) == 1
            await until(lambda: not server._sessions)

    with reported_bugs() as bugs:
        anyio.run(run)
    assert not bugs


def test_a_database_that_fails_for_a_while_does_not_end_the_watch(workspace: FakeWorkspace) -> None:
    """Nor does a bug in it, which whoever watches over the server sees."""

    async def say(client: Client) -> set[object]:
        async with client.listen(tools_list_changed=True) as subscription:
            await looked(workspace)
            for error in (StoreError("the disk is away"), ZeroDivisionError()):
                workspace.error = error
                await looked(workspace)
            workspace.error = None
            become(workspace, COLLECTION, WORK)()
            return await collect(subscription, {TOOLS})

    with reported_bugs() as bugs:
        assert talk(workspace, say) == {TOOLS}
    assert {type(bug) for bug in bugs} == {ZeroDivisionError}


def test_an_idle_model_is_freed(workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workspace is asked now and then; a bug in it does not end the server."""
    monkeypatch.setattr(application, "_LOOK_FOR_IDLE_MODEL_EVERY_S", 0.01)
    calls: list[None] = []

    def free() -> bool:
        calls.append(None)
        raise ZeroDivisionError

    monkeypatch.setattr(workspace, "free_idle_model", free)

    async def say(client: Client) -> int:
        await until(lambda: len(calls) > 1)
        return len((await client.list_tools()).tools)

    with reported_bugs() as bugs:
        assert talk(workspace, say) == 8
    assert len(bugs) == len(calls)
