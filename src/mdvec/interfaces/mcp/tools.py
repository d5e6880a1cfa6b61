"""The tools at work: arguments in, a workspace's answer out, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from mdvec.errors import MdvecError, UsageError
from mdvec.interfaces.mcp import answers, wording
from mdvec.interfaces.mcp.arguments import check, nearest, shown
from mdvec.interfaces.mcp.definitions import tool_definitions
from mdvec.interfaces.mcp.failures import OnBug, failure_for_client, hint_for_client
from mdvec.interfaces.mcp.paging import first_part, parse_part
from mdvec.interfaces.mcp.threads import LongCall, Threads
from mdvec.interfaces.passage import without_gaps
from mdvec.types.hit import SearchHit
from mdvec.types.query import Expansion, Filters, SearchMode, SearchQuery, TagMatch
from mdvec.types.report import ImportMode, ImportReport, Passage

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

Context = ServerRequestContext[None, Any]
"""What the SDK hands to a handler."""

Arguments = Mapping[str, Any]

# Many clients give up after a minute.
_WRITER_WAIT_S = 30.0


class Tools:
    """Serves ``tools/list`` and ``tools/call`` for one workspace.

    Args:
        workspace: What is asked.
        config: Its settings.
        threads: Where it is asked.
        on_bug: Is told of exceptions that nobody expected.
    """

    def __init__(self, workspace: Workspace, config: Config, threads: Threads, on_bug: OnBug) -> None:
        self._workspace = workspace
        self._config = config
        self._threads = threads
        self._on_bug = on_bug

    async def list_tools(self, _ctx: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        """Answer ``tools/list``, from the database as it is now."""
        return ListToolsResult(tools=await self._threads.call(self._definitions))

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        """Answer ``tools/call``; what goes wrong in a tool is an answer too.

        Raises:
            MCPError: If there is no such tool.
        """
        arguments = params.arguments or {}
        try:
            tools = {tool.name: tool for tool in await self._threads.call(self._definitions)}
            if params.name in tools:
                check(arguments, tools[params.name].input_schema)
                return await self._run(ctx.session, params.name, arguments)
        except Exception as error:  # noqa: BLE001 - the one place where this door translates
            return self._failure(error)
        msg = f"there is no tool {shown(params.name)}{nearest(params.name, list(tools))}"
        raise MCPError(INVALID_PARAMS, msg)

    def _definitions(self) -> list[Tool]:
        return tool_definitions(
            self._workspace.collections(),
            limit=self._config.search.k,
            collection_tools=self._config.mcp.collection_tools,
        )

    async def _run(self, session: ServerSession, name: str, arguments: Arguments) -> CallToolResult:
        call, call_telling = self._threads.call, self._threads.call_telling
        match name:
            case "get_doc":
                passage, next_lines = await call(lambda: self._get_doc(arguments))
                text = wording.passage_text(passage, next_lines)
                return _answer(answers.passage_data(passage, next_lines), text)
            case "list_tags":
                tags = await call(lambda: self._workspace.tags(_given_collection(arguments)))
                return _answer(answers.tags_data(tags), wording.tags_text(tags))
            case "reindex":
                names = _given_collection(arguments) or await call(self._enabled_names)
                reports, errors = await call_telling(
                    session, lambda report: self._reindex(names, report), parts=len(names), imports=True
                )
                return _answer(answers.reindex_data(reports, errors), wording.reindex_text(reports, errors))
            case "status":
                status = await call(self._workspace.status)
                return _answer(answers.status_data(status), wording.status_text(status))
            case _:
                names = tuple(arguments.get("collections", ())) if name == "search" else (name,)
                query = await call(lambda: self._query(arguments, names))
                result = await call_telling(
                    session,
                    lambda report: self._workspace.search(query, progress=report, wait_for_vectors=False),
                )
                result = replace(result, hits=tuple(map(_without_gaps, result.hits)))
                new = await call(lambda: self._never_indexed(query)) if result.last_indexed_ms is None else ()
                return _answer(answers.search_data(result), wording.search_text(result, never_indexed=new))

    def _query(self, arguments: Arguments, names: tuple[str, ...]) -> SearchQuery:
        defaults = self._workspace.search_settings(names)
        depth = arguments.get("depth")
        return SearchQuery(
            text=arguments["query"],
            mode=SearchMode(arguments.get("mode", defaults.mode)),
            collections=names,
            filters=Filters(
                tags=tuple(arguments.get("tags", ())),
                tag_match=TagMatch(arguments.get("tag_match", TagMatch.ANY)),
                path=arguments.get("path"),
                depths=() if depth is None else (int(depth),),
            ),
            limit=int(arguments.get("limit", defaults.k)),
            threshold=arguments.get("threshold", defaults.threshold),
            per_document=defaults.per_document,
            expand=Expansion(arguments.get("expand", defaults.expand)),
            max_tokens=_whole(arguments.get("max_tokens", defaults.max_tokens)),
        )

    def _never_indexed(self, query: SearchQuery) -> tuple[str, ...]:
        named = query.collections
        return tuple(
            each.name
            for each in self._workspace.collections(include_disabled=bool(named))
            if each.last_indexed_ms is None and (not named or each.name in named)
        )

    def _get_doc(self, arguments: Arguments) -> tuple[Passage, str | None]:
        lines, section = arguments.get("lines"), arguments.get("section")
        if lines is not None and section is not None:
            msg = "`lines` and `section` exclude each other"
            raise UsageError(msg, hint="Give one of them.")
        wanted, read_chars = (None, 0) if lines is None else parse_part(lines)
        passage = self._workspace.read(
            arguments["path"], collection=arguments.get("collection"), lines=wanted, section=section
        )
        return first_part(passage, read_chars=read_chars)

    def _enabled_names(self) -> tuple[str, ...]:
        return tuple(collection.name for collection in self._workspace.collections())

    def _reindex(
        self, names: tuple[str, ...], report: LongCall
    ) -> tuple[list[ImportReport], list[tuple[str, str]]]:
        """Bring collections up to date, one after the other; one that fails does not stop the others.

        Returns:
            What was done, and what failed with the reason. A collection whose documents were read, but
            whose model failed, is in both.

        Raises:
            MdvecError: If it is a single one, and it fails.
        """
        reports: list[ImportReport] = []
        errors: list[tuple[str, str]] = []
        for report.part, name in enumerate(names):
            failure: MdvecError | None
            try:
                done = self._workspace.import_collection(
                    name,
                    mode=ImportMode.UPDATE,
                    accept_pending=len(names) > 1,
                    wait_s=_WRITER_WAIT_S,
                    progress=report,
                )
                reports.append(done)
                failure = done.failure
            except MdvecError as error:
                if len(names) == 1:
                    raise
                failure = error
            if failure is not None:
                errors.append((name, f"{failure}. {hint_for_client(failure.hint)}".rstrip()))
        return reports, errors

    def _failure(self, error: Exception) -> CallToolResult:
        failure = failure_for_client(error, self._on_bug)
        lines = (failure.message, f"hint: {failure.hint}" if failure.hint else "", f"code: {failure.code}")
        text = "\n".join(line for line in lines if line)
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _without_gaps(hit: SearchHit) -> SearchHit:
    """Return a hit for reading: an agent is told of lines, and of no positions in them."""
    return replace(hit, text=without_gaps(hit.text))


def _given_collection(arguments: Arguments) -> tuple[str, ...]:
    return (arguments["collection"],) if "collection" in arguments else ()


def _whole(number: float | None) -> int | None:
    """JSON has one kind of number: 5.0 is whole, too."""
    return None if number is None else int(number)


def _answer(data: dict[str, object], text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)
