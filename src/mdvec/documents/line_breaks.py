"""Decides whether the line breaks inside paragraphs are meant, or only keep the lines of a file short."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from mdvec.text.cells import cell_width, char_width

# Lines that an editor or a person fills end between these columns.
_SHORTEST, _LONGEST = 50, 130
# Of the breaks of a wrapped text, a few are meant.
_WRAPPED_SHARE = 0.8


def is_hard_wrapped(paragraphs: Iterable[str]) -> bool:
    """Return True if the lines of paragraphs are filled up to a width, so that their breaks mean nothing.

    A line is filled if the first word of the next one would make it the longest of its paragraph.

    Args:
        paragraphs: Their source, with line feeds between the lines.
    """
    breaks = filled = 0
    for paragraph in paragraphs:
        lines = paragraph.split("\n")
        longest = max(map(cell_width, lines))
        breaks += len(lines) - 1
        if _SHORTEST <= longest <= _LONGEST:
            filled += sum(
                cell_width(line) + 1 + _first_width(following) > longest
                for line, following in pairwise(lines)
            )
    return filled > _WRAPPED_SHARE * breaks


def _first_width(line: str) -> int:
    """Return the columns of what cannot be divided at the start of a line: a word, or a wide character."""
    first = line.lstrip()[:1]
    return 2 if first and char_width(first) > 1 else cell_width(line.split(maxsplit=1)[0] if first else "")
