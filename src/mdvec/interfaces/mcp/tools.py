"""The tools at work: arguments in, a workspace's answer out, as data and as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from msgspec.structs import replace

from mdvec.errors import did_you_mean, sentences
from mdvec.interfaces import operations, requests, wire
from mdvec.interfaces.errors import OnBug, hint_for_client, text_for_client
from mdvec.interfaces.mcp import wording
from mdvec.interfaces.mcp.definitions import GENERAL_TOOLS, Context, tool_definitions
from mdvec.interfaces.mcp.fence import marked_json
from mdvec.interfaces.mcp.paging import (
    described,
    fitted,
    name_line,
    named,
    named_passage,
    note_line,
    note_lines,
    outlined,
    within,
)
from mdvec.interfaces.mcp.threads import CallProgress, Threads
from mdvec.interfaces.parsing import parse
from mdvec.interfaces.passages import READ_TOKENS, read_documents
from mdvec.interfaces.printing import shown
from mdvec.types.collection import Collection
from mdvec.types.hit import SearchHit
from mdvec.types.query import SearchQuery
from mdvec.types.report import WorkspaceStatus

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

Arguments = Mapping[str, Any]

# What other servers call a tool.
_SAME_TOOL = {"search_docs": "search"}
# More tags are no overview.
_MAX_TAGS = 500
# Of a search, unless the agent or the configuration says otherwise: five long passages, not a document.
_SEARCH_TOKENS = 4_000


class Tools:
    """The handlers of ``tools/list`` and ``tools/call`` for one workspace."""

    def __init__(self, workspace: Workspace, config: Config, threads: Threads, on_bug: OnBug) -> None:
        self._workspace = workspace
        self._config = config
        self._threads = threads
        self._on_bug = on_bug
        # What takes no longer than a glance into the database.
        self._short: Mapping[str, Callable[[Any], CallToolResult]] = {
            "get_doc": self._get_doc,
            "list_docs": self._list_docs,
            "get_outline": self._get_outline,
            "list_tags": self._list_tags,
            "status": lambda _: _status_answer(workspace.status()),
        }

    async def list_tools(self, _ctx: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        """Answer ``tools/list``, from the database as it is now."""
        return ListToolsResult(tools=await self._threads.call(self._every_tool))

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        """Answer ``tools/call``; a failure of a tool is an answer, too.

        Raises:
            MCPError: If there is no such tool.
        """
        arguments = params.arguments or {}
        try:
            tools = _by_name(self._tools())
            if params.name not in tools:  # only then does the database have to be read
                tools = _by_name(await self._threads.call(self._every_tool))
            name = params.name if params.name in tools else _SAME_TOOL.get(params.name, "")
            if name:
                takes = [*tools[name].input_schema["properties"]]
                return await self._run(ctx.session, name, arguments, takes)
        except Exception as error:  # noqa: BLE001 - the one place where this door translates
            return self._failure(error, arguments)
        known = ", ".join(f"`{each}`" for each in tools)
        near = did_you_mean(params.name.lower(), tools) or f"; there are {known}"
        msg = f"there is no tool {shown(params.name)}{near}"
        raise MCPError(INVALID_PARAMS, msg)

    def _every_tool(self) -> list[Tool]:
        return self._tools(self._workspace.collections())

    def _tools(self, collections: Sequence[Collection] = ()) -> list[Tool]:
        """Return the tools, with those of some collections."""
        return tool_definitions(
            collections,
            limit=self._config.search.k,
            collection_tools=self._config.mcp.collection_tools,
        )

    async def _run(
        self, session: ServerSession, name: str, given: Arguments, takes: Sequence[str]
    ) -> CallToolResult:
        """Call a tool.

        Args:
            session: The session of the client.
            name: Of the tool.
            given: Its arguments, as they were sent.
            takes: The arguments that its schema has.
        """
        tool = GENERAL_TOOLS.get(name)
        kind = tool.request if tool else requests.AgentSearchRequest
        request: Any = parse(given, kind, takes, **(tool.fixed if tool else {"collections": (name,)}))
        if name == "reindex":
            names = _names(request) or await self._threads.call(self._enabled_names)
            return await self._threads.call_long(
                session, lambda progress: self._reindex(names, progress), parts=len(names), imports=True
            )
        if answer := self._short.get(name):
            return await self._threads.call(lambda: answer(request))
        return await self._threads.call_long(session, lambda _: self._search(request))

    def _search(self, request: requests.SearchRequest) -> CallToolResult:
        query = _limited(requests.search_query(request, self._workspace.search_settings(request.collections)))
        most_tokens = min(self._config.mcp.max_tokens, query.max_tokens or _SEARCH_TOKENS)
        # What does not fit becomes an excerpt here, so the search leaves no hit out.
        query = replace(query, max_tokens=None, expand_tokens=min(query.expand_tokens, most_tokens // 2 or 1))
        result = fitted(self._workspace.search(query, wait_for_vectors=False), most_tokens)
        new = self._never_indexed(request.collections) if result.last_indexed_ms is None else ()
        return _answer(result, wording.search_text(result, never_indexed=new))

    def _never_indexed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            each.name
            for each in self._workspace.collections(include_disabled=bool(names))
            if each.last_indexed_ms is None and (not names or each.name in names)
        )

    def _get_doc(self, request: requests.ReadRequest) -> CallToolResult:
        most_tokens = min(self._config.mcp.max_tokens, request.max_tokens or READ_TOKENS)
        found = read_documents(self._workspace, replace(request, max_tokens=most_tokens), hint_for_client)
        failed = tuple(wire.Unread(name_line(each.path), note_line(each.reason)) for each in found.failed)
        reading = wire.Reading(tuple(map(named_passage, found.documents)), failed, found.more)
        return _answer(reading, wording.reading_text(reading))

    def _list_docs(self, request: requests.SearchRequest) -> CallToolResult:
        query = _limited(requests.search_query(request, self._config.search))
        found = self._workspace.browse.newest(query.filters, query.collections, limit=query.limit + 1)
        hint = "" if found else self._workspace.browse.unmet(query.filters, query.collections)
        listed = wire.documents([*map(named, found)], query.limit)
        fitting = within(listed.documents, self._config.mcp.max_tokens)
        documents = replace(
            listed, documents=fitting, more=listed.more or len(fitting) < len(listed.documents)
        )
        return _answer(documents, wording.documents_text(documents, text_for_client(hint)))

    def _list_tags(self, request: requests.CollectionRequest) -> CallToolResult:
        found = self._workspace.tags(_names(request))
        named_tags = (replace(each, tag=name_line(each.tag)) for each in found[:_MAX_TAGS])
        tags = within(named_tags, self._config.mcp.max_tokens)
        more = len(found) - len(tags)
        return _answer(wire.Tags(tags, more), wording.tags_text(tags, more))

    def _get_outline(self, request: requests.MapRequest) -> CallToolResult:
        outline = self._workspace.browse.outline(request.path, collection=request.collection)
        path, collection = outline.path, outline.collection
        links = self._workspace.links(path, collection=collection, steps=request.steps)
        related: tuple[SearchHit, ...] = ()
        if request.related:
            related = self._workspace.browse.related(path, collection=collection, limit=request.related).hits
        found = outlined(outline, links, related, self._config.mcp.max_tokens)
        return _answer(found, wording.outline_text(found))

    def _enabled_names(self) -> tuple[str, ...]:
        return tuple(collection.name for collection in self._workspace.collections())

    def _reindex(self, names: tuple[str, ...], progress: CallProgress) -> CallToolResult:
        """Bring collections up to date, one after the other; one that fails does not stop the others.

        Raises:
            MdvecError: If it is a single one, and it fails.
        """

        def begin(part: int) -> None:
            progress.part = part

        reports, failures = operations.reindex(self._workspace, names, on_part=begin)
        errors = {
            name: note_lines([sentences(error, hint_for_client(error.hint))])[0]
            for name, error in failures.items()
        }
        warnings = note_lines([f"{each.collection}: {text}" for each in reports for text in each.warnings])
        return _answer(wire.reindexed(reports, errors, warnings), wording.reindex_text(reports, errors))

    def _failure(self, error: Exception, arguments: Arguments) -> CallToolResult:
        text = wording.failure_text(wording.failure_for_client(error, self._on_bug, arguments.values()))
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}


def _limited(query: SearchQuery) -> SearchQuery:
    """Return a query for no more hits than an agent can read, whatever is configured."""
    return replace(query, limit=min(query.limit, requests.MAX_HITS))


def _names(request: requests.CollectionRequest) -> tuple[str, ...]:
    return () if request.collection is None else (request.collection,)


def _status_answer(found: WorkspaceStatus) -> CallToolResult:
    status = described(found)
    return _answer(wire.status(status), wording.status_text(status))


def _answer(data: msgspec.Struct, text: str) -> CallToolResult:
    content: list[ContentBlock] = [TextContent(type="text", text=text)]
    return CallToolResult(content=content, structured_content=marked_json(data))
