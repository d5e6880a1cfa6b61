"""Agents use the tools: both transports, both eras of the protocol, one database, nothing faked."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from tests.e2e.agents import CLIENTS, Agent, all_connected, connected, over_stdio, text_of
from tests.e2e.conftest import Shell
from tests.waiting import HANG_S

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mdvec_e5") is None, reason="the builtin model is not installed here"
)

GENERAL_TOOLS = ["search", "get_doc", "list_docs", "get_outline", "list_tags", "reindex", "status"]
# So many notes of so many words take the model a second or more.
MANY_NOTES = 160
MANY_WORDS = 40


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
    with all_connected(shell.env, folder) as agents:
        yield World(shell, agents)


@pytest.fixture(params=CLIENTS)
def agent(world: World, request: pytest.FixtureRequest) -> Agent:
    """Each of the agents in turn."""
    return world.agents[request.param]


# Tests that write a note write one of their own.
numbers = itertools.count(1)


def test_both_eras_are_spoken(world: World) -> None:
    """A client that can speak the newest protocol gets it, an older one what it knows."""
    spoken = {name: agent.client.protocol_version for name, agent in world.agents.items()}
    for name, version in spoken.items():
        assert version == ("2026-07-28" if name.endswith("auto") else "2025-11-25")
    with connected(over_stdio(world.shell.env), "2026-07-28") as pinned:
        assert pinned.names() == [*GENERAL_TOOLS, "travel", "work"]


def test_the_tools_of_a_workspace(agent: Agent) -> None:
    """The general tools come first, then a tool for each collection with the words of its owner."""
    tools = agent.tools()
    assert [tool.name for tool in tools] == [*GENERAL_TOOLS, "travel", "work"]
    assert tools[-2].description == "Search the documents in travel: Journeys, 旅の記録"
    for tool in tools:
        assert tool.description
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        if tool.output_schema is not None:
            Draft202012Validator.check_schema(tool.output_schema)
        notes = tool.annotations
        assert notes is not None
        assert notes.read_only_hint is (tool.name != "reindex")
        assert notes.open_world_hint is False
    assert set(tools[-1].input_schema["properties"]) == {"query", "limit"}


@pytest.mark.parametrize(
    ("question", "path", "heading"),
    [
        ("どこに泊まりましたか", "旅行/京都.md", "宿"),
        ("I forgot my login secret", "account.md", "Passwords"),
        ("public transport uphill", "lisbon.md", "Lisbon"),
    ],
)
def test_a_search_by_meaning(agent: Agent, question: str, path: str, heading: str) -> None:
    """A question finds the passage, and the answer says where it stands and how complete it is."""
    answer = agent.data("search", query=question, limit=2, min_score=0)
    best = answer["hits"][0]
    assert (best["path"], best["heading_path"][-1], best["stale"]) == (path, heading, False)
    assert len(answer["hits"]) == 2
    assert (answer["mode"], answer["pending_chunks"]) == ("hybrid", 0)
    assert answer["total_chunks"] >= 3
    assert answer["last_indexed"] is not None
    text = agent.text("search", query=question, limit=2, min_score=0)
    assert f"{best['collection']}/{path}:{best['start_line']}-{best['end_line']}" in text
    assert best["text"].strip() in text
    assert "get_doc" in text


def test_a_search_is_narrowed(agent: Agent) -> None:
    """Collections, tags, paths, depth, mode and a budget do what they say."""

    def paths(**arguments: Any) -> set[str]:
        return {
            hit["path"]
            for hit in agent.data("search", query="旅館 password tram", limit=50, min_score=0, **arguments)[
                "hits"
            ]
        }

    assert {"旅行/京都.md", "account.md", "lisbon.md"} <= paths()
    assert "旅行/京都.md" not in paths(collections=["work"])
    assert paths(tags=["旅行"]) == {"旅行/京都.md"}
    assert paths(tags=["旅行", "europe"]) == {"旅行/京都.md", "lisbon.md"}
    assert paths(tags=["旅行", "europe"], tag_match="all") == set()
    assert paths(path="旅行/**") == {"旅行/京都.md"}
    assert paths(depth=2) == {"旅行/京都.md", "account.md"}
    assert agent.data("search", query="旅館", mode="lexical")["mode"] == "lexical"
    assert agent.data("search", query="zzz qqq", mode="lexical")["hits"] == []
    whole = agent.data("search", query="旅館", collections=["travel"], expand="document", limit=1)
    assert "新幹線" in whole["hits"][0]["text"]
    short = agent.data(
        "search", query="旅館", collections=["travel"], expand="document", limit=1, max_tokens=10
    )
    assert len(short["hits"][0]["text"]) < len(whole["hits"][0]["text"])


def test_the_tool_of_a_collection(agent: Agent) -> None:
    """It searches that collection alone."""
    result = agent.call("travel", query="旅館 password", limit=10)
    assert not result.is_error
    assert "京都" in text_of(result)
    assert "account.md" not in text_of(result)


def test_reading_a_document(world: World, agent: Agent) -> None:
    """A document comes as it was indexed; lines and sections are parts of it."""
    path = "旅行/京都.md"
    lines = (world.shell.cwd / "travel" / path).read_text(encoding="utf-8").splitlines()
    [whole] = agent.data("get_doc", path=path)["documents"]
    assert (whole["title"], whole["tags"], whole["stale"]) == ("京都の旅", ["旅行/国内"], False)
    assert (whole["start_line"], whole["end_line"]) == (1, len(lines))
    [part] = agent.data("get_doc", path=path, collection="travel", lines="6:8")["documents"]
    assert part["text"].splitlines() == lines[5:8]
    [section] = agent.data("get_doc", path=path, section="交通")["documents"]
    assert section["text"].splitlines()[0] == "## 交通"
    assert "宿" not in section["text"]
    assert "新幹線" in agent.text("get_doc", path=path)


def test_tags_and_status(agent: Agent) -> None:
    """Tags are counted by document; the status names each collection and what it holds."""
    assert {"tag": "help", "documents": 1} in agent.data("list_tags")["tags"]
    assert [each["tag"] for each in agent.data("list_tags", collection="travel")["tags"]] != []
    assert "help" not in agent.text("list_tags", collection="travel")
    status = agent.data("status")
    assert [each["name"] for each in status["collections"]] == ["travel", "work"]
    assert all(each["enabled"] and each["pending_chunks"] == 0 for each in status["collections"])
    assert status["model"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {"query": "x", "limt": 3}, "unknown argument `limt`; did you mean `limit`?"),
        ("search", {"query": "x", "collections": ["nope"]}, "nope"),
        ("search", {"query": "  "}, "code: invalid_query"),
        ("travel", {"query": "x", "tags": ["a"]}, "unknown argument `tags`"),
        ("get_doc", {"path": "nope.md"}, "code: document_not_found"),
        ("get_doc", {"path": "旅行/京都.md", "section": "nope"}, "nope"),
        ("list_tags", {"collection": "nope"}, "code: collection_not_found"),
        ("reindex", {"collection": "nope"}, "code: collection_not_found"),
        ("status", {"verbose": True}, "unknown argument `verbose`"),
    ],
)
def test_what_is_wrong_is_said(agent: Agent, tool: str, arguments: dict[str, Any], told: str) -> None:
    """A wrong call is an answer with a code that names the thing, and the connection goes on."""
    assert told in agent.failure(tool, **arguments)
    assert agent.data("status")


def test_a_change_is_seen_and_reindexed(world: World, agent: Agent) -> None:
    """A changed file is stale until a reindex, which says what it did, and how far it is meanwhile."""
    number = next(numbers)
    name = f"work/change{number}.md"
    world.shell.write(name, f"# Change {number}\n\nThe badger{number} digs.\n")
    report = agent.data("reindex", collection="work")
    assert (report["added"], report["updated"], report["failed"]) == (1, 0, 0)
    assert report["total_chunks"] >= 2
    [hit] = agent.data("search", query=f"badger{number}", limit=1, mode="lexical")["hits"]
    assert not hit["stale"]

    world.shell.write(name, f"# Change {number}\n\nThe badger{number} sleeps.\n")
    os.utime(world.shell.cwd / name, (time.time() + 5, time.time() + 5))
    [hit] = agent.data("search", query=f"badger{number}", limit=1, mode="lexical")["hits"]
    assert hit["stale"]
    assert "stale" in agent.text("search", query=f"badger{number}", limit=1, mode="lexical")

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


def test_progress_and_cancellation(world: World, agent: Agent) -> None:
    """A long reindex says how far it is; cancelled, it keeps what is written and frees the database."""
    number = next(numbers)
    for note in range(MANY_NOTES):
        words = " ".join(f"w{number}x{note}x{position}" for position in range(MANY_WORDS))
        world.shell.write(f"work/many{number}/{note}.md", f"# Note {note}\n\n{words}\n")
    told: list[float] = []
    enough = threading.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if message and message.startswith("embedding"):
            enough.set()

    async def reindex_and_leave() -> None:
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await agent.client.call_tool("reindex", {"collection": "work"}, progress_callback=hear)

            group.start_soon(ask)
            with anyio.fail_after(HANG_S):
                while not enough.is_set():
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    agent.run(reindex_and_leave)
    assert told == sorted(told)
    report = world.shell.json("import", "-n", "work", "-m", "update", "--no-embed", "--wait", "120")
    assert (report["added"], report["failed"]) == (0, 0)
    assert report["unchanged"] >= MANY_NOTES
    answer = agent.data("search", query=f"w{number}x7x3", mode="lexical", limit=1)
    assert answer["hits"][0]["path"] == f"many{number}/7.md"
    assert answer["pending_chunks"] > 0
    shutil.rmtree(world.shell.cwd / f"work/many{number}")
    assert agent.data("reindex", collection="work")["deleted"] == MANY_NOTES
