"""An agent's client, in the same process as the server it talks to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from mcp import Client, MCPError
from mcp_types import CallToolResult, TextContent
from tests.unit.interfaces.fake_workspace import FakeWorkspace

from mdvec.config import Config
from mdvec.interfaces.mcp.application import build_server
from mdvec.workspace import Workspace

Answer = TypeVar("Answer")

ERAS = ("2026-07-28", "legacy")
"""Ways to talk to a server: without and with a handshake."""


def talk(
    workspace: Workspace,
    say: Callable[[Client], Awaitable[Answer]],
    *,
    config: Config | None = None,
    era: str = ERAS[0],
    **settings: Any,
) -> Answer:
    """Connect to a server of the workspace, say something, and return what came of it.

    Raises:
        MCPError: If the server answers so.
    """
    if isinstance(workspace, FakeWorkspace):
        workspace.opened["config"] = config

    async def connect() -> Answer | MCPError:
        server = build_server(workspace, config or Config())
        async with Client(server, mode=era, **settings) as client:
            try:
                return await say(client)
            except MCPError as error:  # the client's own tasks would wrap it into a group
                return error

    outcome = anyio.run(connect)
    if isinstance(outcome, MCPError):
        raise outcome
    return outcome


def call(workspace: Workspace, tool: str, /, **arguments: Any) -> CallToolResult:
    """Call one tool."""
    return talk(workspace, lambda client: client.call_tool(tool, arguments))


def text_of(result: CallToolResult) -> str:
    """Return the text of an answer, which is in one piece."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def asked(workspace: FakeWorkspace, name: str) -> list[dict[str, object]]:
    """Return the details of the calls of that name."""
    return [details for called, details in workspace.calls if called == name]
