"""Documents without a query: lists by what is known of them, outlines, and what is about the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mdvec.stores.versions import VersionCache
from mdvec.types.hit import SearchResult
from mdvec.types.outline import Outline
from mdvec.types.query import Filters, SearchQuery
from mdvec.types.report import ListedDocument
from mdvec.workspace.collections import Collections
from mdvec.workspace.reading import find, outline_of
from mdvec.workspace.search import where_of


class Browse:
    """Lists and outlines. A part of :class:`mdvec.workspace.Workspace`; safe to use from several threads."""

    def __init__(
        self,
        collections: Collections,
        versions: VersionCache,
        subject: Callable[[str, str], str],
        search: Callable[[SearchQuery], SearchResult],
    ) -> None:
        self._collections = collections
        self._versions = versions
        self._subject = subject
        self._search = search

    def newest(
        self, filters: Filters, collections: Sequence[str] = (), *, limit: int = 100, offset: int = 0
    ) -> list[ListedDocument]:
        """List the documents that meet some conditions, the last updated first.

        Raises:
            CollectionNotFoundError: If a collection does not exist.
            DocumentNotFoundError: If it filters by links to a document that is not there.
            UsageError: If a condition cannot be met by anything.
        """
        with self._collections.store().read() as view:
            places = self._collections.chosen(tuple(collections), view)
            where = where_of(filters, places, self._versions, view)
            return view.newest_documents(where, limit=limit, offset=offset)

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
        query = SearchQuery(
            self._subject(document.path, place), collections=(place,), limit=limit + 1, per_document=1
        )
        result = self._search(query)
        others = [each for each in result.hits if each.path != document.path][:limit]
        hits = tuple(replace(each, rank=rank) for rank, each in enumerate(others, 1))
        return replace(result, query=document.title, hits=hits)
