"""How texts become windows, and windows batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mdvec.embedding.local.inference import batches_by_length
from mdvec.embedding.windows import windows_at, windows_by_halves
from mdvec.text.tokens import estimate_token_count, estimate_token_ends

TEXTS = st.text(st.sampled_from("ab 検索。\n"), max_size=80)


@given(TEXTS, st.integers(1, 12))
def test_windows_are_the_text(text: str, max_tokens: int) -> None:
    """Cut at the ends of tokens, a text loses nothing, and no window has more tokens than allowed."""
    windows = windows_at(3, text, estimate_token_ends(text), max_tokens)
    assert "".join(window.text for window in windows) == text
    assert {window.owner for window in windows} == {3}
    assert all(1 <= window.tokens <= max_tokens for window in windows)
    assert sum(window.tokens for window in windows) == max(1, estimate_token_count(text))


@given(TEXTS, st.integers(1, 12))
def test_halves_are_the_text(text: str, max_tokens: int) -> None:
    """Cut by halves, a text loses nothing, and every window that can be cut is short enough."""
    windows = windows_by_halves(0, text, len, max_tokens)
    assert "".join(window.text for window in windows) == text
    assert all(window.tokens <= max_tokens for window in windows)
    assert [(window.place, window.count) for window in windows] == [
        (place, len(windows)) for place in range(len(windows))
    ]


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 6), st.integers(1, 120))
def test_batches_hold_each_text_once(lengths: list[int], most: int, max_tokens: int) -> None:
    """A batch is neither too long nor, padded, too large, unless it is one text."""
    packed = list(batches_by_length(lengths, max_texts=most, max_tokens=max_tokens))
    assert sorted(index for batch in packed for index in batch) == list(range(len(lengths)))
    for batch in packed:
        assert len(batch) <= most
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= max_tokens
