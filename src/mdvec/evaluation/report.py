"""The results of a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from mdvec.evaluation.judgements import Question, QuestionSet
from mdvec.types.hit import Reranking
from mdvec.types.query import SearchMode

OUR_MODES = frozenset(mode.value for mode in SearchMode)
"""The systems that are search modes of mdvec; every other one is a baseline."""


RERANKED = "+rerank"
"""The end of the name of a search mode whose passages a reranker has ordered."""


class QuestionOutcome(Struct, frozen=True):
    """The result of one system for one question.

    Attributes:
        question: Id of the question.
        ranking: The ten best documents, best first, without the ones that do not count.
        metrics: Value of each metric, 0..1, by name (see :data:`mdvec.evaluation.metrics.METRICS`).
        latency_ms: Time of the search.
        tokens: Estimated tokens of the text that was returned for the ten best documents.
        confidence: The confidence that the search reported; empty for baselines.
        best_text: The passage of the first document, shortened for reports.
        bad: Those of the question's bad documents that are among the ten best, best first.
        reranked: What a reranker has read for it; None without one.
    """

    question: str
    ranking: tuple[str, ...]
    metrics: Mapping[str, float]
    latency_ms: float
    tokens: int
    confidence: str = ""
    best_text: str = ""
    bad: tuple[str, ...] = ()
    reranked: Reranking | None = None


class Interval(Struct, frozen=True):
    """A mean with its bootstrap 95 % interval."""

    mean: float
    low: float
    high: float


class QuestionGroup(Struct, frozen=True):
    """The questions with the same labels: their number and the mean of each metric."""

    name: str
    questions: int
    metrics: Mapping[str, Interval]


class SystemReport(Struct, frozen=True):
    """One system (a mode of mdvec or a baseline) on one set.

    Attributes:
        system: ``lexical``, ``dense``, ``hybrid``, one of these with :data:`RERANKED`, or the name of a
            baseline.
        metrics: Mean over all questions, by metric.
        p50_ms: Median latency.
        p95_ms: 95th percentile of the latency.
        tokens: Mean tokens returned for a question.
        groups: The groups of ``--by``, the same for all systems of a set.
        outcomes: One for each question, in the set's order.
    """

    system: str
    metrics: Mapping[str, Interval]
    p50_ms: float
    p95_ms: float
    tokens: float
    groups: tuple[QuestionGroup, ...]
    outcomes: tuple[QuestionOutcome, ...]


class SystemComparison(Struct, frozen=True):
    """Two systems on the same questions, by nDCG@10.

    Attributes:
        better: The system under test.
        other: The system it is compared with.
        difference: Mean of the paired differences with its interval; positive when ``better`` is better.
        p_value: Two-sided, by random sign flips.
        wins: Questions where it is better.
        losses: Questions where it is worse.
    """

    better: str
    other: str
    difference: Interval
    p_value: float
    wins: int
    losses: int


class SetReport(Struct, frozen=True):
    """All systems on one set.

    Attributes:
        set: The questions.
        documents: Documents that were searched.
        chunks: Chunks they are cut into.
        systems: In the order they were run.
        comparisons: Hybrid against each other mode and baseline, as far as they were run.
        elapsed_ms: Wall time, indexing included.
        warnings: Reasons to doubt the figures, for people.
    """

    set: QuestionSet
    documents: int
    chunks: int
    systems: tuple[SystemReport, ...]
    comparisons: tuple[SystemComparison, ...]
    elapsed_ms: float = 0.0
    warnings: tuple[str, ...] = ()


class EvalReport(Struct, frozen=True):
    """The outcome of ``mdvec eval``.

    Attributes:
        model: The embedding space that was used, or why there was none.
        sets: In the order given.
        by: The labels that questions are grouped by.
        elapsed_ms: Wall time of everything.
    """

    model: str
    sets: tuple[SetReport, ...]
    by: tuple[str, ...] = ()
    elapsed_ms: float = 0.0


def main_system(systems: Sequence[SystemReport]) -> SystemReport:
    """Return the system whose results are shown question by question: hybrid, else the last of our modes."""
    ours = [system for system in systems if system.system in OUR_MODES]
    hybrid = next((each for each in ours if each.system == SearchMode.HYBRID), None)
    return hybrid or (ours or list(systems))[-1]


def failures(
    questions: Sequence[Question], outcomes: Sequence[QuestionOutcome]
) -> list[tuple[Question, QuestionOutcome]]:
    """Return the questions without a relevant document among the ten best, in the order of the set."""
    return [
        (question, outcome)
        for question, outcome in zip(questions, outcomes, strict=True)
        if not any(document in question.relevant for document in outcome.ranking)
    ]


def by_grade(question: Question) -> list[str]:
    """Return the relevant documents of a question, highest grade first."""
    return sorted(question.relevant, key=lambda document: (-question.relevant[document], document))
