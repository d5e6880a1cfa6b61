"""Plots as inline SVG, coloured by the style sheet of the page, with names for screen readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from mdvec.evaluation.markup import Html, element
from mdvec.evaluation.metrics import PRIMARY
from mdvec.evaluation.report import OUR_MODES, SystemReport

# Lengths are in pixels at the natural size.
_LABEL_WIDTH = 104
_ROW_HEIGHT = 22
_BAR_HEIGHT = 12
_AXIS_HEIGHT = 20
_BAR_AREA = 182
_VALUE_WIDTH = 46
_CAP = 3

_LATENCY_AREA = 520
_LATENCY_ROW = 40
_BINS_PER_DECADE = 10
_FASTEST_MS = 0.01  # a logarithm has no zero
_MAX_RATIO_OF_FINE_TICKS = 2_000  # ten labels fit beside each other

_DIFFERENCE_WIDTH = 640
_DIFFERENCE_HEIGHT = 140
_DIFFERENCE_MARGIN = 34


def colour_class(system: str) -> str:
    """Return the class for the colour of a system: one for each of our modes, one for all baselines."""
    return f"of-{system}" if system in OUR_MODES else "of-baseline"


def bars(title: str, systems: Sequence[SystemReport]) -> Html:
    """Draw the primary metric of systems as bars from 0 to 1, with whiskers for the intervals."""
    bottom = len(systems) * _ROW_HEIGHT
    parts = [
        part
        for tick in (0.0, 0.25, 0.5, 0.75, 1.0)
        for x in [_LABEL_WIDTH + tick * _BAR_AREA]
        for part in (
            _line(x, 0, x, bottom, "grid"),
            _text(x, bottom + 14, f"{tick:g}", "tick middle"),
        )
    ]
    for number, system in enumerate(systems):
        parts.append(_bar(system, number * _ROW_HEIGHT + _ROW_HEIGHT / 2))
    width = _LABEL_WIDTH + _BAR_AREA + _VALUE_WIDTH
    description = "; ".join(f"{each.system} {each.metrics[PRIMARY].mean:.3f}" for each in systems)
    return _svg(title, description, width, bottom + _AXIS_HEIGHT, parts)


def _bar(system: SystemReport, middle: float) -> Html:
    label, value = system.system, system.metrics[PRIMARY]
    left, low, high = (_LABEL_WIDTH + share * _BAR_AREA for share in (0.0, value.low, value.high))
    return _group(
        f"{label}: {value.mean:.3f}, 95 % interval {value.low:.3f} to {value.high:.3f}",
        _text(_LABEL_WIDTH - 8, middle + 4, label, "label end"),
        _rect(left, middle - _BAR_HEIGHT / 2, value.mean * _BAR_AREA, _BAR_HEIGHT, colour_class(label)),
        _line(low, middle, high, middle, "whisker"),
        _line(low, middle - _CAP, low, middle + _CAP, "whisker"),
        _line(high, middle - _CAP, high, middle + _CAP, "whisker"),
        _text(_LABEL_WIDTH + _BAR_AREA + 10, middle + 4, f"{value.mean:.3f}", "value"),
    )


def latency_histograms(title: str, systems: Sequence[SystemReport]) -> Html:
    """Draw one histogram under the other over a common logarithmic axis of milliseconds.

    All have one scale of shares, so that a high bar means the same everywhere. A line marks the median, a
    dashed one the 95th percentile.
    """
    latencies = [[max(outcome.latency_ms, _FASTEST_MS) for outcome in system.outcomes] for system in systems]
    values = [value for each in latencies for value in each]
    first = math.floor(math.log10(min(values)) * _BINS_PER_DECADE)
    last = math.floor(math.log10(max(values)) * _BINS_PER_DECADE) + 1
    shares = [_shares(each, first, last) for each in latencies]
    tallest = max(map(max, shares))
    bin_width = _LATENCY_AREA / (last - first)

    def place(value_ms: float) -> float:
        return _LABEL_WIDTH + (math.log10(max(value_ms, _FASTEST_MS)) * _BINS_PER_DECADE - first) * bin_width

    bottom = len(systems) * _LATENCY_ROW
    ticks = _ticks_ms(10 ** (first / _BINS_PER_DECADE), 10 ** (last / _BINS_PER_DECADE))
    parts = [_line(place(tick), 0, place(tick), bottom, "grid") for tick in ticks]
    parts += [_text(place(tick), bottom + 14, f"{tick:g} ms", "tick middle") for tick in ticks]
    for number, (system, its_shares) in enumerate(zip(systems, shares, strict=True)):
        base = (number + 1) * _LATENCY_ROW
        columns = [
            _rect(
                _LABEL_WIDTH + at * bin_width, base - height, bin_width, height, colour_class(system.system)
            )
            for at, share in enumerate(its_shares)
            for height in [share / tallest * (_LATENCY_ROW - 8)]
            if share
        ]
        parts.append(
            _group(
                f"{system.system}: median {system.p50_ms:.3g} ms, 95th percentile {system.p95_ms:.3g} ms",
                _text(_LABEL_WIDTH - 8, base - 12, system.system, "label end"),
                *columns,
                _line(_LABEL_WIDTH, base, _LABEL_WIDTH + _LATENCY_AREA, base, "grid"),
                _line(place(system.p50_ms), base - _LATENCY_ROW + 4, place(system.p50_ms), base, "median"),
                _line(
                    place(system.p95_ms), base - _LATENCY_ROW + 4, place(system.p95_ms), base, "median late"
                ),
            )
        )
    description = "; ".join(
        f"{each.system} {each.p50_ms:.3g} ms, at most {each.p95_ms:.3g} ms in 95 %" for each in systems
    )
    width = _LABEL_WIDTH + _LATENCY_AREA + 24
    return _svg(title, description, width, bottom + _AXIS_HEIGHT, parts)


def _shares(values_ms: Sequence[float], first: int, last: int) -> list[float]:
    counts = [0] * (last - first)
    for value in values_ms:
        counts[math.floor(math.log10(value) * _BINS_PER_DECADE) - first] += 1
    return [count / len(values_ms) for count in counts]


def _ticks_ms(low: float, high: float) -> list[float]:
    """Return round numbers inside a range: 1, 2 and 5 of each decade, or powers of ten when they are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low <= _MAX_RATIO_OF_FINE_TICKS else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return [float(f"{tick:.6g}") for tick in ticks if low * 0.999 <= tick <= high * 1.001]


def differences(title: str, values: Sequence[float]) -> Html:
    """Draw differences between two systems as bars, from the largest gain to the largest loss.

    Args:
        title: Name of the plot.
        values: One for each question, -1..1; not empty.
    """
    middle, half = _DIFFERENCE_HEIGHT / 2, _DIFFERENCE_HEIGHT / 2 - 6
    step = _DIFFERENCE_WIDTH / len(values)
    parts = [
        part
        for tick in (1.0, 0.5, 0.0, -0.5, -1.0)
        for y in [middle - tick * half]
        for part in (
            _line(
                _DIFFERENCE_MARGIN, y, _DIFFERENCE_MARGIN + _DIFFERENCE_WIDTH, y, "grid" if tick else "zero"
            ),
            _text(_DIFFERENCE_MARGIN - 6, y + 4, _signed(tick), "tick end"),
        )
    ]
    at = 0
    # Equal neighbours are one bar: a page with thousands of questions stays small.
    for value, run in groupby(sorted((round(value, 3) for value in values), reverse=True)):
        count = len(list(run))
        if value:
            x, height = _DIFFERENCE_MARGIN + at * step, abs(value) * half
            top = middle - height if value > 0 else middle
            parts.append(_rect(x, top, count * step, height, "win" if value > 0 else "loss"))
        at += count
    wins, losses = sum(value > 0 for value in values), sum(value < 0 for value in values)
    description = f"{wins} better, {len(values) - wins - losses} equal, {losses} worse"
    return _svg(title, description, _DIFFERENCE_MARGIN + _DIFFERENCE_WIDTH, _DIFFERENCE_HEIGHT, parts)


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "\N{MINUS SIGN}") if value else "0"


def _svg(title: str, description: str, width: float, height: float, parts: Sequence[Html]) -> Html:
    name = f"{title}: {description}"
    view = f"0 0 {width:g} {height:g}"
    head = (element("title", title), element("desc", description))
    return element(
        "svg", *head, *parts, role="img", aria_label=name, width=width, height=height, viewBox=view
    )


def _group(title: str, *parts: Html) -> Html:
    return element("g", element("title", title), *parts)


def _rect(x: float, y: float, width: float, height: float, kind: str) -> Html:
    return element("rect", x=x, y=y, width=width, height=height, class_=kind)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _text(x: float, y: float, text: str, kind: str) -> Html:
    return element("text", text, x=x, y=y, class_=kind)
