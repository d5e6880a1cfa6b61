"""Documents as resources: their addresses, lists of them, their text from the index, and completions."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Annotations,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    TextResourceContents,
)

from mdvec.errors import CollectionNotFoundError, NotFoundError, sentences
from mdvec.interfaces import wire
from mdvec.interfaces.arguments import nearest, shown
from mdvec.interfaces.encoding import iso_time, to_json
from mdvec.interfaces.errors import shortened
from mdvec.interfaces.mcp.definitions import ANSWER, Context
from mdvec.interfaces.mcp.failures import MAX_LINE_CHARS
from mdvec.interfaces.mcp.paging import described, first_part, name_line
from mdvec.interfaces.mcp.threads import Threads
from mdvec.interfaces.printing import one_line
from mdvec.interfaces.steps import hint_for_client
from mdvec.text.links import is_markdown
from mdvec.types.report import ListedDocument, Passage

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

TEMPLATE = "mdvec://{collection}/{+path}"
"""Address of a document, percent-encoded; ``+`` stands for a path with slashes."""

STATUS = "mdvec://status"
"""Address of the state of the index. No document has it: their addresses have a path."""

_SCHEME = "mdvec://"
_PAGE = 100
_JSON = "application/json"
# The protocol allows no more.
_MAX_COMPLETIONS = 100
_STATUS = Resource(
    uri=STATUS,
    name="status",
    title="State of the index",
    description="As the tool `status`.",
    mime_type=_JSON,
)


def address_of(collection: str, path: str) -> str:
    """Return the address of a document."""
    return f"{_SCHEME}{collection}/{quote(path)}"


def document_at(address: str) -> tuple[str, str] | None:
    """Return the collection and path that an address names, or None if it is not that of a document.

    A path need not be percent-encoded. The index decides if there is such a document: nothing is ever
    looked up on the disk.
    """
    if not address.startswith(_SCHEME):
        return None
    collection, slash, path = address.removeprefix(_SCHEME).partition("/")
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return None
    return (collection, decoded) if collection and slash and decoded else None


class Resources:
    """The handlers of ``resources/*`` and ``completion/complete`` for one workspace."""

    def __init__(self, workspace: Workspace, threads: Threads, *, most_tokens: int) -> None:
        self._workspace = workspace
        self._threads = threads
        self._most_tokens = most_tokens

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
            description="The text of a document, as indexed.",
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read(self, _ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Answer ``resources/read`` from the index, without a look at the disk.

        Raises:
            MCPError: If there is no such resource.
        """
        address = str(params.uri)
        if address == STATUS:
            status = wire.status(described(await self._threads.call(self._workspace.status)))
            return _contents(address, _JSON, msgspec.json.encode(to_json(status, "mcp")).decode())
        named = document_at(address)
        if named is None:
            msg = f"no resource has the address {shown(address)}; documents have {TEMPLATE}"
            raise MCPError(INVALID_PARAMS, msg, {"uri": address})
        collection, path = named
        try:
            passage = await self._threads.call(lambda: self._workspace.read(path, collection=collection))
        except NotFoundError as error:
            message = shortened(sentences(error, hint_for_client(error.hint)), named)
            data = {"uri": address}
            raise MCPError(INVALID_PARAMS, one_line(message, MAX_LINE_CHARS), data) from error
        return _contents(address, _mime_type(passage.path), _text(passage, self._most_tokens))

    async def complete(self, _ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        """Answer ``completion/complete``.

        Raises:
            MCPError: If it is about a prompt or a template that is not ours.
        """
        begun = params.argument.value
        match params.ref:
            case ResourceTemplateReference(uri=uri) if uri == TEMPLATE:
                known = params.context.arguments if params.context is not None else None
                collection = (known or {}).get("collection")
                return _completed(
                    await self._threads.call(
                        lambda: self._of_template(params.argument.name, begun, collection)
                    )
                )
            case PromptReference(name=name) if name == ANSWER.name:
                return _completed([])  # a question is the user's own
            case ResourceTemplateReference(uri=uri):
                msg = f"there is no template {shown(uri)}{nearest(uri, [TEMPLATE])}"
            case PromptReference(name=name):
                msg = f"there is no prompt {shown(name)}{nearest(name, [ANSWER.name])}"
        raise MCPError(INVALID_PARAMS, msg)

    def _of_template(self, name: str, begun: str, collection: str | None) -> list[str]:
        match name:
            case "collection":
                names = (each.name for each in self._workspace.collections())
                return [each for each in names if each.startswith(begun.lower())]
            case "path":
                try:
                    found = self._workspace.documents(collection, prefix=begun, limit=_MAX_COMPLETIONS + 1)
                except CollectionNotFoundError:  # half a name, most likely
                    return []
                return list(dict.fromkeys(each.path for each in found))
            case _:
                return []


def _resource(document: ListedDocument) -> Resource:
    return Resource(
        uri=address_of(document.collection, document.path),
        name=one_line(f"{document.collection}/{document.path}"),
        title=name_line(document.title),
        mime_type=_mime_type(document.path),
        size=document.size,
        annotations=Annotations(last_modified=iso_time(document.modified_ns // 10**6 or None)),
    )


def _text(passage: Passage, most_tokens: int) -> str:
    """Return the text of a document, which has no parts as a resource; of a long one the first part."""
    part, rest = first_part(passage, most_tokens)
    if rest is None:
        return part.text
    left_out = len(passage.text) - len(part.text)
    note = f"{left_out:,} characters are left out; `get_doc` with lines={rest!r} has them"
    return f"{part.text}\n\n[mdvec: {note}]\n"


def _contents(address: str, mime_type: str, text: str) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=address, mime_type=mime_type, text=text)])


def _mime_type(path: str) -> str:
    return "text/markdown" if is_markdown(path) else "text/plain"


def _cursor(document: ListedDocument) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((document.collection, document.path))).decode()


def _after(cursor: str) -> tuple[str, str]:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode()), type=tuple[str, str])
    except ValueError as error:  # of either
        msg = "this cursor does not come from this server; request the list without one"
        raise MCPError(INVALID_PARAMS, msg) from error


def _completed(values: Sequence[str]) -> CompleteResult:
    first = list(values[:_MAX_COMPLETIONS])
    return CompleteResult(completion=Completion(values=first, has_more=len(values) > len(first)))
