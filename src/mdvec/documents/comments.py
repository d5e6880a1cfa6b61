"""Comments of Obsidian: what stands between two ``%%`` is for the author alone."""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from mdvec.types.document import Comment

Span = tuple[int, int]
"""First character, and one past the last."""

_DELIMITER = "%%"
# An escaped character is none of the others.
_MARK = re.compile(r"\\[\\`%]|`+|%%")
_RUN = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t]*(?:\n|\Z)")


def find_comments(text: str, start: int, code: Sequence[Span]) -> tuple[Comment, ...]:
    """Find the comments of a Markdown text.

    A ``%%`` that begins a line opens a comment that ends at the next one, however far that is; any other
    has to be closed in its paragraph. What is never closed is text: nothing is lost by a stray ``%%``.
    Code holds no comment, and code inside a comment does not end it.

    Args:
        text: The whole file.
        start: Where to start looking.
        code: Blocks of code, in order.
    """
    if text.count(_DELIMITER, start) < 2:
        return ()
    marks = _outside(_MARK.finditer(text, start), code)
    delimiters = [match.start() for match in marks if match[0] == _DELIMITER]
    runs = _runs_by_length(text, start)
    comments: list[Comment] = []
    position = start
    for match in marks:
        if match.start() < position:
            continue
        if match[0] == _DELIMITER:
            closing = _closing(text, match, delimiters)
            if closing is not None:
                comments.append(Comment(match.start(), text[match.start() : closing]))
                position = closing
        elif match[0][0] == "`":
            position = _end_of_code_span(text, match, runs[len(match[0])])
    return tuple(comments)


def blank_out(text: str, comments: Sequence[Comment]) -> str:
    """Put white space where the comments are, so that every other character keeps its place and line.

    Beside other text in their line they become no-break spaces: plain ones could make code of what follows.
    """
    if not comments:
        return text
    pieces: list[str] = []
    position = 0
    for comment in comments:
        pieces += text[position : comment.start], re.sub(r"[^\n]", "\N{NO-BREAK SPACE}", comment.text)
        position = comment.end
    blanked = "".join((*pieces, text[position:]))
    touched = {line for comment in comments for line in _lines(text, comment)}
    return "".join(_blank_lines(blanked, touched))


def _blank_lines(text: str, touched: set[int]) -> Iterator[str]:
    """Make lines that hold nothing else truly blank; CommonMark counts no-break spaces as text."""
    position = 0
    for line in sorted(touched):
        end = text.find("\n", line)
        end = len(text) if end < 0 else end
        yield text[position:line]
        yield text[line:end] if text[line:end].strip() else " " * (end - line)
        position = end
    yield text[position:]


def _lines(text: str, comment: Comment) -> Iterator[int]:
    """Yield where each of the lines begins that a comment is on."""
    line = text.rfind("\n", 0, comment.start) + 1
    while line < comment.end:
        yield line
        end = text.find("\n", line)
        if end < 0:
            return
        line = end + 1


def _closing(text: str, opening: re.Match[str], delimiters: Sequence[int]) -> int | None:
    """Return where the comment ends that a delimiter opens; None when it opens none."""
    index = bisect.bisect_left(delimiters, opening.end())
    if index == len(delimiters):
        return None
    closing = delimiters[index]
    begins_line = not text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()].strip()
    if not begins_line and _BLANK_LINE.search(text, opening.end(), closing):
        return None
    return closing + len(_DELIMITER)


def _end_of_code_span(text: str, opening: re.Match[str], closings: Sequence[int]) -> int:
    """Return where a code span ends; backticks that open none are only text."""
    index = bisect.bisect_left(closings, opening.end())
    if index == len(closings):
        return opening.end()
    closing = closings[index]
    blank = _BLANK_LINE.search(text, opening.end(), closing)
    return opening.end() if blank else closing + len(opening[0])


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
