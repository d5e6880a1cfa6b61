"""Points and stretches of time as people write them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from mdvec.errors import UsageError
from mdvec.interfaces.times import parse_period

NOW = datetime(2026, 5, 15, 12, 0, 0, 250_000, tzinfo=timezone(timedelta(hours=9)))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12h", NOW - timedelta(hours=12)),
        ("7d", NOW - timedelta(days=7)),
        (" 2W ", NOW - timedelta(weeks=2)),
        ("2 weeks ago", NOW - timedelta(weeks=2)),
        ("1 month ago", NOW - timedelta(days=30)),
        ("３日前", NOW - timedelta(days=3)),
        ("2週間前", NOW - timedelta(weeks=2)),
        ("6ヶ月前", NOW - timedelta(days=180)),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=NOW.tzinfo)),
        ("2026/5/1", datetime(2026, 5, 1, tzinfo=NOW.tzinfo)),
        ("2026/05/01", datetime(2026, 5, 1, tzinfo=NOW.tzinfo)),
        ("2026-05-01T09:30", datetime(2026, 5, 1, 9, 30, tzinfo=NOW.tzinfo)),
        ("2026-05-01T09:30:00Z", datetime(2026, 5, 1, 9, 30, tzinfo=UTC)),
    ],
)
def test_points_in_time(text: str, moment: datetime) -> None:
    """Ages count back from now; times without an offset are local."""
    assert parse_period(text, now=NOW)[0] == round(moment.timestamp() * 1_000_000) * 1000


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
    assert parse_period(text, now=NOW)[1] == round(moment.timestamp() * 1_000_000) * 1000
    assert parse_period("9999-12-31", now=NOW)[1] == 2**63 - 1


def test_a_local_date_has_the_offset_of_its_season(monkeypatch: pytest.MonkeyPatch) -> None:
    """Midnight of a day in July is that of summer time, asked in November."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        now = datetime(2026, 11, 15, 12)  # noqa: DTZ001 - local
        since = parse_period("2026-07-01", now=now)[0]
        until = parse_period("2026-07", now=now)[1]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert since == datetime(2026, 6, 30, 22, tzinfo=UTC).timestamp() * 10**9
    assert until == datetime(2026, 7, 31, 22, tzinfo=UTC).timestamp() * 10**9


@pytest.mark.parametrize(("text", "since_ns"), [("99999w", 0), ("0001-01-01", 0), ("9999-12-31", 2**63 - 1)])
def test_far_times_fit_64_bits(text: str, since_ns: int) -> None:
    """Times that no file can have are brought into the range a store can compare."""
    assert parse_period(text, now=NOW)[0] == since_ns


@pytest.mark.parametrize(
    "text",
    [
        "",
        "someday",
        "7",
        "7m",
        "3日",
        "last",
        "2026-13",
        "99999 years ago",
        "-7d",
        "2026-13-01",
        "999999w",
        "5年",
        "元年",
    ],
)
def test_what_is_no_point_in_time_is_refused(text: str) -> None:
    """Anything else is a usage error that says what can be written."""
    with pytest.raises(UsageError) as caught:
        parse_period(text, now=NOW)
    assert all(word in caught.value.hint for word in ("2026-05-01", "7d", "yesterday", "先週"))


@pytest.mark.parametrize(
    ("texts", "first", "end"),
    [
        (("today", "今日"), (2026, 5, 15), (2026, 5, 16)),
        (("Yesterday", "昨日"), (2026, 5, 14), (2026, 5, 15)),
        (("一昨日", "おととい"), (2026, 5, 13), (2026, 5, 14)),
        (("2026年5月2日", "令和8年5月2日", "2026 年 05 月 02 日"), (2026, 5, 2), (2026, 5, 3)),
        (("2026年4月", "令和8年4月"), (2026, 4, 1), (2026, 5, 1)),
        (("2019年", "令和元年", "平成31年"), (2019, 1, 1), (2020, 1, 1)),
        (("this week", "今週"), (2026, 5, 11), (2026, 5, 18)),
        (("last week", "last-week", "先週"), (2026, 5, 4), (2026, 5, 11)),
        (("this month", "今月", "2026-05"), (2026, 5, 1), (2026, 6, 1)),
        (("last  month", "先月"), (2026, 4, 1), (2026, 5, 1)),
        (("this year", "今年", "2026"), (2026, 1, 1), (2027, 1, 1)),
        (("last year", "去年", "昨年"), (2025, 1, 1), (2026, 1, 1)),
        (("2024-02",), (2024, 2, 1), (2024, 3, 1)),
    ],
)
def test_a_period_has_two_ends(
    texts: tuple[str, ...], first: tuple[int, int, int], end: tuple[int, int, int]
) -> None:
    """Since it means from its beginning, until it to its end."""
    for text in texts:
        assert parse_period(text, now=NOW)[0] == datetime(*first, tzinfo=NOW.tzinfo).timestamp() * 10**9
        assert parse_period(text, now=NOW)[1] == datetime(*end, tzinfo=NOW.tzinfo).timestamp() * 10**9
