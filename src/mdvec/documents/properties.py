"""What frontmatter says besides titles and tags: links, older versions, the day of the last update."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mdvec.documents.links import WIKILINK, split_fragment, wikilink
from mdvec.documents.tags import scalars
from mdvec.types.document import Link, LinkKind

_PREVIOUS_KEY = "previous"
_PREVIOUS_LINE = re.compile(r"""^["']?previous["']?[ \t]*[:=]""", re.IGNORECASE)
# First those that people and plug-ins write at every change; the day of creation says nothing here.
_UPDATED_KEYS = (
    "updated",
    "modified",
    "date modified",
    "last modified",
    "lastmod",
    "date updated",
    "last updated",
)
_BETWEEN_WORDS = re.compile(r"[-_\s]+")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?=$|[T\s])")
_LAST_NS = 2**63 - 1  # times of documents are kept in 64 bits
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def property_links(source: str, frontmatter: Mapping[str, object]) -> tuple[Link, ...]:
    """Return the links that frontmatter holds, in order of line.

    Wikilinks count in any value, quoted or not, even where the block does not parse. All that ``previous``
    lists is an older version, whether it is a wikilink, a path or the name of a file.

    Args:
        source: The block as it stands in the file, from the first line.
        frontmatter: Its values.
    """
    lines = source.split("\n")
    first, last = _lines_of_previous(lines)
    links: list[Link] = []
    for number, line in enumerate(lines, start=1):
        is_previous = first <= number <= last
        if line.lstrip().startswith("#") or (is_previous and frontmatter):
            continue
        found = (wikilink(match, line=number) for match in WIKILINK.finditer(line) if _is_link(line, match))
        links += (replace(link, kind=LinkKind.PREVIOUS) if is_previous else link for link in found)
    for text in _previous(frontmatter):
        target, fragment, shown = _parts(text)
        if target:
            where = next((n for n in range(first, last + 1) if target in lines[n - 1]), max(first, 1))
            links.append(Link(LinkKind.PREVIOUS, target, fragment, shown, where))
    return tuple(sorted(links, key=lambda link: link.line))


def updated_ns(frontmatter: Mapping[str, object]) -> int | None:
    """Return when a document says it was last updated, in nanoseconds since 1970.

    A time without an offset is taken for UTC, so that an index says the same on every machine.

    Returns:
        None without such a key, and when none of them holds a date from 1970 to 2262.
    """
    values = {_BETWEEN_WORDS.sub(" ", key.strip().casefold()): value for key, value in frontmatter.items()}
    for key in _UPDATED_KEYS:
        for text in scalars(values.get(key)):
            moment = _moment(text)
            if moment is not None:
                return moment
    return None


def _lines_of_previous(lines: list[str]) -> tuple[int, int]:
    """Return the first and the last line, from 1, of what ``previous`` holds; (0, -1) without it."""
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
    # [[Old]] without quotes is a list in a list to YAML, and what is left of it is the inside.
    address, _, shown = text.strip().partition("|")
    return (*split_fragment(address), shown.strip())


def _is_link(line: str, match: re.Match[str]) -> bool:
    """Tell a link from a list of lists, which YAML writes likewise: a quoted one is a link."""
    quoted = line[: match.start()].count('"') % 2 or line[: match.start()].count("'") % 2
    return bool(quoted) or "," not in match[2]


def _moment(text: str) -> int | None:
    spelled = _DATE.sub(
        lambda found: f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}", text.strip(), count=1
    )
    try:
        moment = datetime.fromisoformat(spelled)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None
    # Whole microseconds: a float would lose some.
    nanoseconds = since // timedelta(microseconds=1) * 1000
    return nanoseconds if 0 <= nanoseconds <= _LAST_NS else None
