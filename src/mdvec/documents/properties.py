"""Properties in frontmatter besides titles and tags: links, older versions, the date of the last update."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from mdvec.documents.links import WIKILINK, split_fragment, wikilink
from mdvec.text.moments import UPDATED_KEYS, first_moment, moment_of, scalars
from mdvec.types.document import Link, LinkKind

_PREVIOUS_KEY = "previous"
_NEXT_KEY = "next"
# A name that is a day, a week, a month, a quarter or a year, in any order, perhaps with a weekday or the kind
# of note. A name that says anything else, such as "2026-05-01 Plan", does not count.
_DATED_NAME = re.compile(
    r"""(?=.*\d{4}|令和|平成|昭和)(?:
    (?:\d{8}|\d{6}|\d{4}|\d{1,2})(?!\d)(?:(?:st|nd|rd|th)\b)?
    |(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?
    |oct(?:ober)?|nov(?:ember)?|dec(?:ember)?
    |mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?
    |daily|weekly|monthly|diary|journal|notes?|week|w\d{1,2}|q[1-4])(?![^\W_])
    |日記|日報|週報|月報|令和|平成|昭和|元年|[月火水木金土日](?:曜日?)?|[年第週]
    |[-_./,()（）\s]
    )++""",
    re.IGNORECASE | re.VERBOSE,
)
_DATED_PATH = re.compile(r"(?:^|/)(?:_posts/(\d{4}-\d\d-\d\d)-|(\d{4}/\d\d/\d\d)(?:\.[a-z]+)?$)")
_SUFFIX = re.compile(r"\.[A-Za-z]+$")
_PREVIOUS_LINE = re.compile(r"""^["']?previous["']?[ \t]*[:=]""", re.IGNORECASE)
# Each name whose spelling differs from its value, such as "\\u00e9", costs a search of all lines.
_MAX_UNSEEN_NAMES = 64


def property_links(
    path: str, source: str, frontmatter: Mapping[str, object], *, versions: bool
) -> tuple[Link, ...]:
    """Return the links in frontmatter, in order of line.

    Wikilinks count in any value, quoted or not, even if the block does not parse. Each value of ``previous``
    names an older version: a wikilink, a path or the name of a file. It does not where there is ``next``, nor
    from one daily note to another, where it names the day before.

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
    parts = [each for each in map(_split, _previous(frontmatter) if first else ()) if each[0]]
    places = _lines_of([target for target, _, _ in parts], lines[max(first, 1) - 1 : last], max(first, 1))
    for (target, fragment, shown), where in zip(parts, places, strict=True):
        links.append(Link(LinkKind.PREVIOUS, target, fragment, shown, where))
    if dated_name(path):
        links = [
            replace(link, kind=LinkKind.WIKI)
            if link.kind is LinkKind.PREVIOUS and dated_name(link.target)
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
    dated = first_moment(frontmatter, UPDATED_KEYS)
    if dated is not None:
        return dated
    name = dated_name(path)
    return moment_of(name) if len(name) > len("1984") else None  # which may be a novel


def dated_name(path: str) -> str:
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


def _split(text: str) -> tuple[str, str, str]:
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
