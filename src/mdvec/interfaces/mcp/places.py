"""Addresses of documents, which any tool and ``resources/read`` understand; names as answers show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from mdvec.interfaces.printing import one_line, printable

_Shown = TypeVar("_Shown", bound=Struct)

SCHEME = "mdvec://"
"""Start of each address."""

TEMPLATE = "mdvec://{collection}/{+path}"
"""Address of a document, percent-encoded; ``+`` lets a path have slashes."""

STATUS = "mdvec://status"
"""Address of the state of the index. No document has it: their addresses have a path."""


def address_of(collection: str, path: str) -> str:
    """Return the address of a document."""
    return f"{SCHEME}{collection}/{quote(path)}"


def document_at(address: str) -> tuple[str, str] | None:
    """Return the collection and path that an address names, or None for other addresses.

    A path need not be percent-encoded. The index decides if there is such a document: nothing is ever
    looked up on the disk.
    """
    if not address.startswith(SCHEME):
        return None
    collection, slash, path = address.removeprefix(SCHEME).partition("/")
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return None
    return (collection, decoded) if collection and slash and decoded else None


def shown_path(collection: str, path: str) -> str:
    """Return a path as answers show it; one with control characters is replaced by its address."""
    return path if printable(path) == path else address_of(collection, path)


def place_of(collection: str, path: str) -> str:
    """Return a document's place in a text, from its path as answers show it."""
    return path if path.startswith(SCHEME) else f"{collection}/{path}"


# --- names ---------------------------------------------------------------------------------------------

MAX_DESCRIPTION_CHARS = 1_000
"""Longest description of a collection: clients send it with every question, and cut long ones."""

# A title or a heading is a line; longer ones were not written for people.
_MAX_NAME_CHARS = 200
_MAX_NAMES = 20
_MAX_NOTE_CHARS = 500
_MAX_NOTES = 10
# Fields that hold names, or lists of them.
_NAMES = {
    "folder",
    "folder_contexts",
    "fragment",
    "heading",
    "heading_path",
    "properties",
    "tag",
    "tags",
    "target",
    "title",
}
_PATHS = {"path", "superseded_by", "supersedes", "via"}


def name_line(text: str) -> str:
    """Return a title, a heading or a tag on one line, cut when it is long."""
    return one_line(text, _MAX_NAME_CHARS)


def note_lines(texts: Sequence[str]) -> tuple[str, ...]:
    """Return warnings on one line each, cut when they are long or many."""
    more = (f"and {len(texts) - _MAX_NOTES:,} more warnings",) if len(texts) > _MAX_NOTES else ()
    return (*(one_line(each, _MAX_NOTE_CHARS) for each in texts[:_MAX_NOTES]), *more)


def with_short_names(value: _Shown, collection: str = "", *, also: str = "") -> _Shown:
    """Return a value with each name in it on one line, cut when it is long, and paths as answers show them.

    Args:
        value: Such as a hit or a link; of a list of names it has the first twenty.
        collection: Of the document, if the value does not say it.
        also: A further field with a name.
    """
    place = getattr(value, "collection", collection)

    def shown(field: str, given: Any) -> Any:
        if isinstance(given, tuple):
            return tuple(shown(field, each) for each in given[:_MAX_NAMES])
        return given and (shown_path(place, given) if field in _PATHS else name_line(given))

    fields = (each for each in value.__struct_fields__ if each in _NAMES | _PATHS | {also})
    return replace(value, **{each: shown(each, getattr(value, each)) for each in fields})
