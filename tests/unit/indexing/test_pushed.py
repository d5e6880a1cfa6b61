"""Sections that clients wrote become chunks as they are, and come back as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mdvec.indexing.pushed import pushed_record, pushed_sections
from mdvec.stores.records import StoredDocument
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.section import IndexedSection

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def stored(path: str, sections: list[IndexedSection]) -> StoredDocument:
    """Return the document as a store keeps it."""
    record = pushed_record(path, sections)
    document = record.document
    return StoredDocument(
        id=DocumentId(1),
        collection="pushed",
        collection_id=CollectionId(1),
        path=path,
        locator=path,
        title=document.title,
        body=document.body,
        comments=(),
        content_start=0,
        frontmatter=document.frontmatter,
        tags=(),
        aliases=(),
        content_hash=record.content_hash,
        mtime_ns=0,
        changed_ns=0,
        size=0,
        dirty=False,
        indexed_at_ms=0,
    )


def section(number: int, content: str, **fields: object) -> IndexedSection:
    made = IndexedSection(
        id=f"s{number}",
        document_path="a.md",
        heading="",
        depth=0,
        content=content,
        token_count=3,
        parent_id=None,
        order=number,
        is_dirty=False,
        document_hash="h",
        created_at_ms=5,
        updated_at_ms=6,
    )
    return replace(made, **fields)


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_sections_are_kept_chunk_for_chunk(contents: list[str]) -> None:
    """Every chunk is the text that was given, at its place in the body, and reads back as it was."""
    sections = [section(number, content) for number, content in enumerate(contents)]
    record = pushed_record("a.md", sections)
    assert [chunk.text for chunk in record.chunks] == contents
    for chunk in record.chunks:
        assert record.document.body[chunk.start : chunk.end] == chunk.text
        assert chunk.start_line == record.document.body.count("\n", 0, chunk.start) + 1
    assert pushed_sections(stored("a.md", sections)) == tuple(sections)


def test_parents_give_headings_whatever_order_they_come_in() -> None:
    """A heading path leads from the outermost section; a circle of parents ends."""
    sections = [
        section(2, "c", heading="C", parent_id="s1", order=2),
        section(0, "a", heading="A", parent_id="gone", order=0),
        section(1, "b", heading="B", parent_id="s0", order=1),
        section(3, "d", heading="D", parent_id="s4", order=3),
        section(4, "e", heading="E", parent_id="s3", order=4),
    ]
    chunks = pushed_record("a.md", sections).chunks
    assert [chunk.heading_path for chunk in chunks[:3]] == [("A",), ("A", "B"), ("A", "B", "C")]
    assert [chunk.parent for chunk in chunks] == [None, 0, 1, 4, 3]
    assert [chunk.heading_path for chunk in chunks[3:]] == [("E", "D"), ("D", "E")]
