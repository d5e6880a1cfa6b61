"""Which clients there are, where each keeps its servers, and what it wants to read there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import assert_never

from mdvec.errors import UsageError
from mdvec.interfaces.clients import jsonc, toml
from mdvec.text.undecodable import spelled


class ClientName(StrEnum):
    """A client that can be set up."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"
    GEMINI_CLI = "gemini-cli"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The machine as far as it decides where files are.

    Attributes:
        platform: As ``sys.platform`` has it.
        home: The user's home directory.
        env: Environment variables.
    """

    platform: str
    home: Path
    env: Mapping[str, str]

    @property
    def application_data(self) -> Path:
        """Where Electron applications keep what belongs to the user."""
        match self.platform:
            case "darwin":
                return self.home / "Library" / "Application Support"
            case "win32":
                return Path(self.env.get("APPDATA") or self.home / "AppData" / "Roaming")
            case _:
                return Path(self.env.get("XDG_CONFIG_HOME") or self.home / ".config")


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client gets to mdvec: by starting it, or by asking a running server.

    Attributes:
        command: Program and arguments; empty when there is a URL.
        url: Of the running server; empty when there is a command.
        token_variable: Environment variable the client takes the server's token from; empty for none.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    token_variable: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    """What is particular about a client.

    Attributes:
        title: What people call it.
        syntax: The module that edits its files.
        plain: Whether it reads JSON without comments alone.
        servers_key: The member of its files that holds the servers.
        user_file: Where its servers for all projects are.
        project_file: Where those of one project are, below its folder; None when it has none.
        after: What to do for a change to count.
        variable: What it would take for a variable inside a value; None when nothing is.
    """

    title: str
    syntax: ModuleType
    plain: bool
    servers_key: str
    user_file: Callable[[Surroundings], Path]
    project_file: str | None
    after: str
    variable: re.Pattern[str] | None


def _claude_code_file(here: Surroundings) -> Path:
    # https://code.claude.com/docs/en/mcp; with CLAUDE_CONFIG_DIR the file moves there (claude-code#48448).
    return Path(here.env.get("CLAUDE_CONFIG_DIR") or here.home) / ".claude.json"


def _claude_desktop_file(here: Surroundings) -> Path:
    # https://modelcontextprotocol.io/docs/develop/connect-local-servers. The Windows installer has been an
    # MSIX package since 2026, which sees its own folder in place of %APPDATA% (claude-code#57998).
    name = "claude_desktop_config.json"
    if here.platform == "win32":
        local = Path(here.env.get("LOCALAPPDATA") or here.home / "AppData" / "Local")
        for packaged in sorted(local.glob("Packages/Claude_*/LocalCache/Roaming/Claude")):
            return packaged / name
    return here.application_data / "Claude" / name


def _codex_file(here: Surroundings) -> Path:
    # https://developers.openai.com/codex/mcp
    return Path(here.env.get("CODEX_HOME") or here.home / ".codex") / "config.toml"


def _gemini_file(here: Surroundings) -> Path:
    # https://geminicli.com/docs/reference/configuration: GEMINI_CLI_HOME stands for the home directory.
    return Path(here.env.get("GEMINI_CLI_HOME") or here.home) / ".gemini" / "settings.json"


# "${" begins a variable in all of them but Codex; Gemini CLI takes "$NAME", too.
_BRACED = re.compile(r"\$\{")

CLIENTS: Mapping[ClientName, Client] = {
    ClientName.CLAUDE_CODE: Client(
        title="Claude Code",
        syntax=jsonc,
        plain=True,
        servers_key="mcpServers",
        user_file=_claude_code_file,
        project_file=".mcp.json",
        after="start a new session of Claude Code; /mcp lists its servers",
        variable=_BRACED,
    ),
    ClientName.CLAUDE_DESKTOP: Client(
        title="Claude Desktop",
        syntax=jsonc,
        plain=True,
        servers_key="mcpServers",
        user_file=_claude_desktop_file,
        project_file=None,
        after="quit Claude Desktop, not only its window, and start it again",
        variable=None,
    ),
    ClientName.CURSOR: Client(
        title="Cursor",
        syntax=jsonc,
        plain=False,
        servers_key="mcpServers",
        # https://cursor.com/docs/mcp
        user_file=lambda here: here.home / ".cursor" / "mcp.json",
        project_file=".cursor/mcp.json",
        after="restart Cursor, or switch the server on in its settings under MCP",
        variable=_BRACED,
    ),
    ClientName.VSCODE: Client(
        title="VS Code",
        syntax=jsonc,
        plain=False,
        servers_key="servers",
        # https://code.visualstudio.com/docs/agents/reference/mcp-configuration
        user_file=lambda here: here.application_data / "Code" / "User" / "mcp.json",
        project_file=".vscode/mcp.json",
        after="run 'MCP: List Servers' in VS Code and start the server",
        variable=_BRACED,
    ),
    ClientName.CODEX: Client(
        title="Codex",
        syntax=toml,
        plain=False,
        servers_key="mcp_servers",
        user_file=_codex_file,
        project_file=".codex/config.toml",
        after="start a new session of Codex; /mcp lists its servers",
        variable=None,
    ),
    ClientName.GEMINI_CLI: Client(
        title="Gemini CLI",
        syntax=jsonc,
        plain=False,
        servers_key="mcpServers",
        user_file=_gemini_file,
        project_file=".gemini/settings.json",
        after="restart Gemini CLI; /mcp lists its servers",
        variable=re.compile(r"\$(?:\{|\w)"),
    ),
}
"""Every client by name."""

ENTRY_KEYS = frozenset({"type", "command", "args", "url", "httpUrl", "headers", "bearer_token_env_var"})
"""What an entry can say about the way to a server. All else in it belongs to the user."""


def file_of(name: ClientName, here: Surroundings, project: Path | None) -> Path:
    """Return the file that holds a client's servers.

    Args:
        name: The client.
        here: The machine.
        project: Folder of the project it is for; None for all projects.

    Raises:
        UsageError: If the client has no servers of a project.
    """
    client = CLIENTS[name]
    if project is None:
        return client.user_file(here)
    if client.project_file is None:
        msg = f"{client.title} has no servers of a single project"
        raise UsageError(msg, hint="Leave --project out.")
    return project / client.project_file


def entry_of(name: ClientName, launch: Launch) -> dict[str, object]:
    """Return the entry that leads a client to mdvec.

    Raises:
        UsageError: If the client cannot use a running server, or would read something else than is meant.
    """
    client = CLIENTS[name]
    for value in (*launch.command, launch.url):
        if value != spelled(value):
            msg = f"{spelled(value)} is not UTF-8, and cannot be written into the file of {client.title}"
            raise UsageError(msg, hint="Rename the folder or the file.")
        if client.variable is not None and client.variable.search(value):
            msg = f"{client.title} would take a part of {value!r} for a variable"
            raise UsageError(msg, hint="Rename the folder or the file.")
    if launch.url:
        return _http_entry(name, launch.url, launch.token_variable)
    program, *arguments = launch.command
    entry: dict[str, object] = {"command": program, "args": arguments}
    match name:
        case ClientName.CLAUDE_CODE | ClientName.VSCODE | ClientName.CURSOR:
            return {"type": "stdio", **entry}
        case ClientName.CLAUDE_DESKTOP | ClientName.CODEX | ClientName.GEMINI_CLI:
            return entry
        case _ as never:
            assert_never(never)


def _http_entry(name: ClientName, url: str, variable: str) -> dict[str, object]:
    match name:
        case ClientName.CLAUDE_CODE:
            return {"type": "http", "url": url, **_headers("${%s}", variable)}
        case ClientName.VSCODE:
            return {"type": "http", "url": url, **_headers("${env:%s}", variable)}
        case ClientName.CURSOR:
            return {"url": url, **_headers("${env:%s}", variable)}
        case ClientName.GEMINI_CLI:
            return {"httpUrl": url, **_headers("${%s}", variable)}
        case ClientName.CODEX:
            return {"url": url, **({"bearer_token_env_var": variable} if variable else {})}
        case ClientName.CLAUDE_DESKTOP:
            msg = "Claude Desktop's file has no entries for running servers"
            raise UsageError(msg, hint="Leave --http out: Claude Desktop starts mdvec itself.")
        case _ as never:
            assert_never(never)


def _headers(reference: str, variable: str) -> dict[str, object]:
    if not variable:
        return {}
    return {"headers": {"Authorization": f"Bearer {reference % variable}"}}
