"""How much text is returned around a hit."""

from __future__ import annotations

import pytest

from mdvec.search.extracts import Extract, fit
from mdvec.text.tokens import estimate_token_count


def whole(text: str, *, start: int = 0, start_line: int = 1) -> Extract:
    end_line = start_line + text.rstrip("\n").count("\n")
    return Extract(start, start + len(text), start_line, end_line, text, estimate_token_count(text))


LINES = [f"line {number} of it\n" for number in range(1, 101)]
DOCUMENT = whole("".join(LINES))
MANY = 10_000


def lines(first: int, last: int) -> Extract:
    """Return some lines of the document as a passage."""
    return whole("".join(LINES[first - 1 : last]), start=len("".join(LINES[: first - 1])), start_line=first)


def test_what_fits_is_returned_whole() -> None:
    """Nothing is cut, and nothing is said to be."""
    assert fit(lines(40, 42), DOCUMENT, None, MANY, first=False) == DOCUMENT
    assert fit(lines(40, 42), lines(40, 42), None, 1, first=False) == lines(40, 42)


@pytest.mark.parametrize("room", [12, 40, 100, 399])
@pytest.mark.parametrize("first", [1, 2, 40, 97])
def test_a_text_that_is_too_long_is_cut_around_the_passage(first: int, room: int) -> None:
    """In whole lines, with the passage inside; and the lines that are missing are named."""
    part = fit(lines(first, first + 2), DOCUMENT, None, room, first=False)
    assert part is not None
    assert part.tokens <= room or part.start_line == first
    assert part.start_line <= first <= first + 2 <= part.end_line
    assert part.text.strip("\n") == DOCUMENT.text[part.start : part.end].strip("\n")
    assert part.text.splitlines() == [each.strip() for each in LINES[part.start_line - 1 : part.end_line]]
    named = [tuple(map(int, each.split(":"))) for each in part.cut_lines]
    missing = {number for begin, end in named for number in range(begin, end + 1)}
    assert missing == set(range(1, 101)) - set(range(part.start_line, part.end_line + 1))


def test_a_passage_that_does_not_fit_is_left_out() -> None:
    """Unless it is the first."""
    passage = lines(1, 30)
    assert fit(passage, passage, passage.tokens, MANY, first=False) == passage
    assert fit(passage, passage, passage.tokens - 1, MANY, first=False) is None


@pytest.mark.parametrize("max_tokens", range(1, 30))
@pytest.mark.parametrize(
    "text",
    ["First sentence here. Second one.\n\nThird.\n", "一つ目の文です。二つ目の文です。\n三つ目。", "x" * 200],
)
def test_the_first_hit_is_cut_rather_than_left_out(text: str, max_tokens: int) -> None:
    """What is left is the beginning, not blank, within the budget, and its positions are its own."""
    chunk = whole(text, start=7, start_line=3)
    cut = fit(chunk, chunk, max_tokens, MANY, first=True)
    assert cut is not None
    assert text.startswith(cut.text)
    assert cut.text.strip()
    assert estimate_token_count(cut.text) <= max_tokens
    assert cut.tokens <= max_tokens
    assert (cut.start, cut.end) == (7, 7 + len(cut.text))
    assert cut.end_line == 3 + cut.text.rstrip("\n").count("\n")
    assert bool(cut.cut_lines) == (cut.text.strip() != text.strip())


def test_a_cut_falls_on_the_end_of_a_sentence_when_one_is_near() -> None:
    """Half of the budget may be given up for it."""
    chunk = whole("The first sentence is here. The second one is longer than that.")
    most = estimate_token_count("The first sentence is here. The second")
    cut = fit(chunk, chunk, most, MANY, first=True)
    assert cut is not None
    assert cut.text == "The first sentence is here."
