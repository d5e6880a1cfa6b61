"""The MCP server of a workspace, for any transport."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from pydantic import ValidationError

from mdvec import __version__
from mdvec.interfaces.errors import OnBug
from mdvec.interfaces.mcp.changes import AnnouncingServer, announce_changes, free_idle_model
from mdvec.interfaces.mcp.definitions import INSTRUCTIONS, get_prompt, list_prompts
from mdvec.interfaces.mcp.fence import marked_json
from mdvec.interfaces.mcp.resources import Resources
from mdvec.interfaces.mcp.threads import Threads
from mdvec.interfaces.mcp.tools import Tools
from mdvec.interfaces.mcp.wording import failure_for_client, failure_text

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

# Errors repeat what the client sent, of any length. A longer text than this is cut to its start.
_MAX_ERROR_CHARS = 1000
_START_CHARS = 200


def build_server(workspace: Workspace, config: Config, *, on_bug: OnBug) -> AnnouncingServer:
    """Return the server; a transport runs it.

    Args:
        workspace: What to serve; stays open while the server runs.
        config: The workspace's settings.
        on_bug: Receives unexpected exceptions. The client sees no more than their names.

    Returns:
        The server. Its lifespan, which a transport enters once, watches the workspace for changes.
    """
    # Without a handler Python prints the SDK's warnings; a program that sets up logging receives them.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    threads = Threads(workspace.explaining)
    tools = Tools(workspace, config, threads, on_bug)
    resources = Resources(workspace, threads, most_tokens=config.mcp.max_tokens)

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(announce_changes, workspace, server, threads, on_bug)
            group.start_soon(free_idle_model, workspace, threads, on_bug)
            yield
            group.cancel_scope.cancel()

    server = AnnouncingServer(
        "mdvec",
        title="mdvec",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        # No argument of a tool is repeated in a header; the SDK would list all tools to find that out.
        get_tool_input_schema=lambda _: None,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=resources.complete,
    )
    server.middleware.append(_translating(on_bug))
    return server


def _translating(on_bug: OnBug) -> ServerMiddleware[None]:
    """Turn every exception of a handler into a short JSON-RPC error."""

    async def translate(ctx: ServerRequestContext[None, Any], call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        except ValidationError:  # the SDK has words for invalid parameters
            raise
        except MCPError as error:
            raise MCPError(error.code, _shortened(error.message), _shortened(error.data)) from error
        except Exception as error:
            failure = failure_for_client(error, on_bug)
            text = failure_text(replace(failure, message=_shortened(failure.message)))
            data = marked_json({"code": failure.code, "hint": failure.hint})
            raise MCPError(INTERNAL_ERROR, text, data) from error

    return translate


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _MAX_ERROR_CHARS:
            return f"{value[:_START_CHARS]}…"
        case dict():
            return {key: _shortened(each) for key, each in value.items()}
        case _:
            return value
