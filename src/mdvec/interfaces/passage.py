"""Chooses and lays out the few lines of a text that answer a query best."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from mdvec.text.highlight import best_window, match_spans

Span = tuple[int, int]

# Longer texts are first reduced to their best stretch of this many characters: laying out a whole
# book to show four lines of it would take longer than finding it.
_STRETCH_CHARS = 8_000
# These never start a line in Japanese typesetting.
_NO_LINE_START = frozenset("、。，．・：；？！ー…」』）］｝〉》】〕々ぁぃぅぇぉっゃゅょァィゥェォッャュョ")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a line.

    Attributes:
        text: The part.
        matched: Whether it is a word of the query.
    """

    text: str
    matched: bool


def best_passage(query: str, text: str, *, width: int, lines: int) -> list[list[Segment]]:
    """Choose the lines with the most different words of the query, and mark these words.

    Args:
        query: What was asked.
        text: The text of a hit.
        width: Most columns of a line; a wide character takes two.
        lines: Most lines.

    Returns:
        Lines of segments, blank lines left out, control characters replaced by spaces.
    """
    spans = match_spans(query, text)
    if len(text) > _STRETCH_CHARS:
        bounds = [*range(0, len(text), _STRETCH_CHARS), len(text)]
        index = best_window(spans, bounds)
        text = text[bounds[index] : bounds[index + 1]]
        spans = match_spans(query, text)
    text = printable(text, keep_newlines=True)
    rows = wrap(text, width)
    first = _best_start(text, rows, spans, lines)
    return [list(_segments(text, row, spans)) for row in rows[first : first + lines]]


def wrap(text: str, width: int) -> list[Span]:
    """Lay out a text in lines of at most ``width`` columns.

    A line ends after a space or beside a wide character; a longer word is cut.

    Returns:
        Spans of the lines that are not blank, in order, without white space at their ends.
    """
    rows: list[Span] = []
    start = 0
    for line in text.split("\n"):
        rows.extend(_wrap_line(text, start, start + len(line), width))
        start += len(line) + 1
    return rows


def cell_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def printable(text: str, *, keep_newlines: bool = False) -> str:
    """Replace each control character by a space, so that a document cannot steer the terminal.

    Args:
        text: Any text; its length does not change.
        keep_newlines: Leave line feeds as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        " " if unicodedata.category(char) in ("Cc", "Cs") and not (keep_newlines and char == "\n") else char
        for char in text
    )


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _wrap_line(text: str, start: int, end: int, width: int) -> Iterator[Span]:
    used = 0  # columns of text[start:position]
    fits = start  # the last place where the line may end
    used_at_fit = 0
    for position in range(start, end):
        columns = _char_width(text[position])
        if position > start and _may_break(text[position - 1], text[position]):
            fits, used_at_fit = position, used
        while used + columns > width and position > start:
            if fits <= start:
                fits, used_at_fit = position, used
            yield from _trimmed(text, start, fits)
            start, used = fits, used - used_at_fit
            used_at_fit = 0
        used += columns
    yield from _trimmed(text, start, end)


def _may_break(before: str, after: str) -> bool:
    if before.isspace():
        return not after.isspace()
    return after not in _NO_LINE_START and (_char_width(before) == 2 or _char_width(after) == 2)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    line = text[start:end]
    if line.strip():
        # White space before the text is kept: it is the indentation of code and lists.
        yield start, start + len(line.rstrip())


def _best_start(text: str, rows: list[Span], spans: list[Span], lines: int) -> int:
    """Return the row to start at: most different words first, then most matched characters."""
    found: list[list[Span]] = [
        [span for span in spans if span[0] < end and span[1] > start] for start, end in rows
    ]
    best, best_weight = 0, (0, 0)
    for first in range(max(1, len(rows) - lines + 1)):
        inside = [span for row in found[first : first + lines] for span in row]
        words = {text[start:end].casefold() for start, end in inside}
        weight = (sum(map(len, words)), sum(end - start for start, end in inside))
        if weight > best_weight:
            best, best_weight = first, weight
    return best


def _segments(text: str, row: Span, spans: list[Span]) -> Iterator[Segment]:
    position, end = row
    for begin, stop in spans:
        begin, stop = max(begin, position), min(stop, end)
        if begin < stop:
            if position < begin:
                yield Segment(text[position:begin], matched=False)
            yield Segment(text[begin:stop], matched=True)
            position = stop
    if position < end:
        yield Segment(text[position:end], matched=False)
