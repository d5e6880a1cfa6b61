"""A document as people read it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mdvec.types.links import DocumentLinks

ANCHOR_PREFIX = "note-"
"""Every id in the HTML of a document begins so, so that none is one of the page around it."""

PASSAGE_ANCHOR = f"{ANCHOR_PREFIX}passage"
"""The id that is before the passage that is marked."""

IMAGE_TYPES = {
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}
"""The suffixes of the images that are shown, with their media types."""

ORIGINAL_TYPES = {
    ".pdf": "application/pdf",
    **dict.fromkeys((".html", ".htm"), "text/html"),
    ".xhtml": "application/xhtml+xml",
}
"""The suffixes of the originals that a browser shows, with their media types; others are saved."""


class PageEntry(Struct, frozen=True):
    """A document in a list of pages.

    Attributes:
        path: Its path.
        title: For people.
        tags: Without ``#``.
        properties: Its frontmatter.
        updated_ns: When it was last updated, by its frontmatter or else its file, in nanoseconds since 1970;
            0 when unknown.
        superseded: True if another document replaces it.
    """

    path: str
    title: str
    tags: tuple[str, ...]
    properties: Mapping[str, object]
    updated_ns: int
    superseded: bool


class OutlineHeading(Struct, frozen=True):
    """A heading of a rendered document.

    Attributes:
        level: 1 to 6.
        text: Without markup.
        anchor: Its id in the HTML.
    """

    level: int
    text: str
    anchor: str


class RenderedDocument(Struct, frozen=True):
    """A document as HTML.

    Attributes:
        html: Sanitised.
        outline: Its headings, in order.
    """

    html: str
    outline: tuple[OutlineHeading, ...]


class Marked(Struct, frozen=True):
    """The passage to mark in a document.

    Attributes:
        first: 1-based first line.
        last: 1-based last line.
        query: Its words are marked inside the passage.
    """

    first: int
    last: int
    query: str = ""


class Page(Struct, frozen=True):
    """A document to read.

    Attributes:
        collection: Name of its collection.
        path: Its path.
        title: For people.
        html: Its text, sanitised.
        outline: Its headings.
        properties: Its frontmatter.
        tags: Without ``#``.
        aliases: Its other names.
        updated_ns: When it was last updated, by its frontmatter or else its file, in nanoseconds since 1970;
            0 when unknown.
        stale: The file has changed (or gone) since it was indexed.
        file: Absolute path of its file; None for a document that is no file here.
        links: Its links, the links to it, and its versions.
        place: The part of the original that holds the marked passage, such as ``page 7``.
        warnings: Why the document has no text, or what of it was lost or guessed.
    """

    collection: str
    path: str
    title: str
    html: str
    outline: tuple[OutlineHeading, ...]
    properties: Mapping[str, object]
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    updated_ns: int
    stale: bool
    file: str | None
    links: DocumentLinks
    place: str = ""
    warnings: tuple[str, ...] = ()
