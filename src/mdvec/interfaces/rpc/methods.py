"""The methods of mdvec's own, ``mdvec.search`` and so on; and all that a client can call."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mdvec.interfaces.encoding import to_json
from mdvec.interfaces.operations import OPERATIONS, Operation
from mdvec.interfaces.rpc.dispatcher import PREFIX, Method
from mdvec.interfaces.rpc.sections import section_methods
from mdvec.interfaces.steps import hint_for_client

if TYPE_CHECKING:
    from mdvec.workspace import Workspace


def all_methods(workspace: Workspace) -> dict[str, Method]:
    """Return what a client can call, by name."""
    return section_methods(workspace) | {
        f"{PREFIX}{each.name}": _method(workspace, each) for each in OPERATIONS
    }


def _method(workspace: Workspace, operation: Operation) -> Method:
    say = partial(hint_for_client, prefix=PREFIX)
    return Method(
        operation.request,
        lambda request: to_json(operation.run(workspace, request, say)),
        is_long=operation.changes,
        takes=operation.takes,
        fixed=operation.fixed,
    )
