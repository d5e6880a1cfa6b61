"""Converters: from the bytes of a file to Markdown. Read ``notebook.py`` first, which is the shortest.

A converter is a function of the bytes that returns Markdown, loaded when such a file is met. Metadata is
frontmatter. Where a page, a slide or a cell of the original begins, it writes :func:`place_mark`. It runs in
a process of its own, see :mod:`mdvec.documents.conversion`. Text of the original goes through :func:`plain`,
:func:`inline` or :func:`fenced`, since its author did not write Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from mdvec.documents.encodings import decode

BLOCK_SIGN = r"#{1,6}(?=\s|$)|>|(?:-[- \t]*|_[_ \t]*|=+[ \t]*)$"
"""The signs that begin a heading or a quotation, make a rule, or make the line above a heading."""

HIDING_SIGN = (
    r"<(?=[A-Za-z/!?])|%(?=%)|\{(?=[/#.:])|\[(?=\[)|(?<=\[)\["
    r"|(?<![!-)+-<>-}\w])#(?=[\w/-]|[^\x00-\x7f])(?!\d+(?![\w/-]))"
)
"""The signs that begin HTML, a comment, attributes, a wikilink or a tag."""

_SIGN = re.compile(
    r"(https?://[A-Za-z0-9_./?=&%#:~@!+,;'-]+|_{4,})"  # addresses and lines to write on stay
    # Formulas, code, escapes, emphasis, marked and struck text, links, footnotes, names of blocks, references
    # and fields.
    rf"|{HIDING_SIGN}|\$(?=[^\s\d])|`|\\(?=[!-/:-@\[-`{{-~]|$)|\*(?=\S)|(?<=\S)\*|(?<![^\W_])_|_(?![^\W_])"
    r"|=(?==[^\s=])|(?<=[^\s=]=)=|~(?=~)|(?<=~)~|\](?=[(\[:])|\[(?=[\^!])|(?<=\^)\[|\^(?=[\w-]+[ \t]*$)"
    r"|&(?=#?\w+;)|:(?=:[ \t])",
    re.MULTILINE,
)
_BLOCK = re.compile(rf"^((?:[ \t]|(?:[-+*]|\d{{1,9}}[.)])[ \t])*)({BLOCK_SIGN})", re.MULTILINE)
_INDENT = re.compile(r"^(?: {4}| {0,3}\t)[ \t]*", re.MULTILINE)
_LINE = re.compile(r"\s+")


class NotConvertedError(Exception):
    """A file holds no text that can be read; the message says why, and what to do."""


def text_of(raw: bytes) -> str:
    """Return the text of a file, in whatever encoding it is.

    Raises:
        NotConvertedError: If it is no text.
    """
    decoded = decode(raw)
    if decoded is None:
        msg = "is no text"
        raise NotConvertedError(msg)
    return decoded.text


def place_mark(place: str) -> str:
    """Return what marks where a part of the original begins: a comment, which readers do not see.

    Args:
        place: Its name, such as ``page 7``.
    """
    return f"<!-- place: {place.replace('-->', '')} -->"


def frontmatter(values: Mapping[str, object]) -> str:
    """Return metadata as frontmatter; without values, nothing."""
    held = {key: value for key, value in values.items() if value}
    if not held:
        return ""
    # JSON is YAML, too.
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in held.items())
    return "\n".join(("---", *lines, "---", "", ""))


def plain(text: str) -> str:
    """Return lines of plain text as Markdown that shows them as they are; only list items have a meaning."""
    return _BLOCK.sub(r"\1\\\2", _INDENT.sub("   ", inline(text)))


def inline(text: str) -> str:
    """Return the text of a line or a cell with a backslash before each sign that would be markup."""
    return _SIGN.sub(lambda found: found[1] or f"\\{found[0]}", text)


def fenced(text: str, language: str = "") -> str:
    """Return code in a fence that is longer than any inside it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of plain texts as a table, the first one its head; empty without rows."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    lines = [_row(row, width) for row in rows]
    return "\n".join((lines[0], "|" + "---|" * width, *lines[1:]))


def _row(cells: Iterable[str], width: int) -> str:
    shown = [inline(_LINE.sub(" ", cell).strip()).replace("|", "\\|") for cell in cells]
    return "| " + " | ".join((*shown, *[""] * (width - len(shown)))) + " |"
