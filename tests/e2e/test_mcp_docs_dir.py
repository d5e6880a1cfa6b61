"""Agents search a folder that nobody registered: text first, vectors soon after."""

from __future__ import annotations

import importlib.util

import mcp_types as types
import pytest
from tests.e2e.agents import Agent, connected, over_stdio
from tests.e2e.conftest import Shell
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mdvec_e5") is None, reason="the builtin model is not installed here"
)
# Enough notes that reading them takes a while, and that nobody is made to wait for their vectors.
NOTES = 300


def first_search(agent: Agent, query: str) -> tuple[types.CallToolResult, list[str]]:
    """Search, and return what was told meanwhile."""
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async def ask() -> types.CallToolResult:
        return await agent.client.call_tool("search", {"query": query}, progress_callback=hear)

    result: types.CallToolResult = agent.run(ask)
    return result, told


def test_the_first_search_makes_the_index(shell: Shell) -> None:
    """The first search tells how far it is and answers from the text; the vectors follow by themselves."""
    for number in range(NOTES):
        words = " ".join(f"word{number}x{position}" for position in range(6))
        shell.write(f"notes/many/{number}.md", f"# Note {number}\n\n{words}\n")
    with connected(over_stdio(shell.env, "--docs-dir", str(shell.cwd / "notes")), "auto") as agent:
        result, told = first_search(agent, "四条の静かな旅館")
        assert told
        assert not result.is_error
        answer = result.structured_content
        assert answer is not None
        assert answer["hits"][0]["path"] == "旅行/京都.md"
        assert answer["pending_chunks"] > 0
        assert answer["total_chunks"] >= NOTES

        with connected(over_stdio(shell.env, "--docs-dir", str(shell.cwd / "notes")), "auto") as other:
            assert other.data("search", query="word7x3", mode="lexical")["hits"]

        wait_until(lambda: not agent.data("status")["collections"][0]["pending_chunks"], poll_s=0.5)
        answer = agent.data("search", query="water leak in the kitchen")
        assert (answer["hits"][0]["path"], answer["mode"]) == ("todo.txt", "hybrid")
        [collection] = agent.data("status")["collections"]
        assert (collection["documents"], collection["failed"]) == (NOTES + 3, 0)
