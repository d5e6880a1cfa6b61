"""The plot of latency over size in the READMEs, as SVG, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 20, 45
_SLOWEST_MS, _FASTEST_MS = 5000, 1

# The lines: where the figure of a size is, and what it is called.
_LINES: Final = {
    "hybrid.p50_ms": "mdvec, words and meaning",
    "lexical.p50_ms": "mdvec, words",
    "dense.p50_ms": "mdvec, meaning",
    "sqlite_vec_p50_ms": "sqlite-vec, vectors alone",
}
# Told apart by people who see few colours, too (Okabe and Ito).
_COLOURS: Final = {
    "light": ("#ffffff", "#24292f", "#d0d7de", ("#0072b2", "#009e73", "#cc79a7", "#d55e00")),
    "dark": ("#0d1117", "#e6edf3", "#30363d", ("#56b4e9", "#2bd4a0", "#e3a3c9", "#ff9040")),
}


def write_plots(figures: Mapping[str, Any], folder: Path) -> None:
    """Write ``speed.light.svg`` and ``speed.dark.svg``.

    Args:
        figures: Those of :mod:`benchmarks.speed_search`.
        folder: Where to write.
    """
    for theme in _COLOURS:
        (folder / f"speed.{theme}.svg").write_text(plot(figures, theme), encoding="utf-8")


def plot(figures: Mapping[str, Any], theme: str) -> str:
    """Return the median latency over the number of chunks, both on logarithmic axes."""
    background, ink, grid, colours = _COLOURS[theme]
    sizes = [int(size.replace(",", "")) for size in figures if size.replace(",", "").isdecimal()]
    first, last = math.log10(min(sizes)), math.log10(max(sizes))

    def x(size: float) -> float:
        share = (math.log10(size) - first) / ((last - first) or 1)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(value_ms: float) -> float:
        share = math.log(max(value_ms, _FASTEST_MS) / _FASTEST_MS) / math.log(_SLOWEST_MS / _FASTEST_MS)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = [f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="{background}"/>']
    for tick in (1, 10, 100, 1000):
        parts.append(f'<path d="M{_LEFT} {y(tick)}H{_WIDTH - _RIGHT}" stroke="{grid}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(tick) + 4}" text-anchor="end">{tick:,} ms</text>')
    parts += [
        f'<text x="{x(size)}" y="{_HEIGHT - 24}" text-anchor="middle">{size:,}</text>' for size in sizes
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">chunks</text>')
    ends: list[float] = []
    for (place, name), colour in zip(_LINES.items(), colours, strict=True):
        values = [(size, _value(figures[f"{size:,}"], place)) for size in sizes]
        points = [(x(size), y(value)) for size, value in values if value is not None]
        if points:
            parts += _line(points, name, colour, ends)
    title = "<title>Median latency of a search over the number of chunks</title>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="12" '
        f'font-family="system-ui, sans-serif" fill="{ink}" role="img">{title}{"".join(parts)}</svg>\n'
    )


def _line(points: Sequence[tuple[float, float]], name: str, colour: str, ends: list[float]) -> list[str]:
    """Return a line with its name at its end, where no other name is yet."""
    end = points[-1][1]
    while any(abs(end - other) < 15 for other in ends):
        end += 3
    ends.append(end)
    path = "L".join(f"{x} {y}" for x, y in points)
    return [
        f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>',
        *(f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in points),
        f'<text x="{points[-1][0] + 10}" y="{end + 4}" fill="{colour}">{name}</text>',
    ]


def _value(figures: Any, place: str) -> float | None:
    for key in place.split("."):
        figures = figures.get(key) if isinstance(figures, Mapping) else None
    return None if figures is None else float(figures)
