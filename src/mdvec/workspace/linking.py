"""What a document links to, what links to it, and which versions of it there are."""

from __future__ import annotations

from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import DocumentId
from mdvec.types.links import Backlink, DocumentLinks, LinkState, OutgoingLink
from mdvec.stores.interface import Catalog, StoredDocument
from mdvec.stores.versions import link_key
from mdvec.text.linking import linked_path, names_other_file, resolve
from mdvec.text.paths import file_key


def links_of(document: StoredDocument, catalog: Catalog) -> DocumentLinks:
    """Return the links of a document and those to it.

    Args:
        document: The document.
        catalog: What is asked of the other documents of its collection.
    """
    links = [link for link in catalog.links_of(document.id) if link.kind is not LinkKind.PREVIOUS]
    named = catalog.documents_named(document.collection_id, {link_key(link) for link in links})
    versions = catalog.versions(document.collection_id)
    return DocumentLinks(
        collection=document.collection,
        path=document.path,
        title=document.title,
        links=tuple(_outgoing(link, document.path, named.get(link_key(link), {})) for link in links),
        backlinks=_backlinks(document, catalog),
        supersedes=versions.older.get(document.id, ()),
        superseded_by=versions.newer.get(document.id, ()),
    )


def _outgoing(link: Link, from_path: str, candidates: dict[str, DocumentId]) -> OutgoingLink:
    path = resolve(link, from_path, candidates)
    return OutgoingLink(link.kind, link.target, link.fragment, link.text, link.line, _state(link, path), path)


def _state(link: Link, path: str | None) -> LinkState:
    if path is not None:
        return LinkState.DOCUMENT
    wanted = linked_path(link)
    if wanted is None:
        return LinkState.OUTSIDE
    return LinkState.FILE if names_other_file(wanted) else LinkState.UNRESOLVED


def _backlinks(document: StoredDocument, catalog: Catalog) -> tuple[Backlink, ...]:
    key = file_key(document.path)
    candidates = catalog.documents_named(document.collection_id, [key]).get(key, {})
    return tuple(
        Backlink(each.path, each.link.line, each.link.kind, each.link.fragment, each.link.text)
        for each in catalog.links_named(document.collection_id, key)
        if each.link.kind is not LinkKind.PREVIOUS
        and resolve(each.link, each.path, candidates) == document.path
    )
