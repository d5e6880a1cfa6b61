"""How texts are cut and packed for services."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mdvec.embedding.remote.batches import batches, sendable_windows
from mdvec.embedding.windows import Window

TEXTS = st.lists(st.text(st.characters(), max_size=80), max_size=6)


@given(TEXTS, st.integers(1, 9))
def test_nothing_is_cut_off(texts: list[str], max_tokens: int) -> None:
    """The windows of a text are the whole of it, in order, none of them blank or too long."""
    cut = list(sendable_windows(texts, (), max_tokens))
    assert [window.owner for window in cut] == sorted(window.owner for window in cut)
    for owner, text in enumerate(texts):
        mine = [window for window in cut if window.owner == owner]
        whole = "".join(window.text for window in mine)
        assert whole == text.encode("utf-8", "replace").decode() or (whole == "-" and not text.strip())
        assert all(1 <= window.tokens <= max_tokens for window in mine)


@given(TEXTS)
def test_windows_can_be_sent(texts: list[str]) -> None:
    """What is sent is never blank and can be written as UTF-8, whatever the text was."""
    for window in sendable_windows(texts, texts, 5):
        assert window.text.encode().strip()
        window.title.encode()


def test_titles_go_with_every_window() -> None:
    """Each window has the title of its text, on one line and of bounded length."""
    cut = list(sendable_windows(["one two three", "four"], ["A\n title", "x" * 500], 2))
    assert [(window.text, window.title) for window in cut[:2]] == [
        ("one two", "A title"),
        (" three", "A title"),
    ]
    assert len(cut[2].title) == 200


@given(TEXTS, st.integers(1, 9))
def test_windows_know_their_place(texts: list[str], max_tokens: int) -> None:
    """Each window says which part of its text it is, and of how many."""
    cut = list(sendable_windows(texts, (), max_tokens))
    for owner in range(len(texts)):
        mine = [window for window in cut if window.owner == owner]
        assert [(window.place, window.count) for window in mine] == [(n, len(mine)) for n in range(len(mine))]


def sized(sizes: list[int]) -> list[Window]:
    return [Window(owner, "x", tokens) for owner, tokens in enumerate(sizes)]


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 7), st.integers(1, 60))
def test_batches_cover_all_within_limits(sizes: list[int], most: int, most_tokens: int) -> None:
    """Each window is in one batch, in order; a batch keeps both limits unless it is a single window."""
    packed = list(batches(sized(sizes), max_texts=lambda: most, max_tokens=most_tokens))
    assert [window for batch in packed for window in batch] == sized(sizes)
    for batch in packed:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(window.tokens for window in batch) <= most_tokens


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 7), st.integers(1, 60))
def test_batches_are_as_full_as_they_can_be(sizes: list[int], most: int, most_tokens: int) -> None:
    """No batch would have had room for the window after it."""
    packed = list(batches(sized(sizes), max_texts=lambda: most, max_tokens=most_tokens))
    for batch, after in pairwise(packed):
        tokens = sum(window.tokens for window in batch)
        assert len(batch) == most or tokens + after[0].tokens > most_tokens


def test_a_limit_that_falls_is_kept_from_then_on() -> None:
    """Batches that are not made yet keep a limit that was found out meanwhile."""
    limits = iter([4])
    most = 8

    def now() -> int:
        return most

    made = []
    for batch in batches(sized([1] * 20), max_texts=now, max_tokens=99):
        made.append(len(batch))
        most = next(limits, most)
    assert made == [8, 4, 4, 4]
