"""Documents as resources: listed a page at a time, and read from the index alone."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Annotations,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from mdvec.errors import NotFoundError
from mdvec.interfaces.mcp import answers
from mdvec.interfaces.mcp.addresses import STATUS, TEMPLATE, address_of, document_at
from mdvec.interfaces.mcp.failures import hint_for_client
from mdvec.interfaces.mcp.threads import Threads
from mdvec.types.report import ListedDocument

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

Context = ServerRequestContext[None, Any]
"""What the SDK hands to a handler."""

_PAGE = 100
_JSON = "application/json"
_MARKDOWN = (".md", ".markdown", ".mdx")
_STATUS = Resource(
    uri=STATUS,
    name="status",
    title="State of the index",
    description="As the tool `status`.",
    mime_type=_JSON,
)


class Resources:
    """Serves ``resources/*`` for one workspace.

    Args:
        workspace: What is asked.
        threads: Where it is asked.
    """

    def __init__(self, workspace: Workspace, threads: Threads) -> None:
        self._workspace = workspace
        self._threads = threads

    async def list_resources(
        self, _ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """Answer ``resources/list``: the status, then the documents by collection and path.

        A page starts after the last document of the one before, so nothing is listed twice or left
        out when documents come and go meanwhile.

        Raises:
            MCPError: If the cursor is not one of ours.
        """
        cursor = params.cursor if params is not None else None
        after = None if cursor is None else _after(cursor)
        found = await self._threads.call(lambda: self._workspace.documents(after=after, limit=_PAGE + 1))
        page = found[:_PAGE]
        return ListResourcesResult(
            resources=[*([_STATUS] if cursor is None else []), *map(_resource, page)],
            next_cursor=_cursor(page[-1]) if len(found) > len(page) else None,
        )

    async def list_templates(
        self,
        _ctx: Context,
        _params: PaginatedRequestParams | None,
    ) -> ListResourceTemplatesResult:
        """Answer ``resources/templates/list``."""
        template = ResourceTemplate(
            uri_template=TEMPLATE,
            name="document",
            title="A document",
            description="The text of a document, as it was indexed.",
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read(self, _ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Answer ``resources/read``, from the index: the disk is not asked.

        Raises:
            MCPError: If there is no such resource.
        """
        address = str(params.uri)
        if address == STATUS:
            status = answers.status_data(await self._threads.call(self._workspace.status))
            return _contents(address, _JSON, msgspec.json.encode(status).decode())
        named = document_at(address)
        if named is None:
            msg = f"no resource has the address {address!r}; documents have {TEMPLATE}"
            raise MCPError(INVALID_PARAMS, msg, {"uri": address})
        collection, path = named
        try:
            passage = await self._threads.call(lambda: self._workspace.read(path, collection=collection))
        except NotFoundError as error:
            raise MCPError(
                INVALID_PARAMS, f"{error}. {hint_for_client(error.hint)}".strip(), {"uri": address}
            ) from error
        return _contents(address, _mime_type(passage.path), passage.text)


def _resource(document: ListedDocument) -> Resource:
    modified = datetime.fromtimestamp(document.modified_ns // 10**9, UTC).isoformat()
    return Resource(
        uri=address_of(document.collection, document.path),
        name=f"{document.collection}/{document.path}",
        title=document.title,
        mime_type=_mime_type(document.path),
        size=document.size,
        annotations=Annotations(last_modified=modified.replace("+00:00", "Z")),
    )


def _contents(address: str, mime_type: str, text: str) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=address, mime_type=mime_type, text=text)])


def _mime_type(path: str) -> str:
    return "text/markdown" if path.lower().endswith(_MARKDOWN) else "text/plain"


def _cursor(document: ListedDocument) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((document.collection, document.path))).decode()


def _after(cursor: str) -> tuple[str, str]:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode()), type=tuple[str, str])
    except ValueError as error:  # of either
        msg = "this cursor is not one of a list of this server; ask without one"
        raise MCPError(INVALID_PARAMS, msg) from error
