"""What there is to narrow a search by, counted in documents."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mdvec.search.where import narrowed
from mdvec.stores.interface import View
from mdvec.stores.versions import VersionCache
from mdvec.text.globs import compile_glob
from mdvec.types.query import Filters
from mdvec.types.report import ListedDocument, TagCount
from mdvec.workspace.collections import Collections

_MOST_DOCUMENTS = 200_000
_MOST_TAGS = 40
_MOST_FOLDERS = 20
_RECENT = 8


@dataclass(frozen=True, slots=True)
class Facets:
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


class FacetCounter:
    """Counts documents. A part of :class:`mdvec.workspace.Workspace`; safe to use from several threads.

    The list of documents behind the last counts is kept until something is indexed.
    """

    def __init__(self, collections: Collections, versions: VersionCache) -> None:
        self._collections = collections
        self._versions = versions
        self._guard = threading.Lock()
        self._listed: tuple[tuple[int, Filters], list[ListedDocument]] | None = None

    def count(
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
        recent = [each for each in inside if _updated_ns(each) >= since_ns]
        per_collection = Counter(each.collection for each in there if _updated_ns(each) >= since_ns)
        start = f"{folder}/" if folder else ""
        folders = Counter(
            start + each.path[len(start) :].partition("/")[0]
            for each in documents
            if each.collection in wanted
            and _updated_ns(each) >= since_ns
            and each.path.startswith(start)
            and "/" in each.path[len(start) :]
        )
        return Facets(
            collections=tuple((each.name, per_collection[each.name]) for each in enabled),
            tags=tuple(tags[:_MOST_TAGS]),
            folders=tuple(folders.most_common(_MOST_FOLDERS)),
            periods=tuple(
                (name, sum(_updated_ns(each) >= begin for each in inside))
                for name, begin in (periods or {}).items()
            ),
            recent=tuple(recent[:_RECENT]),
        )

    def _documents(self, filters: Filters, view: View) -> list[ListedDocument]:
        """Return the documents of all enabled collections, whatever their folder and time, newest first."""
        others = replace(filters, path=None, updated_since_ns=None)
        key = (view.version, others)
        with self._guard:
            if self._listed is None or self._listed[0] != key:
                enabled = self._collections.chosen((), view)
                replaced = self._versions.of((each.id for each in enabled), view)
                where = narrowed(others, enabled, replaced, view)
                self._listed = key, view.newest_documents(where, limit=_MOST_DOCUMENTS, offset=0)
            return self._listed[1]


def _updated_ns(document: ListedDocument) -> int:
    return document.modified_ns if document.updated_ns is None else document.updated_ns
