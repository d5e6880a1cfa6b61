"""Lays the fixtures over a server: what they do not answer, the server answers as always."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import RequestHandler
from pydantic import BaseModel
from tests.conformance import fixtures

from mdvec.interfaces.mcp.application import AnnouncingServer

Context = ServerRequestContext[Any]


def add_fixtures(server: AnnouncingServer) -> None:
    """Give a server the fixture tools, resources and prompts beside its own.

    Args:
        server: Made by mdvec, with handlers for tools, resources, prompts and completions.
    """
    _add_tools(server)
    _add_resources(server)
    _add_prompts(server)
    _add_what_mdvec_leaves_out(server)


def _own(server: AnnouncingServer, method: str) -> RequestHandler[Any, Any]:
    entry = server.get_request_handler(method)
    assert entry is not None, f"mdvec does not serve {method}"
    return entry.handler


def _add_tools(server: AnnouncingServer) -> None:
    own_list, own_call = _own(server, "tools/list"), _own(server, "tools/call")

    async def list_tools(context: Context, params: types.PaginatedRequestParams) -> object:
        result = await own_list(context, params)
        assert isinstance(result, types.ListToolsResult)
        return result.model_copy(update={"tools": [*result.tools, *fixtures.tools()]})

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> object:
        call = fixtures.call_of(params.name)
        return await (own_call(context, params) if call is None else call(context, params, server))

    _replace(server, "tools/list", types.PaginatedRequestParams, list_tools)
    _replace(server, "tools/call", types.CallToolRequestParams, call_tool)


def _add_resources(server: AnnouncingServer) -> None:
    own_list, own_read = _own(server, "resources/list"), _own(server, "resources/read")
    own_templates = _own(server, "resources/templates/list")

    async def list_resources(context: Context, params: types.PaginatedRequestParams) -> object:
        result = await own_list(context, params)
        assert isinstance(result, types.ListResourcesResult)
        return result.model_copy(update={"resources": [*result.resources, *fixtures.resources()]})

    async def list_templates(context: Context, params: types.PaginatedRequestParams) -> object:
        result = await own_templates(context, params)
        assert isinstance(result, types.ListResourceTemplatesResult)
        both = [*result.resource_templates, *fixtures.templates()]
        return result.model_copy(update={"resource_templates": both})

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> object:
        return fixtures.read(str(params.uri)) or await own_read(context, params)

    _replace(server, "resources/list", types.PaginatedRequestParams, list_resources)
    _replace(server, "resources/templates/list", types.PaginatedRequestParams, list_templates)
    _replace(server, "resources/read", types.ReadResourceRequestParams, read_resource)


def _add_prompts(server: AnnouncingServer) -> None:
    own_list, own_get = _own(server, "prompts/list"), _own(server, "prompts/get")
    own_complete = _own(server, "completion/complete")

    async def list_prompts(context: Context, params: types.PaginatedRequestParams) -> object:
        result = await own_list(context, params)
        assert isinstance(result, types.ListPromptsResult)
        return result.model_copy(update={"prompts": [*result.prompts, *fixtures.prompts()]})

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> object:
        return fixtures.get_prompt(params.name, params.arguments or {}) or await own_get(context, params)

    async def complete(context: Context, params: types.CompleteRequestParams) -> object:
        if isinstance(params.ref, types.PromptReference) and params.ref.name.startswith("test_"):
            return types.CompleteResult(completion=types.Completion(values=["paris"], total=1))
        return await own_complete(context, params)

    _replace(server, "prompts/list", types.PaginatedRequestParams, list_prompts)
    _replace(server, "prompts/get", types.GetPromptRequestParams, get_prompt)
    _replace(server, "completion/complete", types.CompleteRequestParams, complete)


def _add_what_mdvec_leaves_out(server: AnnouncingServer) -> None:
    """Log levels and subscriptions to one resource: optional, and of no use for a search."""

    async def accept(context: Context, params: BaseModel) -> types.EmptyResult:
        return types.EmptyResult()

    _replace(server, "logging/setLevel", types.SetLevelRequestParams, accept)
    _replace(server, "resources/subscribe", types.SubscribeRequestParams, accept)
    _replace(server, "resources/unsubscribe", types.UnsubscribeRequestParams, accept)


def _replace(server: AnnouncingServer, method: str, params: type[BaseModel], handler: Any) -> None:
    server.add_request_handler(method, params, handler)
