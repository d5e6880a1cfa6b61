"""The addresses of documents, files and tags on a site, and the files it needs."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from mdvec.errors import MdvecError
from mdvec.interfaces.site.names import FILES, TAGS, address, file_name, flat, safe_name, unused
from mdvec.text.folding import fold_characters
from mdvec.types.page import ANCHOR_PREFIX

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

_HASH_CHARS = 12
# Opened by themselves, these would run their scripts with the rights of the site: links lead to their text.
_ACTIVE = (".htm", ".html", ".js", ".svg", ".xml")
_ID = re.compile(r'\sid="([^"]*)"')
_LINE_OR_FRAGMENT = re.compile(r'\sdata-line="(\d+)"|\shref="([^"#]*)#([^"]*)"')


class SiteAddresses:
    """Addresses for :meth:`mdvec.workspace.pages.Pages.read`.

    Attributes:
        files: The files that documents show or lead to: content by path below the public files.
        missing: Files that could not be read, once each: path of the document, path of the file.

    Args:
        workspace: Reads files.
        base: The path of the site, with a slash at both ends.
        pages: The page of each document of the site.
        tags: All tags of the site.
    """

    def __init__(
        self, workspace: Workspace, *, base: str, pages: Mapping[str, str], tags: Iterable[str]
    ) -> None:
        self._workspace = workspace
        self._base = base
        self._pages = pages
        self._tag_pages = _tag_pages(tags)
        self._known: dict[tuple[str, str, str], str | None] = {}
        self.files: dict[str, bytes] = {}
        self.missing: dict[tuple[str, str], None] = {}

    def document(self, collection: str, path: str) -> str | None:  # noqa: ARG002 - a site has one collection
        """Return the address of a document; None when it is not on the site."""
        page = self._pages.get(path)
        return None if page is None else address(self._base, page)

    def image(self, collection: str, path: str, from_path: str) -> str | None:
        """Return the address of an image; None when it is not there."""
        return self._address(collection, path, from_path, PurePosixPath(path).name)

    def file(self, collection: str, path: str, from_path: str) -> str | None:
        """Return the address of a file beside the documents; None when it is not there."""
        name = PurePosixPath(path).name
        is_active = name.lower().endswith(_ACTIVE)
        return self._address(collection, path, from_path, f"{name}.txt" if is_active else name)

    def _address(self, collection: str, path: str, from_path: str, name: str) -> str | None:
        key = path, from_path.rpartition("/")[0], name
        if key not in self._known:
            try:
                content = self._workspace.pages.file(collection, path, from_path)
            except MdvecError:
                self._known[key] = None
            else:
                self._known[key] = self.add_file(name, content)
        if self._known[key] is None:
            self.missing[from_path, path] = None
        return self._known[key]

    def add_file(self, name: str, content: bytes) -> str:
        """Add a file to the site, and return its address."""
        # The content names the file: two notes may mean different files by one name.
        digest = hashlib.sha256(content).hexdigest()[:_HASH_CHARS]
        place = f"{FILES}/{digest}-{file_name(name)}"
        self.files[place] = content
        return address(self._base, place, "")

    def tag(self, collection: str, tag: str) -> str:  # noqa: ARG002 - a site has one collection
        """Return the address of the documents with a tag."""
        page = self.tag_page(tag)
        return address(self._base, f"{TAGS}/index" if page is None else page)

    def tag_page(self, tag: str) -> str | None:
        """Return the page of a tag; None when no document of the site has it."""
        return self._tag_pages.get(fold_characters(tag))


class Anchors:
    """The places in the pages of a site, and the links to them."""

    def __init__(self) -> None:
        self._ids: dict[str, set[str]] = {}
        self._links: list[tuple[str, str, str]] = []

    def read(self, path: str, address: str, text: str) -> None:
        """Remember what a page holds."""
        self._ids[address] = {html.unescape(each) for each in _ID.findall(text)}
        place = path
        for line, target, fragment in _LINE_OR_FRAGMENT.findall(text):
            if line:  # of the block that the links after it stand in
                place = f"{path}:{line}"
            else:
                self._links.append((place, html.unescape(target) or address, html.unescape(fragment)))

    def missing(self) -> Iterator[tuple[str, str]]:
        """Yield the links to a place that its page does not have: where the link stands, place."""
        for place, target, fragment in dict.fromkeys(self._links):
            if fragment not in self._ids.get(target, {fragment}):
                yield place, f"#{fragment.removeprefix(ANCHOR_PREFIX)}"


def _tag_pages(tags: Iterable[str]) -> dict[str, str]:
    pages: dict[str, str] = {}
    taken = {flat(f"{TAGS}/index")}
    for tag in sorted({fold_characters(each) for each in tags}):
        pages[tag] = unused(f"{TAGS}/{safe_name('x/' + tag.replace('/', '-'))[2:]}", taken)
        taken.add(flat(pages[tag]))
    return pages
