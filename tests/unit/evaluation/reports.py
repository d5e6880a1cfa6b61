"""A report made by hand, small enough to know what a page of it must say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdvec.evaluation.judgements import Question, QuestionSet
from mdvec.evaluation.metrics import METRICS, PRIMARY, measure
from mdvec.evaluation.report import (
    EvalReport,
    Interval,
    QuestionGroup,
    QuestionOutcome,
    SetReport,
    SystemComparison,
    SystemReport,
)

QUESTIONS = (
    Question("q1", "how to reset <script>alert(1)</script>", {"en/reset.md": 2, "ja/reset.md": 1}),
    Question("q2", "再設定の方法は？", {"ja/reset.md": 1}),
    Question("q3", "who pays & why", {"en/invoice.md": 1}, bad=frozenset({"x.md", "y.md"})),
)

RANKINGS: Mapping[str, Sequence[tuple[str, ...]]] = {
    "lexical": (("en/reset.md",), (), ("x.md", "en/invoice.md")),
    "dense": (("x.md",), ("ja/reset.md",), ("x.md",)),
    "hybrid": (("en/reset.md", "ja/reset.md"), ("x.md", "ja/reset.md"), ("x.md",)),
    "grep": ((), (), ("en/invoice.md",)),
}

PASSAGE = "Close it with </script><b>bold</b> & press “OK”.\n\n手順は次のとおりです。"


def outcomes(system: str) -> tuple[QuestionOutcome, ...]:
    """Answer every question."""
    return tuple(
        QuestionOutcome(
            question=question.id,
            ranking=ranking,
            metrics=measure(ranking, question.relevant),
            latency_ms=latency_ms,
            tokens=100,
            confidence="high" if system == "hybrid" else "",
            best_text=PASSAGE if ranking else "",
            bad=tuple(path for path in ranking if path in question.bad),
        )
        for question, ranking, latency_ms in zip(QUESTIONS, RANKINGS[system], (0.5, 4.0, 90.0), strict=True)
    )


def system_report(system: str) -> SystemReport:
    """Report a system with intervals that are easy to recognise."""
    answers = outcomes(system)
    means = {name: sum(each.metrics[name] for each in answers) / len(answers) for name in METRICS}
    intervals = {name: Interval(mean, mean / 2, (mean + 1) / 2) for name, mean in means.items()}
    groups = (QuestionGroup("ja", 1, intervals), QuestionGroup("<en>", 2, intervals))
    return SystemReport(system, intervals, 4.0, 81.4, 100.0, groups, answers)


def report(systems: Sequence[str] = tuple(RANKINGS), *, min_grade: int = 1) -> EvalReport:
    """Report some systems on one set; hybrid is compared with all others."""
    made = {system: system_report(system) for system in systems}
    comparisons = [
        SystemComparison("hybrid", other, Interval(0.125, -0.05, 0.3), 0.0004, 1, 1)
        for other in systems
        if "hybrid" in made and other != "hybrid"
    ]
    judged = SetReport(
        QuestionSet(
            "notes & <tags>", "/sets/notes", QUESTIONS, notes=("made from headings",), min_grade=min_grade
        ),
        documents=1200,
        chunks=3400,
        systems=tuple(made.values()),
        comparisons=tuple(comparisons),
        warnings=("one <document> is missing",),
    )
    return EvalReport("builtin model", (judged,), ("lang",))


def value(system: str, question: int) -> float:
    """Return the primary metric of one answer."""
    return outcomes(system)[question].metrics[PRIMARY]
