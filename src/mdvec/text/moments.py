"""Dates that people and programs write, above all in frontmatter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

ERAS = {"令和": 2018, "R": 2018, "平成": 1988, "H": 1988, "昭和": 1925, "S": 1925}
"""The years before the first ones of Japanese eras, which is also written 元年."""

_AT = r"(?: (?:at|on|date|time))?"
CREATED_KEYS = tuple(
    map(
        re.compile,
        (
            rf"date|(?:date )?created{_AT}|creation (?:date|time)|ctime|作成日時?|日付",
            rf"(?:date )?(?:published|posted){_AT}|(?:publish|pub|post|publication) date|公開日時?|投稿日時?",
        ),
    )
)
"""The folded names of properties with the date of a document."""

# What people and programs write at every change comes first.
UPDATED_KEYS = (
    re.compile(rf"(?:date |last )?updated{_AT}|last update|(?:最終)?更新日?時?"),
    re.compile(
        rf"(?:date |last )?(?:modified|edited|changed|revised){_AT}|lastmod|mtime"
        r"|(?:modification|revision) date|(?:最終)?変更日時?"
    ),
    *CREATED_KEYS,
)
"""The folded names of properties with the time of the last change."""

_DATE_KEY = re.compile("|".join(f"(?:{each.pattern})" for each in UPDATED_KEYS))
_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")  # as in "pubDate"
_BETWEEN_WORDS = re.compile(r"[-_\s]+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<!\d){_YEAR}(?:[-/_]|\.\s?){_MONTH}(?:[-/_]|\.\s?){_DAY}(?!\d)",
        rf"{_YEAR}(?:-|年\s*){_MONTH}月?\Z",  # the first day of a month, or of a year
        rf"^{_MONTH_NAME},? {_YEAR}\Z",
        rf"^{_YEAR}年?\Z",
        rf"{_YEAR}[年년]\s*{_MONTH}[月월]\s*{_DAY}[日일]",
        rf"(?P<era>令和|平成|昭和|\b[RHS])\s?(?P<year>\d{{1,2}}|元)(?:年\s*|\.){_MONTH}(?:月\s*|\.){_DAY}(?!\d)",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>[01]\d)(?P<day>[0-3]\d)(?=$|T?\d{4}|\D)",
        rf"(?<!\d){_DAY}\.{_MONTH}\.{_YEAR}(?!\d)",
        # Which number is the month depends on the country, unless one of them is none.
        rf"(?<![\d/-])(?P<day>1[3-9]|2\d|3[01])[-/]{_MONTH}[-/]{_YEAR}(?!\d)",
        rf"(?<![\d/-]){_MONTH}[-/](?P<day>1[3-9]|2\d|3[01])[-/]{_YEAR}(?!\d)",
        rf"\b{_MONTH_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}(?!\d)",
        rf"(?<!\d){_DAY}(?:st|nd|rd|th)?[-\s]\s*(?:of\s+)?{_MONTH_NAME},?[-\s]\s*{_YEAR}(?!\d)",
        rf"\b{_MONTH_NAME}\s+{_DAY}\s+[\d:]{{5,8}}\s+(?:[A-Z]{{3,4}}\s+)?{_YEAR}(?!\d)",
        rf"(?<!\d){_YEAR}[-\s]\s*{_MONTH_NAME}[-\s]\s*{_DAY}(?!\d)",
    )
)
_TIME = re.compile(
    r"[^\d午]{0,8}(?P<noon>午[前後])?\s*(?P<hour>\d{1,2})"
    r"(?:時(?!\d)|[:時]?(?P<minute>\d\d)(?:[:分]?(?P<second>\d\d)(?:[.,]\d+)?)?[分秒]?)"
    r"\s*(?P<half>[ap]m)?\s*(?P<zone>Z|[-+]\d\d:?\d\d)?",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")  # of a date; "published: true" is none
_SINCE_1970 = re.compile(r"\d{10}(?:\d{3})?")  # in seconds or milliseconds, as Dendron and Joplin write times
_LAST_NS = 2**63 - 1  # times of documents are stored in 64 bits
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def first_moment(frontmatter: Mapping[str, object], keys: Sequence[re.Pattern[str]]) -> int | None:
    """Return the date of the first of some keys that has one, in nanoseconds since 1970; None without any.

    The last date of a list counts.
    """
    dated = _dated(frontmatter)
    for form in keys:
        for _, name, texts in dated:
            if form.fullmatch(name) and (moments := [*filter(None, map(moment_of, texts))]):
                return max(moments)
    return None


def unread_dates(frontmatter: Mapping[str, object]) -> list[str]:
    """Return a warning for each property of the last change whose date cannot be read."""
    return [
        f"the date of {key.strip()!r} is not read; write it as 2026-05-31"
        for key, _, texts in _dated(frontmatter)
        for text in texts
        if _DIGIT.search(text) and "{{" not in text and "<%" not in text and moment_of(text) is None
    ]


def _dated(frontmatter: Mapping[str, object]) -> list[tuple[str, str, list[str]]]:
    """Return keys that may have dates, in their own and in their folded form, and their texts."""
    found: list[tuple[str, str, list[str]]] = []
    for key, value in frontmatter.items():
        name = _BETWEEN_WORDS.sub(" ", _NEW_WORD.sub(" ", key.strip()).casefold())
        if _DATE_KEY.fullmatch(name):
            value = value.get("date") if isinstance(value, Mapping) else value
            found.append((key, name, [*scalars(value)]))
    return found


def scalars(value: object) -> Iterator[str]:
    """Yield the texts and numbers of a value in frontmatter, also inside nested lists.

    To YAML, ``- Re: the plan`` is a mapping.
    """
    if isinstance(value, list):
        for item in value:
            yield from scalars(item)
    elif isinstance(value, Mapping) and len(value) == 1:
        [(key, inner)] = value.items()
        yield from (f"{key}: {text}" for text in scalars(inner))
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
    month = _MONTHS.index(parts["name"].lower()) + 1 if parts.get("name") else int(parts.get("month") or 1)
    time = _TIME.match(text, found.end())
    year = 1 if parts["year"] == "元" else int(parts["year"])
    day = datetime(year + ERAS.get(parts.get("era") or "", 0), month, int(parts.get("day") or 1), tzinfo=UTC)
    return day + (_time_of_day(time) if time else timedelta())


def _time_of_day(found: re.Match[str]) -> timedelta:
    """Return the time since midnight in UTC."""
    hour, half = int(found["hour"]), found["noon"] or (found["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half in {"pm", "午後"} else 0)
    zone = (found["zone"] or "").replace(":", "")
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:])) if len(zone) > 1 else timedelta()
    since = timedelta(hours=hour, minutes=int(found["minute"] or 0), seconds=int(found["second"] or 0))
    return since + offset if zone.startswith("-") else since - offset
