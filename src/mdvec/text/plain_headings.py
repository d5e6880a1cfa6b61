"""The lines of a plain text that are its headings: days, articles and first lines of records.

The parser makes sections of them; a search and its excerpts find them again in a passage of several.
"""

from __future__ import annotations

import re

from mdvec.text.dates import SHORT_MONTHS
from mdvec.types.document import Heading

_MONTH = "|".join(SHORT_MONTHS)
_WEEKDAY = r"(?:[月火水木金土日](?:曜日?)?|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?)"
_WITH_YEAR = (
    r"\d{4}(?:[-/.]\d{1,2}[-/.]|年[ \t]?\d{1,2}月[ \t]?)\d{1,2}日?"
    rf"|(?:{_MONTH})[a-z]*\.?[ \t]\d{{1,2}}(?:st|nd|rd|th)?,?[ \t]\d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\.?[ \t](?:{_MONTH})[a-z]*\.?,?[ \t]\d{{4}}"
)
# A line that is nothing but a day, as programs write it above the messages of the day.
_DAY_LINE = re.compile(
    rf"^(?P<name>[ \t]*(?:{_WEEKDAY},?[ \t])?(?:{_WITH_YEAR})(?:,?[ \t]*[（(]?{_WEEKDAY}[)）]?)?)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
# A chapter, or an article: 第5条（契約期間）. Its text may follow in the line, and its title stand above it.
# A line of a table of contents has （第1条―第4条）.
_UNITS = "編章節款条"
_SPACES, _COUNT = r"[ \t\u3000]*+", r"[\d〇一二三四五六七八九十百千]{1,9}"
_IN_BRACKETS = rf"{_SPACES}[（(](?!\d+[）)])[^（）()\n]{{1,40}}[）)]"
_ARTICLE_LINE = re.compile(
    rf"^(?P<name>(?:{_IN_BRACKETS}{_SPACES}\n)?{_SPACES}(?!.*[（(]第)"
    rf"(?:第{_SPACES}{_COUNT}{_SPACES}(?P<unit>(?P<part>[編章節款])|条)(?:の{_COUNT})*|附{_SPACES}則)"
    rf"(?:(?:{_IN_BRACKETS})?{_SPACES}$|[ \t\u3000]{_SPACES}(?![（(]\d)[^、。.…\n]{{1,20}}$"
    rf"|(?(part)(?!)|(?:{_IN_BRACKETS})?(?=[ \t\u3000]))))",
    re.MULTILINE,
)
# The first line of a record, which has a second one, below a line between two records; no row of a table.
_RULE = r"^[ \t]*+(?P<sign>[=\-*_~#+])(?P=sign){9,}[ \t]*\n"
_RECORD_LINE = re.compile(
    rf"(?:\A|{_RULE})(?P<name>(?![-=*_~#+|>・•]|.*(?:[|\t]|\S[ \u3000]{{2,}}\S))\S[^\n]{{0,199}})"
    r"(?<![、。，．,.\s])[ \t]*$(?=\n[ \t]*(?![=*_~#+-]{3})\S)",
    re.MULTILINE,
)
# A single day is the date of a letter, and a single article is named in prose. Between records are two lines
# of signs or more, of which some may be decoration.
_FEWEST, _FEWEST_RECORDS, _SHARE_OF_RECORDS = 2, 3, 0.9


def plain_headings(text: str, own: str = "") -> list[Heading]:
    """Return the headings of a plain text, all of one kind: articles, first lines of records, or days.

    Args:
        text: A whole text, in which there must be several; or a passage of one.
        own: The heading of the passage, which is one of them; empty for a whole text.
    """
    records = max(_FEWEST_RECORDS, len(re.findall(_RULE, text, re.MULTILINE)) * _SHARE_OF_RECORDS)
    kinds = (_ARTICLE_LINE, _FEWEST), (_RECORD_LINE, records), (_DAY_LINE, _FEWEST)
    for kind, fewest in sorted(kinds, key=lambda each: not each[0].fullmatch(own)):
        found = [(each, each.groupdict().get("unit") or "章") for each in kind.finditer(text)]
        units = sorted({unit for _, unit in found}, key=_UNITS.index)
        headings = [_plain_heading(line, units.index(unit) + 1) for line, unit in found]
        if own in (each.text for each in headings) if own else len(found) >= fewest:
            return headings
    return []


def _plain_heading(line: re.Match[str], level: int) -> Heading:
    """Return a heading; a title above the number of an article comes after it."""
    name = "".join(" ".join(each.split()) for each in reversed(line["name"].split("\n")))
    is_whole = line.string[line.end() : line.end() + 1] in ("", "\n")
    return Heading(level, name, line.start(), line.end() if is_whole else line.start())
