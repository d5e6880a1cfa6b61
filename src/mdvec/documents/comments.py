"""Comments, which only the author sees: text between two ``%%``, and between ``<!--`` and ``-->``."""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from mdvec.types.document import Comment

Span = tuple[int, int]
"""First character, and one past the last."""

_DELIMITER = "%%"
_OPENING, _CLOSING = "<!--", "-->"
# An escaped character is none of the others.
_MARK = re.compile(r"\\[\\`%<]|`+|%%|<!--")
_RUN = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n(?=[ \t]*(?:\n|\Z))")
# White space between the beginning of a line and its first mark; CommonMark knows only spaces and tabs.
_BEFORE_FIRST_MARK = re.compile(r"^(?P<blank>[ \t]*)[^\S\n]*(?=[%`])", re.MULTILINE)
_NOT_LINE_END = re.compile(r"[^\n]")


def has_comments(text: str) -> bool:
    """Return True if a text may hold a comment; quick."""
    return text.find(_DELIMITER) >= 0 or text.find(_OPENING) >= 0


def find_comments(text: str, start: int, code: Sequence[Span]) -> tuple[Comment, ...]:
    """Find the comments of a Markdown text, in time linear in its length.

    A ``%%`` that begins a line opens a comment that ends at the next one, however far that is; any other
    has to be closed in its paragraph. ``<!--`` opens one that ends at the next ``-->``. What is never closed
    is text: nothing is lost by a stray ``%%``.
    Code holds no comment, and code inside a comment does not end it.

    Args:
        text: The whole file.
        start: Where to start looking, at the start of a line.
        code: Blocks of code, in order.
    """
    marks = _outside(_MARK.finditer(text, start), code)
    delimiters = [match.start() for match in marks if match[0] == _DELIMITER]
    runs = _runs_by_length(text, start)
    lines = _Lines(text, start)
    comments: list[Comment] = []
    position = start
    closes = True  # False once no more "-->" follows: looking again would take quadratic time
    for match in marks:
        if match.start() < position:
            continue
        if match[0] == _DELIMITER:
            closing = _closing(match, delimiters, lines)
            if closing is not None:
                comments.append(Comment(match.start(), text[match.start() : closing]))
                position = closing
        elif match[0] == _OPENING:
            closing = text.find(_CLOSING, match.end()) if closes else -1
            closes = closing >= 0
            if closes:
                position = closing + len(_CLOSING)
                comments.append(Comment(match.start(), text[match.start() : position]))
        elif match[0][0] == "`":
            position = _end_of_code_span(match, runs[len(match[0])], lines)
    return tuple(comments)


def blank_out(text: str, comments: Sequence[Comment]) -> str:
    """Put white space where the comments are, so that every other character stays in its place and line.

    Beside other text in their line they become no-break spaces: plain ones could make code of what follows.
    """
    if not comments:
        return text
    pieces: list[str] = []
    position = 0
    for comment in comments:
        pieces += text[position : comment.start], _NOT_LINE_END.sub("\N{NO-BREAK SPACE}", comment.text)
        position = comment.end
    blanked = "".join((*pieces, text[position:]))
    return "".join(_blank_lines(blanked, dict.fromkeys(_line_starts(text, comments))))


def _blank_lines(text: str, line_starts: Iterable[int]) -> Iterator[str]:
    """Make lines that hold nothing else truly blank; CommonMark counts no-break spaces as text."""
    position = 0
    for line in line_starts:
        end = text.find("\n", line)
        end = len(text) if end < 0 else end
        yield text[position:line]
        yield text[line:end] if text[line:end].strip() else " " * (end - line)
        position = end
    yield text[position:]


def _line_starts(text: str, comments: Iterable[Comment]) -> Iterator[int]:
    """Yield the start of each line that a comment is on, ascending; of one with several, repeatedly."""
    line = position = 0
    for comment in comments:
        line_end = text.rfind("\n", position, comment.start)
        line = line if line_end < 0 else line_end + 1
        yield line
        for match in re.finditer("\n", comment.text):
            line = comment.start + match.end()
            yield line
        position = comment.end


class _Lines:
    """The blank lines of a text, and the marks that begin a line."""

    def __init__(self, text: str, start: int) -> None:
        self._blank = [match.start() for match in _BLANK_LINE.finditer(text, start)]
        before = _BEFORE_FIRST_MARK.finditer(text, start)
        self._first_marks = {match.end(): match.end("blank") == match.end() for match in before}

    def begins(self, mark: int) -> bool:
        """Return True if only white space stands before a mark in its line."""
        return mark in self._first_marks

    def part(self, opening_end: int, closing: int) -> bool:
        """Return True if a closing mark is in another paragraph than the opening one, or begins a line."""
        if self._first_marks.get(closing):
            return True
        following = bisect.bisect_left(self._blank, opening_end)
        return following < len(self._blank) and self._blank[following] < closing


def _closing(opening: re.Match[str], delimiters: Sequence[int], lines: _Lines) -> int | None:
    """Return where the comment ends that a delimiter opens; None when it opens none."""
    index = bisect.bisect_left(delimiters, opening.end())
    if index == len(delimiters):
        return None
    closing = delimiters[index]
    if not lines.begins(opening.start()) and lines.part(opening.end(), closing):
        return None
    return closing + len(_DELIMITER)


def _end_of_code_span(opening: re.Match[str], closings: Sequence[int], lines: _Lines) -> int:
    """Return where a code span ends; backticks that open none are only text."""
    index = bisect.bisect_left(closings, opening.end())
    if index == len(closings) or lines.part(opening.end(), closings[index]):
        return opening.end()
    return closings[index] + len(opening[0])


def _runs_by_length(text: str, start: int) -> dict[int, list[int]]:
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for match in _RUN.finditer(text, start):
        runs[len(match[0])].append(match.start())
    return runs


def _outside(marks: Iterable[re.Match[str]], code: Sequence[Span]) -> list[re.Match[str]]:
    """Return the marks that are not in a block of code."""
    starts = [first for first, _ in code]
    found: list[re.Match[str]] = []
    for mark in marks:
        before = bisect.bisect_right(starts, mark.start()) - 1
        if before < 0 or mark.start() >= code[before][1]:
            found.append(mark)
    return found
