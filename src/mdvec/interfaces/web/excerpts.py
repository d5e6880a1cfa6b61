"""The few lines of a passage that a result shows, without the marks of Markdown."""

from __future__ import annotations

import re

from mdvec.interfaces.passage import Segment, best_passage

# In columns; a wide character takes two. The browser breaks lines where it likes.
_LINE_COLUMNS = 260
_LINES = 2
# Headings stand above the excerpt already; a rule, a fence and the line below a table's head say nothing.
_DROPPED_LINE = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t].*|(?:`{3,}|~{3,}).*|[-=*_|: \t]{3,}|>?[ \t]*\[!.*)$", re.MULTILINE
)
_IMAGE = re.compile(
    r"!\[\[[^\[\]\n]*\.(?:png|jpe?g|gif|svg|webp|avif|bmp)[^\[\]\n]*\]\]|!\[[^\[\]\n]*\]\([^()\n]*\)",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(?<![\w*_])([*_])(?=\S)([^*_\n]+?)(?<=\S)\1(?![\w*_])")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)")
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]\n|]*\|)?([^\[\]\n]+)\]\]")
_MARKS = re.compile(r"\*\*|__|==|~~|`+|^[ \t]*(?:>[ \t]?)+|(?<=\s)\^[\w-]+$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*[-*+][ \t]+(?:\[.\][ \t]+)?", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")


def excerpt(query: str, text: str) -> list[list[Segment]]:
    """Return the lines of a passage with most of a query's words, these words marked."""
    plain = _plain(text)
    return best_passage(query, plain if plain.strip() else text, width=_LINE_COLUMNS, lines=_LINES)


def _plain(text: str) -> str:
    text = _DROPPED_LINE.sub("", text)
    text = _TABLE_ROW.sub(lambda row: " · ".join(cell.strip() for cell in row[1].split("|")), text)
    text = _LINK.sub(r"\1", _IMAGE.sub("", text))
    text = _TAG.sub("", _WIKILINK.sub(r"\1", text))
    return _EMPHASIS.sub(r"\2", _MARKS.sub("", _BULLET.sub("• ", text)))
