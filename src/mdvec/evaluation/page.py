"""A report as one HTML page that needs nothing else: no network, no script, no file beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from mdvec.evaluation.metrics import DEPTH, METRICS, PRIMARY
from mdvec.evaluation.model import (
    OUR_MODES,
    Comparison,
    EvalReport,
    Interval,
    Outcome,
    Question,
    SetReport,
    SystemReport,
)
from mdvec.evaluation.plots import Bar, Latencies, bars, colour_class, differences, latency_histograms
from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA
from mdvec.types.hit import Confidence
from mdvec.types.query import SearchMode

# Questions shown with their texts: the largest gains and losses of each comparison, and of those
# without any relevant document.
_MAX_CASES = 10
_MAX_MISSED = 20

_JAPANESE = re.compile(rf"[{HIRAGANA}{KATAKANA}{HAN}]")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one system gave for a question.

    Attributes:
        value: Its nDCG@10.
        rank: Of the first relevant document; None when it is not among those measured.
        path: The first document; empty without one.
        text: Its passage.
        right: Whether that document is relevant.
    """

    value: float
    rank: int | None
    path: str
    text: str
    right: bool


@dataclass(frozen=True, slots=True)
class _Case:
    """One question, answered by one or two systems.

    Attributes:
        question: What was asked.
        relevant: Its documents, best grade first.
        answers: In the order of the table's heads.
        difference: Of the two values; positive when the first is better; 0 with one system.
    """

    question: Question
    relevant: tuple[str, ...]
    answers: tuple[_Answer, ...]
    difference: float = 0.0


@dataclass(frozen=True, slots=True)
class _Duel:
    """Two systems, question by question.

    Attributes:
        comparison: Their figures.
        plot: All differences, as SVG.
        wins: The largest gains, largest first.
        losses: The largest losses, largest first.
    """

    comparison: Comparison
    plot: str
    wins: tuple[_Case, ...]
    losses: tuple[_Case, ...]


@dataclass(frozen=True, slots=True)
class _Trust:
    """How often a system was right when it said how sure it is.

    Attributes:
        confidence: What it said.
        questions: How often.
        right: Share of those whose first document is relevant.
    """

    confidence: str
    questions: int
    right: float


@dataclass(frozen=True, slots=True)
class _Section:
    """One set.

    Attributes:
        anchor: Name to link to.
        report: Its figures.
        bars: nDCG@10 of each system, as SVG.
        latencies: Histogram of each system, as SVG.
        groups: Group, its number of questions and the values of each system, in the order of ``systems``.
        duels: The comparisons that are shown question by question.
        missed: Questions for which ``best`` found no relevant document.
        missed_count: How many there are of them; more than are shown, perhaps.
        best: The system whose misses and confidence are shown: hybrid, or the last of our own modes.
        trust: Its confidence against its results, surest first.
        marked_bad: How many documents people marked as bad for a question.
        shown_bad: How many of them each system still has among the ten best.
    """

    anchor: str
    report: SetReport
    bars: str
    latencies: str
    groups: tuple[tuple[str, int, tuple[Interval, ...]], ...]
    duels: tuple[_Duel, ...]
    missed: tuple[_Case, ...]
    missed_count: int
    best: str
    trust: tuple[_Trust, ...]
    marked_bad: int
    shown_bad: tuple[tuple[str, int], ...]


def render(report: EvalReport) -> str:
    """Show a report.

    Args:
        report: What was measured.

    Returns:
        A whole HTML document. Every text in it is escaped, and it loads nothing.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(share=_share, interval=_interval, signed=_signed, p=_p_value, lang=_language)
    source = files("mdvec.evaluation").joinpath("page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        report=report,
        sections=[_section(number, each) for number, each in enumerate(report.sets, 1)],
        metrics=METRICS,
        primary=PRIMARY,
        depth=DEPTH,
        colour=colour_class,
    )


def _section(number: int, report: SetReport) -> _Section:
    systems = {system.system: system for system in report.systems}
    best = _shown_system(report.systems)
    missed = [
        _Case(question, _relevant(question), (_answer(question, outcome),))
        for question, outcome in zip(report.set.questions, best.outcomes, strict=True)
        if not any(document in question.relevant for document in outcome.ranking[:DEPTH])
    ]
    # Baselines are compared by their figures alone, unless there is nothing else.
    shown = [each for each in report.comparisons if each.other in OUR_MODES] or report.comparisons
    return _Section(
        anchor=f"set-{number}",
        report=report,
        bars=bars(f"{PRIMARY} on {report.set.name}", [_bar(system) for system in report.systems]),
        latencies=latency_histograms(
            f"Time of a search on {report.set.name}", [_latencies(system) for system in report.systems]
        ),
        groups=_groups(report.systems),
        duels=tuple(
            _duel(each, report.set.questions, systems[each.better], systems[each.other]) for each in shown
        ),
        missed=tuple(missed[:_MAX_MISSED]),
        missed_count=len(missed),
        best=best.system,
        trust=_trust(report.set.questions, best.outcomes),
        marked_bad=sum(len(question.bad) for question in report.set.questions),
        shown_bad=tuple(
            (system.system, sum(len(outcome.bad) for outcome in system.outcomes)) for system in report.systems
        ),
    )


def _shown_system(systems: Sequence[SystemReport]) -> SystemReport:
    """Choose hybrid, else the last of our own modes, else the first of all."""
    own = [system for system in systems if system.system in OUR_MODES]
    return next((each for each in own if each.system == SearchMode.HYBRID), (own or list(systems[:1]))[-1])


def _bar(system: SystemReport) -> Bar:
    value = system.metrics[PRIMARY]
    return Bar(system.system, value.mean, value.low, value.high)


def _latencies(system: SystemReport) -> Latencies:
    values = [outcome.latency_ms for outcome in system.outcomes]
    return Latencies(system.system, values, system.p50_ms, system.p95_ms)


def _groups(systems: Sequence[SystemReport]) -> tuple[tuple[str, int, tuple[Interval, ...]], ...]:
    return tuple(
        (name, count, tuple(system.groups[name][1][PRIMARY] for system in systems))
        for name, (count, _) in systems[0].groups.items()
    )


def _duel(
    comparison: Comparison, questions: Sequence[Question], ours: SystemReport, theirs: SystemReport
) -> _Duel:
    cases = [
        _Case(
            question,
            _relevant(question),
            (_answer(question, mine), _answer(question, other)),
            mine.metrics[PRIMARY] - other.metrics[PRIMARY],
        )
        for question, mine, other in zip(questions, ours.outcomes, theirs.outcomes, strict=True)
    ]
    title = f"{PRIMARY} of {comparison.better} less that of {comparison.other}, question by question"
    ordered = sorted(cases, key=lambda case: -case.difference)
    return _Duel(
        comparison,
        differences(title, [case.difference for case in cases]),
        tuple(case for case in ordered[:_MAX_CASES] if case.difference > 0),
        tuple(case for case in ordered[: -_MAX_CASES - 1 : -1] if case.difference < 0),
    )


def _relevant(question: Question) -> tuple[str, ...]:
    return tuple(sorted(question.relevant, key=lambda document: (-question.relevant[document], document)))


def _answer(question: Question, outcome: Outcome) -> _Answer:
    found = (
        rank for rank, document in enumerate(outcome.ranking[:DEPTH], 1) if document in question.relevant
    )
    first = outcome.ranking[0] if outcome.ranking else ""
    return _Answer(
        outcome.metrics[PRIMARY], next(found, None), first, outcome.best_text, first in question.relevant
    )


def _trust(questions: Sequence[Question], outcomes: Sequence[Outcome]) -> tuple[_Trust, ...]:
    said, right = Counter[str](), Counter[str]()
    for question, outcome in zip(questions, outcomes, strict=True):
        said[outcome.confidence] += 1
        right[outcome.confidence] += bool(outcome.ranking) and outcome.ranking[0] in question.relevant
    return tuple(
        _Trust(level, said[level], right[level] / said[level]) for level in Confidence if said[level]
    )


def _share(value: float) -> str:
    return f"{value:.3f}"


def _interval(value: Interval) -> str:
    return f"{value.low:.3f} – {value.high:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _language(text: str) -> str:
    """Return the language a browser should choose the characters' shapes for."""
    return "ja" if _JAPANESE.search(text) else "en"
