"""Addresses of documents, which any tool and ``resources/read`` understand."""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

from mdvec.interfaces.printing import printable

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
    """Return the collection and path that an address names, or None if it is not that of a document.

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
    """Return a path as answers show it: one with control characters as its address, which has none."""
    return path if printable(path) == path else address_of(collection, path)


def place_of(collection: str, path: str) -> str:
    """Return a document's place in a text, from its path as answers show it."""
    return path if path.startswith(SCHEME) else f"{collection}/{path}"
