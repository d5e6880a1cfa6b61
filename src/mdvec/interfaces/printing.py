"""Text as terminals and clients show it: in lines of a width, without characters that steer a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdvec.text.cells import char_width

Span = tuple[int, int]

# The rest of a hidden comment: no-break spaces after text, plain ones in a line of its own. The
# shortest comment has four characters.
_GAP = re.compile(r"(?<![ \t])[ \t]*(?:\u00a0{4,}[ \t]*)+")
_BLANK_LINE = re.compile(r"^[ \t\u00a0]{4,}$", re.MULTILINE)
# Unicode's control and format characters, separators of lines and paragraphs, and lone surrogates.
_STEERERS = (
    r"\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
_STEERING_INSIDE = re.compile(rf"[\x00-\x09{_STEERERS}]")
STEERING = re.compile(rf"[\x00-\x0a{_STEERERS}]")
"""One character that could steer a terminal."""

# As JSON writes them.
_LITERALS = {"None": "null", "True": "true", "False": "false"}
_MAX_SHOWN_CHARS = 40

# These never start a line in Japanese typesetting.
_NO_LINE_START = frozenset("、。，．・：；？！ー…」』）］｝〉》】〕々ぁぃぅぇぉっゃゅょァィゥェォッャュョ")


def without_gaps(text: str) -> str:
    """Close the gaps that hidden comments leave in a text.

    Returns:
        The text for reading, with the same number of lines; positions in them are others.
    """
    return _BLANK_LINE.sub("", _GAP.sub(_closed, text))


def wrap(text: str, width: int, *, start: int = 0) -> Iterator[Span]:
    """Lay out a text in lines of at most ``width`` columns.

    A line ends after a space or next to a wide character; a longer word is cut.

    Args:
        text: The text.
        width: Most columns of a line.
        start: The first character to lay out.

    Yields:
        Spans of the lines that are not blank, in order, without white space at their ends.
    """
    while start < len(text):
        end = line_end(text, start)
        yield from _wrap_line(text, start, end, width)
        start = end + 1


def printable(text: str, *, keep_newlines: bool = False) -> str:
    """Replace each character that could steer a terminal by a space: control and format characters."""
    return (_STEERING_INSIDE if keep_newlines else STEERING).sub(" ", text)


def visible(text: str, *, keep_newlines: bool = False) -> str:
    r"""Write each character that could steer a terminal as an escape, such as ``\x1b`` or ``\u202e``."""
    return (_STEERING_INSIDE if keep_newlines else STEERING).sub(_escaped, text)


def one_line(text: str, most_chars: int | None = None) -> str:
    """Return a text on one line without control characters, so that it cannot look like several.

    A longer one ends with ``…``.
    """
    part = text if most_chars is None else text[: 4 * most_chars]
    line = " ".join(printable(part).split())
    if most_chars is None or (len(line) <= most_chars and len(part) == len(text)):
        return line
    return f"{line[: most_chars - 1].rstrip()}…"


def short_repr(value: object) -> str:
    """Return a value as a client wrote it, cut when it is long."""
    text = _LITERALS.get(repr(value)) or repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[: _MAX_SHOWN_CHARS - 1]}…"


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if found[0] == "\t":
        return found[0]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _closed(gap: re.Match[str]) -> str:
    """Return the blanks that were next to a comment, two of them as one."""
    if gap.end() == len(gap.string) or gap.string[gap.end()] == "\n":
        return ""
    blanks = gap[0].replace("\u00a0", "")
    begins_line = gap.start() == 0 or gap.string[gap.start() - 1] == "\n"
    return blanks if begins_line else blanks[:1]


def line_end(text: str, start: int) -> int:
    """Return the end of the line that a place is in."""
    newline = text.find("\n", start)
    return len(text) if newline < 0 else newline


def _wrap_line(text: str, start: int, end: int, width: int) -> Iterator[Span]:
    used = 0  # columns of text[start:position]
    fits = start  # the last place where the line may end
    used_at_fit = 0
    for position in range(start, end):
        columns = char_width(text[position])
        if position > start and _may_break(text[position - 1], text[position]):
            fits, used_at_fit = position, used
        # A space at the end of a line is not shown, so it needs no room.
        while used + columns > width and position > start and not text[position].isspace():
            if fits <= start:
                fits, used_at_fit = position, used
            yield from _trimmed(text, start, fits)
            start, used = fits, used - used_at_fit
            used_at_fit = 0
        used += columns
    yield from _trimmed(text, start, end)


def _may_break(before: str, after: str) -> bool:
    if before.isspace() or after.isspace():
        return not after.isspace()
    return after not in _NO_LINE_START and (char_width(before) == 2 or char_width(after) == 2)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    line = text[start:end]
    if line.strip():
        # White space before the text stays: it is the indentation of code and lists.
        yield start, start + len(line.rstrip())
