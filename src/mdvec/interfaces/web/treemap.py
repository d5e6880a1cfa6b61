"""A map of tags: a rectangle for each, as large as it has documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mdvec.types.report import TagCount

_CHAR_WIDTH = 0.62
_MIN_FONT, _MAX_FONT = 10, 22


@dataclass(frozen=True, slots=True)
class Cell:
    """A tag on the map.

    Attributes:
        tag: The tag.
        documents: How many documents have it.
        x: Left edge.
        y: Upper edge.
        width: Its width.
        height: Its height.
        font: Size of its label; 0 when there is no room for one.
    """

    tag: str
    documents: int
    x: float
    y: float
    width: float
    height: float
    font: int


def treemap(tags: Sequence[TagCount], full_width: int, full_height: int) -> list[Cell]:
    """Lay tags out as nearly square rectangles, row by row.

    Args:
        tags: The tags, most documents first.
        full_width: Of the map, in units of its own.
        full_height: Of the map.

    Returns:
        Cells that fill the map, in the same order.

    References:
        Bruls, Huizing and van Wijk, "Squarified treemaps", 2000.
    """
    left = [each for each in tags if each.documents > 0]
    cells: list[Cell] = []
    x, y, width, height = 0.0, 0.0, float(full_width), float(full_height)
    while left:
        scale = width * height / sum(each.documents for each in left)
        side = min(width, height)
        row = left[:1]
        while len(row) < len(left) and _worst(left[: len(row) + 1], side, scale) <= _worst(row, side, scale):
            row = left[: len(row) + 1]
        thickness = sum(each.documents for each in row) * scale / side
        along = 0.0
        for each in row:
            length = each.documents * scale / thickness
            if width >= height:
                cells.append(_cell(each, x, y + along, thickness, length))
            else:
                cells.append(_cell(each, x + along, y, length, thickness))
            along += length
        if width >= height:
            x, width = x + thickness, width - thickness
        else:
            y, height = y + thickness, height - thickness
        left = left[len(row) :]
    return cells


def _worst(row: Sequence[TagCount], side: float, scale: float) -> float:
    """Return the worst ratio of the sides of a row's rectangles."""
    areas = [each.documents * scale for each in row]
    total = sum(areas)
    return max(side**2 * max(areas) / total**2, total**2 / (side**2 * min(areas)))


def _cell(tag: TagCount, x: float, y: float, width: float, height: float) -> Cell:
    columns = sum(1.0 if char.isascii() else 1.7 for char in tag.tag) + 1
    font = int(min(_MAX_FONT, height / 2.4, width / (columns * _CHAR_WIDTH)))
    return Cell(tag.tag, tag.documents, x, y, width, height, font if font >= _MIN_FONT else 0)
