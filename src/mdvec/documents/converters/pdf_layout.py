"""The layout of a PDF page: lines in the order of reading, tables as rows of cells, ruby left out.

A piece is a run of letters without a wide gap. The order of the file is that of reading in most files, so it
holds, but for what is above all the rest, and unless the file hops from column to column line by line. Pieces
below each other are a table.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from statistics import median
from typing import NamedTuple

from mdvec.documents.converters import table

BULLETS = "•‣▪■●◦○∙·⚫➢►❖"
"""Signs before the items of a list."""

_KANA = re.compile(r"[\u3040-\u30ff\s]+")
_RUBY_SIZE = 0.62  # of the letters that it explains
_RUBY_PIECES = 3  # before and after it, of which one has these letters
_LEVEL = 0.45  # of the size of letters: pieces of one line
_WORD_GAP = 0.15
_GUTTER = 0.8
_LEAST_ROWS = 3
_ROW_STEP = 3.0
_FILLED_SHARE = 0.4  # of the cells of a table; the labels of a chart fill less
_LEAST_SIDE = 3  # pieces of a column
_PROSE_WIDTH = 20  # of a piece of text; cells are narrower
_LEAST_HOPS = 3
_HOP_SHARE = 0.08
_MAX_ARRANGED = 800  # pieces of a page; more are a drawing, as are more rules
_MAX_RULES = 300
_RULE_GAP = 3.0  # points between two rules that are one
_LEAST_RULED_ROWS = 2
_FRAMED_SHARE = 0.2  # of the cells, with several columns in them
_REPEATED_CHARS = 30  # of a cell over several rows, which is repeated in each of them
_SIGNS = "、。，．・：；！？「」『』（）［］"
_AROUND_A_SIGN = re.compile(rf"(?<=[{_SIGNS}]) (?=[^\x00-\x7f])|(?<=[^\x00-\x7f]) (?=[{_SIGNS}])")
_SPREAD = re.compile(r"(?:[\u3005-\u30ff\u4e00-\u9fff（）０-９] )+[\u3005-\u30ff\u4e00-\u9fff（）０-９]")


class Line(NamedTuple):
    """A line, or a piece of one; on a page of vertical text, as if it were turned to the left.

    Attributes:
        text: Its text; of a table, Markdown.
        size: Of its first letter, in points.
        left: Where it begins.
        baseline: Of its first letter; higher on the page is larger.
        right: Where it ends.
        last_baseline: Of its last letter, since PDFium joins lines where a word is broken.
        is_table: Whether it is a table.
    """

    text: str
    size: float
    left: float
    baseline: float
    right: float
    last_baseline: float
    is_table: bool = False


class Rule(NamedTuple):
    """A straight line that is drawn on a page: at a height or a distance from the left, between two ends."""

    is_level: bool
    at: float
    start: float
    end: float


def arranged_vertically(pieces: Sequence[Line]) -> list[Line]:
    """Return the lines of a page of vertical text, whose pieces are as if it were turned, in their order."""
    ordered = _in_columns(pieces) if len(pieces) <= _MAX_ARRANGED else pieces
    return [_one_line(row) for row in _rows(ordered)]


def arranged(pieces: Sequence[Line], rules: Sequence[Rule]) -> list[Line]:
    """Return the lines of a page in the order of reading.

    Args:
        pieces: In the order of the file.
        rules: What is drawn on the page.
    """
    pieces = [piece for at, piece in enumerate(pieces) if not _is_ruby(pieces, at)]
    for grid in _grids(rules):
        pieces = _with_ruled_table(pieces, grid)
    if len(pieces) <= _MAX_ARRANGED and _hops(pieces) > max(_LEAST_HOPS, _HOP_SHARE * len(pieces)):
        pieces = _in_columns(pieces)
    rows = [*_rows(_top_first(pieces))]
    found: list[Line] = []
    at = 0
    for region in _regions(rows):
        start = rows.index(region[0], at)
        found += map(_one_line, rows[at:start])
        at = start + len(region)
        found += _unruled_table(region) or map(_one_line, region)
    return [*found, *map(_one_line, rows[at:])]


def _top_first(pieces: Sequence[Line]) -> Sequence[Line]:
    """Return pieces with those first that are above all others: in slides the title is often drawn last.

    A column is not moved before the one on its left.
    """
    downwards = sorted(range(len(pieces)), key=lambda at: -pieces[at].baseline)
    first, last, top = len(pieces), -1, slice(0)
    for number, (at, below) in enumerate(pairwise(downwards), 1):
        first, last = min(first, at), max(last, at)
        gap = pieces[at].baseline - pieces[below].baseline
        if first and last - first + 1 == number and gap > _LEVEL * pieces[at].size:
            top = slice(first, last + 1)
    moved, passed = pieces[top], pieces[: top.start]
    if not (moved and passed) or not _overlap(moved, passed):
        return pieces
    return [*moved, *passed, *pieces[top.stop :]]


def _overlap(pieces: Sequence[Line], others: Sequence[Line]) -> bool:
    """Return True if some pieces are not all to the left or to the right of others."""
    (left, right), (begin, end) = (
        (min(each.left for each in group), max(each.right for each in group)) for group in (pieces, others)
    )
    return left < end and begin < right


def _hops(pieces: Sequence[Line]) -> int:
    """Return how often the file goes on in another column of text, at the same height."""
    return sum(
        abs(before.last_baseline - piece.baseline) < piece.size
        and (
            piece.left - before.right > _GUTTER * piece.size
            or before.left - piece.right > _GUTTER * piece.size
        )
        and min(_width(before.text), _width(piece.text)) >= _PROSE_WIDTH
        for before, piece in pairwise(pieces)
    )


def _width(text: str) -> int:
    """Return how many Latin letters are about as wide as a text."""
    return len(text) + sum(letter > "\u3000" for letter in text)


def _is_ruby(pieces: Sequence[Line], at: int) -> bool:
    """Return True if a piece is the reading of letters below it."""
    piece = pieces[at]
    if not _KANA.fullmatch(piece.text):
        return False
    return any(
        piece.size <= _RUBY_SIZE * other.size
        and _LEVEL < (piece.baseline - other.baseline) / other.size < 1 + _RUBY_SIZE
        and other.left - other.size < piece.left < other.right + other.size
        for other in pieces[max(0, at - _RUBY_PIECES) : at + _RUBY_PIECES + 1]
    )


def _rows(pieces: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the pieces of each line, from left to right."""
    row: list[Line] = []
    for piece in pieces:
        if row and not _follows(row[-1], piece):
            yield row
            row = []
        if row and row[-1].text in BULLETS:
            bullet = row.pop()
            piece = piece._replace(text=f"{bullet.text} {piece.text}", left=bullet.left)
        row.append(piece)
    if row:
        yield row


def _follows(before: Line, piece: Line) -> bool:
    is_level = abs(before.last_baseline - piece.baseline) < _LEVEL * max(before.size, piece.size)
    return is_level and piece.left > before.right - piece.size and not (before.is_table or piece.is_table)


def _one_line(row: Sequence[Line]) -> Line:
    text = row[0].text
    for before, piece in pairwise(row):
        text += " " * (piece.left - before.right > _WORD_GAP * before.size) + piece.text
    return row[0]._replace(text=unspaced(text), right=row[-1].right, last_baseline=row[-1].last_baseline)


def _regions(rows: Sequence[list[Line]]) -> Iterator[list[list[Line]]]:
    """Yield rows below each other with several pieces, in which one alone may be the rest of a cell."""
    region: list[list[Line]] = []
    for row in [*rows, []]:
        if not (region and row and _is_next(region[-1], row)):
            while region and len(region[-1]) == 1:
                region.pop()
            if len(region) >= _LEAST_ROWS:
                yield region
            region = []
        if len(row) > 1 or region:
            region.append(row)


def _is_next(above: Sequence[Line], row: Sequence[Line]) -> bool:
    step = above[0].baseline - row[0].baseline
    return 0 < step < _ROW_STEP * row[0].size and len(above) + len(row) > 2


def _in_columns(pieces: Sequence[Line]) -> list[Line]:
    """Return pieces column by column: cut along the widest gutter, or else the widest gap between lines."""
    size = median(piece.size for piece in pieces)
    across = _widest_gap(pieces, lambda piece: (piece.left, piece.right), _GUTTER * size)
    if across is not None:
        sides = _cut(pieces, lambda piece: piece.right <= across)
        if min(map(len, sides)) >= _LEAST_SIDE:
            return [*_in_columns(sides[0]), *_in_columns(sides[1])]
    down = _widest_gap(pieces, lambda piece: (piece.baseline, piece.baseline + piece.size), 0.0)
    if down is not None:
        below, above = _cut(pieces, lambda piece: piece.baseline < down)
        return [*_in_columns(above), *_in_columns(below)]
    return sorted(pieces, key=lambda piece: (-round(piece.baseline / size), piece.left))


def _cut(pieces: Sequence[Line], is_first: Callable[[Line], bool]) -> tuple[list[Line], list[Line]]:
    return [p for p in pieces if is_first(p)], [p for p in pieces if not is_first(p)]


def _widest_gap(
    pieces: Sequence[Line], extent: Callable[[Line], tuple[float, float]], least: float
) -> float | None:
    """Return where the widest gap between pieces ends, if it is wide enough."""
    widest, where, reached = least, None, float("inf")
    for start, end in sorted(map(extent, pieces)):
        if start - reached > widest:
            widest, where = start - reached, start
        reached = end if reached == float("inf") else max(reached, end)
    return where


def _unruled_table(region: Sequence[Sequence[Line]]) -> list[Line]:
    """Return a region as a table, with a column for each stretch between gutters; nothing if it is none."""
    cells = [piece for row in region if len(row) > 1 for piece in row]
    size = median(piece.size for piece in cells)
    starts, reached = [], float("-inf")
    for piece in sorted(cells, key=lambda piece: piece.left):
        if piece.left - reached > _WORD_GAP * size:
            starts.append(piece.left)
        reached = max(reached, piece.right)
    if len(starts) == 1:
        return []
    rows = []
    for row in region:
        columns = [""] * len(starts)
        for piece in row:
            at = max(0, bisect(starts, piece.left + _WORD_GAP * size) - 1)
            columns[at] = f"{columns[at]} {piece.text}".strip()
        rows.append([*map(unspaced, columns)])
    if sum(map(bool, chain(*rows))) < _FILLED_SHARE * len(rows) * len(starts):
        return []
    return [_as_table(rows, [piece for row in region for piece in row])]


def _as_table(rows: Sequence[Sequence[str]], pieces: Sequence[Line]) -> Line:
    held = [at for at in range(len(rows[0])) if any(row[at] for row in rows)]
    text = table([[row[at] for at in held] for row in rows if any(row)])
    right = max(piece.right for piece in pieces)
    return pieces[0]._replace(text=text, right=right, last_baseline=pieces[-1].baseline, is_table=True)


class _Grid(NamedTuple):
    """The places of the rules of a table, from the left and from the top, and the rules."""

    xs: list[float]
    ys: list[float]
    rules: list[Rule]

    def has_rule(self, at: float, middle: float, *, is_level: bool) -> bool:
        """Return True if a rule at a place crosses a point."""
        return any(
            rule.is_level == is_level and abs(rule.at - at) <= _RULE_GAP and rule.start < middle < rule.end
            for rule in self.rules
        )


def _grids(rules: Sequence[Rule]) -> Iterator[_Grid]:
    """Yield the grids that rules make which cross or touch each other."""
    left = _joined(rules)
    while left and len(left) <= _MAX_RULES:
        group, waiting = [], [left.pop()]
        while waiting:
            rule = waiting.pop()
            group.append(rule)
            touching = [other for other in left if _touch(rule, other)]
            waiting += touching
            left = [other for other in left if other not in touching]
        xs = _places(rule.at for rule in group if not rule.is_level)
        ys = _places(rule.at for rule in group if rule.is_level)[::-1]
        if len(xs) > 2 and len(ys) > 2:
            yield _Grid(xs, ys, group)


def _joined(rules: Sequence[Rule]) -> list[Rule]:
    """Return rules with those that go on in each other as one, as the borders of neighbouring cells do."""
    found: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: (rule.is_level, round(rule.at), rule.start)):
        if found and rule.is_level == found[-1].is_level and _touch(found[-1], rule):
            found[-1] = found[-1]._replace(end=max(found[-1].end, rule.end))
        else:
            found.append(rule)
    return found


def _touch(rule: Rule, other: Rule) -> bool:
    if rule.is_level == other.is_level:
        return abs(rule.at - other.at) <= _RULE_GAP and (
            rule.start <= other.end + _RULE_GAP and other.start <= rule.end + _RULE_GAP
        )
    return (
        rule.start - _RULE_GAP <= other.at <= rule.end + _RULE_GAP
        and other.start - _RULE_GAP <= rule.at <= other.end + _RULE_GAP
    )


def _places(values: Iterator[float]) -> list[float]:
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > _RULE_GAP:
            found.append(value)
    return found


def _with_ruled_table(pieces: Sequence[Line], grid: _Grid) -> list[Line]:
    """Return pieces with those in a grid as one table, in the place of the first; a frame is no table."""
    descending = [-y for y in grid.ys]
    merged = _merged_cells(grid)
    inside: dict[int, tuple[int, int]] = {}
    for at, piece in enumerate(pieces):
        column = bisect(grid.xs, (piece.left + piece.right) / 2) - 1
        row = bisect(descending, -piece.baseline - piece.size / 3) - 1
        if (row, column) in merged and not piece.is_table:
            inside[at] = merged[row, column]
    cells: dict[tuple[int, int], list[Line]] = {}
    for at, place in inside.items():
        cells.setdefault(place, []).append(pieces[at])
    texts = {place: unspaced(" ".join(piece.text for piece in held)) for place, held in cells.items()}
    framed = sum(
        any(len(row) > 1 for row in _rows(held)) and " " in texts[place] for place, held in cells.items()
    )
    rows = [
        [
            texts.get(merged[row, column], "") if _is_shown(merged, texts, row, column) else ""
            for column in range(len(grid.xs) - 1)
        ]
        for row in range(len(grid.ys) - 1)
    ]
    if (
        framed > _FRAMED_SHARE * len(cells)
        or sum(sum(map(bool, row)) > 1 for row in rows) < _LEAST_RULED_ROWS
    ):
        return [*pieces]
    first = min(inside)
    made = _as_table(rows, [pieces[at] for at in inside])
    return [
        made if at == first else piece for at, piece in enumerate(pieces) if at == first or at not in inside
    ]


def _is_shown(
    merged: dict[tuple[int, int], tuple[int, int]], texts: dict[tuple[int, int], str], row: int, column: int
) -> bool:
    """Return True if a cell shows its text: in each of its rows if it is short, or else in the first."""
    first = merged[row, column]
    return first == (row, column) or (first[1] == column and len(texts.get(first, "")) <= _REPEATED_CHARS)


def unspaced(text: str) -> str:
    """Return Japanese text without the spaces that only set its letters apart."""
    return text.replace(" ", "") if _SPREAD.fullmatch(text) else _AROUND_A_SIGN.sub("", text)


def _merged_cells(grid: _Grid) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the first cell of those between which no rule is, for each cell."""
    merged: dict[tuple[int, int], tuple[int, int]] = {}
    for row, (top, bottom) in enumerate(pairwise(grid.ys)):
        for column, (left, right) in enumerate(pairwise(grid.xs)):
            here = (row, column)
            if row and not grid.has_rule(top, (left + right) / 2, is_level=True):
                merged[here] = merged[row - 1, column]
            elif column and not grid.has_rule(left, (top + bottom) / 2, is_level=False):
                merged[here] = merged[row, column - 1]
            else:
                merged[here] = here
    return merged
