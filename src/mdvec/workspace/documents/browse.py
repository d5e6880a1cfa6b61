"""Lists, counts and outlines of documents, and what is about the same."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mdvec.search.filters import clean_filters
from mdvec.search.where import narrowed, unmet
from mdvec.stores.interface import View
from mdvec.stores.records import StoredDocument
from mdvec.stores.versions import VersionCache
from mdvec.text.globs import compile_glob
from mdvec.types.hit import SearchResult
from mdvec.types.outline import Outline
from mdvec.types.query import Filters, SearchQuery, Where
from mdvec.types.report import ListedDocument, TagCount
from mdvec.workspace.collections import Collections
from mdvec.workspace.documents.reading import file_of, outline_of
from mdvec.workspace.documents.references import find, where_of

_MAX_COUNTED = 200_000
_MAX_TAGS = 40
_MAX_FOLDERS = 20
_RECENT = 8

_MARKUP = re.compile(r"[#*_`>\[\]|{}=~]+|https?://\S+|\(\S*\)")
_SUBJECT_SOURCE_CHARS = 2_000
_SUBJECT_CHARS = 300


class Facets(Struct, frozen=True):
    """The documents behind each way to narrow a search, as the other filters leave them.

    Attributes:
        collections: Names of collections and their documents.
        tags: Tags, most used first.
        folders: The folders of the next level, most documents first.
        periods: Periods and the documents that were updated in them.
        recent: The documents that were updated last.
    """

    collections: tuple[tuple[str, int], ...]
    tags: tuple[TagCount, ...]
    folders: tuple[tuple[str, int], ...]
    periods: tuple[tuple[str, int], ...]
    recent: tuple[ListedDocument, ...]


class Browse:
    """Lists, counts and outlines of documents. Safe to use from several threads."""

    def __init__(
        self,
        collections: Collections,
        versions: VersionCache,
        search: Callable[[SearchQuery, str], SearchResult],
    ) -> None:
        self._collections = collections
        self._versions = versions
        self._search = search
        self._guard = threading.Lock()
        # The list behind the last counts, until something is indexed.
        self._counted: tuple[tuple[int, Filters], list[ListedDocument]] | None = None

    def newest(
        self, filters: Filters, collections: Sequence[str] = (), *, limit: int = 100
    ) -> list[ListedDocument]:
        """List the documents that meet some conditions, the last updated first.

        Raises:
            CollectionNotFoundError: If a collection does not exist.
            DocumentNotFoundError: If it filters by links to a document that is not there.
            UsageError: If a condition cannot be met by anything.
        """
        with self._collections.store().read() as view:
            _, where = self._meant(filters, collections, view)
            found = view.newest_documents(where, limit=limit)
            known = {each.name: each for each in view.collections()}
        return [replace(each, file=file_of(each, known[each.collection])) for each in found]

    def unmet(self, filters: Filters, collections: Sequence[str] = ()) -> str:
        """Return what to change in conditions that no document meets, or how to index any; else nothing."""
        with self._collections.store().read() as view:
            places = self._collections.chosen(tuple(collections), view)
            if not any(view.counts(each.id, None).documents for each in places):
                return self._collections.first_step(places)
            return unmet(*self._meant(filters, collections, view), view)

    def _meant(self, filters: Filters, names: Sequence[str], view: View) -> tuple[Filters, Where]:
        places = self._collections.chosen(tuple(names), view)
        cleaned = clean_filters(filters)
        replaced = self._versions.of((each.id for each in places), view)
        return cleaned, where_of(cleaned, places, replaced, view)

    def outline(self, path: str, *, collection: str | None = None) -> Outline:
        """Return the sections of a document, without their text.

        Raises:
            DocumentNotFoundError: If there is no such document.
            UsageError: If more than one document is meant.
        """
        with self._collections.store().read() as view:
            return outline_of(find(path, collection, self._collections, view).document)

    def related(self, path: str, *, collection: str | None = None, limit: int = 5) -> SearchResult:
        """Return the documents of the same collection that are nearest to one, each with its best passage.

        Raises:
            DocumentNotFoundError: If there is no such document.
            UsageError: If more than one document is meant, or ``limit`` is out of range.
        """
        with self._collections.store().read() as view:
            found = find(path, collection, self._collections, view)
        document, place = found.document, found.collection.name
        # A document is no question, so its neighbours are no answers, strong or weak.
        query = SearchQuery(
            _subject(document), collections=(place,), limit=limit, min_score=0, per_document=1
        )
        return replace(self._search(query, document.path), query=document.title)

    def facets(
        self,
        filters: Filters,
        names: Sequence[str] = (),
        *,
        folder: str = "",
        periods: Mapping[str, int] | None = None,
    ) -> Facets:
        """Count the documents behind each way to narrow a search further.

        Args:
            filters: Those that are set; each kind is counted as if its own were not.
            names: The collections that are chosen; all enabled ones when empty.
            folder: The folder that the filters name; those directly in it are counted.
            periods: Names of periods, and when they begin, in nanoseconds since 1970.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        filters = clean_filters(filters)
        with self._collections.store().read() as view:
            enabled = self._collections.chosen((), view)
            chosen = self._collections.chosen(tuple(names), view)
            documents = self._documents(filters, view)
            replaced = self._versions.of((each.id for each in chosen), view)
            tags = view.tags(narrowed(filters, chosen, replaced, view))
        wanted = {each.name for each in chosen}
        is_there = compile_glob(filters.path) if filters.path else lambda _: True
        since_ns = filters.updated_since_ns or 0
        there = [each for each in documents if is_there(each.path)]
        inside = [each for each in there if each.collection in wanted]
        recent = [each for each in inside if each.changed_ns >= since_ns]
        per_collection = Counter(each.collection for each in there if each.changed_ns >= since_ns)
        start = f"{folder}/" if folder else ""
        folders = Counter(
            start + each.path[len(start) :].partition("/")[0]
            for each in documents
            if each.collection in wanted
            and each.changed_ns >= since_ns
            and each.path.startswith(start)
            and "/" in each.path[len(start) :]
        )
        return Facets(
            collections=tuple((each.name, per_collection[each.name]) for each in enabled),
            tags=tuple(tags[:_MAX_TAGS]),
            folders=tuple(folders.most_common(_MAX_FOLDERS)),
            periods=tuple(
                (name, sum(each.changed_ns >= begin for each in inside))
                for name, begin in (periods or {}).items()
            ),
            recent=tuple(recent[:_RECENT]),
        )

    def _documents(self, filters: Filters, view: View) -> list[ListedDocument]:
        """Return the documents of all enabled collections, whatever their folder and time, newest first."""
        others = replace(filters, path=None, updated_since_ns=None)
        key = (view.version, others)
        with self._guard:
            if self._counted is None or self._counted[0] != key:
                enabled = self._collections.chosen((), view)
                replaced = self._versions.of((each.id for each in enabled), view)
                where = narrowed(others, enabled, replaced, view)
                self._counted = key, view.newest_documents(where, limit=_MAX_COUNTED)
            return self._counted[1]


def _subject(document: StoredDocument) -> str:
    """Return what a document is about, as a query: its title and the start of its text."""
    text = _MARKUP.sub(" ", document.body[document.content_start :][:_SUBJECT_SOURCE_CHARS])
    return f"{document.title}\n{' '.join(text.split())[:_SUBJECT_CHARS]}"
