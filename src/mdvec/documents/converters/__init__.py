"""Converters: from the bytes of a file to Markdown. Read ``notebook.py`` first, which is the shortest.

A converter is a function of the bytes that returns Markdown, loaded when such a file is met. Metadata is
frontmatter. Where a page, a slide or a cell of the original begins, it writes :func:`place_mark`. It runs in
a process of its own, see :mod:`mdvec.documents.conversion`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

# Of headings, quotations, code and rules. A line of dashes or equals signs makes a heading of what is above.
_SIGNS_AT_START = re.compile(r"^(\s*)(#{1,6}(?=\s)|>|```|~~~|(?:-+|=+)(?=[ \t]*$))", re.MULTILINE)
_LINE = re.compile(r"\s+")


class NotConvertedError(Exception):
    """A file holds no text that can be read; the message says why, and what to do."""


def place_mark(place: str) -> str:
    """Return what marks where a part of the original begins: a comment, which readers do not see.

    Args:
        place: Its name, such as ``page 7``.
    """
    return f"<!-- place: {place} -->"


def frontmatter(values: Mapping[str, object]) -> str:
    """Return metadata as frontmatter; without values, nothing."""
    held = {key: value for key, value in values.items() if value}
    if not held:
        return ""
    # JSON is YAML, too.
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in held.items())
    return "\n".join(("---", *lines, "---", "", ""))


def plain(text: str) -> str:
    """Return text of a file that is no Markdown, with its signs escaped where they would be markup."""
    return _SIGNS_AT_START.sub(r"\1\\\2", text.replace("<!--", "<\\!--"))


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table, the first one its head; empty without rows."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    lines = [_row(row, width) for row in rows]
    return "\n".join((lines[0], "|" + "---|" * width, *lines[1:]))


def _row(cells: Iterable[str], width: int) -> str:
    shown = [_LINE.sub(" ", cell).strip().replace("|", "\\|") for cell in cells]
    return "| " + " | ".join((*shown, *[""] * (width - len(shown)))) + " |"
