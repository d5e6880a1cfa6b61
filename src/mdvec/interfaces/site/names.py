"""File names and addresses of pages, valid on every system and for VitePress."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from urllib.parse import quote

from mdvec.text.links import DOCUMENT_SUFFIXES

FILES = "mdvec-files"
"""The folder of images and other files, below the public files of the site."""

TAGS = "mdvec-tags"
"""The folder of the pages of tags."""

NOTES = "mdvec-notes"
"""The page with the titles of all notes."""

PAGES = "mdvec-pages"
"""The folder of the texts of pages, below the public files of the site."""

# A name reaches VitePress as a path: what has a meaning there or in HTML, what Windows refuses, what cuts an
# address short, and characters that are not seen or turn the direction of others.
_UNSAFE = re.compile(
    r"""[\[\]{}#?%*:;"<>|\\^`$\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"""
)
# Vite replaces marks such as __VITE_ASSET__ in the programs it writes, and these hold the names of pages.
_MARK = re.compile("__+")
# VitePress writes a page of its own for wrong addresses.
_RESERVED = frozenset({"404", "public", FILES, NOTES, PAGES, TAGS})
# VitePress finds no page in a folder with such a name.
_IGNORED = frozenset({"dist", "node_modules"})
# What VitePress replaces in the name of a script.
_NOT_IN_SCRIPTS = re.compile("[/&+,=]")
_HOME = ("index", "readme")
# Of a whole name: VitePress calls the script of a page by its whole path and 20 bytes more; systems take 255.
_MAX_BYTES = 220
_MIN_BYTES = 4  # of each part of a name: a character at least


def page_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the page of each document: its path without a suffix, on which no other page stands.

    The ``index`` of the collection, else its ``README``, becomes the home page, ``index``.
    """
    ordered = sorted(paths)
    roots = {safe_name(path).casefold(): path for path in reversed(ordered) if "/" not in path}
    home = next((roots[name] for name in _HOME if name in roots), None)
    names: dict[str, str] = {} if home is None else {home: "index"}
    taken = {flat("index")}
    for path in ordered:
        if path not in names:
            names[path] = unused(safe_name(path), taken)
            taken.add(flat(names[path]))
    return names


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


def unused(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number if VitePress would take another one for it.

    Args:
        name: Of a page.
        taken: The names that are used, as :func:`flat` returns them.
    """
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *numbered) if flat(each) not in taken)


def flat(name: str) -> str:
    """Return a name as VitePress calls the script of a page: without folders, and here without case."""
    return _NOT_IN_SCRIPTS.sub("_", name.casefold()).lstrip("_")


def address(base: str, page: str, suffix: str = ".html") -> str:
    """Return the percent-encoded address of a page or a file.

    Args:
        base: The path of the site, with a slash at both ends.
        page: As in :func:`page_names`.
        suffix: Of the file that is served.
    """
    if suffix and (page == "index" or page.endswith("/index")):
        return base + quote(page[: -len("index")])
    return f"{base}{quote(page)}{suffix}"


def _safe_part(part: str) -> str:
    # A name that begins with a dot is hidden, and Windows drops dots and spaces at the end.
    return _MARK.sub("_", _UNSAFE.sub("-", part)).strip(" ").rstrip(".").lstrip(".") or "-"


def _cut(part: str, size: int) -> str:
    return part.encode()[:size].decode(errors="ignore").rstrip(" .") or "-"
