"""A report as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from mdvec.evaluation.judgements import Question
from mdvec.evaluation.metrics import DEPTH, METRICS, PRIMARY
from mdvec.evaluation.report import (
    OUR_MODES,
    RERANKED,
    EvalReport,
    QuestionGroup,
    QuestionOutcome,
    SetReport,
    SystemComparison,
    SystemReport,
    by_grade,
    failures,
    main_system,
)
from mdvec.templates import Templates, html_templates
from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA
from mdvec.types.hit import Confidence

MAX_FAILURES = 20
"""Failed questions of a set that are shown with their texts, unless chosen otherwise."""

# Questions shown with their texts: the largest gains and losses of each comparison.
_MAX_CASES = 10

_JAPANESE = re.compile(rf"[{HIRAGANA}{KATAKANA}{HAN}]")

_BINS_PER_DECADE = 10
_FASTEST_MS = 0.01  # a logarithm has no zero
_MAX_RATIO_OF_FINE_TICKS = 2_000  # ten labels fit next to each other


class Case(Struct, frozen=True):
    """A question with the results of one or two systems; the difference is of their primary metrics."""

    question: Question
    outcomes: tuple[QuestionOutcome, ...]
    difference: float = 0.0


class Duel(Struct, frozen=True):
    """Two systems compared question by question.

    Attributes:
        comparison: Their figures.
        cases: All questions, the largest gain first.
    """

    comparison: SystemComparison
    cases: tuple[Case, ...]

    @property
    def gains(self) -> list[Case]:
        """The largest gains."""
        return [case for case in self.cases[:_MAX_CASES] if case.difference > 0]

    @property
    def losses(self) -> list[Case]:
        """The largest losses."""
        return [case for case in self.cases[: -_MAX_CASES - 1 : -1] if case.difference < 0]


def render(report: EvalReport, *, max_failures: int = MAX_FAILURES) -> str:
    """Return a report as a whole HTML document. Every text in it is escaped, and it loads nothing.

    Args:
        report: The report.
        max_failures: Failed questions of each set that are shown with their texts.
    """
    page = templates().get_template("page.html")
    return page.render(report=report, max_failures=max_failures, metrics=METRICS, depth=DEPTH)


def templates() -> Templates:
    """Return the templates of the page and of its plots."""
    environment = html_templates("mdvec.evaluation")
    environment.filters.update(
        best=_best,
        by_grade=by_grade,
        colour=colour_class,
        confidences=_confidences,
        duels=_duels,
        failed=_failed,
        first_right=_first_right,
        groups=_groups,
        histogram=histogram,
        language=_language,
        main_system=main_system,
        n3="{:.3f}".format,
        px=lambda value: f"{value:.2f}".rstrip("0").rstrip("."),
        runs=runs,
        signed=lambda value: f"{value:+.3f}".replace("-", "\N{MINUS SIGN}"),
        summary=_summary,
        tick=lambda value: f"{value:+g}".replace("-", "\N{MINUS SIGN}") if value else "0",
    )
    environment.globals.update(primary=PRIMARY)
    return environment


def _summary(report: EvalReport) -> str:
    questions = sum(len(each.set.questions) for each in report.sets)
    parts = [
        "mdvec eval",
        f"{len(report.sets)} {'set' if len(report.sets) == 1 else 'sets'}",
        f"{questions:,} questions",
        f"model: {report.model}",
    ]
    if report.elapsed_ms:
        parts.append(f"measured in {report.elapsed_ms / 1000:,.1f} s")
    return " · ".join(parts)


def _best(members: Sequence[SystemReport | QuestionGroup], metric: str) -> float:
    return max(each.metrics[metric].mean for each in members)


def _groups(systems: Sequence[SystemReport]) -> Iterator[tuple[QuestionGroup, ...]]:
    """Yield each group as every system has it."""
    return zip(*(system.groups for system in systems), strict=True)


def _confidences(report: SetReport) -> list[tuple[str, int, float]]:
    """Return each confidence that was given, how often, and how often its first document was relevant."""
    total, right = Counter[str](), Counter[str]()
    for question, outcome in zip(report.set.questions, main_system(report.systems).outcomes, strict=True):
        total[outcome.confidence] += 1
        right[outcome.confidence] += bool(outcome.ranking) and outcome.ranking[0] in question.relevant
    return [(level, total[level], right[level] / total[level]) for level in Confidence if total[level]]


def _duels(report: SetReport) -> Iterator[Duel]:
    """Compare hybrid with our other modes question by question; with baselines if there is no other mode."""
    outcomes = {system.system: system.outcomes for system in report.systems}
    ours = [each for each in report.comparisons if each.other.removesuffix(RERANKED) in OUR_MODES]
    for each in ours or report.comparisons:
        pairs = zip(report.set.questions, outcomes[each.better], outcomes[each.other], strict=True)
        cases = [
            Case(question, (one, other), one.metrics[PRIMARY] - other.metrics[PRIMARY])
            for question, one, other in pairs
        ]
        yield Duel(each, tuple(sorted(cases, key=lambda case: -case.difference)))


def _failed(report: SetReport) -> list[Case]:
    outcomes = main_system(report.systems).outcomes
    return [Case(question, (outcome,)) for question, outcome in failures(report.set.questions, outcomes)]


def _first_right(outcome: QuestionOutcome, question: Question) -> int | None:
    """Return the rank of the first relevant document."""
    return next((rank for rank, path in enumerate(outcome.ranking, 1) if path in question.relevant), None)


def _language(text: str) -> str:
    """Return the language of a text: Chinese and Japanese share characters, but not their shapes."""
    return "ja" if _JAPANESE.search(text) else "en"


class HistogramRow(Struct, frozen=True):
    """The latencies of one system.

    Attributes:
        columns: Left end of each bin that holds any, and its share of the largest share of all rows.
        median: Place of the median.
        late: Place of the 95th percentile.
    """

    columns: tuple[tuple[float, float], ...]
    median: float
    late: float


class Histogram(Struct, frozen=True):
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
