"""Addresses of documents: ``mdvec://collection/path``, percent-encoded."""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

TEMPLATE = "mdvec://{collection}/{+path}"
"""Address of a document; ``+`` says that a path holds slashes."""

STATUS = "mdvec://status"
"""Address of the state of the index. No document has it: theirs have a path."""

_SCHEME = "mdvec://"


def address_of(collection: str, path: str) -> str:
    """Return the address of a document."""
    return f"{_SCHEME}{collection}/{quote(path)}"


def document_at(address: str) -> tuple[str, str] | None:
    """Return the collection and path that an address names.

    A path need not be percent-encoded. Whether there is such a document is for the index to say:
    nothing is ever looked up on the disk.

    Returns:
        Both, or None when it is no address of a document.
    """
    if not address.startswith(_SCHEME):
        return None
    collection, slash, path = address.removeprefix(_SCHEME).partition("/")
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return None
    return (collection, decoded) if collection and slash and decoded else None
