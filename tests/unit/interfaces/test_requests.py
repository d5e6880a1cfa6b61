"""Line ranges as people write them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import UsageError
from mdvec.interfaces.requests import SearchRequest, parse_lines, understood, what_is_wrong


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


def test_parameters_are_understood_as_mcp_understands_them() -> None:
    """A single value is a list of one, null is left out, and 5.0 is a whole number."""
    sent = {"query": "x", "tags": "ai", "depth": 1, "limit": 5.0, "where": None, "path": None}
    wanted = SearchRequest(query="x", tags=("ai",), depth=(1,), limit=5)
    assert msgspec.convert(understood(sent, SearchRequest), SearchRequest) == wanted


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "`query` is missing"),
        ({"query": None}, "`query` must be text, not null"),
        ({"query": "x", "tags": ["a", 3]}, "`tags[1]` must be text, not a whole number"),
        ({"query": "x", "limit": "5"}, "`limit` must be a whole number, not text"),
        ({"query": "x", "limit": 0}, "`limit` must be a whole number >= 1"),
        ({"query": "x", "mode": "fast"}, "`mode` must be one of hybrid, dense, lexical, not 'fast'"),
        ({"query": "x", "tag_match": "no"}, "`tag_match` must be one of any, all, not 'no'"),
    ],
)
def test_what_is_wrong_is_said_in_words(sent: dict[str, object], words: str) -> None:
    """Words of JSON, with what is allowed; not those of Python."""
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(understood(sent, SearchRequest), SearchRequest)
    assert what_is_wrong(caught.value, SearchRequest) == words
