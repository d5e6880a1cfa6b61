"""Properties of frontmatter, folded so that they can be compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mdvec.text.dates import find_date
from mdvec.text.folding import fold_characters

MAX_PROPERTIES = 200
"""The most values of one document that can be filtered by; a longer list is data."""

MAX_VALUE_CHARS = 200
"""The number of characters by which values are compared."""

# These have a field of their own.
_NAMES = frozenset({"title", "aliases", "alias"})
_TAGS = frozenset({"tag", "tags"})
# Written by mdvec itself.
_OWN = "mdvec-"
_WIKILINK = re.compile(r"!?\[\[([^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}")
_YEAR = re.compile(r"[0-9]{4}")
_NUMBER = re.compile(r"[-+]?\.?[0-9]")
# What people write in and around a number, and the time behind a day.
_AROUND_DIGITS = re.compile(r"^[¥$€£] ?|(?<=\d) ?[%円]$|(?<=\d),(?=(?:\d{3},)*\d{3}(?:\D|\Z))")
_TIME = re.compile(r"(?:,? \d{1,2}:\d{2}.{0,9})?")
_WORD = re.compile(r"[^\W_]")
_ADDRESS = re.compile(r"\w+://\S+|www\.\S+")


class Property(NamedTuple):
    """One value of a property.

    Attributes:
        key: The folded key; ``outer.inner`` for a value inside another.
        value: The folded text: a date as ISO 8601, a link as its target.
        number: The value as a number; None if it is not one.
    """

    key: str
    value: str
    number: float | None


def fold_property(text: str) -> str:
    """Return the form in which keys and values are compared.

    Width and case are folded, a link is its target, and a day is written as in ISO 8601; its time may follow.
    """
    folded = " ".join(fold_characters(_WIKILINK.sub(r"\1", text)).split())[:MAX_VALUE_CHARS]
    found = find_date(folded) if any(map(str.isdecimal, folded)) else None
    if found is None or found[1].start() or found[0].other or not (found[0].year and found[0].day):
        return folded
    date, rest = found[0], folded[found[1].end() :]
    return f"{date.year}-{date.month:02}-{date.day:02}{rest}" if _TIME.fullmatch(rest) else folded


def flat_properties(frontmatter: Mapping[str, object]) -> list[Property]:
    """Return the values of a document's properties in order, each once, lists item by item."""
    found: dict[Property, None] = {}
    for key, value in _flat("", frontmatter):
        if len(found) >= MAX_PROPERTIES:
            break
        if key.startswith(_OWN):
            continue
        text = fold_property(value)
        found[Property(fold_property(key), text, as_number(text))] = None
    return list(found)


def property_text(frontmatter: Mapping[str, object]) -> str:
    """Return the values that have letters or digits, one a line, without titles and aliases."""
    values = (
        _ADDRESS.sub("", _WIKILINK.sub(r"\1", value))
        for key, value in _flat("", frontmatter)
        if key.casefold() not in _NAMES and not key.startswith(_OWN)
    )
    words = dict.fromkeys(value[:MAX_VALUE_CHARS].strip() for value in values if _WORD.search(value))
    return "\n".join(list(words)[:MAX_PROPERTIES])


def property_lines(frontmatter: Mapping[str, object]) -> Iterator[str]:
    """Yield each value with its key, as ``key: value``, without titles, aliases and tags."""
    for key, value in _flat("", frontmatter):
        if key.casefold() not in _NAMES | _TAGS and not key.startswith(_OWN):
            yield f"{key}: {' '.join(value[:MAX_VALUE_CHARS].split())}"


def as_number(text: str) -> float | None:
    """Return a text as a number; None if it is not one. It may be a price, or a percentage."""
    bare = _AROUND_DIGITS.sub("", text)
    try:
        number = float(bare) if _NUMBER.match(bare) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def is_date(text: str) -> bool:
    """Return True if a text starts with a year and a month; such texts sort by time."""
    return _DATE.match(text) is not None


def is_year(text: str) -> bool:
    """Return True if a text may be a year."""
    return _YEAR.fullmatch(text) is not None


def _flat(outer: str, value: object) -> Iterator[tuple[str, str]]:
    match value:
        case Mapping():
            for key, inner in value.items():
                yield from _flat(f"{outer}.{key}" if outer else str(key), inner)
        case list():
            for inner in value:
                yield from _flat(outer, inner)
        case bool():
            yield outer, str(value).lower()
        case str() | int() | float():
            yield outer, str(value)
        case _:
            pass  # a key without a value
