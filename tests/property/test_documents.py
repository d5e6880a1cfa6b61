"""What holds for the document of any text."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.property.markdown import markdown_texts

from mdvec.documents.parse import parse_document
from mdvec.types.document import with_comments


def _without_space(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=150, deadline=None)
@given(markdown_texts(), st.sampled_from(["a.md", "b.txt", "c.mdx"]))
def test_sections_tile_the_content(text: str, path: str) -> None:
    """Sections follow each other without gap, in a tree whose levels grow downwards."""
    document = parse_document(path, text)
    position = document.content_start
    for section in document.sections:
        assert section.start == position
        assert section.end <= section.subtree_end <= len(text)
        position = section.end
        if section.parent is not None:
            parent = document.sections[section.parent]
            assert parent.ordinal < section.ordinal
            assert parent.level < section.level
            assert parent.subtree_end >= section.subtree_end
            own = (section.heading,) if section.heading else ()
            assert section.heading_path == (*parent.heading_path, *own)
    assert position == len(text)


@settings(max_examples=150, deadline=None)
@given(markdown_texts(), st.sampled_from(["a.md", "b.txt"]))
def test_blocks_hold_all_text_in_order(text: str, path: str) -> None:
    """Every character of the content that is not white space is in exactly one block."""
    document = parse_document(path, text)
    position = document.content_start
    for block in document.blocks:
        assert position <= block.start < block.end
        position = block.end
    blocks = "".join(document.body[block.start : block.end] for block in document.blocks)
    assert _without_space(blocks) == _without_space(document.body[document.content_start :])


@settings(max_examples=150, deadline=None)
@example("\u3000%%%%")
@example("\xa0%%%%\n")
@example("%%\n%%\xa0<!-- a -->")
@given(markdown_texts())
def test_comments_hide_themselves_and_nothing_else(text: str) -> None:
    """Comments do not overlap, the body differs in them alone, and with them it is the file again."""
    document = parse_document("a.md", text)
    assert len(document.body) == len(text)
    assert with_comments(document.body, document.comments) == text
    position = document.content_start
    for comment in document.comments:
        assert position <= comment.start
        position = comment.end
        assert (comment.text[:2], comment.text[-2:]) in {("%%", "%%"), ("<!", "->")}
        assert not document.body[comment.start : comment.end].strip()


@settings(max_examples=150, deadline=None)
@given(markdown_texts())
def test_metadata_is_clean(text: str) -> None:
    """Tags and aliases are distinct and not blank, lines exist, frontmatter fits JSON, a title is there."""
    document = parse_document("a.md", text)
    assert document.title.strip()
    folded = [tag.casefold() for tag in document.tags]
    assert len(set(folded)) == len(folded)
    assert all(tag == tag.strip() and not tag.startswith("#") for tag in document.tags)
    assert all(alias.strip() for alias in document.aliases)
    assert all(1 <= link.line <= text.count("\n") + 1 for link in document.links)
    json.dumps(document.frontmatter, allow_nan=False)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_any_text_parses(text: str) -> None:
    """No text at all makes the parser raise."""
    for path in ("a.md", "a.txt"):
        document = parse_document(path, text)
        assert with_comments(document.body, document.comments) == text
