"""What is measured, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mdvec.types.query import SearchMode

OUR_MODES = frozenset(mode.value for mode in SearchMode)
"""Systems of ours; every other one is a baseline."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the documents that answer it.

    Documents are named as their set names them: by path, or by the ``_id`` of ``corpus.jsonl``.

    Attributes:
        id: Unique in its set.
        text: What is asked.
        relevant: Grade of each document that answers it; grades are positive.
        scope: Folder whose documents alone count, without a final ``/``; empty for all.
        exclude: Documents that do not count.
        bad: Documents that somebody said do not answer it; they are only counted.
        collection: Name of the collection to ask; empty for all that are measured.
        labels: What results can be grouped by, such as ``type`` or ``lang``.
    """

    id: str
    text: str
    relevant: Mapping[str, int]
    scope: str = ""
    exclude: frozenset[str] = frozenset()
    bad: frozenset[str] = frozenset()
    collection: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


Ranker = Callable[[Question], Sequence[tuple[str, str]]]
"""Answers a question: path and best passage of at least ten documents (if there are as many), best first.

The question it is given names documents by their paths in the workspace, whatever the set calls them.
"""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions over one body of documents.

    Attributes:
        name: What the set is called in reports; unique in a report.
        source: Where it was read from, for people.
        questions: Those that have a relevant document, in the order of their file.
    """

    name: str
    source: str
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one system answered one question.

    Attributes:
        question: Id of the question.
        ranking: The ten best documents, best first, without the ones that do not count.
        metrics: Value of each metric, 0..1, by name (see :data:`mdvec.evaluation.metrics.METRICS`).
        latency_ms: Time of the search.
        tokens: Estimated tokens of the text that was returned for the ten best documents.
        confidence: What the answer said of itself; empty for baselines.
        best_text: The passage of the first document, cut to what a report shows.
        bad: Those of the question's bad documents that are among the ten best, best first.
    """

    question: str
    ranking: tuple[str, ...]
    metrics: Mapping[str, float]
    latency_ms: float
    tokens: int
    confidence: str = ""
    best_text: str = ""
    bad: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its bootstrap 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SystemReport:
    """One system (a mode of ours or a baseline) on one set.

    Attributes:
        system: ``lexical``, ``dense``, ``hybrid``, or the name of a baseline.
        outcomes: One for each question, in the set's order.
        metrics: Mean over all questions, by metric.
        groups: The same for each group of ``--by``, by the group's name; with the number of questions.
        p50_ms: Median latency.
        p95_ms: 95th percentile of the same.
        tokens: Mean tokens returned for a question.
    """

    system: str
    outcomes: tuple[Outcome, ...]
    metrics: Mapping[str, Interval]
    groups: Mapping[str, tuple[int, Mapping[str, Interval]]]
    p50_ms: float
    p95_ms: float
    tokens: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same questions, by nDCG@10.

    Attributes:
        better: The system under test.
        other: What it is compared with.
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


@dataclass(frozen=True, slots=True)
class SetReport:
    """All systems on one set.

    Attributes:
        set: The questions.
        documents: Documents that were searched.
        chunks: Chunks they are cut into.
        systems: In the order they were run.
        comparisons: Hybrid against each other mode and baseline, as far as they were run.
        notes: How the questions were made and what was left out, for people.
        warnings: What makes the figures doubtful, for people.
    """

    set: QuestionSet
    documents: int
    chunks: int
    systems: tuple[SystemReport, ...]
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvalReport:
    """The outcome of ``mdvec eval``.

    Attributes:
        model: The embedding space that was used, or why there was none.
        sets: In the order given.
        by: The labels that groups are made of.
        min_grade: Smallest grade that counted as relevant.
    """

    model: str
    sets: tuple[SetReport, ...]
    by: tuple[str, ...] = ()
    min_grade: int = 1
