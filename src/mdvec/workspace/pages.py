"""Documents as people read them: rendered, listed, counted, and what is about the same."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from mdvec.documents.links import text_first
from mdvec.errors import DocumentNotFoundError
from mdvec.search.filters import check_range, clean_filters, narrowed, unmet
from mdvec.search.hits import entry_of, file_of, is_stale, place_with_words
from mdvec.stores.interface import View
from mdvec.stores.records import StoredDocument
from mdvec.stores.view import every_document
from mdvec.text.globs import compile_glob
from mdvec.text.links import (
    converter_of,
    file_key,
    is_markdown,
    link_key,
    linked_path,
    names_other_file,
    resolve,
)
from mdvec.types.change import SourceEntry
from mdvec.types.collection import DEFAULT_SOURCE
from mdvec.types.document import Link, LinkKind
from mdvec.types.hit import SearchResult
from mdvec.types.ids import DocumentId
from mdvec.types.outline import Outline
from mdvec.types.page import IMAGE_TYPES, Marked, Page, PageEntry, RenderedDocument
from mdvec.types.query import Filters, SearchQuery, Where
from mdvec.types.report import ListedDocument, TagCount
from mdvec.workspace.collections import Collections
from mdvec.workspace.reading import OtherFiles, find, lines_of_section, links_of, outline_of

if TYPE_CHECKING:
    from mdvec.documents.targets import Embedded

# Longer Markdown is shown as plain text: rendering it would take long, and some text takes quadratic time.
_MAX_RENDERED_CHARS = 1_000_000

_MAX_COUNTED = 200_000
_MAX_TAGS = 40
_MAX_FOLDERS = 20
_RECENT = 8
_MARKUP = re.compile(r"[#*_`>\[\]|{}=~]+|https?://\S+|\(\S*\)")
_SUBJECT_SOURCE_CHARS = 2_000
_SUBJECT_CHARS = 300


class Addresses(Protocol):
    """The addresses of what a door shows; they come percent-encoded."""

    def document(self, collection: str, path: str) -> str | None:
        """Return the address of a document; None when it is not shown."""

    def image(self, collection: str, path: str, from_path: str) -> str | None:
        """Return the address of an image; None when it is not shown.

        Args:
            collection: Its collection.
            path: As a document names it: from the root, from the document's folder, or the name alone.
            from_path: Path of the document.
        """

    def file(self, collection: str, path: str, from_path: str) -> str | None:
        """Return the address of any other file, as :meth:`image` does."""

    def tag(self, collection: str, tag: str) -> str:
        """Return the address of the documents with a tag."""


class Pages:
    """Documents to read. A part of :class:`mdvec.workspace.Workspace`; safe to use from several threads."""

    def __init__(self, collections: Collections, other_files: OtherFiles) -> None:
        self._collections = collections
        self._stages = collections.stages
        self._other_files = other_files

    def read(self, path: str, collection: str, addresses: Addresses, marked: Marked | None = None) -> Page:
        """Return a document, rendered.

        Raises:
            DocumentNotFoundError: If there is no such document.
            CollectionNotFoundError: If there is no such collection.
        """
        with self._collections.read() as view:
            found = find(path, collection, self._collections, view)
            document, place = found.document, found.collection
            rendered = _render(document, view, addresses, marked)
            links = links_of(document, self._other_files, view)
            file = file_of(document, place, view)
        return Page(
            collection=document.collection,
            path=document.path,
            title=document.title,
            html=rendered.html,
            outline=rendered.outline,
            properties=document.frontmatter,
            tags=document.tags,
            aliases=document.aliases,
            updated_ns=document.changed_ns,
            stale=is_stale(document, self._stages.source(place.source).differs),
            file=file,
            place=_place(document, marked),
            links=links,
            warnings=document.warnings,
        )

    def entries(self, collection: str) -> list[PageEntry]:
        """Return all documents of a collection, by path.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        with self._collections.read() as view:
            place = self._collections.named(collection, view)
            superseded = view.documents.versions(place.id).newer
            found = every_document(place.id, view)
            return [_entry(each, superseded=each.id in superseded) for each in found]

    def image(self, collection: str, path: str, from_path: str = "") -> tuple[bytes, str]:
        """Return an image from the folder of a collection, and its media type.

        Args:
            collection: Its collection, a folder of this machine.
            path: As a document names it: from its folder, from the root, or the name alone.
            from_path: Path of that document; empty when the path counts from the root.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            DocumentNotFoundError: If it is no image, or not there.
            UnreadableFileError: If it cannot be read, is larger than a document may be, or lies outside the
                folder.
        """
        kind = IMAGE_TYPES.get(PurePosixPath(path).suffix.lower())
        if kind is None:
            raise _no_file(path, collection)
        return self.file(collection, path, from_path), kind

    def original(self, path: str, collection: str) -> bytes:
        """Return the bytes of a document that was converted, from the source of its collection.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            DocumentNotFoundError: If there is no such document, or it was not converted.
            SourceError: If the source cannot be reached.
            UnreadableFileError: If it cannot be read.
        """
        with self._collections.read() as view:
            found = find(path, collection, self._collections, view)
        document, place = found.document, found.collection
        if not converter_of(document.path):
            raise _no_file(path, collection)
        return self._stages.source(place.source).read(entry_of(document))

    def file(self, collection: str, path: str, from_path: str = "") -> bytes:
        """Return a file from the folder of a collection, such as an image or a PDF.

        It takes and raises what :meth:`image` does.
        """
        with self._collections.read() as view:
            place = self._collections.named(collection, view)
            named = self._other_files.of(place.id, view) if place.source.kind == DEFAULT_SOURCE else {}
        # The kind that counts from the document's folder and has no percent signs to be read.
        link = Link(LinkKind.PREVIOUS, path)
        found = resolve(link, from_path, named.get(file_key(path), {}))
        if found is None:
            raise _no_file(path, collection)
        return self._stages.source(place.source).read(SourceEntry(found, found, 0, 0))


def _place(document: StoredDocument, marked: Marked | None) -> str:
    if marked is None or not document.comments:
        return ""
    lines = document.body.splitlines(keepends=True)
    start = sum(map(len, lines[: marked.first - 1]))
    return place_with_words(
        marked.query, document.comments, start, "".join(lines[marked.first - 1 : marked.last])
    )


def _no_file(path: str, collection: str) -> DocumentNotFoundError:
    msg = f"no file {path!r} in {collection}"
    return DocumentNotFoundError(msg, hint="Images and other files come from the folder of their collection.")


def _entry(document: StoredDocument, *, superseded: bool) -> PageEntry:
    return PageEntry(
        path=document.path,
        title=document.title,
        tags=document.tags,
        properties=document.frontmatter,
        updated_ns=document.changed_ns,
        superseded=superseded,
    )


def _render(
    document: StoredDocument, view: View, addresses: Addresses, marked: Marked | None
) -> RenderedDocument:
    from mdvec.documents.rendering import render_markdown, render_plain

    if not is_markdown(document.path) or len(document.body) > _MAX_RENDERED_CHARS:
        return render_plain(document.body, marked=marked)
    return render_markdown(
        document.body[document.content_start :],
        _DocumentTargets(document, view, addresses),
        first_line=document.body.count("\n", 0, document.content_start) + 1,
        marked=marked,
    )


class _DocumentTargets(Struct, frozen=True):
    """The targets of the links of a stored document."""

    document: StoredDocument
    view: View
    addresses: Addresses
    known: dict[str, dict[str, DocumentId]] = field(default_factory=dict)

    def meant(self, link: Link) -> Link:
        """Return a wikilink as Dendron means it, if that wrote the document."""
        return text_first(link, self.document.path, self.document.frontmatter)

    def link(self, link: Link) -> str | None:
        """Return the address of what a link leads to; None when nothing is there."""
        if linked_path(link) == "":
            return ""
        path = self._path(link)
        if path is not None:
            return self.addresses.document(self.document.collection, path)
        wanted = linked_path(link)
        if not wanted or not names_other_file(wanted):
            return None
        return self.addresses.file(self.document.collection, wanted, self.document.path)

    def image(self, link: Link) -> str | None:
        """Return the address of an image; None when it is none, or not shown."""
        path = linked_path(link)
        if not path or PurePosixPath(path).suffix.lower() not in IMAGE_TYPES:
            return None
        return self.addresses.image(self.document.collection, path, self.document.path)

    def embedded(self, link: Link) -> Embedded | None:
        """Return the document that an embed shows, or the section or block of it."""
        from mdvec.documents.targets import Embedded

        path = self._path(link)
        found = None if path is None else self.view.documents.find(self.document.collection_id, path)
        if path is None or found is None:
            return None
        text = _part(found, link.fragment)
        if text is None:
            return None
        href = self.addresses.document(found.collection, path)
        if href is None:
            return None
        return Embedded(found.title, href, text, _DocumentTargets(found, self.view, self.addresses))

    def tag(self, tag: str) -> str:
        """Return the address of the documents with a tag."""
        return self.addresses.tag(self.document.collection, tag)

    def _path(self, link: Link) -> str | None:
        key = link_key(link)
        if key not in self.known:
            collection = self.document.collection_id
            wanted = (
                {key, *(link_key(each.link) for each in self.view.documents.links_of([self.document.id]))}
                if not self.known
                else {key}
            )
            self.known.update({each: {} for each in wanted})
            self.known.update(self.view.documents.with_file_names(collection, wanted))
        return resolve(link, self.document.path, self.known[key])


def _part(document: StoredDocument, fragment: str) -> str | None:
    """Return the section or the block of a document that a fragment names; all of it without one."""
    if not fragment:
        return document.body[document.content_start :]
    try:
        first, last = lines_of_section(document, fragment)
    except DocumentNotFoundError:
        return None
    return "\n".join(document.body.split("\n")[first - 1 : last])


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

    def __init__(self, collections: Collections, search: Callable[[SearchQuery, str], SearchResult]) -> None:
        self._collections = collections
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
            UsageError: If a condition cannot be met by anything, or the limit is not positive.
        """
        check_range("limit", limit, 1, None)
        with self._collections.read() as view:
            _, where = self._meant(filters, collections, view)
            found = view.documents.newest(where, limit=limit).values()
            known = {each.name: each for each in view.collections.all()}
            return [replace(each, file=file_of(each, known[each.collection], view)) for each in found]

    def unmet(self, filters: Filters, collections: Sequence[str] = ()) -> str:
        """Return what to change in conditions that no document meets, or how to index any; else nothing."""
        with self._collections.read() as view:
            places = self._collections.chosen(collections, view)
            if not any(view.collections.counts(each.id, None).documents for each in places):
                return self._collections.first_step(places)
            return unmet(*self._meant(filters, collections, view), view)

    def _meant(self, filters: Filters, names: Sequence[str], view: View) -> tuple[Filters, Where]:
        places = self._collections.chosen(names, view)
        cleaned = clean_filters(filters)
        return cleaned, narrowed(cleaned, places, view)

    def outline(self, path: str, *, collection: str | None = None) -> Outline:
        """Return the sections of a document, without their text.

        Raises:
            DocumentNotFoundError: If there is no such document.
            UsageError: If more than one document is meant.
        """
        with self._collections.read() as view:
            return outline_of(find(path, collection, self._collections, view).document)

    def related(self, path: str, *, collection: str | None = None, limit: int = 5) -> SearchResult:
        """Return the documents of the same collection that are nearest to one, each with its best passage.

        Raises:
            DocumentNotFoundError: If there is no such document.
            UsageError: If more than one document is meant, or ``limit`` is out of range.
        """
        with self._collections.read() as view:
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
        with self._collections.read() as view:
            enabled = self._collections.chosen((), view)
            chosen = self._collections.chosen(names, view)
            documents = self._documents(filters, view)
            tags = view.documents.tags(narrowed(filters, chosen, view))
        wanted = {each.name for each in chosen}
        is_there = compile_glob(filters.path) if filters.path else lambda _: True
        since_ns = filters.updated_since_ns or 0
        there = [each for each in documents if is_there(each.path)]
        in_folder = [each for each in there if each.collection in wanted]
        recent = [each for each in in_folder if each.changed_ns >= since_ns]
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
                (name, sum(each.changed_ns >= begin for each in in_folder))
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
                where = narrowed(others, enabled, view)
                self._counted = key, [*view.documents.newest(where, limit=_MAX_COUNTED).values()]
            return self._counted[1]


def _subject(document: StoredDocument) -> str:
    """Return what a document is about, as a query: its title and the start of its text."""
    text = _MARKUP.sub(" ", document.body[document.content_start :][:_SUBJECT_SOURCE_CHARS])
    return f"{document.title}\n{' '.join(text.split())[:_SUBJECT_CHARS]}"
