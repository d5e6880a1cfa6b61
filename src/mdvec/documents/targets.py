"""The targets of the links in a rendered document: the port, and the state of one rendering."""

from __future__ import annotations

import re
from typing import Protocol
from urllib.parse import unquote

from msgspec import Struct, field

from mdvec.documents.code import Highlighter
from mdvec.types.document import Link
from mdvec.types.page import ANCHOR_PREFIX, Marked, OutlineHeading

_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]+")


class Embedded(Struct, frozen=True):
    """A document, or a part of one, that is embedded in another.

    Attributes:
        title: The title shown above it.
        href: The address of the document.
        text: Its Markdown.
        targets: Where the links in it lead.
    """

    title: str
    href: str
    text: str
    targets: Targets


class Targets(Protocol):
    """Resolves the links of one document to addresses of the page or site that shows it."""

    def meant(self, link: Link) -> Link:
        """Return a wikilink as the program means it that wrote the document."""

    def link(self, link: Link) -> str | None:
        """Return the address of a document or file, without a fragment; None if there is no such file.

        It is empty for the document itself.
        """

    def image(self, link: Link) -> str | None:
        """Return the address of an image; None if it is missing or not an image."""

    def embedded(self, link: Link) -> Embedded | None:
        """Return the document that an embed shows; None if it is missing."""

    def tag(self, tag: str) -> str:
        """Return the address of the list of documents with a tag."""


class Job(Struct):
    """The state of one rendering."""

    targets: Targets
    first_line: int = 1
    marked: Marked | None = None
    depth: int = 0
    outline: list[OutlineHeading] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)
    highlighter: Highlighter = field(default_factory=Highlighter)


def anchor_of(fragment: str) -> str:
    """Return the id of the heading or block that a link's fragment names; empty without a fragment.

    ``A#B`` names the heading ``B`` below ``A``, and ``^id`` a block.
    """
    fragment = unquote(fragment)
    if fragment.startswith("^"):
        return f"{ANCHOR_PREFIX}{fragment}"
    name = slug(fragment.rpartition("#")[2])
    return f"{ANCHOR_PREFIX}{name}" if name else ""


def numbered(name: str, seen: dict[str, int]) -> str:
    """Return the anchor of a heading whose name others may have; it is counted."""
    number = seen[name] = seen.get(name, -1) + 1
    return f"{name}-{number}" if number else name


def slug(heading: str) -> str:
    """Return a heading in the form used in addresses."""
    return _NOT_IN_ANCHOR.sub("", heading.strip().lower()).replace(" ", "-")
