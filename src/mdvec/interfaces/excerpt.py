"""Excerpts: the few lines of a text that answer a query best."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from mdvec.interfaces.printing import Span, line_end, printable, without_gaps, wrap
from mdvec.text.cells import cell_width, char_width
from mdvec.text.links import is_markdown
from mdvec.text.plain_headings import plain_headings
from mdvec.types.hit import SearchHit

# The best start is searched in the one part of this many characters that has most words of the query:
# to try every start in a whole book would take longer than to find the book.
_PART_CHARS = 8_000
_MORE = "…"
# Terminals differ in how wide they draw it.
_MORE_COLUMNS = 2
# Code, in which words count less than in prose; headings, list items that are nothing but a link, and one
# word after a label, such as "Plugin ID: sync", in which they count if no others do.
_ASIDE = re.compile(
    r"^(?P<fence>```).*?(?:^```|\Z)|^[→›] [^\n]*$|^[^\W\d_][\w -]{0,29}:[ \t]\S{1,24}$",
    re.DOTALL | re.MULTILINE,
)
_FENCE = "```"
_HEADING = re.compile(r"^(?: {0,3}#{1,6}[ \t]|›)[ \t]*+([^\n]*)$", re.MULTILINE)
_HEADING_AT_START = re.compile(r"\A# [^\n]*\n")
_CLOSING_SIGNS = re.compile(r"(?:^|(?<=[ \t]))#++$")
_FENCE_OR_HEADING = re.compile(
    rf"^(?:```|~~~).*?(?:^```|^~~~|\Z)|{_HEADING.pattern}", re.DOTALL | re.MULTILINE
)
# The start of a sentence that may say what a text is about: no item of a list, long enough or with an end.
_REAL_SENTENCE = re.compile(
    r"^(?![ \t]*(?:[•→›`]|\d+[.)][ \t]))(?:[^\n]{40}|[^\n]{7,}[.。！？!?](?:\s|\Z))", re.MULTILINE
)
_BEFORE = 10
_PROSE_WEIGHT = 2
_CODE_WEIGHT = 1
# The end of a line of prose that is so long that it may have been wrapped, before another one: no heading,
# table or row of one, fence, list, quotation or property.
_SOFT_BREAK = re.compile(
    r"^(?![ \t]*(?:#{1,6}[ \t]|›|\||`{3}|~{3})|[^\n]* · )[^\n]{39,}\S[ \t]*(\n)"
    r"(?=[^\W\d_]|[\"'(`])(?!```|[^\n]* · |\w[\w -]{0,29}:(?:\s|\Z))",
    re.MULTILINE,
)
# The head of a table, with a row below it, and the other rows.
_ROW = r"(?>[^\n]*? · [^\n]*+)"
_TABLE = re.compile(rf"^({_ROW})\n\s*+(?:{_ROW}(?:\n|\Z))++", re.MULTILINE)
# Places where reading may start inside a sentence that is too long to be shown.
_PAUSE = re.compile(r"[\s、，；：]+")


class Segment(Struct, frozen=True):
    """A part of a line.

    Attributes:
        text: The part.
        matched: It is a word of the query.
    """

    text: str
    matched: bool


class _Pieces:
    """The parts of a text, with the weights of the words in them.

    Attributes:
        sentences: The lines where a sentence may begin that says what the text is about.
    """

    def __init__(self, text: str) -> None:
        self._asides = [
            (found.span(), _CODE_WEIGHT if found["fence"] else 0) for found in _ASIDE.finditer(text)
        ]
        lines = ((found.start(), line_end(text, found.start())) for found in _REAL_SENTENCE.finditer(text))
        self.sentences: list[Span] = [line for line in lines if self.weight(line[0]) == _PROSE_WEIGHT]

    def weight(self, at: int) -> int:
        """Return the weight of a word."""
        index = bisect_right(self._asides, at, key=lambda aside: aside[0][0]) - 1
        return self._asides[index][1] if index >= 0 and at < self._asides[index][0][1] else _PROSE_WEIGHT

    def in_sentence(self, at: int) -> bool:
        """Return True for a place in one of the sentences."""
        index = bisect_right(self.sentences, at, key=lambda line: line[0]) - 1
        return index >= 0 and at < self.sentences[index][1]


def excerpt_of(query: str, hit: SearchHit, *, width: int, lines: int) -> list[list[Segment]]:
    """Return the lines of a hit with the most different words of the query, these words marked.

    Marks of Markdown and the heading above are left out, unless nothing else is there. The lines start where
    a line or a sentence starts, or at a word of a sentence that is too long; without any word of the query at
    the first whole sentence. Words in prose count more than words in code and in lists of links, and words of
    the name not at all if the query has others. If the heading has all words that are found, the lines are
    those of its section. If any heading of the chunk has them, only whole sentences count: they say what a
    name means. Where there is none, the lines below that heading are shown, as of "soup ingredients".

    Args:
        query: The query.
        hit: The lines are those of its best chunk, or of its whole text if the chunk has headings or markup
            alone. They are below its heading, which is shown above them.
        width: Most columns of a line; a wide character takes two.
        lines: Most lines.

    Returns:
        Lines of segments without blank lines, control characters replaced by spaces; ``…`` at the end
        when the last line is cut.
    """
    from mdvec.text.matches import beyond_name, match_spans

    file = hit.path.rpartition("/")[2]
    is_plain = "." in file and not is_markdown(file) and not file.endswith(".canvas")
    name, heading = f"{hit.title} {hit.path}", hit.heading
    asked = beyond_name(query, name)
    marked = _below_shown(hit.chunk_text, heading, is_plain=is_plain)
    if _holds_all(asked, heading, marked):
        is_document, whole = name.startswith(heading), hit.text or hit.chunk_text
        marked = _below_shown(whole, heading, is_plain=is_plain) if is_document else _section(marked)
    headings = "\n".join(_HEADING.findall(marked))
    text = _plain_text(marked) if is_plain else _unwrapped(_shown_text(marked, hit.text))
    spans = match_spans(query, text)
    parts = _Pieces(text)
    counted = (asked != query and match_spans(asked, text)) or spans
    if _are_parts(_different(text, counted), _different(headings, match_spans(query, headings))):
        counted = [span for span in counted if parts.in_sentence(span[0])]
    # The head of a table has a word of nearly every question about it.
    tables = [(found.span(1), found.span()) for found in _TABLE.finditer(text)]
    for head, table in tables:
        if any(head[1] <= span[0] < table[1] for span in counted):
            counted = [span for span in counted if not head[0] <= span[0] < head[1]]
    below = "" if counted else _below_heading(asked, marked)
    is_below = bool(below) and text.endswith(below)
    start = len(text) - len(below) if is_below else _best_start(text, counted, parts, width, lines)
    rows = list(islice(_readable(text, width, start), lines))
    if not rows:
        return []
    above = next((head for head, table in tables if head[1] <= rows[0][0] < table[1]), None)
    if above and lines > 1:
        rows = [next(wrap(text, width, start=above[0])), *rows[: lines - 1]]
    elif len(rows) < lines and rows[0][0] > 0:  # there is room for lines before
        before = list(_readable(text[: rows[0][0]], width, 0))
        start = next(
            (row[0] for row in before[len(rows) - lines :] if text[row[0] - 1 : row[0]] in ("", "\n")),
            rows[0][0],
        )
        rows = list(islice(_readable(text, width, start), lines))
    is_cut = bool(text[rows[-1][1] : line_end(text, rows[-1][1])].strip())
    if is_cut:
        rows[-1] = next(wrap(text, max(2, width - _MORE_COLUMNS), start=rows[-1][0]))
    near = [span for span in spans if span[0] < rows[-1][1] and span[1] > rows[0][0]]
    shown = [list(_segments(text, row, near)) for row in rows]
    if is_cut:
        shown[-1].append(Segment(_MORE, matched=False))
    return shown


def _holds_all(query: str, heading: str, text: str) -> bool:
    """Return True if a heading has all the words of a query that a text has."""
    from mdvec.text.matches import match_spans

    named = _different(heading, match_spans(query, heading))
    return bool(named) and _are_parts(_different(text, match_spans(query, text)), named)


def _below_shown(text: str, heading: str, *, is_plain: bool) -> str:
    """Return a text from a heading on, with each further heading as a line such as ``› Installation``."""
    lines = plain_headings(text, heading) if is_plain else []
    if is_plain and not lines:  # where "#" may begin a comment
        return text
    for each in reversed(lines):
        text = f"{text[: each.start]}# {each.text}\n{text[each.end :]}"
    found = [each for each in _FENCE_OR_HEADING.finditer(text) if each[1] is not None]
    at_start = (each for each in found[:1] if not text[: each.start()].strip())
    shown = next((each for each in found if _name(each) == heading), None) or next(at_start, None)
    start, end = shown.span() if shown else (0, 0)
    return text[start:end] + _FENCE_OR_HEADING.sub(
        lambda each: each[0] if each[1] is None else f"› {_name(each)}", text[end:]
    )


def _name(heading: re.Match[str]) -> str:
    """Return the text of a heading, without the signs that may close it."""
    return _CLOSING_SIGNS.sub("", heading[1].strip()).rstrip()


def _section(text: str) -> str:
    """Return a text up to the next heading; all of it if there is nothing to read before."""
    own = text.partition("\n› ")[0]
    return own if _shown_text(own).strip() else text


def _below_heading(query: str, text: str) -> str:
    """Return what follows the heading, after the first one, that has most words of a query, as it is shown.

    The first one names all of the text. Empty if no other has any of the words.
    """
    from mdvec.text.matches import match_spans

    best, most = len(text), 0
    for found in [*_HEADING.finditer(text)][1:]:
        length = sum(end - start for start, end in match_spans(query, found[1]))
        if length > most:
            best, most = found.end(), length
    return _unwrapped(_shown_text(text[best:]))


def _shown_text(*texts: str) -> str:
    """Return the first text with prose or code, as its reader sees it; else the first of all."""
    from mdvec.text.plain import plain_text, without_addresses

    marked = [printable(without_gaps(each), keep_newlines=True) for each in texts]
    return next(filter(str.strip, map(plain_text, marked)), "") or without_addresses(marked[0])


def _plain_text(text: str) -> str:
    """Return a text that is no Markdown, without the heading at its start."""
    return printable(without_gaps(_HEADING_AT_START.sub("", text)), keep_newlines=True)


def _readable(text: str, width: int, start: int) -> Iterator[Span]:
    """Yield the lines of a text from a place on, without the marks around code."""
    return (row for row in wrap(text, width, start=start) if text[row[0] : row[1]] != _FENCE)


def _unwrapped(text: str) -> str:
    """Join the lines of paragraphs that were wrapped by hand; the length does not change.

    Lines that begin or end with a Japanese character are left: no space belongs between them.
    """
    fences = [found.span() for found in _ASIDE.finditer(text) if found["fence"]]
    characters = list(text)
    for found in _SOFT_BREAK.finditer(text):
        at = found.start(1)
        inside = any(start <= at < end for start, end in fences)
        if not inside and char_width(text[at - 1]) == 1 and char_width(text[found.end()]) == 1:
            characters[at] = " "
    return "".join(characters)


def _best_start(text: str, spans: Sequence[Span], parts: _Pieces, width: int, lines: int) -> int:
    """Return the start of the lines with the highest weight; without a match, of the first whole sentence.

    Among lines with equally many different words, those whose first line has the most of them.
    """
    if not spans:
        return next((start for start, _ in parts.sentences), 0)
    part = _best_part(text, spans)
    words = [(_word(text[start:end]), parts.weight(start), end - start) for start, end in part]
    reach = width * lines // 2  # so that a match is seen with the words after it
    best, best_weight = 0, (-1, 0, 0)
    for start in dict.fromkeys(_beginning(text, match, reach) for match, _ in part):
        ends = [end for _, end in islice(_readable(text, width, start), lines)]
        different, total = _weight(start, ends[-1], part, words)
        weight = different, _weight(start, ends[0], part, words)[0], total
        if weight > best_weight:
            best, best_weight = start, weight
    return best


def _best_part(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the matches in the part of the text with the most different words of the query."""
    parts: dict[int, list[Span]] = {}
    for span in spans:
        parts.setdefault(span[0] // _PART_CHARS, []).append(span)

    def weight(inside: list[Span]) -> int:
        return sum(map(len, {text[start:end].casefold() for start, end in inside}))

    return max(parts.values(), key=weight, default=[])


def _beginning(text: str, match: int, reach: int) -> int:
    """Return the start of a match's line or sentence, or a pause at most ``reach`` columns before it."""
    limit = max(0, match - reach)
    if cell_width(text[limit:match]) > reach:
        limit = max(0, match - reach // 2)
    start = text.rfind("\n", limit, match) + 1 or limit
    # Read on to the match, so that the last end is the end of the excerpt, not of a sentence.
    from mdvec.text.sentences import sentence_ends

    ends = sentence_ends(text[start : match + 1])[:-1]
    if ends:
        end = start + ends[-1]
        return match - len(text[end:match].lstrip())
    if start == 0 or text[start - 1] == "\n":
        return start
    pause = _PAUSE.search(text, start, match)
    # In Japanese, words that describe another one come before it.
    return pause.end() if pause else max(start, match - _BEFORE)


def _different(text: str, spans: Sequence[Span]) -> set[str]:
    """Return the different words among some matches."""
    return {_word(text[start:end]) for start, end in spans}


def _are_parts(words: set[str], names: set[str]) -> bool:
    """Return True if each word is a part of a name; neighbouring matches in Japanese are one."""
    return all(any(word in name for name in names) for word in words)


def _word(text: str) -> str:
    """Return the stem of a word, which all its forms share."""
    from mdvec.text.scripts import is_english
    from mdvec.text.terms import stem

    word = text.casefold()
    return stem(word) if is_english(word) else word


def _weight(
    first: int, last: int, spans: Sequence[Span], words: Sequence[tuple[str, int, int]]
) -> tuple[int, int]:
    """Weigh a stretch of text: by its different words first, then by the length of all its matches."""
    different: dict[str, int] = {}
    total = 0
    for index in range(bisect_right(spans, first, key=lambda span: span[1]), len(spans)):
        if spans[index][0] >= last:
            break
        word, weight, length = words[index]
        different[word] = max(weight * length, different.get(word, 0))
        total += max(1, weight) * length
    return sum(different.values()), total


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
