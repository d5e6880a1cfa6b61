"""Agents at work: both transports, both eras of the protocol, one database."""

from __future__ import annotations

import importlib.util
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from tests.e2e.agents import CLIENTS, Agent, agent_of, connected, over_stdio, read_text, resources_of
from tests.e2e.conftest import Shell
from tests.integration.mcp_wire import environment_of, make_home, run_mdvec, write_notes
from tests.waiting import HANG_S

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mdvec_e5") is None, reason="the builtin model is not installed here"
)

GENERAL_TOOLS = ["search", "get_doc", "list_docs", "get_outline", "list_tags", "reindex", "status"]
JAPANESE = "旅行/京都.md"
# The slow model takes more than a second for so many.
MANY_NOTES = 80


@dataclass(frozen=True, slots=True)
class World:
    """A person's notes and the agents that read them.

    Attributes:
        shell: Where the person works.
        agents: The clients, by transport and era.
    """

    shell: Shell
    agents: dict[str, Agent]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[World]:
    """Two collections in two languages, imported with the model."""
    folder = tmp_path_factory.mktemp("world")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    shell = Shell(
        folder,
        {
            **inherited,
            "HOME": str(folder),
            "MDVEC_EMBEDDING_CACHE_DIR": str(model_cache),
            "MDVEC_DATABASE_PATH": str(folder / "index.sqlite"),
            # What a reindex finds to do is counted here: neither a watcher nor a search does it before.
            "MDVEC_WATCH_ENABLED": "false",
            "MDVEC_SEARCH_SYNC_BUDGET_MS": "0",
        },
    )
    shell.write(
        "travel/旅行/京都.md",
        "---\ntags: [旅行/国内]\n---\n# 京都の旅\n\n"
        "## 宿\n\n四条の静かな旅館に二泊した。\n\n## 交通\n\n新幹線で二時間十五分、駅からはバスに乗る。\n",
    )
    shell.write("travel/lisbon.md", "# Lisbon\n\nThe tram climbs to the castle. #europe\n")
    shell.write(
        "work/account.md",
        "# Account\n\n## Passwords\n\nReset your password from the account page. #help\n\n"
        "## Invoices\n\nInvoices are sent on the first day of the month.\n",
    )
    for name, description in (("travel", "Journeys, 旅の記録"), ("work", "How we work")):
        shell.run("tool", "add", "-n", name, "-d", description, "-s", name)
        shell.run("import", "-n", name)
    with ExitStack() as stack:
        yield World(shell, {name: stack.enter_context(agent_of(name, shell.env, folder)) for name in CLIENTS})


@pytest.fixture
def agent(world: World) -> Agent:
    """An agent; the transport makes no difference to the answers of tools."""
    return world.agents[CLIENTS[0]]


def test_both_eras_are_spoken(world: World) -> None:
    """A client that can speak the newest protocol gets it, an older one what it knows."""
    spoken = {name: agent.client.protocol_version for name, agent in world.agents.items()}
    for name, version in spoken.items():
        assert version == ("2026-07-28" if name.endswith("auto") else "2025-11-25")
    with connected(over_stdio(world.shell.env), "2026-07-28") as pinned:
        assert pinned.names() == [*GENERAL_TOOLS, "travel", "work"]


@pytest.mark.parametrize("name", CLIENTS)
def test_every_tool_answers(world: World, name: str) -> None:
    """On each transport, with Japanese in both directions; a wrong call is an answer, too."""
    agent = world.agents[name]
    text = (world.shell.cwd / "travel" / JAPANESE).read_text(encoding="utf-8")
    assert "旅館" in agent.text("travel", query="旅館")
    [hit] = agent.data("search", query="旅館", limit=1, mode="lexical")["hits"]
    assert (hit["path"], hit["stale"]) == (JAPANESE, False)
    assert [each["text"] for each in agent.data("get_doc", path=JAPANESE)["documents"]] == [text]
    assert agent.data("list_docs", tags=["旅行"])["documents"][0]["title"] == "京都の旅"
    assert [each["heading"] for each in agent.data("get_outline", path=JAPANESE)["sections"]][1:] == [
        "宿",
        "交通",
    ]
    assert {"tag": "help", "documents": 1} in agent.data("list_tags")["tags"]
    assert [each["name"] for each in agent.data("status")["collections"]] == ["travel", "work"]
    assert agent.data("reindex")["failed"] == 0
    assert "did you mean `limit`?" in agent.failure("search", query="x", limt=3)
    address = f"mdvec://travel/{quote(JAPANESE)}"
    assert address in [each.uri for each in resources_of(agent)]
    assert read_text(agent, address).text == text
    assert json.loads(read_text(agent, "mdvec://status").text)["collections"][0]["name"] == "travel"


@pytest.mark.parametrize(
    ("question", "path", "heading"),
    [
        ("どこに泊まりましたか", JAPANESE, "宿"),
        ("I forgot my login secret", "account.md", "Passwords"),
        ("public transport uphill", "lisbon.md", "Lisbon"),
    ],
)
def test_a_search_by_meaning(agent: Agent, question: str, path: str, heading: str) -> None:
    """A question finds the passage, and the answer says where it is and how complete the index is."""
    answer = agent.data("search", query=question, limit=2, min_score=0)
    best = answer["hits"][0]
    assert (best["path"], best["heading_path"][-1]) == (path, heading)
    assert len(answer["hits"]) == 2
    assert (answer["mode"], answer["pending_chunks"]) == ("hybrid", 0)
    assert answer["last_indexed"] is not None


def test_a_change_is_seen_and_reindexed(world: World, agent: Agent) -> None:
    """A changed file is stale until a reindex, which says what it did, and how far it is meanwhile."""
    name = "work/change.md"
    world.shell.write(name, "# Change\n\nThe badger digs.\n")
    report = agent.data("reindex", collection="work")
    assert (report["added"], report["updated"], report["failed"]) == (1, 0, 0)
    assert report["total_chunks"] >= 2
    [hit] = agent.data("search", query="badger", limit=1, mode="lexical")["hits"]
    assert not hit["stale"]

    world.shell.write(name, "# Change\n\nThe badger sleeps.\n")
    os.utime(world.shell.cwd / name, (time.time() + 5, time.time() + 5))
    [hit] = agent.data("search", query="badger", limit=1, mode="lexical")["hits"]
    assert hit["stale"]
    assert "stale" in agent.text("search", query="badger", limit=1, mode="lexical")

    told: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def reindex() -> types.CallToolResult:
        return await agent.client.call_tool("reindex", {}, progress_callback=hear)

    result: types.CallToolResult = agent.run(reindex)
    assert result.structured_content is not None
    assert result.structured_content["updated"] == 1
    assert told == sorted(told, key=lambda each: each[0])
    (world.shell.cwd / name).unlink()
    assert agent.data("reindex")["deleted"] == 1


@pytest.mark.parametrize("name", CLIENTS)
def test_a_collection_appears_and_goes(world: World, name: str) -> None:
    """What another process registers is announced and becomes a tool without a restart, and goes again."""
    agent = world.agents[name]
    world.shell.write("garden/bed.md", "# Bed\n\nTomatoes.\n")
    before = agent.names()
    with agent.listening() as heard:
        world.shell.run("tool", "add", "-n", "garden", "-d", "The garden", "-s", "garden")
        agent.wait_until(lambda: "ToolListChangedNotification" in heard)
        assert agent.names() == [*GENERAL_TOOLS, "garden", *before[-2:]]
        world.shell.json("import", "-n", "garden", "--no-embed")
        agent.wait_until(lambda: "ResourceListChangedNotification" in heard)
        assert "bed.md" in agent.text("garden", query="tomatoes")
        heard.clear()
        world.shell.run("tool", "update", "-n", "garden", "-d", "Beds and trees")
        agent.wait_until(lambda: "ToolListChangedNotification" in heard)
        [tool] = [each for each in agent.tools() if each.name == "garden"]
        assert tool.description == "Search garden: Beds and trees"
        heard.clear()
        world.shell.run("tool", "delete", "-n", "garden", "-y")
        agent.wait_until(lambda: "ToolListChangedNotification" in heard)
        assert agent.names() == before
    with pytest.raises(MCPError, match="garden"):
        agent.call("garden", query="tomatoes")


@pytest.mark.parametrize("name", CLIENTS)
def test_progress_and_cancellation(name: str, tmp_path: Path) -> None:
    """A long reindex says how far it is; cancelled, it keeps what is written and frees the database."""
    home = make_home(tmp_path, 1)
    write_notes(home / "notes", MANY_NOTES)
    environment = {**environment_of(home, "slow"), "MDVEC_WATCH_ENABLED": "false"}
    told: list[float] = []
    enough = threading.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if message and message.startswith("embedding"):
            enough.set()

    async def reindex_and_leave(client: Client) -> None:
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await client.call_tool("reindex", {"collection": "notes"}, progress_callback=hear)

            group.start_soon(ask)
            with anyio.fail_after(HANG_S):
                while not enough.is_set():
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    with agent_of(name, environment, home) as agent:
        agent.run(reindex_and_leave, agent.client)
        assert told == sorted(told)
        run_mdvec(environment, "import", "-n", "notes", "--no-embed", "--wait", "120")
        answer = agent.data("search", query="number7", mode="lexical", limit=1)
        assert answer["hits"][0]["path"] == "7.md"
        assert answer["pending_chunks"] > 0
