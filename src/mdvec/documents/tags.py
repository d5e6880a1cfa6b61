"""Tags and aliases of the frontmatter, and inline tags (``#tag``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from mdvec.text.moments import scalars

# All but white space and punctuation: letters of any script with their marks, digits, emoji,
# "_", "-" and "/". The ranges are ASCII, Latin-1, general, CJK and full-width punctuation; the
# joiners (200C, 200D) stay, being part of Indic words and of emoji.
_TAG = (
    r"[^\s\x00-\x1f!-,.:-@\[-^`{-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\u2000-\u200b\u200e-\u206f\u2e00-\u2e7f"
    r"\u3001-\u3004\u3008-\u3020\u3030\u303d\uff01-\uff0e\uff1a-\uff20\uff3b-\uff3e\uff40\uff5b-\uff65\ufeff]+"
)
INLINE_TAG = re.compile(rf"#({_TAG}(?:(?:[ .]{_TAG}){{1,5}}(?=(?<! .)#(?!\w)))?)")
"""A candidate for an inline tag; :func:`is_inline_tag` decides. Bear closes those of several words."""

# Characters that may come right before an inline tag; Japanese is written without spaces.
_BEFORE = frozenset("、。，．・：；！？（）「」『』【】")
# Marks of emphasis, which are no part of the text before a tag.
_EMPHASIS = re.compile(r"(?:\*{1,3}|~~|==)+\Z")
# An attribute list (Kramdown, Pandoc) or a shortcode (Hugo, Jinja).
_ATTRIBUTES = re.compile(r"\{(?::?[ \t]*(?:[#.:]|[\w-]+=)|[<%])[^{}\n]*+\}")
_MOST_ATTRIBUTE_CHARS, _MOST_MARKS = 200, 8
_TAG_KEYS = ("tags", "tag")
_PHRASE_KEYS = ("keywords", "keyword")  # as Zettlr and Pandoc call tags
_ITEM = re.compile(r"(?:&#?\w{2,31};|[^,;，、；])+")
_JAPANESE_COMMA = re.compile("[，、；]")  # which is no comma to YAML
_NAME = re.compile(r"#?\[\[[^\[\]]+\]\]|\S+")


def is_inline_tag(match: re.Match[str], *, begins_line: bool = False) -> bool:
    """Return True if a match of :data:`INLINE_TAG` is a tag.

    A tag follows white space or Japanese punctuation, or begins the line but for the mark of a quotation,
    an item or a cell, and is more than a number (``#123`` is an issue). Attribute lists and shortcodes have
    no tags (``{.note #id}``, ``{style="color: #4db6ac"}``).
    """
    text, start = match.string, match.start()
    before = _EMPHASIS.sub("", text[max(0, start - _MOST_MARKS) : start])[-1:]
    before = "" if begins_line and before != "\\" else before
    if before and not before.isspace() and before not in _BEFORE:
        return False
    around = max(0, start - _MOST_ATTRIBUTE_CHARS), start + _MOST_ATTRIBUTE_CHARS
    if before and any(found.start() < start < found.end() for found in _ATTRIBUTES.finditer(text, *around)):
        return False
    return not match[1].replace("/", "").isdigit() and bool(match[1].strip("-_/"))


def frontmatter_tags(frontmatter: Mapping[str, object]) -> list[str]:
    """Return the tags of the keys ``tags`` and ``keywords``, also of those below ``taxonomies`` (Zola).

    Keywords may be phrases: they are split at commas and semicolons alone.
    """
    taxonomies = frontmatter.get("taxonomies")
    below = taxonomies if isinstance(taxonomies, Mapping) else {}
    found = [*field_tags(frontmatter), *field_tags(below)]
    for value in (*_values(frontmatter, _PHRASE_KEYS), *_values(below, _PHRASE_KEYS)):
        found.extend(_ITEM.findall(value) if isinstance(value, str) else scalars(value))
    return found


def field_tags(fields: Mapping[str, object]) -> list[str]:
    """Return the tags of the key ``tags``.

    A list gives its items; a string is split at commas, or at white space if it has none.
    """
    found: list[str] = []
    for value in _values(fields, _TAG_KEYS):
        if isinstance(value, str):
            items = _ITEM.findall(value)
            found.extend(_NAME.findall(value) if items == [value] else items)
        else:
            found += [each for text in scalars(value) for each in _JAPANESE_COMMA.split(text)]
    return found


def frontmatter_aliases(frontmatter: Mapping[str, object]) -> tuple[str, ...]:
    """Return the aliases of the keys ``aliases`` and ``alias``, in order, without duplicates.

    A list gives its items; one string is split at commas.
    """
    found: list[str] = []
    for value in _values(frontmatter, ("aliases", "alias")):
        found.extend(_ITEM.findall(value) if isinstance(value, str) else scalars(value))
    return _distinct(" ".join(alias.split()) for alias in found)


def distinct_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Clean tags and drop blank and repeated ones.

    Args:
        tags: As written, with or without ``#``.

    Returns:
        Without ``#``, in order, the first spelling of those that differ by case alone.
    """
    names = (" ".join(tag.split()).strip("\"'“”").lstrip("#＃").strip("[]/ ") for tag in tags)
    return _distinct(name for name in names if name.strip("-_*+"))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for name in names:
        if name:
            first.setdefault(name.casefold(), name)
    return tuple(first.values())


def _values(frontmatter: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[object]:
    for key, value in frontmatter.items():
        if key.strip().casefold() in keys:
            yield value
