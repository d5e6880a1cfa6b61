"""The methods of mdvec's own, ``mdvec.search`` and so on; and all that a client can call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mdvec.errors import sentences
from mdvec.interfaces import operations, wire
from mdvec.interfaces.encoding import to_json
from mdvec.interfaces.requests import (
    CollectionRequest,
    DocumentRequest,
    NoArguments,
    SearchRequest,
    StatusRequest,
    TagsRequest,
    parse_lines,
)
from mdvec.interfaces.rpc.dispatcher import PREFIX, Method
from mdvec.interfaces.rpc.sections import section_methods
from mdvec.interfaces.steps import hint_for_client, text_for_client

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

_Params = TypeVar("_Params", bound=Struct)


def all_methods(workspace: Workspace) -> dict[str, Method]:
    """Return what a client can call, by name."""
    return section_methods(workspace) | own_methods(workspace)


def own_methods(workspace: Workspace) -> dict[str, Method]:
    """Return the methods of mdvec's own: the shapes of ``--format json``."""

    def reindexed(request: CollectionRequest) -> object:
        named = request.collection
        names = [each.name for each in workspace.collections()] if named is None else [named]
        reports, failures = operations.reindex(workspace, names)
        errors = {
            name: sentences(error, hint_for_client(error.hint, prefix=PREFIX))
            for name, error in failures.items()
        }
        warnings = [f"{each.collection}: {text}" for each in reports for text in each.warnings]
        return wire.reindexed(reports, errors, warnings)

    def searched(request: SearchRequest) -> object:
        result = operations.search(workspace, request)
        warnings = tuple(text_for_client(each, prefix=PREFIX) for each in result.warnings)
        hint = result.hint and text_for_client(result.hint, prefix=PREFIX)
        return wire.search_answer(replace(result, warnings=warnings, hint=hint))

    return {
        "mdvec.search": _method(SearchRequest, searched),
        "mdvec.get": _method(
            DocumentRequest,
            lambda request: wire.passage(
                operations.read(
                    workspace, request, None if request.lines is None else parse_lines(request.lines)
                ),
                None,
            ),
        ),
        "mdvec.tags": _method(
            TagsRequest, lambda params: wire.Tags(tuple(workspace.tags(params.collections)))
        ),
        "mdvec.status": _method(
            StatusRequest,
            lambda params: wire.status(
                workspace.status(params.collection, files=params.collection is not None, check=params.check)
            ),
        ),
        "mdvec.collections": _method(
            NoArguments,
            lambda _: [wire.collection(each) for each in workspace.collections(include_disabled=True)],
        ),
        "mdvec.reindex": _method(CollectionRequest, reindexed, is_long=True),
    }


def _method(params: type[_Params], call: Callable[[_Params], object], *, is_long: bool = False) -> Method:
    return Method(params, lambda given: to_json(call(given)), is_long=is_long)
