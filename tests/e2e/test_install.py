"""What `mdvec install` writes is what a client needs."""

from __future__ import annotations

import json
from pathlib import Path

from mcp import StdioServerParameters
from tests.e2e.agents import connected
from tests.e2e.conftest import Shell


def test_a_client_starts_what_was_written(shell: Shell) -> None:
    """The entry starts a server with the folder and the variables it names, and with no other setting."""
    file = Path(shell.env["HOME"]) / ".claude.json"
    args = ("--docs-dir", "notes", "--database", "own.sqlite", "--env", "MDVEC_SEARCH_MODE=lexical")
    shell.run("install", "claude-code", *args)
    entry = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]["mdvec"]
    elsewhere = {name: value for name, value in shell.env.items() if not name.startswith("MDVEC_")}
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=elsewhere | entry["env"], cwd=shell.env["HOME"]
    )
    with connected(server, "auto") as agent:
        answer = agent.data("search", query="旅館")
    assert (answer["mode"], answer["hits"][0]["path"]) == ("lexical", "旅行/京都.md")
    assert (shell.cwd / "own.sqlite").exists()
    shell.run("uninstall", "claude-code")
    assert not file.exists()
