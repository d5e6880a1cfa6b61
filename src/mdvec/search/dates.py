"""Days and months that a query names, and how documents write them.

``3月15日にやったこと`` asks for the note ``2025-03-15.md``, ``decisions of September 2024`` for minutes of
that month.
"""

from __future__ import annotations

import re

from msgspec import Struct

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHORT = tuple("sept?" if month == "september" else month[:3] for month in _MONTHS)
_WRITTEN = tuple(rf"(?:{month}|{short}\.?)" for month, short in zip(_MONTHS, _SHORT, strict=True))
_NAME = f"(?P<name>{'|'.join(_WRITTEN)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\d)"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ANY_YEAR = r"[12]\d{3}"
# A day with or without its year, or a month with its year.
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<!\d){_YEAR}[-/](?P<month>\d{{1,2}})(?:[-/]{_DAY})?(?![\d.])",
        rf"(?:(?<!\d){_YEAR}\s*年\s*)?(?<!\d)(?P<month>\d{{1,2}})\s*月\s*{_DAY}\s*日",
        rf"(?<!\d){_YEAR}\s*年\s*(?P<month>\d{{1,2}})\s*月",
        rf"\b{_NAME}\s+{_DAY}(?:,?\s+{_YEAR})?\b",
        rf"\b{_DAY}\s+(?:of\s+)?{_NAME}(?:,?\s+{_YEAR})?\b",
        rf"\b{_NAME},?\s+(?:of\s+)?{_YEAR}\b",
    )
)
_LAST_MONTH, _LAST_DAY = 12, 31


class Date(Struct, frozen=True):
    """A day, or a month of a year.

    Attributes:
        year: None if only the day is named.
        month: 1 to 12.
        day: None for the whole month.
    """

    year: int | None
    month: int
    day: int | None

    @property
    def globs(self) -> tuple[str, ...]:
        """Patterns for the paths of documents that are named after it, such as daily notes."""
        year = str(self.year) if self.year else "[12][0-9][0-9][0-9]"
        day = f"{self.day:02}" if self.day else ""
        japanese = f"{year}年{self.month}月{f'{self.day}日' if self.day else ''}"
        dashed = f"{year}-{self.month:02}{f'-{day}' if day else ''}"
        return tuple(f"**/*{name}*" for name in (dashed, f"{year}{self.month:02}{day}", japanese))

    def is_in(self, text: str) -> bool:
        """Return True if a text names it; a day may be without its year there."""
        month = _WRITTEN[self.month - 1]
        year = str(self.year) if self.year else _ANY_YEAR
        if self.day is None:
            forms = [
                rf"(?<!\d){year}(?:[-/.]0?{self.month}(?!\d)|\s*年\s*0?{self.month}\s*月)",
                rf"\b{month}(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?,?\s+{year}\b",
            ]
        else:
            day, other_year = (
                rf"0?{self.day}(?:st|nd|rd|th)?(?!\d)",
                rf"(?![a-z0-9]|,?\s+(?!{year}){_ANY_YEAR})",
            )
            forms = [
                rf"(?<!\d){year}[-/.]0?{self.month}[-/.]{day}",
                rf"(?:(?<!\d){year}\s*年\s*|(?<![\d年])(?<!年\s))0?{self.month}\s*月\s*{day}\s*日",
                rf"\b(?:{month}\s+{day}|(?<!\d){day}\s+(?:of\s+)?{month}){other_year}",
            ]
        return re.search("|".join(forms), text, re.IGNORECASE) is not None


def date_in(query: str) -> Date | None:
    """Return the day or month that a query names; None if it names none."""
    for form in _FORMS:
        if found := form.search(query):
            parts = found.groupdict()
            month = _month_of(parts["name"]) if parts.get("name") else int(parts["month"])
            day = int(parts["day"]) if parts.get("day") else None
            if 1 <= month <= _LAST_MONTH and (day is None or 1 <= day <= _LAST_DAY):
                return Date(int(parts["year"]) if parts.get("year") else None, month, day)
    return None


def _month_of(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if name.lower().startswith(month[:3]))
