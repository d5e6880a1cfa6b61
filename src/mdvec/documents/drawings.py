"""Excalidraw drawings in Obsidian: Markdown files in which only the words of the drawing are for readers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mdvec.types.document import Comment

DRAWING_SUFFIX = ".excalidraw"
"""The end of a drawing's name, before ``.md``."""

_PROPERTY = "excalidraw-plugin"
# Everything from here on is data: the headings differ by version of the plug-in.
_DATA = re.compile(
    r"^(?:%%[ \t]*\n)?#{1,2} (?:Drawing|Embedded Files|Element Links|Embedded files)[ \t]*$", re.MULTILINE
)
# Text that the plug-in writes for itself: a notice, its headings, and the ids of text elements.
_NOT_FOR_READERS = re.compile(
    r"^==[^\n]*EXCALIDRAW VIEW[^\n]*$|^#{1,2} (?:Excalidraw Data|Text Elements)[ \t]*$"
    r"|[ \t]+\^[\w-]{8}[ \t]*$|^%%[ \t]*$",
    re.MULTILINE,
)


def is_drawing(frontmatter: Mapping[str, object]) -> bool:
    """Return True if a file is a drawing, by its frontmatter."""
    return any(key.strip().casefold() == _PROPERTY for key in frontmatter)


def drawing_comments(text: str, start: int) -> tuple[Comment, ...]:
    """Return the parts of a drawing that are not its words, in order."""
    return tuple(_comments(text, start))


def _comments(text: str, start: int) -> Iterator[Comment]:
    data = _DATA.search(text, start)
    end = len(text) if data is None else data.start()
    for match in _NOT_FOR_READERS.finditer(text, start, end):
        yield Comment(match.start(), match[0])
    if end < len(text):
        yield Comment(end, text[end:])
