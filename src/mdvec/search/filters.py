"""Checks a query, and turns its filters into the chunks that a store may find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any
from unicodedata import category

from msgspec.structs import replace

from mdvec.errors import DocumentNotFoundError, InvalidQueryError, UsageError, did_you_mean
from mdvec.search.link_graph import link_graph
from mdvec.search.references import (
    backlinks_of,
    find_reference,
    look_of,
    not_found,
    readings,
    spellings,
)
from mdvec.stores.interface import View
from mdvec.text.folding import fold_characters, spelled
from mdvec.text.globs import compile_glob
from mdvec.text.links import CONVERTERS, DOCUMENT_SUFFIXES, file_key, link_key, resolve
from mdvec.text.operators import Field, parse_query
from mdvec.text.properties import as_number, fold_property, is_date
from mdvec.types.collection import Collection
from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.query import (
    Comparison,
    Expansion,
    Filters,
    LinkFilter,
    PropertyCondition,
    SearchQuery,
    Where,
)

MAX_QUERIES = 5
MAX_QUERY_CHARS = 10_000
MAX_LIMIT = 1_000
MAX_DEPTH = 3
_MAX_SHOWN_CHARS = 40
MAX_TAGS = 100  # each adds to the SQL, whose size is limited
_COMMA = re.compile("[,，、]")  # no tag has one, and people and models write several tags so
_ESCAPED = re.compile(r"\\([*?\[\]{}()])")
# Occurs in globs and file names, and rarely in the names of folders.
_GLOB_OR_SUFFIX = re.compile(r"[*?]|\.\w+$")
_MAX_NS = 2**63 - 1  # file times are stored in 64 bits
_LINKS = {LinkFilter.ORPHAN: "is without links", LinkFilter.UNRESOLVED: "has a link that leads to nothing"}


def clean(query: SearchQuery) -> tuple[SearchQuery, tuple[str, ...]]:
    """Check a query.

    Returns:
        The normalised query, and warnings about changes.

    Raises:
        InvalidQueryError: If there is nothing to search for.
        UsageError: If a number is out of its range.
    """
    if len(query.queries) >= MAX_QUERIES:
        msg = f"a search has at most {MAX_QUERIES} queries, not {len(query.queries) + 1:,}"
        raise UsageError(msg, hint="Search for the rest in another call.")
    given = [spelled(each).replace("\x00", " ").strip() for each in (query.text, *query.queries)]
    for each in given:
        if not each:
            msg = "the query is empty"
            raise InvalidQueryError(msg)
        if not any(category(char)[0] in "LNS" for char in each):  # letters, numbers, symbols such as emoji
            msg = f"the query has no words: {each[:_MAX_SHOWN_CHARS]}"
            raise InvalidQueryError(msg)
    text, *others = dict.fromkeys(each[:MAX_QUERY_CHARS] for each in given)
    warnings = tuple(
        f"the query has {len(each):,} characters; only the first {MAX_QUERY_CHARS:,} are used"
        for each in given
        if len(each) > MAX_QUERY_CHARS
    )
    check_range("limit", query.limit, 1, MAX_LIMIT)
    check_range("per_document", query.per_document, 1, MAX_LIMIT)
    check_range("expand_tokens", query.expand_tokens, 1, None)
    check_range("max_tokens", query.max_tokens, 1, None)
    if query.threshold is not None and not -1.0 <= query.threshold <= 1.0:
        msg = f"threshold is a cosine similarity from -1 to 1, not {query.threshold}"
        raise UsageError(msg)
    if not 0.0 <= query.min_score <= 1.0:
        msg = f"min_score is a probability from 0 to 1, not {query.min_score}"
        raise UsageError(msg)
    # All passages of a document are the same when it is shown whole.
    per_document = 1 if query.expand is Expansion.DOCUMENT else query.per_document
    filters = clean_filters(query.filters)
    cleaned = replace(query, text=text, queries=tuple(others), filters=filters, per_document=per_document)
    return cleaned, warnings


def check_range(name: str, value: int | None, least: int, most: int | None) -> None:
    """Check a number; None is in every range.

    Raises:
        UsageError: If it is out of its range.
    """
    if value is None:
        return
    if value < least or (most is not None and value > most):
        span = f"{least} to {most:,}" if most is not None else f"{least} or more"
        msg = f"{name} is a number from {span}, not {value:,}"
        raise UsageError(msg)


def folder_or_glob(path: str) -> str:
    """Return the pattern for everything below a folder if a path names one; else the path itself.

    A name without a slash matches a folder at any place, as the name of a file does.
    """
    folders, _, name = path.rpartition("/")
    if not name or _GLOB_OR_SUFFIX.search(name):
        return path
    return f"{path}/" if folders or path.startswith("/") else f"**/{path}/"


def _check_condition(condition: PropertyCondition) -> None:
    value = fold_property(condition.value)
    if not fold_property(condition.key):
        msg = "a condition names no property"
        raise UsageError(msg, hint="Write it as author='Ridley Scott' or rating>=4.")
    orders = condition.comparison not in (Comparison.EQUAL, Comparison.UNEQUAL)
    if orders and as_number(value) is None and not is_date(value):
        written = f"{condition.key}{condition.comparison.value}{condition.value}"
        msg = f"{written}: only numbers and dates have an order"
        raise UsageError(msg, hint="Write a number, or a date such as 2026-05-01; or compare with = or !=.")


def clean_filters(filters: Filters) -> Filters:
    """Return filters in their normal form.

    Raises:
        UsageError: If nothing can meet one of them.
    """
    since_ns, until_ns = filters.updated_since_ns, filters.updated_until_ns
    check_range("updated_since_ns", since_ns, 0, _MAX_NS)
    check_range("updated_until_ns", until_ns, 0, _MAX_NS)
    if since_ns is not None and until_ns is not None and until_ns <= since_ns:
        msg = "the period ends before it begins: 'until' is not later than 'since'"
        raise UsageError(msg, hint="Give the earlier time to 'since'.")
    properties = tuple(
        replace(each, key=spelled(each.key), value=spelled(each.value)) for each in filters.properties
    )
    for condition in properties:
        _check_condition(condition)
    for depth in filters.depths:
        check_range("depth", depth, 0, MAX_DEPTH)
    named = (part for tag in filters.tags for part in _COMMA.split(spelled(tag)))
    tags = tuple(tag.strip().lstrip("#＃").removesuffix("/*").strip("/") for tag in named)
    if len(tags) > MAX_TAGS:
        msg = f"a search filters by at most {MAX_TAGS} tags, not {len(tags):,}"
        raise UsageError(msg, hint="Use a parent tag: a also finds a/b.")
    if any(not tag for tag in tags):
        msg = "a tag to filter by is empty"
        raise UsageError(msg)
    return replace(
        filters,
        properties=properties,
        tags=tags,
        path=folder_or_glob(spelled(filters.path or "")) or None,
        # Some clients write the wildcard of SQL.
        alias_prefix=spelled(filters.alias_prefix or "").removesuffix("%") or None,
        linked_to=spelled(filters.linked_to or "").strip() or None,
    )


def narrowed(
    filters: Filters,
    collections: Sequence[Collection],
    view: View,
) -> Where:
    """Return where to look: resolves ``linked_to`` and ``links``, and leaves out superseded documents.

    Args:
        filters: The filters of the query; ``linked_to`` may name its document as any door prints it.
        collections: The collections to search.
        view: The snapshot.

    Raises:
        DocumentNotFoundError: If there is no document at the path of ``linked_to``.
    """
    named = filters.linked_to
    if named is not None:
        with suppress(DocumentNotFoundError, UsageError):  # then the text itself, as a link names it
            path = find_reference(named, collections, view).document.path
            filters = replace(filters, linked_to=path)
    where = Where(tuple(collection.id for collection in collections), filters)
    if filters.tags:
        where = replace(where, filters=replace(filters, tags=tagged_alike(filters.tags, where, view)))
    if named is not None:
        where = replace(where, only=_linking_to(filters.linked_to or named, named, collections, view))
    if filters.links is not None:
        alike = (link_graph(each.id, view).meeting(filters.links) for each in collections)
        found = frozenset[DocumentId]().union(*alike)
        where = replace(where, only=found if where.only is None else found & where.only)
    where = at_path(where, view)
    if not filters.include_superseded:
        superseded = (view.documents.versions(collection.id).newer for collection in collections)
        where = replace(where, hidden=frozenset().union(*superseded))
    return where


def without_document(where: Where, path: str, searched: Sequence[Collection], view: View) -> Where:
    """Return where to look for texts related to a document of the first collection: not in itself."""
    document = view.documents.find(searched[0].id, path) if searched else None
    return where if document is None else replace(where, hidden=where.hidden | {document.id})


def at_path(where: Where, view: View) -> Where:
    """Return where to look if the path of the filters names a collection, as doors print paths.

    A pattern that matches a document as it is given comes first, with brackets as part of the name; one that
    matches none, however it is read, is compared with the looks of paths.
    """
    pattern = where.filters.path
    if pattern is None:
        return where
    places = [each for each in view.collections.all() if each.id in where.collections]
    meant = [reading for each in _typed_patterns(pattern) for reading in readings(each, places, view)]
    for path, inside in meant:
        found = Where(tuple(each.id for each in inside), Filters(path=path or None))
        if not view.documents.newest(found, limit=1):
            continue
        if path == pattern:
            return where
        if inside is places:
            return replace(where, filters=replace(where.filters, path=path))
        return _at_documents(where, frozenset(view.documents.newest(found)))
    for path, inside in meant:
        if alike := _alike(path, inside, view):
            return _at_documents(where, alike)
    return where


def _at_documents(where: Where, documents: frozenset[DocumentId]) -> Where:
    """Return where to look if the path of the filters means some documents."""
    only = documents if where.only is None else documents & where.only
    return replace(where, filters=replace(where.filters, path=None), only=only)


def _alike(pattern: str, places: Sequence[Collection], view: View) -> frozenset[DocumentId]:
    """Return the documents whose paths look like what a pattern matches."""
    matches = compile_glob(look_of(pattern))
    return frozenset(
        known.id
        for place in places
        for path, known in view.documents.known(place.id).items()
        if matches(look_of(path))
    )


def tagged_alike(tags: Iterable[str], where: Where, view: View) -> tuple[str, ...]:
    """Return tags, each that no document has replaced by the most used one that looks the same, if any."""
    collections = Where(where.collections)
    found: list[str] = []
    for tag in tags:
        tagged = replace(collections, filters=Filters(tags=(tag,)))
        missing = not view.documents.newest(tagged, limit=1)
        used = view.documents.tags(collections) if missing else ()
        known = (above for each in used for above in accumulate(each.tag.split("/"), "{}/{}".format))
        found.append(next((each for each in known if look_of(each) == look_of(tag)), tag))
    return tuple(found)


def _typed_patterns(pattern: str) -> Iterator[str]:
    r"""Yield a pattern, and what else it may stand for: with ``/`` for ``\``, without escapes, a folder.

    Before a pattern with a set comes the one in which its bracket means itself: "Plans [2026]" is that folder
    where there is one, and not "Plans 2".
    """
    typed = (pattern, pattern.replace("\\", "/"), _ESCAPED.sub(r"\1", pattern))
    literal = (form for each in typed for form in (each.replace("[", "[[]"), each))
    for each in dict.fromkeys(literal):
        yield each
        # The name of a folder may end like that of a file, such as "v1.2".
        if not each.lower().endswith(("/", *DOCUMENT_SUFFIXES, *CONVERTERS)):
            yield f"{each}/" if "/" in each else f"**/{each}/"


def _linking_to(
    path: str, named: str, collections: Sequence[Collection], view: View
) -> frozenset[DocumentId]:
    """Return the documents with a link to one, or with links of its name that lead to none.

    Args:
        path: The path of the document, or what names it.
        named: What was given.
        collections: Where to look.
        view: The snapshot.

    Raises:
        DocumentNotFoundError: If there is neither such a document nor such a link.
    """
    found: set[DocumentId] = set()
    known = False
    for collection in collections:
        there = _path_of(path, collection.id, view)
        if there is not None:
            known = True
            found.update(each.document_id for each in backlinks_of(collection.id, there, view))
    # A note that is still to be written may be linked to, too. One that only looks the same is another one.
    if not known or (not found and not any(_path_of(named, each.id, view) for each in collections)):
        links = [link for each in collections for link in view.documents.links_to(each.id, file_key(named))]
        found.update(each.document_id for each in links if each.link.kind is not LinkKind.PREVIOUS)
    if not known and not found and collections:
        raise not_found(named, collections, view)
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
    for tag in where.filters.tags:
        below = f"{fold_characters(tag)}/"
        if not any(f"{fold_characters(each)}/".startswith(below) for each in known):
            return f"No document has the tag '{tag}'" + (did_you_mean(tag, known, quote="'") or ".")
    for words, alone in _one_by_one(where, filters.path):
        if not view.documents.newest(alone, limit=1):
            return f"No document {words}."
    return "No document meets all the filters. Leave some of them out."


def unfound(filters: Filters, texts: Iterable[str], collections: Sequence[Collection], view: View) -> str:
    """Return what to change in filters or operators for tags that no text meets; empty if one meets them.

    Args:
        filters: The filters of a query.
        texts: Its texts, as typed.
        collections: Where it looks.
        view: The snapshot.
    """
    for text in texts:
        operators = parse_query(text).operators
        typed = [each.text for each in operators if each.field is Field.TAG and not each.negated]
        tags = tuple(dict.fromkeys((*filters.tags, *typed)))
        required = replace(filters, tags=tags)
        where = narrowed(required, collections, view)
        if hint := unmet(required, where, view):
            return hint
        if tags and not view.chunks.places_in([*view.documents.newest(where)], where, 1):
            named = ", ".join(f"'{tag}'" for tag in tags)
            return f"Only notes without text have the tag {named}: they are listed, but not searched."
    return ""


def _one_by_one(where: Where, typed_path: str | None) -> Iterator[tuple[str, Where]]:
    """Yield the filters but tags, each alone, with what it asks of a document."""
    filters = where.filters

    def alone(**chosen: Any) -> Where:
        return replace(where, filters=Filters(**chosen), only=None)

    if filters.path is not None:
        yield f"is at the path '{typed_path}'", alone(path=filters.path)
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
