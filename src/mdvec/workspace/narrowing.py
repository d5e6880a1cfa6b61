"""From what a query asks of documents to the documents a store is to search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mdvec.types.collection import Collection
from mdvec.types.document import Link, LinkKind
from mdvec.types.hit import SearchHit
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.query import Filters, Scope
from mdvec.stores.interface import Catalog, StoredChunk
from mdvec.stores.versions import link_key
from mdvec.text.linking import resolve
from mdvec.text.paths import file_key
from mdvec.workspace.reading import not_found, spellings


def narrowed(filters: Filters, collections: Sequence[Collection], catalog: Catalog) -> Scope:
    """Return where to look: the documents that link to one, and none that another one replaces.

    Args:
        filters: What is asked of documents.
        collections: Where to look.
        catalog: What is asked who links and who replaces.

    Raises:
        DocumentNotFoundError: If there is no document at the path of ``linked_to``.
    """
    scope = Scope(tuple(collection.id for collection in collections), filters)
    if filters.linked_to is not None:
        scope = replace(scope, only=_linking_to(filters.linked_to, collections, catalog))
    if not filters.include_superseded:
        hidden = (catalog.versions(collection.id).superseded for collection in collections)
        scope = replace(scope, hidden=frozenset().union(*hidden))
    return scope


def with_versions(hit: SearchHit, chunk: StoredChunk, catalog: Catalog) -> SearchHit:
    """Return a hit that names what its document supersedes, and what supersedes it."""
    versions = catalog.versions(chunk.collection_id)
    older = versions.older.get(chunk.document_id, ())
    newer = versions.newer.get(chunk.document_id, ())
    return replace(hit, supersedes=older, superseded_by=newer) if older or newer else hit


def linking_documents(collection_id: CollectionId, path: str, catalog: Catalog) -> frozenset[DocumentId]:
    """Return the documents that link to the one at a path; older versions named by it are no links."""
    key = file_key(path)
    candidates = catalog.documents_named(collection_id, [key]).get(key, {})
    return frozenset(
        each.document_id
        for each in catalog.links_named(collection_id, key)
        if each.link.kind is not LinkKind.PREVIOUS and resolve(each.link, each.path, candidates) == path
    )


def _linking_to(wanted: str, collections: Sequence[Collection], catalog: Catalog) -> frozenset[DocumentId]:
    found: frozenset[DocumentId] = frozenset()
    known = False
    for collection in collections:
        path = _document(wanted, collection.id, catalog)
        if path is not None:
            known = True
            found |= linking_documents(collection.id, path, catalog)
    if not known and collections:
        raise not_found(wanted, collections, catalog)
    return found


def _document(wanted: str, collection_id: CollectionId, catalog: Catalog) -> str | None:
    """Return the path of a document that is named by its path, or else as a link would name it."""
    for spelling in spellings(wanted):
        link = Link(LinkKind.WIKI, spelling)
        key = link_key(link)
        candidates = catalog.documents_named(collection_id, [key]).get(key, {})
        found = spelling if spelling in candidates else resolve(link, "", candidates)
        if found is not None:
            return found
    return None
