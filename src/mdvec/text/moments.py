"""Dates that people and programs write, above all in frontmatter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

# Keys that people and plug-ins write at every change come first, then those of the document's own date.
CREATED_KEYS = ("date", "created", "date created", "created at", "published")
"""The properties with the date of a document, folded."""

UPDATED_KEYS = (
    *("updated", "modified", "date modified", "last modified", "lastmod", "date updated", "last updated"),
    *("updated at", "modified at", *CREATED_KEYS),
)
"""The properties with the time of the last change, folded."""

_BETWEEN_WORDS = re.compile(r"[-_\s]+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<!\d){_YEAR}[-/._]{_MONTH}[-/._]{_DAY}(?!\d)",
        rf"{_YEAR}年\s*{_MONTH}月\s*{_DAY}日",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>[01]\d)(?P<day>[0-3]\d)(?=$|T?\d{4}|\D)",
        rf"(?<!\d){_DAY}\.{_MONTH}\.{_YEAR}(?!\d)",
        rf"\b{_MONTH_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}(?!\d)",
        rf"(?<!\d){_DAY}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH_NAME},?\s+{_YEAR}(?!\d)",
    )
)
_TIME = re.compile(
    r"\D{0,4}(?P<hour>\d{1,2})[:時]?(?P<minute>\d\d)(?:[:分]?(?P<second>\d\d)(?:[.,]\d+)?)?秒?"
    r"\s*(?P<half>[ap]m)?\s*(?P<zone>Z|[-+]\d\d:?\d\d)?",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")  # of a date; "published: true" is none
_SINCE_1970 = re.compile(r"\d{10}(?:\d{3})?")  # in seconds or milliseconds, as Dendron and Joplin write times
_LAST_NS = 2**63 - 1  # times of documents are stored in 64 bits
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def first_moment(frontmatter: Mapping[str, object], keys: Sequence[str]) -> int | None:
    """Return the first date of some keys of frontmatter, in nanoseconds since 1970; None without one."""
    values = {_BETWEEN_WORDS.sub(" ", key.strip().casefold()): value for key, value in frontmatter.items()}
    moments = (moment_of(text) for key in keys for text in scalars(values.get(key)))
    return next((each for each in moments if each is not None), None)


def unread_dates(frontmatter: Mapping[str, object]) -> list[str]:
    """Return a warning for each property of the last change whose date cannot be read."""
    return [
        f"the date of {key.strip()!r} is not read; write it as 2026-05-31"
        for key, value in frontmatter.items()
        if _BETWEEN_WORDS.sub(" ", key.strip().casefold()) in UPDATED_KEYS
        for text in scalars(value)
        if _DIGIT.search(text) and "{{" not in text and "<%" not in text and moment_of(text) is None
    ]


def scalars(value: object) -> Iterator[str]:
    """Yield the texts and numbers of a value in frontmatter, also inside nested lists."""
    if isinstance(value, list):
        for item in value:
            yield from scalars(item)
    elif isinstance(value, bool):
        yield str(value).lower()
    elif isinstance(value, (str, int, float)):
        yield str(value)


def moment_of(text: str) -> int | None:
    """Return the time of a date as people and programs write it; None if it is none from 1970 to 2262."""
    text = text.strip()
    try:
        if _SINCE_1970.fullmatch(text):
            since = timedelta(milliseconds=int(text.ljust(13, "0")))
        else:
            moment = _iso(text) or _written(text)
            since = moment - _EPOCH if moment else timedelta(-1)
    except (ValueError, OverflowError):
        return None
    # Whole microseconds: a float would lose some.
    nanoseconds = since // timedelta(microseconds=1) * 1000
    return nanoseconds if 0 <= nanoseconds <= _LAST_NS else None


def _iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _written(text: str) -> datetime | None:
    found = next(filter(None, (form.search(text) for form in _DATES)), None)
    if found is None:
        return None
    parts = found.groupdict()
    month = _MONTHS.index(parts["name"].lower()) + 1 if parts.get("name") else int(parts["month"])
    time = _TIME.match(text, found.end())
    day = datetime(int(parts["year"]), month, int(parts["day"]), tzinfo=UTC)
    return day + (_time_of_day(time) if time else timedelta())


def _time_of_day(found: re.Match[str]) -> timedelta:
    """Return the time since midnight in UTC."""
    hour, half = int(found["hour"]), (found["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    zone = (found["zone"] or "").replace(":", "")
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:])) if len(zone) > 1 else timedelta()
    since = timedelta(hours=hour, minutes=int(found["minute"]), seconds=int(found["second"] or 0))
    return since + offset if zone.startswith("-") else since - offset
