"""Properties in frontmatter besides titles and tags: links, older versions, the date of the last update."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from mdvec.documents.links import WIKILINK, split_fragment, wikilink
from mdvec.documents.tags import scalars
from mdvec.types.document import Link, LinkKind

_PREVIOUS_KEY = "previous"
_NEXT_KEY = "next"
# A name that is a day, a week, a month, a quarter or a year, in any order, perhaps with a weekday or the kind
# of note. One that says anything else, such as "2026-05-01 Plan", is none.
_DATED_NAME = re.compile(
    r"""(?=.*\d{4})(?:
    (?:\d{8}|\d{6}|\d{4}|\d{1,2})(?!\d)(?:(?:st|nd|rd|th)\b)?
    |(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?
    |oct(?:ober)?|nov(?:ember)?|dec(?:ember)?
    |mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?
    |daily|weekly|monthly|diary|journal|notes?|week|w\d{1,2}|q[1-4])(?![^\W_])
    |日記|日報|週報|月報|[月火水木金土日](?:曜日?)?|[年第週]
    |[-_./,()（）\s]
    )++""",
    re.IGNORECASE | re.VERBOSE,
)
_DATED_PATH = re.compile(r"(?:^|/)(?:_posts/(\d{4}-\d\d-\d\d)-|(\d{4}/\d\d/\d\d)(?:\.[a-z]+)?$)")
_SUFFIX = re.compile(r"\.[A-Za-z]+$")
_PREVIOUS_LINE = re.compile(r"""^["']?previous["']?[ \t]*[:=]""", re.IGNORECASE)
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
_UPDATED_KEYS = (
    re.compile(rf"(?:date |last )?updated{_AT}|last update|(?:最終)?更新日?時?"),
    re.compile(
        rf"(?:date |last )?(?:modified|edited|changed|revised){_AT}|lastmod|mtime"
        r"|(?:modification|revision) date|(?:最終)?変更日時?"
    ),
    *CREATED_KEYS,
)
_DATE_KEY = re.compile("|".join(f"(?:{each.pattern})" for each in _UPDATED_KEYS))
_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")  # as in "pubDate"
_BETWEEN_WORDS = re.compile(r"[-_\s]+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<!\d){_YEAR}[-/._]{_MONTH}[-/._]{_DAY}(?!\d)",
        rf"{_YEAR}-{_MONTH}\Z",
        rf"{_YEAR}年\s*{_MONTH}月\s*{_DAY}日",
        rf"(?P<era>令和|平成|昭和|\b[RHS])\s?(?P<year>\d{{1,2}}|元)(?:年\s*|\.){_MONTH}(?:月\s*|\.){_DAY}(?!\d)",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>[01]\d)(?P<day>[0-3]\d)(?=$|T?\d{4}|\D)",
        rf"(?<!\d){_DAY}\.{_MONTH}\.{_YEAR}(?!\d)",
        rf"\b{_MONTH_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}(?!\d)",
        rf"(?<!\d){_DAY}(?:st|nd|rd|th)?[-\s]\s*(?:of\s+)?{_MONTH_NAME},?[-\s]\s*{_YEAR}(?!\d)",
        rf"\b{_MONTH_NAME}\s+{_DAY}\s+[\d:]{{5,8}}\s+(?:[A-Z]{{3,4}}\s+)?{_YEAR}(?!\d)",
        rf"(?<!\d){_YEAR}\s+{_MONTH_NAME}\s+{_DAY}(?!\d)",
    )
)
_ERAS = {"令和": 2018, "R": 2018, "平成": 1988, "H": 1988, "昭和": 1925, "S": 1925}
_TIME = re.compile(
    r"\D{0,4}(?P<hour>\d{1,2})[:時]?(?P<minute>\d\d)(?:[:分]?(?P<second>\d\d)(?:[.,]\d+)?)?秒?"
    r"\s*(?P<half>[ap]m)?\s*(?P<zone>Z|[-+]\d\d:?\d\d)?",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")  # of a date; "published: true" is none
_SINCE_1970 = re.compile(r"\d{10}(?:\d{3})?")  # in seconds or milliseconds, as Dendron and Joplin write times
_LAST_NS = 2**63 - 1  # times of documents are stored in 64 bits
# Each name whose spelling differs from its value, such as "\\u00e9", costs a search of all lines.
_MAX_UNSEEN_NAMES = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def property_links(
    path: str, source: str, frontmatter: Mapping[str, object], *, versions: bool
) -> tuple[Link, ...]:
    """Return the links in frontmatter, in order of line.

    Wikilinks count in any value, quoted or not, even if the block does not parse. Each value of ``previous``
    names an older version: a wikilink, a path or the name of a file. It does not beside ``next``, nor from
    one daily note to another, where it names the day before.

    Args:
        path: The path of the document.
        source: The block as in the file, from the first line.
        frontmatter: Its values.
        versions: Whether ``previous`` may name older versions.
    """
    if "[[" not in source and _PREVIOUS_KEY not in source.lower():
        return ()
    lines = source.split("\n")
    is_series = any(key.strip().casefold() == _NEXT_KEY for key in frontmatter)
    first, last = _lines_of_previous(lines) if versions and not is_series else (0, -1)
    links: list[Link] = []
    for number, line in enumerate(lines, start=1):
        is_previous = first <= number <= last
        if line.lstrip().startswith("#") or (is_previous and frontmatter):
            continue
        found = _wikilinks(line, number)
        links += (replace(link, kind=LinkKind.PREVIOUS) if is_previous else link for link in found)
    parts = [each for each in map(_parts, _previous(frontmatter) if first else ()) if each[0]]
    places = _lines_of([target for target, _, _ in parts], lines[max(first, 1) - 1 : last], max(first, 1))
    for (target, fragment, shown), where in zip(parts, places, strict=True):
        links.append(Link(LinkKind.PREVIOUS, target, fragment, shown, where))
    if _dated_name(path):
        links = [
            replace(link, kind=LinkKind.WIKI)
            if link.kind is LinkKind.PREVIOUS and _dated_name(link.target)
            else link
            for link in links
        ]
    return tuple(sorted(links, key=lambda link: link.line))


def updated_ns(path: str, frontmatter: Mapping[str, object]) -> int | None:
    """Return the time of a document's last update according to itself, in nanoseconds since 1970.

    Its frontmatter comes first: the time of the last change, then the document's own date. Then comes the day
    that a daily note is called by. A time without an offset counts as UTC, so that an index is the same on
    every machine.

    Returns:
        None without any of these, and if none has a date from 1970 to 2262.
    """
    dated = first_moment(frontmatter, _UPDATED_KEYS)
    if dated is not None:
        return dated
    name = _dated_name(path)
    return _moment(name) if name else None


def first_moment(frontmatter: Mapping[str, object], keys: Sequence[re.Pattern[str]]) -> int | None:
    """Return the date of the first of some keys that has one, in nanoseconds since 1970; None without any.

    The last date of a list counts.
    """
    dated = _dated(frontmatter)
    for form in keys:
        for _, name, texts in dated:
            if form.fullmatch(name) and (moments := [*filter(None, map(_moment, texts))]):
                return max(moments)
    return None


def unread_dates(frontmatter: Mapping[str, object]) -> list[str]:
    """Return a warning for each property of the last change whose date cannot be read."""
    return [
        f"the date of {key.strip()!r} is not read; write it as 2026-05-31"
        for key, _, texts in _dated(frontmatter)
        for text in texts
        if _DIGIT.search(text) and "{{" not in text and "<%" not in text and _moment(text) is None
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


def _dated_name(path: str) -> str:
    """Return the name of a daily note, or the date in that of a post (Jekyll); empty for others."""
    if found := _DATED_PATH.search(path):
        return found[1] or found[2]
    name = _SUFFIX.sub("", path.rpartition("/")[2])
    return name if _DATED_NAME.fullmatch(name) else ""


def _lines_of_previous(lines: list[str]) -> tuple[int, int]:
    """Return the first and the last line, from 1, of the value of ``previous``; (0, -1) without it."""
    first = next((number for number, line in enumerate(lines, 1) if _PREVIOUS_LINE.match(line)), 0)
    if not first:
        return 0, -1
    last = first
    while last < len(lines) and (not lines[last].strip() or lines[last][0] in " \t-]"):
        if lines[last].startswith("---"):
            break
        last += 1
    return first, last


def _previous(frontmatter: Mapping[str, object]) -> Iterator[str]:
    for key, value in frontmatter.items():
        if key.strip().casefold() == _PREVIOUS_KEY:
            yield from scalars(value)


def _parts(text: str) -> tuple[str, str, str]:
    """Return target, fragment and shown text of an older version."""
    found = WIKILINK.fullmatch(text.strip())
    if found:
        link = wikilink(found, line=1)
        return link.target, link.fragment, link.text
    # To YAML, [[Old]] without quotes is a list in a list; only the inside is left.
    address, _, shown = text.strip().partition("|")
    return (*split_fragment(address), shown.strip())


def _lines_of(targets: Sequence[str], lines: Sequence[str], first: int) -> Iterator[int]:
    """Yield the line of each target: the next line that contains it, else any, else the first.

    Targets in the order of the lines are found in one pass. After 64 that are not, the others get the first.

    Args:
        targets: Texts without line ends.
        lines: Where to look.
        first: Number of the first line.
    """
    block = "\n".join(lines)
    ends = [match.start() for match in re.finditer("\n", block)]
    position = unseen = 0
    for target in targets:
        found = -1
        if unseen < _MAX_UNSEEN_NAMES:
            found = block.find(target, position)
            if found < 0:
                unseen += 1
                found = block.find(target)
        if found < 0:
            yield first
        else:
            position = found
            yield first + bisect.bisect_left(ends, found)


def _wikilinks(line: str, number: int) -> Iterator[Link]:
    """Yield the wikilinks of a line. Lists of lists look alike in YAML; a quoted one is a link."""
    position = double = single = 0
    for match in WIKILINK.finditer(line):
        double += line.count('"', position, match.start())
        single += line.count("'", position, match.start())
        position = match.start()
        if double % 2 or single % 2 or "," not in match[2]:
            yield wikilink(match, line=number)


def _moment(text: str) -> int | None:
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
    year = 1 if parts["year"] == "元" else int(parts["year"])
    day = datetime(year + _ERAS.get(parts.get("era") or "", 0), month, int(parts.get("day") or 1), tzinfo=UTC)
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
