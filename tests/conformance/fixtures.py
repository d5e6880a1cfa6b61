"""The tools, resources and prompts with fixed names that the MCP conformance suites call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

from mdvec.interfaces.mcp.application import AnnouncingServer

Context = ServerRequestContext[Any]
Result = types.CallToolResult | types.InputRequiredResult
Call = Callable[[Context, types.CallToolRequestParams, AnnouncingServer], Awaitable[Result]]

# One pixel, and a sound without samples.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="

# Keywords of JSON Schema 2020-12 that a server must hand on as they are.
KEYWORD_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


# The value of an argument must also be sent as the header ``Mcp-Param-Region``.
HEADER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


# --- tools -----------------------------------------------------------------------------------------


def tools() -> list[types.Tool]:
    """Return the fixture tools."""
    plain: dict[str, Any] = {"type": "object", "properties": {}}
    return [
        *(types.Tool(name=name, description="A fixture.", input_schema=plain) for name in _CALLS),
        types.Tool(name="json_schema_2020_12_tool", description="A schema.", input_schema=KEYWORD_SCHEMA),
        types.Tool(name="test_headers", description="A header.", input_schema=HEADER_SCHEMA),
    ]


def call_of(name: str) -> Call | None:
    """Return what runs when a fixture tool is called; None when it is not one of ours."""
    if name in {"json_schema_2020_12_tool", "test_headers"}:
        return _returning(text("Taken."))
    return _CALLS.get(name)


def answer(*content: types.ContentBlock) -> types.CallToolResult:
    """Make the result of a tool."""
    return types.CallToolResult(content=list(content))


def text(words: str) -> types.TextContent:
    """Make a text block."""
    return types.TextContent(type="text", text=words)


def image() -> types.ImageContent:
    """Make an image block."""
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, words: str = "This is an embedded resource content.") -> types.EmbeddedResource:
    """Make a block that holds a resource."""
    resource = types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    return types.EmbeddedResource(type="resource", resource=resource)


def _returning(*content: types.ContentBlock) -> Call:
    async def call(context: Context, params: types.CallToolRequestParams, server: AnnouncingServer) -> Result:
        return answer(*content)

    return call


async def _log(context: Context, params: types.CallToolRequestParams, server: AnnouncingServer) -> Result:
    # On 2026-07-28 the SDK sends these only to a client that asked for them in its request.
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)
        await anyio.sleep(0.05)
    return answer(text("Logged."))


async def _progress(
    context: Context, params: types.CallToolRequestParams, server: AnnouncingServer
) -> Result:
    for percent in (0, 50, 100):
        await context.session.report_progress(percent, 100)
        await anyio.sleep(0.05)
    return answer(text("Done."))


async def _fail(context: Context, params: types.CallToolRequestParams, server: AnnouncingServer) -> Result:
    told = text("This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[told], is_error=True)


async def _need_capability(
    context: Context, params: types.CallToolRequestParams, server: AnnouncingServer
) -> Result:
    needed = types.ClientCapabilities(sampling=types.SamplingCapability())
    if context.session.check_client_capability(needed):
        return answer(text("The client can sample."))
    raise MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        "this tool needs a client that can sample",
        types.MissingRequiredClientCapabilityErrorData(required_capabilities=needed).model_dump(
            by_alias=True, mode="json", exclude_none=True
        ),
    )


async def _ask_for_roots(
    context: Context, params: types.CallToolRequestParams, server: AnnouncingServer
) -> Result:
    if params.input_responses:
        return answer(text(f"Roots: {params.input_responses['client_roots']}"))
    return types.InputRequiredResult(input_requests={"client_roots": types.ListRootsRequest()})


async def _change_tools(
    context: Context, params: types.CallToolRequestParams, server: AnnouncingServer
) -> Result:
    await server.announce(ToolsListChanged())
    return answer(text("Told."))


async def _change_prompts(
    context: Context, params: types.CallToolRequestParams, server: AnnouncingServer
) -> Result:
    # Our prompts never change, but the SDK promises for every server with subscriptions that they may.
    await server._bus.publish(PromptsListChanged())
    return answer(text("Told."))


_CALLS: Mapping[str, Call] = {
    "test_simple_text": _returning(text("This is a simple text response for testing.")),
    "test_image_content": _returning(image()),
    "test_audio_content": _returning(types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")),
    "test_embedded_resource": _returning(embedded("test://embedded-resource")),
    "test_multiple_content_types": _returning(
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", '{"test":"data","value":123}'),
    ),
    "test_tool_with_logging": _log,
    "test_logging_tool": _log,
    "test_tool_with_progress": _progress,
    "test_error_handling": _fail,
    "test_missing_capability": _need_capability,
    "test_streaming_elicitation": _progress,
    "test_input_required_result_list_roots": _ask_for_roots,
    "test_trigger_tool_change": _change_tools,
    "test_trigger_prompt_change": _change_prompts,
}


# --- resources -------------------------------------------------------------------------------------

_PICTURE = types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG)


def resources() -> list[types.Resource]:
    """Return the fixture resources."""
    return [
        types.Resource(name="static text", uri="test://static-text", mime_type="text/plain"),
        types.Resource(name="static binary", uri="test://static-binary", mime_type="image/png"),
        types.Resource(name="watched", uri="test://watched-resource", mime_type="text/plain"),
    ]


def templates() -> list[types.ResourceTemplate]:
    """Return the fixture template."""
    return [
        types.ResourceTemplate(
            name="template", uri_template="test://template/{id}/data", mime_type="application/json"
        )
    ]


def read(uri: str) -> types.ReadResourceResult | None:
    """Read a fixture resource; None when there is none of that address."""
    if uri == "test://static-binary":
        return types.ReadResourceResult(contents=[_PICTURE])
    words = {
        "test://static-text": "This is the content of the static text resource.",
        "test://watched-resource": "Watched.",
    }.get(uri)
    kind = "text/plain"
    if uri.startswith("test://template/") and uri.endswith("/data"):
        number = uri.removeprefix("test://template/").removesuffix("/data")
        words = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
        kind = "application/json"
    if words is None:
        return None
    contents = types.TextResourceContents(uri=uri, mime_type=kind, text=words)
    return types.ReadResourceResult(contents=[contents])


# --- prompts ---------------------------------------------------------------------------------------


def prompts() -> list[types.Prompt]:
    """Return the fixture prompts."""

    def prompt(name: str, *arguments: str) -> types.Prompt:
        needed = [types.PromptArgument(name=each, required=True) for each in arguments]
        return types.Prompt(name=name, description="A fixture.", arguments=needed or None)

    return [
        prompt("test_simple_prompt"),
        prompt("test_prompt_with_arguments", "arg1", "arg2"),
        prompt("test_prompt_with_embedded_resource", "resourceUri"),
        prompt("test_prompt_with_image"),
    ]


def get_prompt(name: str, given: Mapping[str, str]) -> types.GetPromptResult | None:
    """Return the messages of a fixture prompt; None when it is not one of ours."""
    content: list[types.ContentBlock]
    match name:
        case "test_simple_prompt":
            content = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            content = [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            content = [embedded(given["resourceUri"]), text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            content = [image(), text("Please analyze the image above.")]
        case _:
            return None
    messages = [types.PromptMessage(role="user", content=block) for block in content]
    return types.GetPromptResult(messages=messages)
