"""The tools at work: arguments in, a workspace's answer out, as data and as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from msgspec import Struct
from msgspec.structs import replace

from mdvec.config import Config
from mdvec.errors import did_you_mean
from mdvec.interfaces import answers, operations, requests
from mdvec.interfaces.errors import hint_for_client
from mdvec.interfaces.mcp import wording
from mdvec.interfaces.mcp.definitions import GENERAL_TOOLS, Context, tool_definitions
from mdvec.interfaces.mcp.paging import first_rows, fitted, outlined, with_short_descriptions
from mdvec.interfaces.mcp.places import name_line, note_lines, with_short_names
from mdvec.interfaces.mcp.threads import CallProgress, Threads
from mdvec.interfaces.mcp.wording import marked_json
from mdvec.interfaces.parsing import parse
from mdvec.interfaces.passages import READ_TOKENS, read_documents
from mdvec.interfaces.printing import short_repr
from mdvec.types.collection import Collection
from mdvec.types.hit import SearchHit
from mdvec.workspace import Workspace

Answer = tuple[Struct, str]
"""An answer as data, and as text."""

# Names that other servers have for a tool.
_SAME_TOOL = {"search_docs": "search"}
# More tags are no overview.
_MAX_TAGS = 500
# Most tokens of a search, unless the agent or the configuration says otherwise: five long passages.
_SEARCH_TOKENS = 4_000


class Tools:
    """The handlers of ``tools/list`` and ``tools/call`` for one workspace."""

    def __init__(self, workspace: Workspace, config: Config, threads: Threads) -> None:
        self._workspace = workspace
        self._config = config
        self._threads = threads
        # Tools that take no longer than a look into the database.
        self._short: Mapping[str, Callable[[Any], Answer]] = {
            "get_doc": self._get_doc,
            "list_docs": self._list_docs,
            "get_outline": self._get_outline,
            "list_tags": self._list_tags,
            "status": self._status,
        }

    async def list_tools(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Answer ``tools/list``, from the database as it is now."""
        return types.ListToolsResult(tools=[*(await self._threads.call(self._every_tool)).values()])

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Answer ``tools/call``; a failure of a tool is an answer, too.

        Raises:
            MCPError: If there is no such tool.
        """
        arguments = params.arguments or {}
        try:
            tools = self._tools()
            if params.name not in tools:  # only then does the database have to be read
                tools = await self._threads.call(self._every_tool)
            name = params.name if params.name in tools else _SAME_TOOL.get(params.name, "")
            if name:
                takes = [*tools[name].input_schema["properties"]]
                return await self._run(ctx.session, name, arguments, takes)
        except Exception as error:  # noqa: BLE001 - the one place where this door translates
            failure = wording.failure_for_client(error, arguments.values())
            content = types.TextContent(type="text", text=wording.failure_text(failure))
            return types.CallToolResult(content=[content], is_error=True)
        known = ", ".join(f"`{each}`" for each in tools)
        near = did_you_mean(params.name, tools) or f"; there are {known}"
        msg = f"there is no tool {short_repr(params.name)}{near}"
        raise MCPError(types.INVALID_PARAMS, msg)

    def _every_tool(self) -> dict[str, types.Tool]:
        return self._tools(self._workspace.collections())

    def _tools(self, collections: Sequence[Collection] = ()) -> dict[str, types.Tool]:
        """Return the general tools and those of some collections, by name."""
        has_own = self._config.mcp.collection_tools
        found = tool_definitions(collections, limit=self._config.search.k, collection_tools=has_own)
        return {tool.name: tool for tool in found}

    async def _run(
        self, session: ServerSession, name: str, given: Mapping[str, Any], takes: Sequence[str]
    ) -> types.CallToolResult:
        """Call a tool.

        ``takes`` are the arguments that its schema has.
        """
        tool = GENERAL_TOOLS.get(name)
        kind = tool.request if tool else requests.AgentSearchRequest
        request: Any = parse(given, kind, takes, **(tool.fixed if tool else {"collections": (name,)}))
        if name == "reindex":
            enabled = self._workspace.collections
            names = _names(request) or tuple(each.name for each in await self._threads.call(enabled))
            data, text = await self._threads.call_long(
                session, lambda progress: self._reindex(names, progress), parts=len(names), imports=True
            )
        elif answer := self._short.get(name):
            data, text = await self._threads.call(lambda: answer(request))
        else:
            data, text = await self._threads.call_long(session, lambda _: self._search(request))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=marked_json(data)
        )

    def _search(self, request: requests.SearchRequest) -> Answer:
        query = requests.search_query(request, self._workspace.search_settings(request.collections))
        most_tokens = min(self._config.mcp.max_tokens, query.max_tokens or _SEARCH_TOKENS)
        # No more hits than an agent can read, whatever is configured. A text that does not fit becomes
        # an excerpt here, so the search leaves no hit out.
        limit, around = min(query.limit, requests.MAX_HITS), min(query.expand_tokens, most_tokens // 2 or 1)
        query = replace(query, limit=limit, max_tokens=None, expand_tokens=around)
        result = fitted(self._workspace.search(query, wait_for_vectors=False), most_tokens)
        new = self._never_indexed(request.collections) if result.last_indexed_ms is None else ()
        return result, wording.search_text(result, never_indexed=new)

    def _never_indexed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            each.name
            for each in self._workspace.collections(include_disabled=bool(names))
            if each.last_indexed_ms is None and (not names or each.name in names)
        )

    def _get_doc(self, request: requests.ReadRequest) -> Answer:
        most_tokens = min(self._config.mcp.max_tokens, request.max_tokens or READ_TOKENS)
        found = read_documents(self._workspace, replace(request, max_tokens=most_tokens), hint_for_client)
        failed = (answers.Unread(name_line(each.path), *note_lines([each.reason])) for each in found.failed)
        documents = tuple(map(with_short_names, found.documents))
        reading = replace(found, documents=documents, failed=tuple(failed))
        return reading, wording.reading_text(reading)

    def _list_docs(self, request: requests.SearchRequest) -> Answer:
        limit = request.limit or min(self._config.search.k, requests.MAX_HITS)
        found = operations.listed(self._workspace, replace(request, limit=limit))
        fitting = first_rows(map(with_short_names, found.documents), self._config.mcp.max_tokens)
        more = found.more or len(fitting) < len(found.documents)
        found = replace(found, documents=fitting, more=more, hint=hint_for_client(found.hint))
        return found, wording.documents_text(found)

    def _list_tags(self, request: requests.CollectionRequest) -> Answer:
        found = self._workspace.tags(_names(request))
        tags = first_rows(map(with_short_names, found[:_MAX_TAGS]), self._config.mcp.max_tokens)
        shown = answers.Tags(tags, len(found) - len(tags))
        return shown, wording.tags_text(shown)

    def _get_outline(self, request: requests.MapRequest) -> Answer:
        outline = self._workspace.browse.outline(request.path, collection=request.collection)
        path, collection = outline.path, outline.collection
        links = self._workspace.links(path, collection=collection, steps=request.steps)
        related: tuple[SearchHit, ...] = ()
        if request.related:
            related = self._workspace.browse.related(path, collection=collection, limit=request.related).hits
        found = outlined(outline, links, related, self._config.mcp.max_tokens)
        return found, wording.outline_text(found)

    def _status(self, _: object) -> Answer:
        status = with_short_descriptions(self._workspace.status())
        return answers.status(status), wording.status_text(status)

    def _reindex(self, names: tuple[str, ...], progress: CallProgress) -> Answer:
        """Bring collections up to date, one after the other; one that fails does not stop the others.

        Raises:
            MdvecError: If it is a single one, and it fails.
        """

        def begin(part: int) -> None:
            progress.part = part

        found = operations.reindex(self._workspace, names, hint_for_client, on_part=begin)
        done = (replace(each, error=each.error and note_lines([each.error])[0]) for each in found.collections)
        found = replace(found, collections=tuple(done), warnings=note_lines(found.warnings))
        return found, wording.reindex_text(found)


def _names(request: requests.CollectionRequest) -> tuple[str, ...]:
    return () if request.collection is None else (request.collection,)
