"""Line ranges as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import UsageError
from mdvec.interfaces.requests import parse_lines


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_range_is_read_back(first: int, length: int) -> None:
    """Every range that can be written is read as written."""
    last = first + length
    assert parse_lines(f"{first}:{last}") == (first, last)
    assert parse_lines(f"{first}:") == (first, None)
    assert parse_lines(f":{last}") == (None, last)
    assert parse_lines(f"{first}") == (first, first)


@pytest.mark.parametrize("text", ["", ":", "a:b", "5:2", "0:3", ":0", "-1:2", "1:2:3"])
def test_what_is_no_range_is_refused(text: str) -> None:
    """Anything else is a usage error."""
    with pytest.raises(UsageError):
        parse_lines(text)
