"""PDF: the lines of each page as paragraphs and headings.

A page is a list of characters with places, so all that makes a text has to be inferred: lines by PDFium,
headings from the outline or from the size of letters, paragraphs from gaps. What is repeated on every page is
left out.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from mdvec.documents.converters import NotConvertedError, frontmatter, inline, place_mark, plain
from mdvec.documents.converters.pdf_layout import BULLETS, Line, Rule, arranged, arranged_vertically
from mdvec.text.folding import fold_name
from mdvec.text.scripts import UNSPACED, compiled

_PASSWORD_ERROR = "password"  # noqa: S105 - a word of PDFium's message
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
_FEW_CHARS_A_PAGE = 8
_MAX_LEVEL = 6

# Multiples of the size of the text around.
_HEADING_SIZE = 1.15
_TITLE_SIZE = 1.5  # of a page, which is no running head
# Multiples of the size of a line.
_PARAGRAPH_GAP = 0.4
_COLUMN_JUMP = 2.0
_INDENT = 1.2
# Multiples of the size of a letter: a gap that words do not have, and the step from letter to letter down.
_PIECE_GAP = 1.0
_BACK = 3.0  # to another column
_VERTICAL_STEP = 2.0
_LETTERS_ACROSS = 4  # in one place of vertical text, such as a number
_LEAST_VERTICAL = 4
_SPACE = ord(" ")
_ACROSS_SIZE = 1.0  # of text across the others, such as a stamp in the margin, which is no heading
_FAR = 10_000.0  # a running head is beyond the columns of vertical text
# Rules of tables, in points.
_THIN = 3.0
_MAX_SEGMENTS = 5_000  # of a page; a drawing has more
# Shares of the width of the text: a line that ends before is the last one of its paragraph if a sentence ends
# there, a shorter one in any case, as in forms and addresses.
_SHORT_LINE = 0.85
_SHORTER_LINE = 0.6
_WIDE_LINES = 5  # the widest fifth of the lines of a page has the width of the text
_LINES_OF_A_COLUMN = 50  # enough to know how wide it is

_MAX_HEADING_CHARS = 120
_EDGE_LINES = 2  # at the top and at the bottom of a page, that may be a running head
_LEAST_REPEATED = 3
_REPEATED_SHARE = 0.3

_NUMBERS = re.compile(r"[\d\W_]+")
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|p\.|seite|頁)?\W*(?:\d{1,4}|[ivxlc]{1,6})(?:\s*(?:/|of|von)\s*\d{1,4})?\W*(?:頁|ページ)?",
    re.IGNORECASE,
)
_BULLET = re.compile(rf"[{BULLETS}–*-]\s+(?=\S)")
_ITEM = re.compile(rf"(?:[{BULLETS}–*-]|\(?\d{{1,3}}[.)]|[(（]?[a-zA-Zア-ン][)）])\s+\S")
_SENTENCE_END = re.compile(r"[.!?:;。．！？」』)）\"”’]\Z")
# PDFium's sign for a hyphen at the end of a line, with the letter after it.
_BROKEN = re.compile(r"[\ufffe\x02](\w?)")
_HYPHEN_AT_END = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\Z")


class _Block(NamedTuple):
    text: str
    level: int
    page: int
    is_table: bool
    size: float
    is_full: bool  # its last line is as wide as the text

    @property
    def markdown(self) -> str:
        """The block as Markdown."""
        if self.is_table:
            return self.text
        if self.level:
            return f"{'#' * self.level} {inline(self.text)}"
        bullet = _BULLET.match(self.text)
        return f"- {plain(self.text[bullet.end() :])}" if bullet else plain(self.text)


def convert_pdf(raw: bytes) -> str:
    """Return the Markdown of a PDF file.

    Raises:
        NotConvertedError: If it is damaged or encrypted, or holds pictures of pages without text.
    """
    try:
        document = pdfium.PdfDocument(raw)
    except pdfium.PdfiumError as error:
        is_locked = _PASSWORD_ERROR in str(error).lower()
        msg = "is encrypted; save it without its password" if is_locked else "is no PDF file, or damaged"
        raise NotConvertedError(msg) from error
    try:
        pages = [_lines(document, number) for number in range(len(document))]
        outline = _outline(document)
        values = _metadata(document.get_metadata_dict(skip_empty=True), pages)
    finally:
        document.close()
    pages = _without_running_heads(pages)
    if all(sum(len(line.text) for line in page) < _FEW_CHARS_A_PAGE for page in pages):
        msg = "has pictures of pages and no text; recognise it first, for example with ocrmypdf"
        raise NotConvertedError(msg)
    return frontmatter(values) + _markdown(pages, outline)


def _lines(document: Any, number: int) -> list[Line]:
    """Return the lines of a page in the order of reading."""
    page = document[number]
    text_page = page.get_textpage()
    try:
        found: list[Line] = []
        lines = [*_in_file(text_page)]
        letters = Counter[_Turn]()
        for _, text, turn in lines:
            letters[turn] += len(text)
        [(turn, _)] = letters.most_common(1)
        for start, text, own in lines:
            is_plain = _units(text) == len(text) and own == turn  # each letter has one number
            for first, last in _stretches(text_page, text, start, turn) if is_plain else [(0, len(text) - 1)]:
                stretch = text[first : last + 1]
                if shown := " ".join(_BROKEN.sub(_mended, stretch).split()):
                    line = _placed(text_page, shown, start + first, start + last, turn)
                    found.append(line if own == turn else line._replace(size=_ACROSS_SIZE))
        if turn != _Turn(1, 0):  # PDFium orders words as if they were level
            found.sort(key=lambda line: (-line.baseline, line.left))
        if upright := _upright(found):
            return arranged_vertically(upright)
        return arranged(found, [*_rules(page, turn)])
    finally:
        text_page.close()
        page.close()


class _Turn(NamedTuple):
    """A quarter turn, or none, of the lines of a page: their direction, in which places are counted."""

    x: int
    y: int

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return how far a point is along the lines, and how far up."""
        return x * self.x + y * self.y, y * self.x - x * self.y


def _in_file(page: Any) -> Iterator[tuple[int, str, _Turn]]:
    """Yield the number of the first letter of each line, its text, and its direction."""
    whole, count = page.get_text_range(), page.count_chars()
    if _units(whole) != count:  # it leaves out letters of which a font does not say what they are
        whole = "".join(chr(pdfium_c.FPDFText_GetUnicode(page.raw, at) or _SPACE) for at in range(count))
    at = 0
    for text in whole.split("\r\n"):
        yield at, text, _turn(page, at + len(text) - len(text.lstrip()))
        at += _units(text) + 2


def _units(text: str) -> int:
    """Return how many numbers the letters of a text have."""
    return len(text.encode("utf-16-le")) // 2


def _turn(page: Any, at: int) -> _Turn:
    """Return the direction of the line that a letter is in."""
    matrix = pdfium_c.FS_MATRIX()
    pdfium_c.FPDFText_GetMatrix(page.raw, at, matrix)
    if abs(matrix.a) >= abs(matrix.b):
        return _Turn(-1 if matrix.a < 0 else 1, 0)
    return _Turn(0, -1 if matrix.b < 0 else 1)


def _stretches(page: Any, text: str, start: int, turn: _Turn) -> Iterator[tuple[int, int]]:
    """Yield the first and the last letter of each part of a line without a wide gap in it."""
    box = pdfium_c.FS_RECTF()
    place = ctypes.byref(box)
    first = last = -1
    reached = 0.0
    for at, letter in enumerate(text):
        if letter.isspace():
            continue
        pdfium_c.FPDFText_GetLooseCharBox(page.raw, start + at, place)
        ends = turn.place(box.left, box.bottom), turn.place(box.right, box.top)
        (left, bottom), (right, top) = map(min, *ends), map(max, *ends)
        gap, height = left - reached, top - bottom
        is_wide = gap > _PIECE_GAP * height or (gap < -_BACK * height and not _BROKEN.match(text[last]))
        if first >= 0 and is_wide:
            yield first, last
            first = -1
        first, last, reached = (at if first < 0 else first), at, right
    if first >= 0:
        yield first, last


def _mended(broken: re.Match[str]) -> str:
    letter: str = broken[1]
    return letter if letter.islower() else f"-{letter}"


def _placed(page: Any, text: str, first: int, last: int, turn: _Turn) -> Line:
    """Return a line with its place: the baselines of its first and last character, and its ends."""
    most = page.count_chars() - 1
    first, last = min(first, most), min(last, most)
    matrix, x, y = pdfium_c.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDFText_GetMatrix(page.raw, first, matrix)
    pdfium_c.FPDFText_GetCharOrigin(page.raw, first, x, y)
    # The size is that of letters before they are scaled to the page.
    scale = math.hypot(matrix.c, matrix.d) or 1.0
    size = pdfium_c.FPDFText_GetFontSize(page.raw, first) * scale
    left, baseline = turn.place(x.value, y.value)
    pdfium_c.FPDFText_GetCharOrigin(page.raw, last, x, y)
    x_from, y_from, x_to, y_to = page.get_charbox(last)
    right = max(turn.place(x_from, y_from)[0], turn.place(x_to, y_to)[0])
    return Line(text, round(size, 1), left, baseline, right, turn.place(x.value, y.value)[1])


def _upright(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a page of vertical text as if it were turned to the left; of another page, nothing.

    PDFium has a line for each of its columns, or for each of its letters. What is horizontal there is a
    running head.
    """
    columns: list[list[Line]] = []
    for line in lines:
        if columns and _is_below(columns[-1][-1], line):
            columns[-1].append(line)
        else:
            columns.append([line])
    letters = sum(len(line.text) for line in lines)
    vertical = sum(len(line.text) for column in columns if _is_vertical(column) for line in column)
    if vertical < max(_LEAST_VERTICAL, letters / 2):
        return []
    middle = median(line.baseline for line in lines)
    found = []
    for column in columns:
        first, last = column[0], column[-1]
        text = "".join(line.text for line in column)
        x = first.left + first.size / 2
        if not _is_vertical(column) and len(text) > _LETTERS_ACROSS:
            x = math.copysign(_FAR, first.baseline - middle) + first.baseline
        found.append(Line(text, first.size, -first.baseline, x, first.size - last.last_baseline, x))
    return found


def _is_vertical(column: Sequence[Line]) -> bool:
    return column[0].baseline - column[-1].last_baseline > max(line.right - line.left for line in column)


def _is_below(above: Line, line: Line) -> bool:
    step = above.last_baseline - line.baseline
    is_short = line.right - line.left < 2 * line.size and len(line.text) <= _LETTERS_ACROSS
    return is_short and abs(above.left - line.left) < line.size and 0 < step < _VERTICAL_STEP * line.size


def _rules(page: Any, turn: _Turn) -> Iterator[Rule]:
    """Yield the straight lines of a page that may belong to tables."""
    left = _MAX_SEGMENTS
    for path in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH], max_depth=1):
        fill, is_drawn = ctypes.c_int(), ctypes.c_int()
        pdfium_c.FPDFPath_GetDrawMode(path.raw, fill, is_drawn)
        x_from, y_from, x_to, y_to = path.get_bounds()
        if min(x_to - x_from, y_to - y_from) < _THIN:
            ends = [(x_from, y_from, x_to, y_to)]
        elif is_drawn.value:
            ends = [*_segments(path)]
        else:
            continue
        left -= len(ends)
        if left < 0:
            return
        for end in ends:
            (x_from, y_from), (x_to, y_to) = turn.place(*end[:2]), turn.place(*end[2:])
            is_level = abs(x_to - x_from) > abs(y_to - y_from)
            xs, ys = (x_from, x_to), (y_from, y_to)
            along, across = (xs, ys) if is_level else (ys, xs)
            first, last = sorted(along)
            if abs(across[1] - across[0]) < _THIN < last - first:
                yield Rule(is_level=is_level, at=sum(across) / 2, start=first, end=last)


def _segments(path: Any) -> Iterator[tuple[float, float, float, float]]:
    """Yield the ends of the straight lines of a path."""
    matrix = pdfium_c.FS_MATRIX()
    pdfium_c.FPDFPageObj_GetMatrix(path.raw, matrix)
    x, y = ctypes.c_float(), ctypes.c_float()
    begin = before = (0.0, 0.0)
    for number in range(min(pdfium_c.FPDFPath_CountSegments(path.raw), _MAX_SEGMENTS)):
        segment = pdfium_c.FPDFPath_GetPathSegment(path.raw, number)
        pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = pdfium_c.FPDFPathSegment_GetType(segment)
        if kind == pdfium_c.FPDF_SEGMENT_MOVETO:
            begin = point
        elif kind == pdfium_c.FPDF_SEGMENT_LINETO:
            yield (*before, *point)
        if pdfium_c.FPDFPathSegment_GetClose(segment):
            yield (*point, *begin)
        before = point


def _outline(document: Any) -> Mapping[str, int]:
    """Return the level of each title in the outline, folded."""
    levels: dict[str, int] = {}
    for item in document.get_toc(max_depth=_MAX_LEVEL):
        levels.setdefault(fold_name(item.get_title() or ""), min(item.level + 1, _MAX_LEVEL))
    return levels


def _metadata(values: Mapping[str, str], pages: Sequence[Sequence[Line]]) -> dict[str, object]:
    """Return title, author and date. A title counts if the first page has it: many are names of a file."""
    beginning = fold_name(" ".join(line.text for page in pages[:1] for line in page))
    title = " ".join(values.get("Title", "").split())
    dates = {
        key: "-".join(filter(None, found.groups()))
        for key, name in (("created", "CreationDate"), ("updated", "ModDate"))
        if (found := _DATE.match(values.get(name, "")))
    }
    is_title = bool(title) and fold_name(title) in beginning
    author = values.get("Author", "")
    if author.strip("()").casefold() == "anonymous":  # as programs write it
        author = ""
    return {"title": title if is_title else "", "author": author, **dates}


def _without_running_heads(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the lines of pages without numbers of pages and without what many pages begin or end with.

    What a page has several times is text, such as the rows of a list; so is a title with a number of its own.
    """
    edges = [_edges(page) for page in pages]
    least = _TITLE_SIZE * _text_size(pages)

    def bare(line: Line) -> str:
        return line.text if line.size >= least else _NUMBERS.sub(" ", line.text).strip().casefold()

    at_edges = Counter(key for edge in edges for key in {bare(line) for line in edge})
    lines = Counter(bare(line) for page in pages for line in page)
    holding = Counter(key for page in pages for key in {bare(line) for line in page})
    most = max(_LEAST_REPEATED, _REPEATED_SHARE * len(pages))
    repeated = {key for key, count in at_edges.items() if count >= most and lines[key] < 2 * holding[key]}
    return [
        [
            line
            for line in page
            if line not in edge or not (_PAGE_NUMBER.fullmatch(line.text) or bare(line) in repeated)
        ]
        for page, edge in zip(pages, edges, strict=True)
    ]


def _edges(page: Sequence[Line]) -> set[Line]:
    by_height = sorted(page, key=lambda line: line.baseline)
    return {*by_height[:_EDGE_LINES], *by_height[-_EDGE_LINES:]}


def _text_size(pages: Sequence[Sequence[Line]]) -> float:
    """Return the size that most letters have."""
    sizes = Counter[float]()
    for page in pages:
        for line in page:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 1.0


def _markdown(pages: Sequence[Sequence[Line]], outline: Mapping[str, int]) -> str:
    parts: list[str] = []
    before: _Block | None = None
    for block in _blocks(pages, outline):
        mark = place_mark(f"page {block.page}") if before is None or before.page != block.page else ""
        if before is not None and mark and _goes_on(before, block):
            parts[-1] = _join(parts[-1], inline(block.text), mark)
        else:
            parts.append(f"{mark}\n{block.markdown}" if mark else block.markdown)
        before = block
    return "\n\n".join(parts) + "\n"


def _blocks(pages: Sequence[Sequence[Line]], outline: Mapping[str, int]) -> Iterator[_Block]:
    """Yield headings and paragraphs."""
    least = _HEADING_SIZE * _text_size(pages)
    larger = sorted({line.size for page in pages for line in page if line.size >= least}, reverse=True)
    levels = {size: min(at, _MAX_LEVEL) for at, size in enumerate(larger, 1)}
    if larger and all(line.size < larger[0] for page in pages[1:] for line in page):
        # The title of all of it, which the outline does not name, is above what that names.
        outline = {title: min(level + 1, _MAX_LEVEL) for title, level in outline.items()}
    for number, page in enumerate(pages, 1):
        full = _SHORT_LINE * _width(page)
        for lines in _paragraphs(page):
            text = reduce(_join, (line.text for line in lines))
            is_table = lines[0].is_table
            level = 0 if is_table else _level(lines, levels, outline)
            is_full = lines[-1].right - lines[-1].left >= full
            yield _Block(text, level, number, is_table, lines[-1].size, is_full)


def _goes_on(before: _Block, block: _Block) -> bool:
    """Return True if a block is the rest of the one on the page before."""
    is_text = not (
        before.level or block.level or before.is_table or block.is_table or _ITEM.match(block.text)
    )
    is_open = before.is_full and before.size == block.size
    return is_text and is_open and not _SENTENCE_END.search(before.text)


def _level(lines: Sequence[Line], levels: Mapping[float, int], outline: Mapping[str, int]) -> int:
    """Return the level of a heading; 0 for any other paragraph."""
    text = " ".join(line.text for line in lines)
    if len(text) > _MAX_HEADING_CHARS:
        return 0
    if outline and lines[0].size < max(levels, default=0.0):
        return outline.get(fold_name(text), 0)
    return max((levels.get(line.size, 0) for line in lines), default=0)


def _paragraphs(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines of each paragraph."""
    if not lines:
        return
    width = _width(lines)
    steps = [above.last_baseline - line.baseline for above, line in pairwise(lines)]
    gap = median(steps or [0.0])
    paragraph = [lines[0]]
    for line in lines[1:]:
        if _begins(paragraph, line, gap, width):
            yield paragraph
            paragraph = []
        paragraph.append(line)
    yield paragraph


def _width(lines: Sequence[Line]) -> float:
    """Return the width of the text of a page."""
    widths = sorted(line.right - line.left for line in lines)
    return widths[-1 - len(widths) // _WIDE_LINES] if widths else 0.0


def _begins(paragraph: Sequence[Line], line: Line, gap: float, width: float) -> bool:
    """Return True if a line is the first one of another paragraph."""
    above = paragraph[-1]
    distance = above.last_baseline - line.baseline
    if line.size != above.size or line.is_table or above.is_table or _ITEM.match(line.text):
        return True
    if distance < -_COLUMN_JUMP * line.size:  # the next column
        return bool(_SENTENCE_END.search(above.text))
    if distance > max(gap, line.size) + _PARAGRAPH_GAP * line.size:
        return True
    column = max(each.right for each in paragraph[-_LINES_OF_A_COLUMN:]) - min(
        each.left for each in paragraph[-_LINES_OF_A_COLUMN:]
    )
    above_width = above.right - above.left
    is_short = above_width < _SHORT_LINE * max(column, line.right - line.left)
    is_indented = len(paragraph) > 1 and line.left > above.left + _INDENT * line.size
    is_last = is_short and bool(_SENTENCE_END.search(above.text))
    return is_indented or is_last or above_width < _SHORTER_LINE * width


def _join(before: str, after: str, between: str = "") -> str:
    """Join two lines: without the hyphen at the end of the first, without a space in Japanese."""
    if _HYPHEN_AT_END.search(before[-2:]) and after[:1].islower():
        return f"{before[:-1]}{between}{after}"
    space = "" if _meet_without_space(before, after) else " "
    return f"{before}{space}{between}{after}"


def _meet_without_space(before: str, after: str) -> bool:
    signs = compiled(f"[{UNSPACED}、。，．・「」『』（）！？ー]")
    return bool(signs.match(before[-1:])) and bool(signs.match(after[:1]))
