"""Where the links of a rendered document lead: a port, and what one rendering knows."""

from __future__ import annotations

import re
from typing import Protocol
from urllib.parse import unquote

from msgspec import Struct, field

from mdvec.types.document import Link
from mdvec.types.page import ANCHOR_PREFIX, Marked, OutlineHeading

_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]+")


class Embedded(Struct, frozen=True):
    """A document, or a part of one, that stands in another.

    Attributes:
        title: For people.
        href: The address of the document.
        text: Its Markdown.
        targets: Where the links in it lead.
    """

    title: str
    href: str
    text: str
    targets: Targets


class Targets(Protocol):
    """Where the links of one document lead, as addresses of the reader's own."""

    def link(self, link: Link) -> str | None:
        """Return the address of a document or file, without a fragment; None when there is none.

        It is empty for the document itself.
        """
        ...

    def image(self, link: Link) -> str | None:
        """Return the address of an image; None when it is none, or not there."""
        ...

    def embedded(self, link: Link) -> Embedded | None:
        """Return the document that an embed shows; None when it is not there."""
        ...

    def tag(self, tag: str) -> str:
        """Return the address of what has a tag."""
        ...


class Job(Struct):
    """One rendering: what the rules of the parser need to know, in the environment's key ``job``."""

    targets: Targets
    first_line: int = 1
    marked: Marked | None = None
    depth: int = 0
    outline: list[OutlineHeading] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)


def anchor_of(fragment: str) -> str:
    """Return the id that the heading or block of a link's fragment has; empty for none.

    ``A#B`` names the heading ``B`` below ``A``, and ``^id`` a block.
    """
    fragment = unquote(fragment)
    if fragment.startswith("^"):
        return f"{ANCHOR_PREFIX}{fragment}"
    name = slug(fragment.rpartition("#")[2])
    return f"{ANCHOR_PREFIX}{name}" if name else ""


def slug(heading: str) -> str:
    """Return a heading as a part of an address."""
    return _NOT_IN_ANCHOR.sub("", heading.strip().lower()).replace(" ", "-")
