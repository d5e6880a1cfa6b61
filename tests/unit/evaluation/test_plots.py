"""Plots: what is drawn where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.evaluation.metrics import PRIMARY
from mdvec.evaluation.page import colour_class, templates
from mdvec.evaluation.report import Interval, QuestionOutcome, SystemReport

LATENCIES = st.lists(st.floats(0, 1e6), min_size=1, max_size=30)
PLOTS = templates().get_template("plots.html").module


def draw(plot: str, title: str, values: Sequence[object]) -> str:
    """Return a plot as SVG."""
    return str(getattr(PLOTS, plot)(title, values))


def elements(svg: str, name: str, kind: str = "") -> list[dict[str, str]]:
    """Return the attributes of the elements of a name and a class; the SVG must be well-formed."""
    found = [each.attrib for each in ElementTree.fromstring(svg).iter(name)]
    return [each for each in found if kind in each.get("class", "").split() or not kind]


def bar(system: str, mean: float, low: float, high: float) -> SystemReport:
    """Return a system with a value and its interval."""
    return SystemReport(system, {PRIMARY: Interval(mean, low, high)}, 1, 1, 1, (), ())


def timed(system: str, values_ms: Sequence[float], p50_ms: float, p95_ms: float) -> SystemReport:
    """Return a system with a latency for each question."""
    outcomes = tuple(QuestionOutcome("q", (), {}, value, 1) for value in values_ms)
    return SystemReport(system, {}, p50_ms, p95_ms, 1, (), outcomes)


def numbers(svg: str) -> list[float]:
    """Return every coordinate and length."""
    return [
        float(value)
        for element in ElementTree.fromstring(svg).iter()
        for name, value in element.attrib.items()
        if name in {"x", "y", "x1", "x2", "y1", "y2", "width", "height"}
    ]


def test_a_bar_is_as_long_as_its_value() -> None:
    """Lengths are in proportion, and whiskers reach over the interval."""
    svg = draw(
        "bars", "t", [bar("hybrid", 0.8, 0.7, 0.9), bar("grep", 0.4, 0.4, 0.5), bar("lexical", 0, 0, 0)]
    )
    lengths = [float(each["width"]) for each in elements(svg, "rect")]
    assert lengths[0] == pytest.approx(2 * lengths[1], abs=0.01)
    assert lengths[2] == 0
    whisker = elements(svg, "line", "whisker")[0]
    assert float(whisker["x2"]) - float(whisker["x1"]) == pytest.approx(lengths[1] / 2, abs=0.02)


def test_our_modes_have_colours_of_their_own() -> None:
    """Each mode has one, all baselines share one; each is named beside its bar, so colour decides nothing."""
    names = ["lexical", "dense", "hybrid", "grep", "rrf-60"]
    assert len({colour_class(name) for name in names}) == 4
    svg = draw("bars", "t", [bar(name, 0.5, 0.4, 0.6) for name in names])
    assert [each["class"] for each in elements(svg, "rect")] == [colour_class(name) for name in names]
    assert all(f">{name}</text>" in svg for name in names)


def test_texts_are_escaped() -> None:
    """A name with markup stays a name, in attributes too."""
    name = '"><script>&'
    for svg in (
        draw("bars", name, [bar(name, 0.5, 0.4, 0.6)]),
        draw("latencies", name, [timed(name, [1.0], 1, 1)]),
        draw("differences", name, [0.5]),
    ):
        root = ElementTree.fromstring(svg)
        assert root.attrib["aria-label"].startswith(name)
        assert next(each.text for each in root.iter("title")) == name
        assert list(root.iter("script")) == []


def test_differences_are_sorted_and_all_there() -> None:
    """Gains stand above the line from the left, losses below it at the right; equal ones are one bar."""
    svg = draw("differences", "t", [0, -0.5, 1, 0.25, 0.25, 0])
    [large, small], [loss] = elements(svg, "rect", "win"), elements(svg, "rect", "loss")
    assert float(small["width"]) == pytest.approx(2 * float(large["width"]), abs=0.02)
    assert float(large["height"]) == pytest.approx(4 * float(small["height"]), abs=0.02)
    zero = float(elements(svg, "line", "zero")[0]["y1"])
    assert float(large["y"]) + float(large["height"]) == pytest.approx(zero)
    assert float(loss["y"]) == zero
    assert float(loss["x"]) > float(small["x"]) > float(large["x"])
    assert "3 better, 2 equal, 1 worse" in svg


def test_a_histogram_counts_every_question() -> None:
    """Heights are shares on one scale for all systems: two halves are each half as high as one whole."""
    svg = draw(
        "latencies", "t", [timed("dense", [1.0] * 8, 1, 1), timed("hybrid", [1.0] * 4 + [50.0] * 4, 25, 50)]
    )
    [whole], halves = elements(svg, "rect", "of-dense"), elements(svg, "rect", "of-hybrid")
    assert [float(each["height"]) * 2 for each in halves] == [float(whole["height"])] * 2
    assert float(halves[0]["x"]) == float(whole["x"])
    assert "1 ms" in svg
    assert "50 ms" in svg


def test_the_axis_is_logarithmic() -> None:
    """Ten times slower is the same distance anywhere."""
    svg = draw("latencies", "t", [timed("dense", [1.0, 10.0, 100.0], 10, 100)])
    first, second, third = (float(each["x"]) for each in elements(svg, "rect"))
    assert second - first == pytest.approx(third - second, abs=0.02)


@given(LATENCIES, LATENCIES)
def test_any_latencies_can_be_drawn(one: list[float], other: list[float]) -> None:
    """Zero, equal and huge times stay inside the picture, with few enough labels to read."""
    rows = [timed(name, each, min(each), max(each)) for name, each in (("a", one), ("b", other))]
    svg = draw("latencies", "t", rows)
    assert all(math.isfinite(number) and number >= 0 for number in numbers(svg))
    width = float(ElementTree.fromstring(svg).attrib["width"])
    assert all(float(each["x"]) + float(each["width"]) <= width for each in elements(svg, "rect"))
    assert len(elements(svg, "text", "tick")) <= 12


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50))
def test_any_differences_can_be_drawn(values: list[float]) -> None:
    """Bars stay inside the picture, and gains, ties and losses add up."""
    svg = draw("differences", "t", values)
    root = ElementTree.fromstring(svg)
    for each in elements(svg, "rect"):
        assert float(each["x"]) + float(each["width"]) <= float(root.attrib["width"]) + 0.02
        assert (
            0 <= float(each["y"]) <= float(each["y"]) + float(each["height"]) <= float(root.attrib["height"])
        )
