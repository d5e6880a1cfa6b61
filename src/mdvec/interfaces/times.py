"""Points and stretches of time as people write them, in English and Japanese."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from unicodedata import normalize

from mdvec.errors import UsageError
from mdvec.text.moments import ERAS

_AGES = (
    re.compile(r"(\d{1,5}) ?(h|d|w|(?:hour|day|week|month|year)s?)(?: ago)?"),
    re.compile(r"(\d{1,5}) ?(時間?|日|週|[かカケヵヶ]月|年)間?前"),
)
# By the first letter of the unit. An age says about when: a month is 30 days, a year 365.
_HOURS = {
    **dict.fromkeys("h時", 1),
    **dict.fromkeys("d日", 24),
    **dict.fromkeys("w週", 7 * 24),
    **dict.fromkeys("mかカケヵヶ", 30 * 24),
    **dict.fromkeys("y年", 365 * 24),
}
# The unit, and how many of them ago.
_PERIODS = {
    **dict.fromkeys(("today", "今日"), ("d", 0)),
    **dict.fromkeys(("yesterday", "昨日"), ("d", 1)),
    **dict.fromkeys(("一昨日", "おととい"), ("d", 2)),
    **dict.fromkeys(("this week", "今週"), ("w", 0)),
    **dict.fromkeys(("last week", "先週"), ("w", 1)),
    **dict.fromkeys(("this month", "今月"), ("m", 0)),
    **dict.fromkeys(("last month", "先月"), ("m", 1)),
    **dict.fromkeys(("this year", "今年"), ("y", 0)),
    **dict.fromkeys(("last year", "去年", "昨年"), ("y", 1)),
}
_LONGEST_DAYS = {"d": 1, "w": 7, "m": 31, "y": 366}
_DATE = re.compile(r"(\d{4})(?:([-/]?)((?<=[-/])\d\d?|\d\d)(?:\2((?<=[-/])\d\d?|\d\d))?)?")
_JAPANESE_DATE = re.compile(
    r"(?:(?P<era>令和|平成|昭和)(?P<number>\d{1,2}|元)|(?P<year>\d{4}))年(?:(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})日)?)?"
)
_KANJI_DIGITS = str.maketrans("一二三四五六七八九", "123456789")
_HINT = (
    "Write a date or a time (2026-05-01, 2026-05, 2026-05-01T09:30), an age (12h, 7d, 2 weeks ago, 3日前), "
    "or today, yesterday, this or last week, month or year (今日, 昨日, 先週, 今月, 去年, 2026年5月1日)."
)
# Times of files are stored in 64 bits; before 1970 and after 2262 there are none.
_LAST_NS = 2**63 - 1
_LAST_YEAR = 2262


def parse_period(text: str, *, now: datetime) -> tuple[int, int]:
    """Parse a period, or a point in time.

    Args:
        text: A period such as ``2026-05-01``, ``2026-05`` or ``last week``, an ISO 8601 time, or an age such
            as ``12h``, ``7d`` or ``2 weeks ago``. A time without an offset is in the time zone of ``now``.
        now: The moment that an age counts back from. Without a time zone it is local time, whose offset may
            change with the season.

    Returns:
        Its two ends, in nanoseconds since 1970; of a point in time, the point twice. The second one is past
        the period: after a day the start of the next.

    Raises:
        UsageError: If it is none of these.
    """
    folded = " ".join(normalize("NFKC", text).casefold().split())
    try:
        start, end = _age(folded, now) or _named(folded, now) or _date(folded, now) or _moment(text, now)
        return _nanoseconds(start), _nanoseconds(end)
    except (ValueError, OverflowError, OSError) as error:
        msg = f"not a date, a time or an age: {text!r}"
        raise UsageError(msg, hint=_HINT) from error


def _age(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    for pattern in _AGES:
        if age := pattern.fullmatch(text.translate(_KANJI_DIGITS)):
            hours = int(age[1]) * _HOURS[age[2][0]]
            moment = datetime.fromtimestamp(now.timestamp() - hours * 3600, now.tzinfo)
            return moment, moment
    return None


def _named(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    if (found := _PERIODS.get(text.replace("-", " "))) is None:
        return None
    unit, ago = found
    start = _start(unit, now)
    for _ in range(ago):
        start = _start(unit, start - timedelta(days=1))
    return start, _end(unit, start)


def _date(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    if found := _JAPANESE_DATE.fullmatch(text.replace(" ", "")):
        year, month, day = found["year"], found["month"], found["day"]
        if found["era"]:
            year = ERAS[found["era"]] + (1 if found["number"] == "元" else int(found["number"]))
    elif found := _DATE.fullmatch(text):
        year, _, month, day = found.groups()
    else:
        return None
    start = datetime(int(year), int(month or 1), int(day or 1), tzinfo=now.tzinfo)
    return start, _end("d" if day else "m" if month else "y", start)


def _moment(text: str, now: datetime) -> tuple[datetime, datetime]:
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=now.tzinfo)
    return moment, moment


def _start(unit: str, moment: datetime) -> datetime:
    """Return the beginning of the day, week, month or year of a moment; a week begins on Monday."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "w":
        return day - timedelta(days=day.weekday())
    return {"d": day, "m": day.replace(day=1), "y": day.replace(month=1, day=1)}[unit]


def _end(unit: str, start: datetime) -> datetime:
    """Return the beginning of the next one."""
    return start if start.year > _LAST_YEAR else _start(unit, start + timedelta(days=_LONGEST_DAYS[unit]))


def _nanoseconds(moment: datetime) -> int:
    # Whole seconds apart, so that the nanoseconds stay exact.
    since_ns = int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000
    return min(max(since_ns, 0), _LAST_NS)
