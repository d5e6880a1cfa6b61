"""Suggests collections and paths while a user fills in an address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    PromptReference,
    ResourceTemplateReference,
)

from mdvec.errors import CollectionNotFoundError
from mdvec.interfaces.mcp.addresses import TEMPLATE
from mdvec.interfaces.mcp.arguments import nearest, shown
from mdvec.interfaces.mcp.prompts import ANSWER
from mdvec.interfaces.mcp.threads import Threads

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

Context = ServerRequestContext[None, Any]
"""What the SDK hands to a handler."""

# The protocol allows no more.
_MOST_VALUES = 100


class Completions:
    """Serves ``completion/complete`` for one workspace.

    Args:
        workspace: What is asked.
        threads: Where it is asked.
    """

    def __init__(self, workspace: Workspace, threads: Threads) -> None:
        self._workspace = workspace
        self._threads = threads

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
                return _result(
                    await self._threads.call(
                        lambda: self._of_template(params.argument.name, begun, collection)
                    )
                )
            case PromptReference(name=name) if name == ANSWER.name:
                return _result([])  # a question is the user's own
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
                    found = self._workspace.documents(collection, prefix=begun, limit=_MOST_VALUES + 1)
                except CollectionNotFoundError:  # half a name, most likely
                    return []
                return list(dict.fromkeys(each.path for each in found))
            case _:
                return []


def _result(values: Sequence[str]) -> CompleteResult:
    shown_values = list(values[:_MOST_VALUES])
    return CompleteResult(
        completion=Completion(values=shown_values, has_more=len(values) > len(shown_values))
    )
