"""What a collection may be called."""

from __future__ import annotations

import re

from mdvec.errors import InvalidNameError

RESERVED_NAMES = frozenset({"search", "get_doc", "list_tags", "reindex", "status"})
"""Tools that every MCP client sees; a collection's own tool is named like the collection."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def check_collection_name(name: str) -> None:
    """Refuse what cannot be the name of a collection (and of an MCP tool).

    Raises:
        InvalidNameError: If it is none, or that of a general tool; the message repeats the name.
    """
    if not _NAME.fullmatch(name):
        msg = f"{name!r} cannot be a name: it starts with a-z and holds only a-z, 0-9, - and _ (64 at most)"
        raise InvalidNameError(msg)
    if name in RESERVED_NAMES:
        msg = f"{name!r} cannot be a name: agents have a tool of that name already"
        raise InvalidNameError(msg, hint=f"Choose another name, such as 'my-{name.replace('_', '-')}'.")
