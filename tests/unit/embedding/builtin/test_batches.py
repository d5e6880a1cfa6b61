"""Packing texts by length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mdvec.embedding.builtin.engine import batches


@given(st.lists(st.integers(1, 512), max_size=60), st.integers(1, 2048))
def test_every_text_once_within_the_budget(lengths: list[int], max_tokens: int) -> None:
    """Each text is in one batch; a batch has one length and keeps to the budget unless it is one text."""
    packed = list(batches(lengths, max_tokens))
    assert sorted(index for batch in packed for index in batch) == list(range(len(lengths)))
    for batch in packed:
        assert len({lengths[index] for index in batch}) == 1
        assert len(batch) == 1 or lengths[batch[0]] * len(batch) <= max_tokens


def test_full_batches_longest_first() -> None:
    """Texts of one length share batches as far as the budget goes; the longest come first."""
    assert list(batches([5, 500, 5, 100, 5], 10)) == [[1], [3], [0, 2], [4]]
