"""Documents as people read them: rendered, with what surrounds them."""

from __future__ import annotations

import re
import threading
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from mdvec.documents.properties import updated_ns
from mdvec.errors import DocumentNotFoundError
from mdvec.stores.interface import View
from mdvec.stores.records import StoredDocument
from mdvec.stores.versions import VersionCache
from mdvec.text.links import file_key, is_markdown, link_key, linked_path, names_other_file, resolve
from mdvec.types.change import SourceEntry
from mdvec.types.collection import DEFAULT_SOURCE, Collection
from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.page import IMAGE_TYPES, Marked, Page, PageEntry, RenderedDocument
from mdvec.workspace.collections import Collections
from mdvec.workspace.documents.reading import file_of, is_stale, links_of
from mdvec.workspace.documents.references import find
from mdvec.workspace.wiring.parts import Parts

if TYPE_CHECKING:
    from mdvec.documents.targets import Embedded


# Longer Markdown is shown as plain text: rendering it would take long, and some text takes quadratic time.
_MAX_RENDERED_CHARS = 1_000_000
_HEADING = re.compile(r"^(#{1,6})[ \t](.*)$", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


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

    def __init__(self, collections: Collections, parts: Parts, versions: VersionCache) -> None:
        self._collections = collections
        self._parts = parts
        self._versions = versions
        self._guard = threading.Lock()
        self._files: dict[CollectionId, tuple[int, dict[str, dict[str, None]]]] = {}

    def read(self, path: str, collection: str, addresses: Addresses, marked: Marked | None = None) -> Page:
        """Return a document, rendered.

        Raises:
            DocumentNotFoundError: If there is no such document.
            CollectionNotFoundError: If there is no such collection.
        """
        with self._collections.store().read() as view:
            found = find(path, collection, self._collections, view)
            document, place = found.document, found.collection
            rendered = _render(document, view, addresses, marked)
            links = links_of(document, self._versions.of((place.id,), view)[place.id], view)
        return Page(
            collection=document.collection,
            path=document.path,
            title=document.title,
            html=rendered.html,
            outline=rendered.outline,
            properties=document.frontmatter,
            tags=document.tags,
            aliases=document.aliases,
            updated_ns=updated_ns(document.frontmatter) or document.mtime_ns,
            stale=is_stale(document, self._parts.source(place.source)),
            file=file_of(document, place),
            links=links,
        )

    def entries(self, collection: str) -> list[PageEntry]:
        """Return all documents of a collection, by path.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        with self._collections.store().read() as view:
            place = self._collections.named(collection, view)
            superseded = self._versions.of((place.id,), view)[place.id].superseded
            paths = sorted(view.known_documents(place.id))
            found = (view.find_document(place.id, path) for path in paths)
            return [_entry(each, superseded=each.id in superseded) for each in found if each is not None]

    def image(self, collection: str, path: str, from_path: str = "") -> tuple[bytes, str]:
        """Return an image that lies beside the documents of a collection, and its media type.

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

    def file(self, collection: str, path: str, from_path: str = "") -> bytes:
        """Return a file that lies beside the documents of a collection, such as an image or a PDF.

        It takes and raises what :meth:`image` does.
        """
        with self._collections.store().read() as view:
            place = self._collections.named(collection, view)
            named = self._files_of(place, view) if _is_folder(place) else {}
        # The kind that counts from the document's folder and has no percent signs to be read.
        link = Link(LinkKind.PREVIOUS, path)
        found = resolve(link, from_path, named.get(file_key(path), {}))
        if found is None:
            raise _no_file(path, collection)
        return self._parts.source(place.source).read(SourceEntry(found, found, 0, 0))

    def _files_of(self, place: Collection, view: View) -> dict[str, dict[str, None]]:
        """Return the paths of the files beside the documents, by their :func:`file_key`."""
        with self._guard:
            version, named = self._files.get(place.id, (-1, {}))
            if version != view.version:
                named = {}
                for each in view.file_states(place.id, None):
                    if names_other_file(each.path):
                        named.setdefault(file_key(each.path), {})[each.path] = None
                self._files[place.id] = view.version, named
            return named


def _no_file(path: str, collection: str) -> DocumentNotFoundError:
    msg = f"no file {path!r} in {collection}"
    return DocumentNotFoundError(msg, hint="Images and other files come from the folder of their collection.")


def _entry(document: StoredDocument, *, superseded: bool) -> PageEntry:
    return PageEntry(
        path=document.path,
        title=document.title,
        tags=document.tags,
        properties=document.frontmatter,
        updated_ns=updated_ns(document.frontmatter) or document.mtime_ns,
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


def _is_folder(collection: Collection) -> bool:
    return collection.source.kind == DEFAULT_SOURCE


class _DocumentTargets(Struct, frozen=True):
    """The targets of the links of a stored document."""

    document: StoredDocument
    view: View
    addresses: Addresses
    known: dict[str, dict[str, DocumentId]] = field(default_factory=dict)

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
        found = None if path is None else self.view.find_document(self.document.collection_id, path)
        if path is None or found is None:
            return None
        text = _part(found.body[found.content_start :], link.fragment)
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
            wanted = {key, *map(link_key, self.view.links_of(self.document.id))} if not self.known else {key}
            self.known.update({each: {} for each in wanted})
            self.known.update(self.view.files_named(collection, wanted))
        return resolve(link, self.document.path, self.known[key])


def _part(text: str, fragment: str) -> str | None:
    """Return the section or the block of a text that a fragment names; all of it without one."""
    if not fragment:
        return text
    if fragment.startswith("^"):
        found = re.search(rf"[ \t\n]\{fragment[0]}{re.escape(fragment[1:])}[ \t]*$", text, re.MULTILINE)
        if found is None:
            return None
        blanks = [match.end() for match in _BLANK_LINE.finditer(text, 0, found.start())]
        return text[blanks[-1] if blanks else 0 : found.start()]
    wanted = fragment.rpartition("#")[2].strip().casefold()
    headings = list(_HEADING.finditer(text))
    for index, heading in enumerate(headings):
        if heading[2].strip(" \t#").casefold() == wanted:
            following = headings[index + 1 :]
            end = next((each.start() for each in following if len(each[1]) <= len(heading[1])), len(text))
            return text[heading.start() : end]
    return None
