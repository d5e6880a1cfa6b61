"""The sentences a text ends with."""

from __future__ import annotations

import pytest

from mdvec.chunking.previous import MAX_CHARS, last_sentences
from mdvec.documents.parse import parse_document


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
    assert _last("x" * 100_000) == "…" + "x" * (MAX_CHARS - 1)
    family = "👨‍👩‍👧‍👦"
    ending = _last(family * 200)
    assert len(ending) <= MAX_CHARS
    assert ending.strip("…") == family * ending.count("👨")
