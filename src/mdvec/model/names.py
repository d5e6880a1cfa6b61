"""What a collection may be called."""

from __future__ import annotations

import re

from mdvec.errors import InvalidNameError

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def check_collection_name(name: str) -> None:
    """Refuse what cannot be the name of a collection (and of an MCP tool).

    Raises:
        InvalidNameError: If it is none; the message repeats the name.
    """
    if not _NAME.fullmatch(name):
        msg = f"{name!r} cannot be a name: it starts with a-z and holds only a-z, 0-9, - and _ (64 at most)"
        raise InvalidNameError(msg)
