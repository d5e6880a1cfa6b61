"""Real MCP clients of a real ``mdvec serve``, driven from ordinary tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.session import IncomingMessage
from tests.conformance.servers import MDVEC, serving
from tests.waiting import HANG_S

_Result = TypeVar("_Result")

Target = StdioServerParameters | str
"""A command to start, or the URL of a server."""

CLIENTS = ("stdio auto", "http legacy")
"""Each transport once, and each era: ``auto`` finds out the newest, ``legacy`` begins with a handshake.

The other two pairs are ``test_http_serving.py``, and ``test_mcp_processes.py`` without a client library.
"""

_POLL_S = 0.05


@dataclass(slots=True)
class Agent:
    """A connected client whose calls wait for their answers.

    Attributes:
        client: The SDK's.
        portal: The event loop it lives in.
        era: Which protocol it was told to speak.
        heard: Names of the notifications that came in, oldest first.
        schemas: Output schemas of the tools seen so far.
    """

    client: Client
    portal: BlockingPortal
    era: str
    heard: list[str] = field(default_factory=list)
    schemas: dict[str, Any] = field(default_factory=dict)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a coroutine function in the client's event loop."""
        return self.portal.call(function, *arguments)

    def tools(self) -> list[types.Tool]:
        """List the tools as they are now, without a cached answer."""

        async def ask() -> types.ListToolsResult:
            return await self.client.list_tools(cache_mode="bypass")

        found: types.ListToolsResult = self.run(ask)
        self.schemas = {tool.name: tool.output_schema for tool in found.tools}
        return found.tools

    def names(self) -> list[str]:
        """Return the names of the tools as they are now."""
        return [tool.name for tool in self.tools()]

    def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, **more: Any
    ) -> types.CallToolResult:
        """Call a tool; whatever it answers has to fit what it promised."""

        async def ask() -> types.CallToolResult:
            return await self.client.call_tool(name, {**(arguments or {}), **more})

        result: types.CallToolResult = self.run(ask)
        assert isinstance(result, types.CallToolResult)
        if not self.schemas:
            self.tools()
        if not result.is_error and self.schemas.get(name) is not None:
            Draft202012Validator(self.schemas[name]).validate(result.structured_content)
        return result

    def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that succeeds and return its structured answer."""
        result = self.call(tool, arguments)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        return dict(result.structured_content)

    def text(self, tool: str, **arguments: Any) -> str:
        """Call a tool that succeeds and return what a model reads."""
        result = self.call(tool, arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def failure(self, tool: str, **arguments: Any) -> str:
        """Call a tool that fails and return what a model reads about it."""
        result = self.call(tool, arguments)
        assert result.is_error, text_of(result)
        told = text_of(result)
        assert "Traceback" not in told
        assert "code: " in told
        return told

    @contextmanager
    def listening(self) -> Iterator[list[str]]:
        """Have the server tell of changes; gives what is heard from now on.

        A client that shook hands is told on its connection, a newer one has to subscribe.
        """
        self.heard.clear()
        if self.era == "legacy":
            yield self.heard
            return
        subscription = self.client.listen(tools_list_changed=True, resources_list_changed=True)
        with self.portal.wrap_async_context_manager(subscription):
            yield self.heard

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Let the client listen until something holds."""

        async def wait() -> None:
            with anyio.fail_after(HANG_S):
                while not condition():
                    await anyio.sleep(_POLL_S)

        self.run(wait)


def text_of(result: types.CallToolResult) -> str:
    """Return the text of a tool's answer."""
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@contextmanager
def connected(target: Target, era: str) -> Iterator[Agent]:
    """Connect a client.

    Args:
        target: What to connect to.
        era: ``auto``, ``legacy``, or a protocol version.
    """
    heard: list[str] = []

    async def hear(message: IncomingMessage) -> None:
        heard.append(type(message).__name__)

    with start_blocking_portal() as portal:
        client = Client(target, mode=era, message_handler=hear, read_timeout_seconds=HANG_S)
        with portal.wrap_async_context_manager(client):
            yield Agent(client, portal, era, heard)


def over_stdio(environment: Mapping[str, str], *arguments: str) -> StdioServerParameters:
    """Say how a client starts a server of its own."""
    command, *rest = [*MDVEC, "serve", *arguments]
    return StdioServerParameters(command=command, args=rest, env=dict(environment))


def over_http(environment: Mapping[str, str], log: Path, *arguments: str) -> AbstractContextManager[str]:
    """Start a server for several clients; gives its URL."""
    return serving((*MDVEC, "serve", "--http", "127.0.0.1:0", *arguments), environment, log)


def resources_of(agent: Agent) -> list[types.Resource]:
    """List all resources, page by page."""

    async def ask() -> list[types.Resource]:
        found: list[types.Resource] = []
        cursor = None
        while True:
            page = await agent.client.list_resources(cursor=cursor)
            found += page.resources
            cursor = page.next_cursor
            if cursor is None:
                return found

    resources: list[types.Resource] = agent.run(ask)
    return resources


def read_text(agent: Agent, uri: str) -> types.TextResourceContents:
    """Read a resource that is text."""

    async def ask() -> types.ReadResourceResult:
        return await agent.client.read_resource(uri)

    result: types.ReadResourceResult = agent.run(ask)
    [contents] = result.contents
    assert isinstance(contents, types.TextResourceContents)
    return contents


@contextmanager
def agent_of(name: str, environment: Mapping[str, str], folder: Path) -> Iterator[Agent]:
    """Connect one of :data:`CLIENTS` to a server of its own."""
    transport, era = name.split()
    with ExitStack() as stack:
        target: Target = over_stdio(environment)
        if transport == "http":
            target = stack.enter_context(over_http(environment, folder / "http.log"))
        yield stack.enter_context(connected(target, era))
