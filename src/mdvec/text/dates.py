"""Days and months that a query names, and the ways in which texts and names of files write them.

``3月15日にやったこと`` asks for the note ``2025-03-15.md``,
``decisions of September 2024`` for minutes of that month.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from mdvec.text.moments import ERAS

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
SHORT_MONTHS = tuple("sept?" if month == "september" else month[:3] for month in _MONTHS)
"""Expressions for the short names of the months in English."""

_WRITTEN = tuple(rf"(?:{month}|{short}\.?)" for month, short in zip(_MONTHS, SHORT_MONTHS, strict=True))
_NAME = f"(?P<name>{'|'.join(_WRITTEN)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\d)"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ERA = r"(?P<era>令和|平成|昭和|(?<![A-Za-z])(?-i:[RHS]))\s*(?P<year>\d{1,2}|元)"
_ANY_YEAR = r"[12]\d{3}"
_MONTH_DAY = r"(?P<month>\d{1,2})/(?P<day>\d{1,2})"
_MOST_PARTS = 4  # of a fraction such as 3/4, which is no day of March
# A day with or without its year, or a month with its year.
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_ERA}\s*年\s*(?P<month>\d{{1,2}})\s*月(?:\s*{_DAY}\s*日)?",
        rf"{_ERA}[-.](?P<month>\d{{1,2}})[-.]{_DAY}(?=\s*(?:[^\x00-\x7f]|\Z))",  # R4.2.1 is also a version
        rf"(?<!\d){_YEAR}[-/](?P<month>\d{{1,2}})(?:[-/]{_DAY})?(?![\d.])",
        rf"(?<![\d.]){_YEAR}\. ?(?P<month>\d{{1,2}})\. ?{_DAY}(?![\d.])",
        rf"(?:(?<!\d){_YEAR}\s*年\s*)?(?<!\d)(?P<month>\d{{1,2}})\s*月\s*{_DAY}\s*日",
        rf"(?<!\d){_YEAR}\s*年\s*(?P<month>\d{{1,2}})\s*月",
        rf"(?<![\d/.]){_MONTH_DAY}(?=\s*[（(の])",
        rf"(?<![\d/.-])(?P<first>\d{{1,2}})(?P<between>[-/.])(?P<second>\d{{1,2}})(?P=between){_YEAR}(?![\d-])",
        rf"\b{_NAME}\s+{_DAY}(?:,?\s+{_YEAR})?\b",
        rf"\b{_DAY}\s+(?:of\s+)?{_NAME}(?:,?\s+{_YEAR})?\b",
        rf"\b{_NAME},?\s+(?:of\s+)?{_YEAR}\b",
        rf"\A\s*{_MONTH_DAY}\s*\Z",
    )
)
_LAST_MONTH, _LAST_DAY = 12, 31
_HALF_WIDTH = {code + 0xFEE0: code for code in range(ord("!"), ord("~") + 1)}


class Date(Struct, frozen=True):
    """A day, or a month of a year.

    Attributes:
        year: None if only the day is named.
        month: 1 to 12.
        day: None for the whole month.
        other: The other day that it may be, as 5/9/2024 may be in May and in September; None if it is sure.
    """

    year: int | None
    month: int
    day: int | None
    other: Date | None = None

    @property
    def globs(self) -> tuple[str, ...]:
        """Patterns for the paths of documents that are named after it, such as daily notes."""
        return (*self._globs(), *(self.other.globs if self.other else ()))

    @property
    def words(self) -> list[list[list[str]]]:
        """For each day that it may be, words of which a text that names it has one of each list."""
        name = _MONTHS[self.month - 1]
        groups = [[str(self.month), f"{self.month:02}", name, name[:3], name[:4]]]
        if self.day:
            ordinals = (f"{self.day}{end}" for end in ("st", "nd", "rd", "th"))
            groups.append([str(self.day), f"{self.day:02}", *ordinals])
        if self.year:
            of_eras = (str(self.year - before) for before in ERAS.values() if self.year > before)
            groups.append([str(self.year), *of_eras, "元"])
        return [groups, *(self.other.words if self.other else ())]

    def _globs(self) -> tuple[str, ...]:
        year = str(self.year) if self.year else "[12][0-9][0-9][0-9]"
        month, day = f"{self.month:02}", f"{self.day:02}" if self.day else ""
        compact = f"{year[2:] if self.year and self.day else year}{month}{day}"  # 250315, 20250315
        japanese = f"{year}年{self.month}月{f'{self.day}日' if self.day else ''}"
        parts = f"[-_.]{month}{f'[-_.]{day}' if day else ''}"
        eras = ((era, self.year - before) for era, before in ERAS.items() if self.year and self.year > before)
        names = (f"{year}{parts}", compact, japanese, *(f"{era}{number}{parts}" for era, number in eras))
        return (*(f"**/*{name}*" for name in names), f"**/{year}/{month}/{f'{day}*' if day else '**'}")

    def is_in(self, text: str) -> bool:
        """Return True if a text names it; a day may be without its year there."""
        return next(self.spans_in(text), None) is not None

    def spans_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places where a text names it."""
        forms = [*self._forms(), *(self.other._forms() if self.other else ())]
        text = text.translate(_HALF_WIDTH)
        return (found.span() for found in re.finditer("|".join(forms), text, re.IGNORECASE))

    def _forms(self) -> list[str]:
        """Return expressions for the ways in which texts write it."""
        month, eras = _WRITTEN[self.month - 1], "|".join(self._eras()) or "(?!)"
        year = str(self.year) if self.year else _ANY_YEAR
        if self.day is None:
            return [
                rf"(?<!\d){year}(?:[-/.]0?{self.month}(?!\d)|\s*年\s*0?{self.month}\s*月)",
                rf"(?<!\d)\d{{1,2}}(?:/0?{self.month}/|\.0?{self.month}\.){year}(?!\d)",
                rf"(?:{eras})(?:\s*年\s*0?{self.month}\s*月|\.0?{self.month}(?!\d))",
                rf"\b{month}(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?,?\s+{year}\b",
            ]
        day, other_year = (
            rf"0?{self.day}(?:st|nd|rd|th)?(?!\d)",
            rf"(?![a-z0-9]|,?\s+(?!{year}){_ANY_YEAR})",
        )
        is_fraction = self.month < self.day <= _MOST_PARTS
        both = (self.day, self.month), (self.month, self.day)  # which comes first depends on the country
        signs = ("/", "-", r"\.")
        before_year = "|".join(f"0?{one}{sign}0?{two}{sign}" for one, two in both for sign in signs)
        return [
            rf"(?<!\d){year}[-/.]0?{self.month}[-/.]{day}",
            rf"(?<![\d/.-])(?:{before_year}){year}(?!\d)",
            rf"(?<![\d/.-])0?{self.month}/{day}{'(?=[（(])' if is_fraction else '(?![/.-])'}",
            rf"(?:(?:(?<!\d){year}|{eras})\s*年\s*|(?<![\d年])(?<!年\s))0?{self.month}\s*月\s*{day}\s*日",
            rf"(?:{eras})[-.]0?{self.month}[-.]{day}",
            rf"\b(?:{month}\s+{day}|(?<!\d){day}\s+(?:of\s+)?{month}){other_year}",
        ]

    def may_be_in(self, text: str) -> bool:
        """Return True if a text has its parts in several places, as a table of 2025 has a row for 4月."""

        def alone(number: int) -> str:
            return rf"(?:^[\W_]*|\|\s*)0?{number}(?![\d/.-])"

        in_table = rf"\|\s*(?:month|月)\s*\|(?s:.*?){alone(self.month)}"
        no_other_year = r"(?<![\d年])(?<!年\s)"
        parts = [rf"{no_other_year}0?{self.month}\s*月|\b{_WRITTEN[self.month - 1]}|{in_table}"]
        if self.day:
            parts.append(rf"(?<!\d)0?{self.day}\s*日|(?<!\d){self.day}(?:st|nd|rd|th)\b|{alone(self.day)}")
        if self.year:
            parts.append("|".join((str(self.year), *self._eras())))
        text = text.translate(_HALF_WIDTH)
        return all(re.search(part, text, re.IGNORECASE | re.MULTILINE) for part in parts)

    def _eras(self) -> Iterator[str]:
        """Yield expressions for its year in Japanese eras; for no year, any of them."""
        for era, before in ERAS.items():
            name = rf"(?<![a-z]){era}\s?" if era.isascii() else rf"{era}\s?"
            if self.year is None:
                yield rf"{name}(?:\d{{1,2}}|元)"
            elif self.year > before:
                yield rf"{name}(?:{self.year - before}{'|元' if self.year == before + 1 else ''})"


def without_date(query: str) -> str:
    """Return a query without the day or month that it names: texts may write it otherwise."""
    found = find_date(query)
    return query[: found[1].start()] + " " + query[found[1].end() :] if found else query


@lru_cache(maxsize=16)  # an answer looks for it in many texts
def find_date(query: str) -> tuple[Date, re.Match[str]] | None:
    """Return the day or month that a query names, and where; None if it names none."""
    query = query.translate(_HALF_WIDTH)
    for form in _FORMS:
        if found := form.search(query):
            possible = [*dict.fromkeys(filter(_is_possible, _dates_of(found)))]
            if possible:
                return replace(possible[0], other=next(iter(possible[1:]), None)), found
    return None


def _dates_of(found: re.Match[str]) -> Iterator[Date]:
    """Yield the dates that a query may mean; of a day in two numbers, the one with its month last first."""
    parts = found.groupdict()
    year = _year_of(parts)
    if parts.get("first"):
        first, second = int(parts["first"]), int(parts["second"])
        yield Date(year, second, first)
        yield Date(year, first, second)
        return
    month = _month_of(parts["name"]) if parts.get("name") else int(parts["month"])
    day = int(parts["day"]) if parts.get("day") else None
    if found.re is not _FORMS[-1] or not month < (day or 0) <= _MOST_PARTS:  # 3/4 is a fraction
        yield Date(year, month, day)


def _is_possible(date: Date) -> bool:
    day = 1 if date.day is None else date.day
    return 1 <= date.month <= _LAST_MONTH and 1 <= day <= _LAST_DAY


def _year_of(parts: Mapping[str, str | None]) -> int | None:
    year, era = parts.get("year"), parts.get("era")
    if era:
        return ERAS[era] + (1 if year == "元" else int(year or 0))
    return int(year) if year else None


def _month_of(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if name.lower().startswith(month[:3]))
