"""The line of context above an embedded text."""

from __future__ import annotations

import pytest

from mdvec.chunking.writing import MAX_CONTEXT_CHARS, MAX_PREVIOUS_CHARS, context_line, last_sentences
from mdvec.documents.parse import parse_document


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("---\ntitle: Guide\ntags: [a/b, c]\n---\n", ("Setup", "Linux"), "Guide › Setup › Linux #a/b #c"),
        ("# Guide\n", ("Guide", "Setup"), "Guide › Setup"),
        ("# File guide\n\n# Annex\n", ("Annex",), "File guide › Annex"),
        ("# Guide\n\n# Annex\n", ("Annex",), "file-name › Annex"),
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


# --- the sentences before ----------------------------------------------------------------------


def _last(text: str) -> str:
    return last_sentences(parse_document("x.md", text), 0, len(text))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("## A\n\nOne. Two! Three?", "Two! Three?"),
        ("## A\n\n一つ。二つ。三つ", "二つ。三つ"),
        ("Only one", "Only one"),
        ("One, e.g. this. Two\nover lines.", "One, e.g. this. Two over lines."),
        ("First paragraph.\n\nSecond paragraph.", "First paragraph. Second paragraph."),
        ("## A\n", ""),
        ("", ""),
    ],
)
def test_the_last_two_sentences_are_taken(text: str, sentences: str) -> None:
    """In either language, across lines and paragraphs; a heading is no sentence."""
    assert _last(text) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Said before.\n\n```\ncode. more code.\n```\n", "Said before."),
        ("Said before.\n\n    indented. code.\n", "Said before."),
        ("Said before.\n\n| a. b | c. d |\n|---|---|\n| e. | f. |\n", "Said before."),
        ("Said before.\n\n<div>\nHtml. Here.\n</div>\n", "Said before."),
        ("Said before.\n\n* * *\n\n### Deeper heading.\n", "Said before."),
        ("- buy milk\n- [x] call mother\n", "buy milk call mother"),
        ("1. First step.\n2. Second step.\n", "First step. Second step."),
        ("> Quoted words. More of them.\n", "Quoted words. More of them."),
    ],
)
def test_markup_is_no_sentence(text: str, sentences: str) -> None:
    """Code, tables, HTML and rules are passed over; items and quotations lose their marks."""
    assert _last(text) == sentences


def test_only_the_span_is_read() -> None:
    """Sentences of the section before do not come in."""
    text = "One. Two.\n\n## B\n\nThree.\n\n## C\n\nFour."
    document = parse_document("x.md", text)
    assert last_sentences(document, text.index("## B"), text.index("## C")) == "Three."


def test_long_sentences_are_bounded() -> None:
    """One is enough when two are too long, and of one that is too long the end is kept."""
    assert _last(f"{'a' * 200}. {'b' * 200}.") == f"{'b' * 200}."
    assert _last("あ" * 100_000) == "…" + "あ" * (MAX_PREVIOUS_CHARS - 1)
    family = "👨‍👩‍👧‍👦"
    ending = _last(family * 200)
    assert len(ending) <= MAX_PREVIOUS_CHARS
    assert ending.strip("…") == family * ending.count("👨")
