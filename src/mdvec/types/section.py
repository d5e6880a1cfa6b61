"""A section of an indexed document as other programs write and read it."""

from __future__ import annotations

from msgspec import Struct


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
    """What all enabled collections hold together.

    Attributes:
        sections: Sections.
        dirty_sections: Those of documents that have changed since they were indexed.
        documents: Documents.
    """

    sections: int
    dirty_sections: int
    documents: int
