"""Parses arguments that people and programs write."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from mdvec.errors import UsageError

LineRange = tuple[int | None, int | None]
"""First and last line, 1-based, both included; None for an open end."""

_AGE = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}
_DAY = re.compile(r"\d{4}-?\d\d-?\d\d")
_DAY_NS = 24 * 60 * 60 * 10**9
# Times of files are stored in 64 bits; before 1970 and after 2262 there are none.
_LAST_NS = 2**63 - 1
_MOST_SHOWN_CHARS = 40
_LINES = re.compile(r"(\d{0,18})(:?)(\d{0,18})")  # Python reads no number of thousands of digits


def parse_since(text: str, *, now: datetime) -> int:
    """Parse a point in time: an ISO 8601 date or time, or an age such as ``12h``, ``7d`` or ``2w``.

    Args:
        text: As written; a time without an offset is in the time zone of ``now``.
        now: What an age counts back from; must carry its time zone.

    Returns:
        Nanoseconds since 1970.

    Raises:
        UsageError: If it is neither.
    """
    try:
        if age := _AGE.fullmatch(text.strip().lower()):
            moment = now - timedelta(hours=int(age[1]) * _HOURS[age[2]])
        else:
            moment = datetime.fromisoformat(text.strip())
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=now.tzinfo)
        # Whole seconds apart, so that the nanoseconds stay exact.
        since_ns = int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000
    except (ValueError, OverflowError, OSError) as error:
        msg = f"not a date, a time or an age: {text!r}"
        raise UsageError(msg, hint="Write 2026-05-01, 2026-05-01T09:30, 12h, 7d or 2w.") from error
    return min(max(since_ns, 0), _LAST_NS)


def parse_until(text: str, *, now: datetime) -> int:
    """Parse the end of a period, as :func:`parse_since` its beginning; a day is included.

    Args:
        text: As written.
        now: What an age counts back from; must carry its time zone.

    Returns:
        Nanoseconds since 1970, one past the period: after a day the start of the next.

    Raises:
        UsageError: If it is no date, time or age.
    """
    end_ns = parse_since(text, now=now)
    return min(end_ns + _DAY_NS, _LAST_NS) if _DAY.fullmatch(text.strip()) else end_ns


def parse_lines(text: str) -> LineRange:
    """Parse a range of lines: ``10:20``, ``10:``, ``:20`` or the single line ``10``.

    Raises:
        UsageError: If it is no range, starts before line 1, or ends before it starts.
    """
    found = _LINES.fullmatch(text.strip())
    if found and (found[1] or found[3]):
        first = int(found[1]) if found[1] else None
        last = int(found[3]) if found[3] else None if found[2] else first
        if (first is None or first >= 1) and (last is None or last >= (first or 1)):
            return first, last
    shown = text if len(text) <= _MOST_SHOWN_CHARS else f"{text[:_MOST_SHOWN_CHARS]}…"
    msg = f"not a range of lines: {shown!r}"
    raise UsageError(msg, hint="Write 10:20, 10:, :20 or 10; lines count from 1.")
