"""How much text is returned around a hit."""

from __future__ import annotations

import pytest

from mdvec.search.expand import Extract, fit
from mdvec.text.tokens import estimate_token_count


def whole(text: str, *, start: int = 0, start_line: int = 1) -> Extract:
    end_line = start_line + text.rstrip("\n").count("\n")
    return Extract(start, start + len(text), start_line, end_line, text, estimate_token_count(text))


SMALL = whole("one two")
LARGE = whole("one two three four five six")


def test_the_larger_text_that_fits_is_taken() -> None:
    """The expanded one if it fits, else the chunk alone, else nothing."""
    assert fit(LARGE, SMALL, LARGE.tokens, first=False) == LARGE
    assert fit(LARGE, SMALL, LARGE.tokens - 1, first=False) == SMALL
    assert fit(LARGE, SMALL, SMALL.tokens - 1, first=False) is None


@pytest.mark.parametrize("max_tokens", range(1, 30))
@pytest.mark.parametrize(
    "text",
    ["First sentence here. Second one.\n\nThird.\n", "一つ目の文です。二つ目の文です。\n三つ目。", "x" * 200],
)
def test_the_first_hit_is_cut_rather_than_dropped(text: str, max_tokens: int) -> None:
    """What is left is the beginning, not blank, within the budget, and its positions are its own."""
    chunk = whole(text, start=7, start_line=3)
    cut = fit(chunk, chunk, max_tokens, first=True)
    assert cut is not None
    assert text.startswith(cut.text)
    assert cut.text.strip()
    assert estimate_token_count(cut.text) <= max_tokens
    assert cut.tokens <= max_tokens
    assert (cut.start, cut.end) == (7, 7 + len(cut.text))
    assert cut.end_line == 3 + cut.text.rstrip("\n").count("\n")


def test_a_cut_falls_on_the_end_of_a_sentence_when_one_is_near() -> None:
    """Half of the budget may be given up for it."""
    chunk = whole("The first sentence is here. The second one is longer than that.")
    cut = fit(chunk, chunk, estimate_token_count("The first sentence is here. The second"), first=True)
    assert cut is not None
    assert cut.text == "The first sentence is here."
