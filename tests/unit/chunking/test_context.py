"""The line of context above an embedded text."""

from __future__ import annotations

import pytest

from mdvec.chunking.context import MAX_CONTEXT_CHARS, context_line
from mdvec.documents.parse import parse_document


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("---\ntitle: Guide\ntags: [a/b, c]\n---\n", ("Setup", "Linux"), "Guide › Setup › Linux #a/b #c"),
        ("# Guide\n", ("Guide", "Setup"), "Guide › Setup"),
        ("# Guide\n\n# Annex\n", ("Annex",), "Guide › Annex"),
        ("---\ntitle: GUIDE\n---\n", ("Guide", "Setup"), "Guide › Setup"),
        ("---\ntitle: Guide\n---\n", (), "Guide"),
        ("text #tag", (), "file-name #tag"),
        ("text", (), "file-name"),
        ("text", ("Setup",), "file-name › Setup"),
    ],
)
def test_the_line_names_title_headings_and_tags(text: str, path: tuple[str, ...], line: str) -> None:
    """The title is said once; the file's name is the title of a document that gives itself none."""
    assert context_line(parse_document("file-name.md", text), path) == line


def test_a_moved_file_keeps_its_context() -> None:
    """Nothing of its folder gets into the embedded text."""
    texts = {context_line(parse_document(path, "## H\n#t"), ("H",)) for path in ("a.md", "b/c/a.md")}
    assert len(texts) == 1


@pytest.mark.parametrize("name", ["x" * 10_000, "長" * 10_000, "word " * 3000])
def test_the_line_is_bounded(name: str) -> None:
    """Long titles are shortened and headings in the middle dropped, the nearest one stays."""
    tags = ", ".join(f"tag{number}" for number in range(100))
    document = parse_document("x.md", f"---\ntitle: {name}\ntags: {tags}\n---\n")
    line = context_line(document, ("first " * 20, "second " * 20, "third " * 20, "Nearest"))
    assert len(line) <= MAX_CONTEXT_CHARS
    assert "\n" not in line
    assert "› Nearest" in line
    assert line.startswith(name[:40])


def test_a_name_of_punctuation_says_nothing() -> None:
    """A document called ``-.md`` has its headings for context, and none without headings."""
    text = "## Sun\n\nText.\n"
    document = parse_document("=-/-.md", text)
    assert context_line(document, ()) == ""
    assert context_line(document, ("Sun",)) == "Sun"
