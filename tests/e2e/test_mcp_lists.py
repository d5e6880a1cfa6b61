"""Agents look around: collections that come and go, documents as resources, the prompt, completions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from tests.e2e.agents import CLIENTS, Agent, all_connected, read_text, resources_of
from tests.e2e.conftest import Shell

NOTES = 230
JAPANESE = "旅行/京都 二日目.md"
SECRET = "nobody may read this"


@dataclass(frozen=True, slots=True)
class World:
    """A folder of notes and the agents that look at it.

    Attributes:
        shell: Where the person works.
        agents: The clients, by transport and era.
    """

    shell: Shell
    agents: dict[str, Agent]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Some hundred notes, indexed by their words alone, and a file outside that none of them may reach."""
    folder = tmp_path_factory.mktemp("lists")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    shell = Shell(
        folder / "work",
        {
            **inherited,
            "HOME": str(folder),
            "MDVEC_DATABASE_PATH": str(folder / "index.sqlite"),
            "MDVEC_SEARCH_MODE": "lexical",
        },
    )
    for number in range(NOTES):
        shell.write(f"notes/many/{number:03}.md", f"# Note {number}\n\nWords of note {number}.\n")
    shell.write(f"notes/{JAPANESE}", "# 二日目\n\n嵐山を歩いた。\n")
    shell.write("notes/plain.txt", "Only text.\n")
    shell.write("secret.md", SECRET)
    (shell.cwd / "notes" / "link.md").symlink_to(shell.cwd / "secret.md")
    shell.run("tool", "add", "-n", "notes", "-d", "My notes", "-s", "notes")
    shell.json("import", "-n", "notes", "--no-embed")
    with all_connected(shell.env, folder) as agents:
        yield World(shell, agents)


@pytest.fixture(params=CLIENTS)
def agent(world: World, request: pytest.FixtureRequest) -> Agent:
    """Each of the agents in turn."""
    return world.agents[request.param]


# --- collections -----------------------------------------------------------------------------------


def test_a_collection_appears_and_goes(world: World, agent: Agent) -> None:
    """What another process registers is announced and becomes a tool without a restart, and goes again."""
    world.shell.write("garden/bed.md", "# Bed\n\nTomatoes.\n")
    before = agent.names()
    with agent.listening() as heard:
        world.shell.run("tool", "add", "-n", "garden", "-d", "The garden", "-s", "garden")
        agent.wait_until(lambda: "ToolListChangedNotification" in heard)
        assert agent.names() == [*before[:-1], "garden", "notes"]
        world.shell.json("import", "-n", "garden", "--no-embed")
        agent.wait_until(lambda: "ResourceListChangedNotification" in heard)
        assert "bed.md" in agent.text("garden", query="tomatoes")
        heard.clear()
        world.shell.run("tool", "update", "-n", "garden", "-d", "Beds and trees")
        agent.wait_until(lambda: "ToolListChangedNotification" in heard)
        [tool] = [each for each in agent.tools() if each.name == "garden"]
        assert tool.description == "Search the documents in garden: Beds and trees"
        heard.clear()
        world.shell.run("tool", "delete", "-n", "garden", "-y")
        agent.wait_until(lambda: "ToolListChangedNotification" in heard)
        assert agent.names() == before
    with pytest.raises(MCPError, match="garden"):
        agent.call("garden", query="tomatoes")


def test_a_name_that_is_taken(world: World) -> None:
    """A collection cannot have the name of a general tool."""
    for name in ("search", "get_doc", "list_docs", "get_outline", "list_tags", "reindex", "status"):
        refused = world.shell.run("tool", "add", "-n", name, "-d", "x", "-s", "notes", code=2)
        assert name in refused.stderr


# --- resources -------------------------------------------------------------------------------------


def test_resources_come_in_pages(agent: Agent) -> None:
    """Every document is listed once, in order, on pages of a hundred; the status comes first."""
    first: types.ListResourcesResult = agent.run(agent.client.list_resources)
    assert len(first.resources) == 101
    assert first.next_cursor is not None
    resources = resources_of(agent)
    uris = [each.uri for each in resources]
    assert uris[0] == "mdvec://status"
    assert len(uris) == len(set(uris)) == 1 + NOTES + 2
    assert uris[1:] == sorted(uris[1:], key=unquote)
    assert f"mdvec://notes/{quote(JAPANESE)}" in uris
    assert all(each.mime_type in {"text/markdown", "text/plain", "application/json"} for each in resources)


def test_pages_stand_changes(world: World, agent: Agent) -> None:
    """Documents that come and go between two pages make no other one appear twice or not at all."""

    async def second_page() -> types.ListResourcesResult:
        return await agent.client.list_resources(cursor=first.next_cursor)

    first: types.ListResourcesResult = agent.run(agent.client.list_resources)
    gone = world.shell.cwd / "notes" / "many" / "005.md"
    text = gone.read_text(encoding="utf-8")
    gone.unlink()
    world.shell.write("notes/a-new-one.md", "# New\n\nIt comes before the others.\n")
    try:
        world.shell.json("import", "-n", "notes", "-m", "update", "--no-embed")
        second: types.ListResourcesResult = agent.run(second_page)
    finally:
        gone.write_text(text, encoding="utf-8")
        (world.shell.cwd / "notes" / "a-new-one.md").unlink()
        world.shell.json("import", "-n", "notes", "-m", "update", "--no-embed")
    listed = [each.uri for page in (first, second) for each in page.resources]
    assert len(listed) == len(set(listed)) == 201
    assert listed[101] == "mdvec://notes/many/100.md"


def test_reading_resources(world: World, agent: Agent) -> None:
    """A resource is the text that was indexed, whatever its path is written in; templates say how."""
    contents = read_text(agent, f"mdvec://notes/{quote(JAPANESE)}")
    assert contents.text == (world.shell.cwd / "notes" / JAPANESE).read_text(encoding="utf-8")
    assert contents.mime_type == "text/markdown"
    assert read_text(agent, "mdvec://notes/plain.txt").mime_type == "text/plain"
    status = json.loads(read_text(agent, "mdvec://status").text)
    assert status["collections"][0]["name"] == "notes"
    templates: types.ListResourceTemplatesResult = agent.run(agent.client.list_resource_templates)
    assert [each.uri_template for each in templates.resource_templates] == ["mdvec://{collection}/{+path}"]


@pytest.mark.parametrize(
    "uri",
    [
        "mdvec://notes/nope.md",
        "mdvec://nope/many/001.md",
        "mdvec://notes/../secret.md",
        "mdvec://notes/%2e%2e/secret.md",
        "mdvec://notes/many/../../secret.md",
        "mdvec://notes//etc/passwd",
        "mdvec://notes/link.md",
        "mdvec://notes/many/001.md%00",
        "mdvec://notes/%ff%fe",
        "mdvec://notes/",
        "mdvec://notes",
        "file:///etc/passwd",
    ],
)
def test_nothing_else_can_be_read(agent: Agent, uri: str) -> None:
    """What is not an indexed document is not there, wherever the address points."""
    with pytest.raises(MCPError) as caught:
        read_text(agent, uri)
    assert caught.value.error.code == types.INVALID_PARAMS
    assert caught.value.error.data["uri"] == uri
