"""Line ranges as people write them, and requests as searches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.config.schema import SearchSettings
from mdvec.errors import UsageError
from mdvec.interfaces.requests import SearchRequest, parse_lines, search_query
from mdvec.types.query import MIN_SCORE


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_range_is_read_back(first: int, length: int) -> None:
    """Every range that can be written is read as written."""
    last = first + length
    assert parse_lines(f"{first}:{last}") == (first, last)
    assert parse_lines(f"{first}:") == (first, None)
    assert parse_lines(f":{last}") == (None, last)
    assert parse_lines(f"{first}") == parse_lines(f"L{first}") == (first, first)
    assert parse_lines(f"L{first}-L{last}") == parse_lines(f"{first}-{last}") == (first, last)


@pytest.mark.parametrize("text", ["", ":", "a:b", "5:2", "0:3", ":0", "-1:2", "1:2:3", "L", "L-L", "1L2"])
def test_what_is_no_range_is_refused(text: str) -> None:
    """Anything else is a usage error."""
    with pytest.raises(UsageError):
        parse_lines(text)


@pytest.mark.parametrize(
    ("given", "configured", "searched"), [(None, 0.3, 0.3), (0.0, 0.3, 0.0), (0.7, 0.3, 0.7)]
)
def test_the_smallest_score_is_that_of_the_request(
    given: float | None, configured: float, searched: float
) -> None:
    """Zero is one, too; without any the configuration says it."""
    query = search_query(SearchRequest(query="x", min_score=given), SearchSettings(min_score=configured))
    assert query.min_score == searched


def test_a_plain_request_leaves_weak_and_like_texts_out() -> None:
    """As a search without a door does."""
    query = search_query(SearchRequest(query="x"), SearchSettings())
    assert (query.min_score, query.all_similar) == (MIN_SCORE, False)
    assert search_query(SearchRequest(query="x", all_similar=True), SearchSettings()).all_similar
