"""Which lines are boilerplate, and what is left of a text without them."""

from __future__ import annotations

import pytest

from mdvec.text.boilerplate import MIN_DOCUMENTS, MOST, shared_lines, without_boilerplate

NAVIGATION = "[Home](index.md) | [All answers](all.md)"
FOOTER = "<small>[Edit page-{at} in GitHub](https://github.com/help/edit/{at}.md)</small>"
SUBJECTS = ("bread", "birds", "taxes", "violins", "trains", "stars", "soup", "tents", "clocks", "maps")
CODE = "```python\nimport numpy as np\n```"
BODIES = [
    f"---\ntype: concept note\n---\n{NAVIGATION}\n\n# Overview\n\nA note on {subject}.\n\n"
    + f"{CODE}\n\n    make install\n\n"
    + ("Only in English.\n\n" if at % 3 == 0 else "")
    + FOOTER.format(at=at)
    for at, subject in enumerate(SUBJECTS)
]


def boilerplate_of(bodies: list[str]) -> list[str]:
    """Return the keys of the lines of most documents."""
    return [key for key, share in shared_lines(bodies).items() if share >= MOST]


def test_lines_of_most_documents_are_left_out() -> None:
    """Whatever they link to; what is told of each document stays, and what a third of them say."""
    known = boilerplate_of(BODIES)
    text = f"{NAVIGATION}\n\nA note on maps.\nOnly in English.\n\n{FOOTER.format(at=99)}\n"
    assert without_boilerplate(text, known) == "A note on maps.\nOnly in English."


@pytest.mark.parametrize(("documents", "shares"), [(100, [0.08]), (200, [])])
def test_lines_of_many_documents_are_known_too(documents: int, shares: list[float]) -> None:
    """What one document in twenty says tells a reader nothing of any of them."""
    names = [f"{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(documents)]
    bodies = [f"A note on {name}.\n" + "See the glossary.\n" * (at < 8) for at, name in enumerate(names)]
    assert list(shared_lines(bodies).values()) == shares


@pytest.mark.parametrize("line", ["# Overview", CODE, "    make install", "type: concept note", "---"])
def test_headings_code_and_frontmatter_stay(line: str) -> None:
    """They say what stands below or beside them."""
    text = f"A note on maps.\n\n{line}\n\nMaps fold."
    assert without_boilerplate(text, boilerplate_of(BODIES)) == text


def test_a_text_of_boilerplate_alone_stays_whole() -> None:
    """Its heading alone would be near whatever is asked."""
    text = f"## Elsewhere\n\n{NAVIGATION}\n"
    assert without_boilerplate(text, boilerplate_of(BODIES)) == text


def test_a_last_line_of_tags_alone_stays() -> None:
    """A reader sees no line there, and the text has no line end after it."""
    text = "A note on maps.\n\n<b>\nMaps fold.\n</b>"
    assert without_boilerplate(f"{NAVIGATION}\n\n{text}", boilerplate_of(BODIES)) == text


def test_a_few_documents_show_nothing() -> None:
    """What they have in common can be what they are about."""
    assert shared_lines(BODIES[: MIN_DOCUMENTS - 1]) == {}
    assert len(boilerplate_of(BODIES[:MIN_DOCUMENTS])) == 2


def test_the_middle_of_a_long_document_is_not_read() -> None:
    """Both of its ends are."""
    long = [f"{NAVIGATION}\n{'word ' * 5_000}\nin the middle\n{'word ' * 5_000}\nthe end" for _ in SUBJECTS]
    known = boilerplate_of(long)
    assert without_boilerplate(f"{NAVIGATION}\nin the middle\nthe end", known) == "in the middle"


def test_lines_with_numbers_can_be_left_in() -> None:
    """Telephone numbers are below the same label in every note, and differ."""
    bodies = [f"Tel: 555-01{number}\nAll rights reserved.\nNote {number} alone." for number in range(10, 30)]
    known = shared_lines(bodies)
    assert without_boilerplate(bodies[0] + "\nof Ann.", known) == "of Ann."
    assert "Tel: 555-0110" in without_boilerplate(bodies[0] + "\nof Ann.", known, with_numbers=False)
    assert "rights" not in without_boilerplate(bodies[0] + "\nof Ann.", known, with_numbers=False)
