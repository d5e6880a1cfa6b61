"""Walks what collections hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdvec.types.collection import Collection
from mdvec.types.report import ListedDocument
from mdvec.stores.interface import Catalog, StoredChunk


def page_of_documents(
    places: Sequence[Collection], catalog: Catalog, *, after: tuple[str, str] | None, prefix: str, limit: int
) -> list[ListedDocument]:
    """Return a page; see :meth:`mdvec.workspace.Workspace.documents`.

    Args:
        places: The collections, by name.
        catalog: What holds them.
        after: Collection and path of the last document of the page before.
        prefix: Only paths that start so.
        limit: Most documents on the page.
    """
    last_collection, last_path = after or ("", "")
    page: list[ListedDocument] = []
    for place in places:
        if place.name >= last_collection and len(page) < limit:
            start = last_path if place.name == last_collection else ""
            page += catalog.documents(place.id, after=start, prefix=prefix, limit=limit - len(page))
    return page


def every_chunk(places: Sequence[Collection], catalog: Catalog) -> Iterator[StoredChunk]:
    """Walk all chunks as they are indexed, by collection, path and position."""
    for collection in places:
        for path in sorted(catalog.known_documents(collection.id)):
            document = catalog.find_document(collection.id, path)
            if document is not None:  # it may be deleted in between
                yield from catalog.document_chunks(document.id)
