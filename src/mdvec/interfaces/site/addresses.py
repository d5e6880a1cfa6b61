"""File names and addresses of a site's pages, valid on every system and for VitePress, and its files."""

from __future__ import annotations

import hashlib
import html
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from urllib.parse import quote

from mdvec.errors import MdvecError
from mdvec.text.folding import fold_characters
from mdvec.text.links import DOCUMENT_SUFFIXES
from mdvec.types.page import ANCHOR_PREFIX
from mdvec.workspace import Workspace

FILES = "mdvec-files"
"""The folder of images and other files, below the public files of the site."""

TAGS = "mdvec-tags"
"""The folder of the pages of tags."""

NOTES = "mdvec-notes"
"""The page with the titles of all notes."""

PAGES = "mdvec-pages"
"""The folder of the texts of pages, below the public files of the site."""

# A name reaches VitePress as a path. These characters mean something there or in HTML, Windows refuses them,
# they cut an address short, cannot be seen, or turn the direction of others.
_UNSAFE = re.compile(
    r"""[\[\]{}#?%*:;"<>|\\^`$\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"""
)
# Vite replaces marks such as __VITE_ASSET__ in the programs it writes, and these hold the names of pages.
_MARK = re.compile("__+")
# VitePress writes a page of its own for wrong addresses.
_RESERVED = frozenset({"404", "public", FILES, NOTES, PAGES, TAGS})
# VitePress finds no page in a folder with such a name.
_IGNORED = frozenset({"dist", "node_modules"})
# VitePress replaces these in the name of a script.
_NOT_IN_SCRIPTS = re.compile("[/&+,=]")
_HOME = ("index", "readme")
# VitePress calls the script of a page by its whole path and 20 bytes more; systems allow 255.
_MAX_BYTES = 220
_MIN_BYTES = 4  # of each part of a name: a character at least


def page_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the page of each document: its path without a suffix, different from all others.

    The ``index`` of the collection, else its ``README``, becomes the home page, ``index``.
    """
    ordered = sorted(paths)
    roots = {safe_name(path).casefold(): path for path in reversed(ordered) if "/" not in path}
    home = next((roots[name] for name in _HOME if name in roots), None)
    named = {} if home is None else {home: "index"}
    return named | _distinct("index", {path: safe_name(path) for path in ordered if path not in named})


def safe_name(path: str) -> str:
    """Return a path without its suffix that is a valid name of a page; the end of a very long one is cut."""
    whole = PurePosixPath(path)
    parts = whole.with_suffix("").parts if whole.suffix.lower() in DOCUMENT_SUFFIXES else whole.parts
    safe = [f"{part}-" if part.casefold() in _IGNORED else part for part in map(_safe_part, parts)]
    if safe[0].casefold() in _RESERVED:
        safe[0] += "-"
    excess = len("/".join(safe).encode()) - _MAX_BYTES
    for place in reversed(range(len(safe))):
        if excess > 0:
            size = len(safe[place].encode())
            safe[place] = _cut(safe[place], max(size - excess, _MIN_BYTES))
            excess -= size - len(safe[place].encode())
    return "/".join(safe)


def file_name(name: str) -> str:
    """Return the name of a file that is no page, with its suffix, in the same way."""
    safe = _safe_part(name)
    suffix = PurePosixPath(safe).suffix
    return _cut(safe.removesuffix(suffix), max(_MAX_BYTES - len(suffix.encode()), _MIN_BYTES)) + suffix


def _distinct(first: str, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return names of pages, with a number where VitePress would take one for another before it.

    Args:
        first: The page before all others.
        wanted: The names, by any key.
    """
    names: dict[str, str] = {}
    taken = {script_name(first)}
    for key, name in wanted.items():
        numbered = (f"{name}-{number}" if number > 1 else name for number in itertools.count(1))
        names[key] = next(each for each in numbered if script_name(each) not in taken)
        taken.add(script_name(names[key]))
    return names


def script_name(page: str) -> str:
    """Return how VitePress calls the script of a page: without folders, and here without case."""
    return _NOT_IN_SCRIPTS.sub("_", page.casefold()).lstrip("_")


def address(base: str, page: str, suffix: str = ".html") -> str:
    """Return the percent-encoded address of a page (see :func:`page_names`) or a file with this suffix."""
    if suffix and (page == "index" or page.endswith("/index")):
        return base + quote(page[: -len("index")])
    return f"{base}{quote(page)}{suffix}"


def _safe_part(part: str) -> str:
    # A name that begins with a dot is hidden, and Windows drops dots and spaces at the end.
    return _MARK.sub("_", _UNSAFE.sub("-", part)).strip(" ").rstrip(".").lstrip(".") or "-"


def _cut(part: str, size: int) -> str:
    return part.encode()[:size].decode(errors="ignore").rstrip(" .") or "-"


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
        """Return the address of a file next to the documents; None when it is not there."""
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
        """Remember the places and the links of a page."""
        self._ids[address] = {html.unescape(each) for each in _ID.findall(text)}
        place = path
        for line, target, fragment in _LINE_OR_FRAGMENT.findall(text):
            if line:  # the line of the block with the links that follow
                place = f"{path}:{line}"
            else:
                self._links.append((place, html.unescape(target) or address, html.unescape(fragment)))

    def missing(self) -> Iterator[tuple[str, str]]:
        """Yield the links to a place that its page does not have: where the link is, place."""
        for place, target, fragment in dict.fromkeys(self._links):
            if fragment not in self._ids.get(target, {fragment}):
                yield place, f"#{fragment.removeprefix(ANCHOR_PREFIX)}"


def _tag_pages(tags: Iterable[str]) -> dict[str, str]:
    folded = sorted({fold_characters(each) for each in tags})
    wanted = {tag: f"{TAGS}/{safe_name('x/' + tag.replace('/', '-'))[2:]}" for tag in folded}
    return _distinct(f"{TAGS}/index", wanted)
