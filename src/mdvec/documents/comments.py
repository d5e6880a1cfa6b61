"""The parts of a text that are not for readers: comments, states of Logseq's blocks, the data of drawings.

Comments are ``%% … %%``, ``<!-- … -->``, and ``{/* … */}`` in MDX.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mdvec.types.document import Comment

Span = tuple[int, int]
"""First character, and one past the last."""

_DELIMITER = "%%"
_CLOSINGS = {"<!--": "-->", "{/*": "*/}"}
# Logseq writes the state of a block below it, and shows it to nobody.
_BLOCK_STATE = r"^[ \t]+(?:id|collapsed|background-color|logseq\.[\w.-]+)::[ \t][^\n]*"
# An escaped character is not a delimiter.
_MARK = re.compile(rf"\\[\\`%<{{]|`+|%%|<!--|\{{/\*|{_BLOCK_STATE}", re.MULTILINE)
_RUN = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n(?=[ \t]*(?:\n|\Z))")
# White space between the beginning of a line and its first mark; CommonMark knows only spaces and tabs.
_BEFORE_FIRST_MARK = re.compile(r"^(?P<blank>[ \t]*+)[^\S\n]*+(?=[%`])", re.MULTILINE)

_Part = tuple[int, Span]  # where its line starts, and where it is

# Excalidraw drawings in Obsidian: Markdown files in which only the words of the drawing are for readers.
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


def has_comments(text: str) -> bool:
    """Return True if a text may contain a comment; a fast check."""
    return any(each in text for each in (_DELIMITER, *_CLOSINGS, ":: "))


def find_comments(text: str, start: int, code: Sequence[Span]) -> tuple[Comment, ...]:
    """Find the comments of a Markdown text from the start of a line on, in time linear in its length.

    A ``%%`` at the beginning of a line opens a comment that ends at the next ``%%``, however far away; any
    other must be closed in its paragraph. Other comments end at their closing sign. An unclosed delimiter is
    text, so that a stray ``%%`` hides nothing, and so is one after a digit (``50%%``). Code (blocks in order)
    contains no comments, and code inside a comment does not end it.
    """
    marks = _outside(_MARK.finditer(text, start), code)
    delimiters = [match.start() for match in marks if match[0] == _DELIMITER]
    runs = _runs_by_length(text, start)
    lines = _Lines(text, start)
    comments: list[Comment] = []
    position = start
    unclosed: set[str] = set()  # signs without another closing one: looking again would take quadratic time
    for match in marks:
        if match.start() < position:
            continue
        if match[0] == _DELIMITER:
            if text[match.start() - 1 : match.start()].isdigit():
                continue
            closing = _closing(match, delimiters, lines)
            if closing is not None:
                comments.append(Comment(match.start(), text[match.start() : closing]))
                position = closing
        elif match[0] in _CLOSINGS and match[0] not in unclosed:
            sign = _CLOSINGS[match[0]]
            closing = text.find(sign, match.end() - len("--"))  # "<!-->" is all of a comment
            if closing < 0:
                unclosed.add(match[0])
            else:
                position = closing + len(sign)
                comments.append(Comment(match.start(), text[match.start() : position]))
        elif match[0][0].isspace():
            comments.append(Comment(match.start(), match[0]))
        elif match[0][0] == "`":
            position = _end_of_code_span(match, runs[len(match[0])], lines)
    return tuple(comments)


def blank_out(text: str, comments: Sequence[Comment]) -> str:
    """Replace comments by white space, so that every other character stays in its place and line.

    Next to other text in a line, they become no-break spaces: plain spaces could turn what follows into code.
    A line with nothing but comments becomes truly blank, since CommonMark counts no-break spaces as text.
    """
    parts = [*_cut(text, comments)]
    blank = _filled(text, parts, " ")
    return _filled(blank, _beside_text(blank, parts), "\N{NO-BREAK SPACE}")


def _cut(text: str, comments: Iterable[Comment]) -> Iterator[_Part]:
    """Yield the line starts that comments are at, with what they take of the lines, ascending."""
    line = position = 0
    for comment in comments:
        line_end = text.rfind("\n", position, comment.start)
        line = line if line_end < 0 else line_end + 1
        position = comment.start
        for number, part in enumerate(comment.text.split("\n")):
            if number:  # after a line end
                line = position = position + 1
            yield line, (position, position + len(part))
            position += len(part)


def _beside_text(text: str, parts: Iterable[_Part]) -> Iterator[_Part]:
    """Yield the parts on lines with something else than spaces and tabs."""
    for line, on_line in itertools.groupby(parts, key=lambda part: part[0]):
        end = text.find("\n", line)
        if text[line : len(text) if end < 0 else end].strip(" \t"):
            yield from on_line


def _filled(text: str, parts: Iterable[_Part], character: str) -> str:
    pieces: list[str] = []
    position = 0
    for _, (start, end) in parts:
        pieces += text[position:start], character * (end - start)
        position = end
    return "".join((*pieces, text[position:]))


class _Lines:
    """The blank lines of a text, and the delimiters that begin a line."""

    def __init__(self, text: str, start: int) -> None:
        self._blank = [match.start() for match in _BLANK_LINE.finditer(text, start)]
        before = _BEFORE_FIRST_MARK.finditer(text, start)
        self._first_marks = {match.end(): match.end("blank") == match.end() for match in before}

    def begins(self, mark: int) -> bool:
        """Return True if only white space is before a delimiter in its line."""
        return mark in self._first_marks

    def part(self, opening_end: int, closing: int) -> bool:
        """Return True if a closing delimiter begins a line, or is outside the opening paragraph."""
        if self._first_marks.get(closing):
            return True
        following = bisect.bisect_left(self._blank, opening_end)
        return following < len(self._blank) and self._blank[following] < closing


def _closing(opening: re.Match[str], delimiters: Sequence[int], lines: _Lines) -> int | None:
    """Return the end of the comment that a delimiter opens; None if it opens none."""
    index = bisect.bisect_left(delimiters, opening.end())
    if index == len(delimiters):
        return None
    closing = delimiters[index]
    if not lines.begins(opening.start()) and lines.part(opening.end(), closing):
        return None
    return closing + len(_DELIMITER)


def _end_of_code_span(opening: re.Match[str], closings: Sequence[int], lines: _Lines) -> int:
    """Return the end of a code span; backticks that open none are text."""
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
    """Return the delimiters that are not in a block of code."""
    starts, ends = [first for first, _ in code], [0, *(end for _, end in code)]
    return [mark for mark in marks if mark.start() >= ends[bisect.bisect_right(starts, mark.start())]]


def is_drawing(frontmatter: Mapping[str, object]) -> bool:
    """Return True if a file is a drawing, by its frontmatter."""
    return any(key.strip().casefold() == _PROPERTY for key in frontmatter)


def drawing_comments(text: str, start: int) -> tuple[Comment, ...]:
    """Return the parts of a drawing that are not its words, in order."""
    data = _DATA.search(text, start)
    end = len(text) if data is None else data.start()
    found = (Comment(match.start(), match[0]) for match in _NOT_FOR_READERS.finditer(text, start, end))
    return (*found, Comment(end, text[end:])) if end < len(text) else tuple(found)
