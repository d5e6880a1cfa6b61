"""What is written into a client's file is a command that starts a server, as that client would start it."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from mdvec.interfaces.cli.main import run

# A file as its owner left it, and where the servers are in it.
BEFORE = {
    "claude-code": ("{}", "mcpServers"),
    "claude-desktop": ('{"globalShortcut": "Ctrl+Space", "mcpServers": {}}', "mcpServers"),
    "cursor": ('{\n  "mcpServers": {\n    "other": {"command": "npx"}\n  }\n}\n', "mcpServers"),
    "vscode": ('{\n\t"inputs": [],\n\t"servers": {}\n}\n', "servers"),
    "codex": ('model = "x"\n\n[mcp_servers.other] # theirs\ncommand = "npx"\n', "mcp_servers"),
    "gemini-cli": ('{"ui": {"theme": "Default"}}', "mcpServers"),
}


READERS: dict[str, Callable[[str], Any]] = {
    "claude-code": json.loads,
    "claude-desktop": json.loads,
    "cursor": json.loads,
    "vscode": json.loads,
    "codex": tomllib.loads,
    "gemini-cli": json.loads,
}


def command_of(notes: Path) -> tuple[str, list[str]]:
    """Return the program and the arguments that every client is to start for a folder."""
    return sys.executable, ["-P", "-m", "mdvec", "serve", "--docs-dir", str(notes)]


@pytest.mark.parametrize("client", BEFORE)
def test_each_file_has_the_command(client: str, tmp_path: Path) -> None:
    """A reader that is not ours finds it in the form of the client; ``uninstall`` leaves what was there."""
    notes = tmp_path / "私の notes"
    notes.mkdir()
    text, key = BEFORE[client]
    file = tmp_path / "client-file"
    file.write_text(text, encoding="utf-8")
    before = READERS[client](text)

    options = ("--docs-dir", str(notes), "--file", str(file))
    assert run(["install", client, *options], env={"HOME": str(tmp_path)}, cwd=tmp_path) == 0
    after = READERS[client](file.read_text(encoding="utf-8"))
    entry = after[key].pop("mdvec")
    assert after == {**before, key: before.get(key, {})}
    assert (entry["command"], entry["args"]) == command_of(notes)

    assert run(["uninstall", client, "--file", str(file)], env={}, cwd=tmp_path) == 0
    assert READERS[client](file.read_text(encoding="utf-8")) == {**before, key: before.get(key, {})}


def test_the_command_serves_the_folder(tmp_path: Path) -> None:
    """Started elsewhere and without PATH, it gives the official client the tools."""
    notes = tmp_path / "私の notes"
    notes.mkdir()
    (notes / "retry.md").write_text("# Retry\n\nFive attempts, then give up.\n", encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    # A folder to start in that would break Python, if it looked for its modules there.
    (elsewhere / "json.py").write_text("raise SystemExit(1)\n")
    command, args = command_of(notes)
    environment = {"PATH": "", "HOME": str(tmp_path)}
    anyio.run(_use, StdioServerParameters(command=command, args=args, env=environment, cwd=elsewhere))


async def _use(server: StdioServerParameters) -> None:
    async with Client(server) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"search", "get_doc", "status", "docs"} <= names
