"""The sections of a document, without their text."""

from __future__ import annotations

from msgspec import Struct


class OutlineSection(Struct, frozen=True):
    """A section: a heading with the text up to the next one.

    Attributes:
        order: Position in the document, from 0.
        parent: ``order`` of the section above; None at the top.
        depth: 0 for the text above the first heading, else the heading's level, at most 3.
        heading: Without markup; empty at depth 0.
        start_line: 1-based first line.
        end_line: 1-based last line of its own text, without the sections below it.
        tokens: Of its own text, estimated.
    """

    order: int
    parent: int | None
    depth: int
    heading: str
    start_line: int
    end_line: int
    tokens: int


class Outline(Struct, frozen=True):
    """The sections of a document.

    Attributes:
        collection: Name of the collection.
        path: Path of the document.
        title: Title of the document.
        sections: In order; without the one above the first heading if that holds no text.
    """

    collection: str
    path: str
    title: str
    sections: tuple[OutlineSection, ...]
