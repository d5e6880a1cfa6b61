"""A chunk: the unit that is embedded and found."""

from __future__ import annotations

from msgspec import Struct


class Chunk(Struct, frozen=True):
    """A contiguous part of a document.

    ``document.body[start:end] == text`` always holds.

    Attributes:
        ordinal: Position in the document, from 0.
        parent: Ordinal of the chunk that starts the parent section; None at the top.
        depth: 0 for text above the first heading, else the heading's level, at most 3.
        heading_path: Headings from the outermost to the nearest one above (or at) the chunk's start.
        start: First character, in the document's body.
        end: One past the last character.
        start_line: 1-based line of the first character.
        end_line: 1-based line of the last character.
        token_count: Tokens of ``text`` as the embedder in use counts them, or an estimate.
        text: The chunk itself.
        context: Where the chunk is, in one or several lines; empty when there is nothing to add.
    """

    ordinal: int
    parent: int | None
    depth: int
    heading_path: tuple[str, ...]
    start: int
    end: int
    start_line: int
    end_line: int
    token_count: int
    text: str
    context: str = ""

    @property
    def embedded_text(self) -> str:
        """The text that the embedder receives: the chunk under its context."""
        return under_context(self.context, self.text)


def under_context(context: str, text: str) -> str:
    """Return a text under its context, which may be empty."""
    return f"{context}\n{text}" if context else text


class CutDocument(Struct, frozen=True):
    """The chunks of a document.

    Attributes:
        chunks: In document order, ordinals from 0.
        warnings: For the author, such as a section that is too long; they name the heading.
        is_found: Whether a document without chunks is found by its properties and names.
    """

    chunks: tuple[Chunk, ...]
    warnings: tuple[str, ...] = ()
    is_found: bool = True
