"""A section of an indexed document as other programs write and read it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

SECTIONS_KEY = "mdvec-sections"
"""The entry of a pushed document's frontmatter that holds its sections without their texts, as JSON."""


class IndexedSection(Struct, frozen=True):
    """One chunk of a document, with what a program needs to write it back.

    Attributes:
        id: Unique in its collection; of what mdvec cut itself, the id of the chunk.
        document_path: Path of its document.
        heading: The nearest heading; empty without one.
        depth: 0 to 3, see :class:`mdvec.types.chunk.Chunk`.
        content: The text.
        token_count: Tokens of the text.
        parent_id: Id of the section above; None at the top.
        order: Position among the sections of the document.
        is_dirty: The document has changed since this was indexed.
        document_hash: The identity of the document's content.
        created_at_ms: When it was first written, in milliseconds since 1970.
        updated_at_ms: When its document was last changed, in milliseconds since 1970.
    """

    id: str
    document_path: str
    heading: str
    depth: int
    content: str
    token_count: int
    parent_id: str | None
    order: int
    is_dirty: bool
    document_hash: str
    created_at_ms: int
    updated_at_ms: int


def saved_sections(frontmatter: Mapping[str, object]) -> list[tuple[int, int, IndexedSection]] | None:
    """Return the sections of a pushed document without their texts, with start and end of each in its body.

    Returns:
        None for a document that was not pushed.
    """
    saved = frontmatter.get(SECTIONS_KEY)
    if not isinstance(saved, str):
        return None
    return [(start, end, IndexedSection(*rest)) for start, end, *rest in json.loads(saved)]


class FoundSection(Struct, frozen=True):
    """A section that a search found.

    Attributes:
        section: The section.
        score: 0..1, higher is better.
        similarity: Cosine similarity; None without a vector.
    """

    section: IndexedSection
    score: float
    similarity: float | None


class SectionTotals(Struct, frozen=True):
    """The contents of all enabled collections together.

    Attributes:
        sections: Sections.
        dirty_sections: Those of documents that have changed since they were indexed.
        documents: Documents.
    """

    sections: int
    dirty_sections: int
    documents: int
