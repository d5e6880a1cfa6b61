"""From the filters of a query to the chunks that a store may find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from mdvec.errors import DocumentNotFoundError, UsageError, did_you_mean
from mdvec.search.link_graph import link_graph
from mdvec.search.references import backlinks_of, find_reference, not_found, readings, spellings
from mdvec.stores.interface import View
from mdvec.text.folding import fold_characters
from mdvec.text.links import file_key, link_key, resolve
from mdvec.types.collection import Collection
from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.links import Versions
from mdvec.types.query import Filters, LinkFilter, Where

_LINKS = {LinkFilter.ORPHAN: "is without links", LinkFilter.UNRESOLVED: "has a link that leads to nothing"}


def narrowed(
    filters: Filters,
    collections: Sequence[Collection],
    versions: Mapping[CollectionId, Versions],
    view: View,
) -> Where:
    """Return where to look: resolves ``linked_to`` and ``links``, and leaves out superseded documents.

    Args:
        filters: The filters of the query; ``linked_to`` may name its document as any door prints it.
        collections: The collections to search.
        versions: Which documents replace which, by collection.
        view: The snapshot.

    Raises:
        DocumentNotFoundError: If there is no document at the path of ``linked_to``.
    """
    if filters.linked_to is not None:
        with suppress(DocumentNotFoundError, UsageError):  # then the text itself, as a link names it
            path = find_reference(filters.linked_to, collections, view).document.path
            filters = replace(filters, linked_to=path)
    where = Where(tuple(collection.id for collection in collections), filters)
    if filters.linked_to is not None:
        where = replace(where, only=_linking_to(filters.linked_to, collections, view))
    if filters.links is not None:
        alike = (link_graph(each.id, view).meeting(filters.links) for each in collections)
        found = frozenset[DocumentId]().union(*alike)
        where = replace(where, only=found if where.only is None else found & where.only)
    where = at_path(where, view)
    if not filters.include_superseded:
        superseded = (versions[collection.id].superseded for collection in collections)
        where = replace(where, hidden=frozenset().union(*superseded))
    return where


def at_path(where: Where, view: View) -> Where:
    """Return where to look if the path of the filters names a collection, as doors print paths.

    A pattern that matches a document as it is given comes first.
    """
    pattern = where.filters.path
    if pattern is None:
        return where
    places = [each for each in view.collections.all() if each.id in where.collections]
    meant = [*readings(pattern, places, view)]
    if len(meant) == 1:  # the pattern as it is given
        return where
    for path, inside in meant:
        found = Where(tuple(each.id for each in inside), Filters(path=path or None))
        if not view.documents.newest(found, limit=1):
            continue
        if path == pattern:
            break
        documents = frozenset(view.documents.titles(found))
        only = documents if where.only is None else documents & where.only
        return replace(where, filters=replace(where.filters, path=None), only=only)
    return where


def _linking_to(wanted: str, collections: Sequence[Collection], view: View) -> frozenset[DocumentId]:
    found: set[DocumentId] = set()
    known = False
    for collection in collections:
        path = _path_of(wanted, collection.id, view)
        if path is not None:
            known = True
            found.update(each.document_id for each in backlinks_of(collection.id, path, view))
    if not known:  # a note that is still to be written may be linked to, too
        links = [link for each in collections for link in view.documents.links_to(each.id, file_key(wanted))]
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
        candidates = view.documents.with_file_names(collection_id, [key]).get(key, {})
        found = spelling if spelling in candidates else resolve(link, "", candidates)
        if found is not None:
            return found
    return None


def unmet(filters: Filters, where: Where, view: View) -> str:
    """Return what to change in filters that no document meets; empty if one meets them.

    Args:
        filters: The filters of a query.
        where: Where these look.
        view: The snapshot.
    """
    if filters == Filters() or view.documents.newest(where, limit=1):
        return ""
    known = [each.tag for each in view.documents.tags(Where(where.collections))] if filters.tags else []
    for tag in filters.tags:
        below = f"{fold_characters(tag)}/"
        if not any(f"{fold_characters(each)}/".startswith(below) for each in known):
            near = did_you_mean(tag, known, quote="'")
            return f"No document has the tag '{tag}'{near or '.'}"
    for words, alone in _one_by_one(where):
        if not view.documents.newest(alone, limit=1):
            return f"No document {words}."
    return "No document meets all the filters. Leave some of them out."


def _one_by_one(where: Where) -> Iterator[tuple[str, Where]]:
    """Yield the filters but tags, each alone, with what it asks of a document."""
    filters = where.filters

    def alone(**chosen: Any) -> Where:
        return replace(where, filters=Filters(**chosen), only=None)

    if filters.path is not None:
        yield f"is at the path '{filters.path}'", alone(path=filters.path)
    if filters.alias_prefix is not None:
        yield (
            f"has an alias that starts with '{filters.alias_prefix}'",
            alone(alias_prefix=filters.alias_prefix),
        )
    for each in filters.properties:
        yield f"meets '{each.key}{each.comparison}{each.value}'", alone(properties=(each,))
    if filters.linked_to is not None:
        yield f"links to '{filters.linked_to}'", replace(where, filters=Filters())
    if filters.links is not None:
        yield _LINKS[filters.links], replace(where, filters=Filters())
    since, until = filters.updated_since_ns, filters.updated_until_ns
    if since is not None or until is not None:
        yield "was updated in that time", alone(updated_since_ns=since, updated_until_ns=until)
    if filters.depths:
        yield "has text of that depth", alone(depths=filters.depths)
    if filters.clean_only:
        yield "is unchanged since it was indexed", alone(clean_only=True)
