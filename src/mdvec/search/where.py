"""From the filters of a query to the chunks that a store may find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mdvec.errors import DocumentNotFoundError
from mdvec.stores.interface import View
from mdvec.text.folding import nfc
from mdvec.text.links import file_key, link_key, resolve
from mdvec.text.undecodable import spelled
from mdvec.types.collection import Collection
from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.links import PlacedLink, Versions
from mdvec.types.query import Filters, Where


def narrowed(
    filters: Filters,
    collections: Sequence[Collection],
    versions: Mapping[CollectionId, Versions],
    view: View,
) -> Where:
    """Return where to look: resolves ``linked_to``, and leaves out superseded documents unless included.

    Args:
        filters: The filters of the query.
        collections: The collections to search.
        versions: Which documents replace which, by collection.
        view: The snapshot.

    Raises:
        DocumentNotFoundError: If there is no document at the path of ``linked_to``.
    """
    where = Where(tuple(collection.id for collection in collections), filters)
    if filters.linked_to is not None:
        where = replace(where, only=_linking_to(filters.linked_to, collections, view))
    if not filters.include_superseded:
        superseded = (versions[collection.id].superseded for collection in collections)
        where = replace(where, hidden=frozenset().union(*superseded))
    return where


def backlinks_of(collection_id: CollectionId, path: str, view: View) -> list[PlacedLink]:
    """Return the links to the document at a path, without those that name an older version."""
    key = file_key(path)
    candidates = view.files_named(collection_id, [key]).get(key, {})
    return [
        each
        for each in view.links_to(collection_id, key)
        if each.link.kind is not LinkKind.PREVIOUS and resolve(each.link, each.path, candidates) == path
    ]


def _linking_to(wanted: str, collections: Sequence[Collection], view: View) -> frozenset[DocumentId]:
    found: set[DocumentId] = set()
    known = False
    for collection in collections:
        path = _path_of(wanted, collection.id, view)
        if path is not None:
            known = True
            found.update(each.document_id for each in backlinks_of(collection.id, path, view))
    if not known:  # a note that is still to be written may be linked to, too
        links = [link for each in collections for link in view.links_to(each.id, file_key(wanted))]
        found.update(each.document_id for each in links if each.link.kind is not LinkKind.PREVIOUS)
        known = bool(found)
    if not known and collections:
        raise not_found(wanted, collections, view)
    return frozenset(found)


def _path_of(wanted: str, collection_id: CollectionId, view: View) -> str | None:
    """Return the path of the document with this path, or of the one that a wikilink of this text leads to."""
    for spelling in spellings(wanted):
        link = Link(LinkKind.WIKI, spelling)
        key = link_key(link)
        candidates = view.files_named(collection_id, [key]).get(key, {})
        found = spelling if spelling in candidates else resolve(link, "", candidates)
        if found is not None:
            return found
    return None


def spellings(path: str) -> tuple[str, ...]:
    r"""Return the possible paths: as written, in canonical form, and with ``/`` for ``\``."""
    path = spelled(path)
    wanted = nfc(path).removeprefix("./")
    return tuple(dict.fromkeys((path, wanted, wanted.replace("\\", "/"))))


def unmet(filters: Filters, collections: Sequence[Collection], where: Where, view: View) -> str:
    """Return what to change in filters that no document meets; empty if one meets them.

    Args:
        filters: The filters of a query.
        collections: The collections that are searched.
        where: Where these look.
        view: The snapshot.
    """
    if filters == Filters() or view.newest_documents(where, limit=1, offset=0):
        return ""
    path = filters.path or ""
    for name in (each.name for each in collections if path.startswith(f"{each.name}/")):
        # Answers show "notes/a.md", and paths are compared below "notes/".
        return f"Leave '{name}/' out of the path: it starts below the collection's name."
    known = [each.tag for each in view.tags(Where(where.collections))] if filters.tags else []
    for tag in filters.tags:
        if not any(f"{each.casefold()}/".startswith(f"{tag.casefold()}/") for each in known):
            from difflib import get_close_matches

            near = get_close_matches(tag, known, n=1)
            return f"No document has the tag '{tag}'" + (f"; did you mean '{near[0]}'?" if near else ".")
    return "No document meets the filters. Leave some of them out."


def not_found(path: str, collections: Sequence[Collection], view: View) -> DocumentNotFoundError:
    """Return the error for a missing document; its hint names similar paths, if any."""
    from difflib import get_close_matches

    wanted = spellings(path)[-1]
    known = [item for collection in collections for item in view.known_documents(collection.id)]
    near = [item for item in known if item.endswith("/" + wanted) or wanted.endswith("/" + item)][:3]
    near = near or get_close_matches(wanted, known, n=3)
    if not near and "/" not in wanted:  # a note's name alone
        names = {file_key(item): item for item in known}
        near = [names[name] for name in get_close_matches(file_key(wanted), names, n=3)]
    places = ", ".join(item.name for item in collections) or "any collection"
    hint = f"Did you mean {', '.join(near)}?" if near else None
    return DocumentNotFoundError(f"no document {spelled(path)!r} in {places}", hint=hint)
