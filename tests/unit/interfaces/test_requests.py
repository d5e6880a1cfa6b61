"""Dates, ages and line ranges as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import UsageError
from mdvec.interfaces.requests import parse_lines, parse_since, parse_until

NOW = datetime(2026, 5, 15, 12, 0, 0, 250_000, tzinfo=timezone(timedelta(hours=9)))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12h", NOW - timedelta(hours=12)),
        ("7d", NOW - timedelta(days=7)),
        (" 2W ", NOW - timedelta(weeks=2)),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=NOW.tzinfo)),
        ("2026-05-01T09:30", datetime(2026, 5, 1, 9, 30, tzinfo=NOW.tzinfo)),
        ("2026-05-01T09:30:00Z", datetime(2026, 5, 1, 9, 30, tzinfo=UTC)),
    ],
)
def test_points_in_time(text: str, moment: datetime) -> None:
    """Ages count back from now; times without an offset are local."""
    assert parse_since(text, now=NOW) == round(moment.timestamp() * 1_000_000) * 1000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-01", datetime(2026, 5, 2, tzinfo=NOW.tzinfo)),
        (" 20260501 ", datetime(2026, 5, 2, tzinfo=NOW.tzinfo)),
        ("2026-05-01T00:00", datetime(2026, 5, 1, tzinfo=NOW.tzinfo)),
        ("7d", NOW - timedelta(days=7)),
    ],
)
def test_ends_of_a_stretch_of_time(text: str, moment: datetime) -> None:
    """A day is counted in; a time and an age are the end themselves."""
    assert parse_until(text, now=NOW) == round(moment.timestamp() * 1_000_000) * 1000
    assert parse_until("9999-12-31", now=NOW) == 2**63 - 1


@pytest.mark.parametrize(("text", "since_ns"), [("99999w", 0), ("0001-01-01", 0), ("9999-12-31", 2**63 - 1)])
def test_far_times_fit_64_bits(text: str, since_ns: int) -> None:
    """Times that no file can have are brought into the range a store can compare."""
    assert parse_since(text, now=NOW) == since_ns


@pytest.mark.parametrize("text", ["", "yesterday", "7", "7m", "-7d", "2026-13-01", "999999w"])
def test_what_is_no_point_in_time_is_refused(text: str) -> None:
    """Anything else is a usage error that says what can be written."""
    with pytest.raises(UsageError) as caught:
        parse_since(text, now=NOW)
    assert "7d" in caught.value.hint


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
