"""What the plots of a page show: where bars and ticks lie. ``templates/plots.html`` draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from mdvec.evaluation.report import OUR_MODES, SystemReport

_BINS_PER_DECADE = 10
_FASTEST_MS = 0.01  # a logarithm has no zero
_MAX_RATIO_OF_FINE_TICKS = 2_000  # ten labels fit beside each other


@dataclass(frozen=True, slots=True)
class HistogramRow:
    """The latencies of one system.

    Attributes:
        columns: Left end of each bin that holds any, and its share of the largest share of all rows.
        median: Place of the median.
        late: Place of the 95th percentile.
    """

    columns: tuple[tuple[float, float], ...]
    median: float
    late: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """The latencies of systems over one logarithmic axis.

    Attributes:
        width: Of a bin.
        ticks: Places and labels.
        rows: One for each system.
    """

    width: float
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[HistogramRow, ...]


def colour_class(system: str) -> str:
    """Return the class for the colour of a system: one for each of our modes, one for all baselines."""
    return f"of-{system}" if system in OUR_MODES else "of-baseline"


def histogram(systems: Sequence[SystemReport], width: float) -> Histogram:
    """Return the latencies of systems on an axis of a length, with one scale of shares."""
    places = [[_decades(outcome.latency_ms) for outcome in system.outcomes] for system in systems]
    first = math.floor(min(map(min, places)))
    last = math.floor(max(map(max, places))) + 1
    step = width / (last - first)
    shares = [
        [sum(math.floor(place) == at for place in row) / len(row) for at in range(first, last)]
        for row in places
    ]
    largest = max(map(max, shares))
    return Histogram(
        step,
        tuple(((_decades(tick) - first) * step, f"{tick:g} ms") for tick in _ticks_ms(first, last)),
        tuple(
            HistogramRow(
                tuple((at * step, share / largest) for at, share in enumerate(row) if share),
                (_decades(system.p50_ms) - first) * step,
                (_decades(system.p95_ms) - first) * step,
            )
            for system, row in zip(systems, shares, strict=True)
        ),
    )


def runs(values: Sequence[float]) -> list[tuple[float, int]]:
    """Return rounded values from the largest on, with how often each occurs: fewer bars to draw."""
    ordered = sorted((round(value, 3) for value in values), reverse=True)
    return [(value, len(list(same))) for value, same in groupby(ordered)]


def _decades(value_ms: float) -> float:
    """Return a place on the axis, in bins from 1 ms."""
    return math.log10(max(value_ms, _FASTEST_MS)) * _BINS_PER_DECADE


def _ticks_ms(first: int, last: int) -> list[float]:
    """Return round numbers inside a range: 1, 2 and 5 of each decade, or powers of ten when they are many."""
    low, high = 10 ** (first / _BINS_PER_DECADE), 10 ** (last / _BINS_PER_DECADE)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low <= _MAX_RATIO_OF_FINE_TICKS else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return [float(f"{tick:.6g}") for tick in ticks if low * 0.999 <= tick <= high * 1.001]
