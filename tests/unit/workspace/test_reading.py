"""Parts of documents."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mdvec.errors import DocumentNotFoundError
from mdvec.stores.records import StoredDocument
from mdvec.types.document import Comment
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.workspace.reading import lines_of_section


def _stored(body: str) -> StoredDocument:
    return StoredDocument(
        id=DocumentId(1),
        collection="notes",
        collection_id=CollectionId(1),
        path="a.md",
        locator="a.md",
        title="a",
        body=body,
        comments=(),
        content_start=0,
        frontmatter={},
        tags=(),
        aliases=(),
        content_hash=b"",
        mtime_ns=0,
        changed_ns=0,
        size=len(body),
        dirty=False,
        indexed_at_ms=0,
    )


def test_the_hint_for_a_missing_section_is_short() -> None:
    """It compares and shows only the beginnings of some headings, however long and many they are."""
    body = "".join(f"# {'long ' * 150}{number}\n\n" for number in range(3_000))
    with pytest.raises(DocumentNotFoundError) as caught:
        lines_of_section(_stored(body), "long " * 10_000)
    assert 0 < len(caught.value.hint) < 300


def test_headings_above_tell_sections_of_one_name_apart() -> None:
    """As hits show them, with ``›`` between, the title first, or as links do; a hint has each once."""
    document = _stored("---\ntitle: Log\n---\n# 2.0\n\n## Fixed\n\nb\n\n# 1.0\n\n## Fixed\n\na\n")
    assert lines_of_section(document, "fixed") == (6, 8)
    for wanted in ("1.0 › Fixed", "log › 1.0 › fixed", "## 1.0 › Fixed", "1.0#Fixed", "Log#1.0#fixed"):
        assert lines_of_section(document, wanted) == (12, 14)
    with pytest.raises(DocumentNotFoundError) as caught:
        lines_of_section(document, "1 › Fixed")
    assert caught.value.hint.count("Fixed") == 1


@pytest.mark.parametrize(
    "wanted",
    [
        "## Basic *usage* {#basic-usage}",
        "Basic *usage*",
        "Basic usage",
        "#basic-usage",
        "basic-usage",
        "the-id",
    ],
)
def test_a_section_is_named_as_the_document_has_it(wanted: str) -> None:
    """With markup and an id, as it was read, or as a link names it."""
    identifier = "the-id" if wanted == "the-id" else "basic-usage"
    document = _stored(f"# Title\n\ntext\n\n## Basic *usage* {{#{identifier}}}\n\nmore\n")
    assert lines_of_section(document, wanted) == (5, 7)


def test_the_beginning_of_one_heading_names_its_section() -> None:
    """Up to the end of a word; if several headings begin so, none is meant."""
    document = _stored(
        "# 日記\n\n## 2021年2月3日（水）\n\nRain.\n\n## Notes on rain\n\nx\n\n## Notes on sun\n\ny\n"
    )
    assert lines_of_section(document, "2021年2月3日") == (3, 5)
    for name in ("2021年2月", "Notes on", "Note"):
        with pytest.raises(DocumentNotFoundError):
            lines_of_section(document, name)


@pytest.mark.parametrize(("comment", "last"), [("<!-- place: sheet Stock -->", 3), ("<!-- to check -->", 5)])
def test_a_section_ends_before_the_next_place(comment: str, last: int) -> None:
    """Such as the next sheet of a converted file; another comment at the end belongs to the section."""
    before, after = "## Sales\n\n120\n\n", "\n## Stock\n\n300\n"
    document = _stored(before + " " * len(comment) + after)
    document = replace(document, comments=(Comment(len(before), comment),))
    assert lines_of_section(document, "Sales") == (1, last)


@pytest.mark.parametrize(
    ("wanted", "first"), [("C%2B%2B", 1), ("C++", 3), ("Encode a space as %20", 5), ("C++%20notes", 7)]
)
def test_a_percent_sign_in_a_heading_is_one(wanted: str, first: int) -> None:
    """An encoded name is decoded only where no section has it as it is."""
    body = "# C%2B%2B\n\n# C++\n\n# Encode a space as %20\n\n# C++ notes\n"
    assert lines_of_section(_stored(body), wanted) == (first, first)


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ("notes", (1, 2)),
        ("notes-1", (3, 4)),
        ("notes-2", (5, 6)),
        ("what's new-ish", (7, 7)),
        ("notes-3", None),
    ],
)
def test_headings_of_one_name_have_numbered_anchors(wanted: str, lines: tuple[int, int] | None) -> None:
    """As on the page and on GitHub; quotation marks and dashes may be typed as on a keyboard."""
    document = _stored("# Notes\na\n# Notes\nb\n# Notes\nc\n# What’s new–ish\n")
    if lines:
        assert lines_of_section(document, wanted) == lines
        return
    with pytest.raises(DocumentNotFoundError):
        lines_of_section(document, wanted)


@pytest.mark.parametrize(
    ("wanted", "lines"), [("^boards", (5, 6)), ("^one", (8, 8)), ("^two", (9, 10)), ("^quote", (12, 12))]
)
def test_a_block_is_named_by_its_id(wanted: str, lines: tuple[int, int]) -> None:
    """It is at the end of the block, or alone below it, as Obsidian writes it."""
    front = "---\na: b ^boards\n---\n\n"
    body = f"{front}The boards\nare here. ^boards\n\n- one ^one\n- two\n  more ^two\n\n> quote\n\n^quote\n"
    assert lines_of_section(_stored(body), wanted) == lines
    with pytest.raises(DocumentNotFoundError):
        lines_of_section(_stored(body), "^none")
