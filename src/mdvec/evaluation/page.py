"""A report as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jinja2

from mdvec.evaluation.judgements import Question
from mdvec.evaluation.metrics import DEPTH, METRICS, PRIMARY
from mdvec.evaluation.plots import colour_class, histogram, runs
from mdvec.evaluation.report import (
    OUR_MODES,
    Comparison,
    EvalReport,
    Group,
    Outcome,
    SetReport,
    SystemReport,
    by_grade,
    failures,
    main_system,
)
from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA
from mdvec.types.hit import Confidence

MAX_FAILURES = 20
"""Failed questions of a set that are shown with their texts, unless chosen otherwise."""

# Questions shown with their texts: the largest gains and losses of each comparison.
_MAX_CASES = 10

_JAPANESE = re.compile(rf"[{HIRAGANA}{KATAKANA}{HAN}]")


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the results of one or two systems; the difference is of their primary metrics."""

    question: Question
    outcomes: tuple[Outcome, ...]
    difference: float = 0.0


@dataclass(frozen=True, slots=True)
class Duel:
    """Two systems compared question by question.

    Attributes:
        comparison: Their figures.
        cases: All questions, the largest gain first.
    """

    comparison: Comparison
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


def templates() -> jinja2.Environment:
    """Return the templates of the page and of its plots."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mdvec.evaluation"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
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


def _best(members: Sequence[SystemReport | Group], metric: str) -> float:
    return max(each.metrics[metric].mean for each in members)


def _groups(systems: Sequence[SystemReport]) -> Iterator[tuple[Group, ...]]:
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
    ours = [each for each in report.comparisons if each.other in OUR_MODES]
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


def _first_right(outcome: Outcome, question: Question) -> int | None:
    """Return the rank of the first relevant document."""
    ranks = (rank for rank, path in enumerate(outcome.ranking, 1) if path in question.relevant)
    return next(ranks, None)


def _language(text: str) -> str:
    """Return the language of a text: Chinese and Japanese share characters, but not their shapes."""
    return "ja" if _JAPANESE.search(text) else "en"
