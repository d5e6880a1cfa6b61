"""Searches for the questions of a set with each system, and computes metrics and comparisons."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from mdvec.errors import EmbedderUnavailableError, UsageError
from mdvec.evaluation.corpus import Corpus, Task
from mdvec.evaluation.judgements import Question, QuestionSet, Ranker
from mdvec.evaluation.metrics import DEPTH, METRICS, PRIMARY, intervals, measure, paired_p_value
from mdvec.evaluation.report import (
    RERANKED,
    EvalReport,
    Interval,
    QuestionGroup,
    QuestionOutcome,
    SetReport,
    SystemComparison,
    SystemReport,
)
from mdvec.text.quantity import quantity
from mdvec.text.tokens import estimate_token_count
from mdvec.types.hit import NOT_RERANKED, Reranking
from mdvec.types.query import Expansion, Filters, SearchMode, SearchQuery
from mdvec.workspace import Workspace

NO_LABEL = "(none)"
"""Group of the questions without a label."""

_BEST_TEXT_CHARS = 800
_MAX_LIMIT = 1_000  # of a search

BaselineMaker = Callable[[Workspace, Sequence[str]], AbstractContextManager[Mapping[str, Ranker]]]
"""Prepares baselines, by name, over some collections (all enabled ones without names)."""


class Options(Struct, frozen=True):
    """The choice of systems and of groups.

    Attributes:
        modes: Search modes, in the order of the report.
        all_modes: Whether a mode that cannot be used here is left out instead of being an error.
        by: Labels to group by; one group for each combination of their values.
        baselines: Prepares the baselines; None for none.
    """

    modes: tuple[SearchMode, ...] = (SearchMode.LEXICAL, SearchMode.DENSE, SearchMode.HYBRID)
    all_modes: bool = True
    by: tuple[str, ...] = ()
    baselines: BaselineMaker | None = None

    @property
    def needs_vectors(self) -> bool:
        """True if one of the systems compares vectors."""
        return self.baselines is not None or any(mode is not SearchMode.LEXICAL for mode in self.modes)


class _Found(NamedTuple):
    """The documents that a system found, best first, each by path and text, and facts of its answer."""

    passages: Sequence[tuple[str, str]]
    confidence: str = ""
    reranked: Reranking | None = None


_System = Callable[[Question], _Found]


def evaluate(
    tasks: Sequence[Task], options: Options, *, say: Callable[[str], None] = lambda _: None
) -> EvalReport:
    """Measure sets, one after the other. Indexing reports its progress to the current run.

    Args:
        tasks: The sets.
        options: The systems and groups.
        say: Receives a line for each step.

    Returns:
        The report.

    Raises:
        UsageError: If there are labels and none of those to group by, or two sets have the same name.
        EmbedderUnavailableError: If a mode was chosen by name that needs a model, and there is none.
    """
    for label in _missing_labels([task.set for task in tasks], options.by):
        say(f"no question has the label {label!r}")
    _check_names([task.set.name for task in tasks])
    model = ""
    reports: list[SetReport] = []
    for task in tasks:
        say(f"{task.set.name}: preparing the documents")
        started = time.perf_counter()
        with task.open() as corpus:
            model = corpus.model
            measured = _measure_set(task.set, corpus, options, say)
        reports.append(replace(measured, elapsed_ms=(time.perf_counter() - started) * 1000))
    return EvalReport(model, tuple(reports), options.by, sum(report.elapsed_ms for report in reports))


def scope_filters(question: Question) -> Filters:
    """Return the filter for a question's scope, whose name may hold wildcards of a glob."""
    literal = re.sub(r"([*?[])", r"[\1]", question.scope)
    return Filters(path=f"{literal}/") if literal else Filters()


def _missing_labels(sets: Sequence[QuestionSet], by: Sequence[str]) -> list[str]:
    """Return the labels to group by that no question has; a set without labels has no groups.

    Raises:
        UsageError: If these are all, and there are others; the hint names them.
    """
    known = sorted({label for each in sets for question in each.questions for label in question.labels})
    missing = [label for label in by if label not in known]
    if known and missing and len(missing) == len(by):
        msg = f"no question has the label {missing[0]!r}"
        raise UsageError(msg, hint=f"The questions have: {', '.join(known)}.")
    return missing


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            msg = f"two sets are called {name}, so their figures could not be told apart"
            raise UsageError(msg, hint="Measure them one at a time, or rename one.")


def _measure_set(
    questions: QuestionSet, corpus: Corpus, options: Options, say: Callable[[str], None]
) -> SetReport:
    warnings = [*questions.warnings, *corpus.warnings]
    reports: list[SystemReport] = []
    with ExitStack() as stack:
        for name, system in _systems(questions, corpus, options, stack):
            say(f"{questions.name}: searching {quantity(len(questions.questions), 'question')} with {name}")
            try:
                outcomes = _outcomes(questions, corpus, system)
            except EmbedderUnavailableError as error:
                if not options.all_modes and name in options.modes:
                    raise
                warnings.append(f"{name} is left out: {error}")
                continue
            reports.append(_system_report(name, questions, outcomes, options.by))
    return SetReport(
        questions,
        corpus.documents,
        corpus.chunks,
        tuple(reports),
        tuple(_comparisons(reports)),
        warnings=tuple(warnings),
    )


def _systems(
    questions: QuestionSet, corpus: Corpus, options: Options, stack: ExitStack
) -> Iterator[tuple[str, _System]]:
    for mode in options.modes:
        yield mode.value, _mode(corpus, mode)
    if corpus.workspace.models.reranker and options.modes:
        mode = SearchMode.HYBRID if SearchMode.HYBRID in options.modes else options.modes[-1]
        yield mode.value + RERANKED, _mode(corpus, mode, rerank=True)
    if options.baselines is None:
        return
    # A question that names its collection searches that one alone.
    rankers = {
        name: stack.enter_context(
            options.baselines(corpus.workspace, (name,) if name else corpus.collections)
        )
        for name in dict.fromkeys(question.collection for question in questions.questions)
    }
    for name in next(iter(rankers.values())):
        yield name, _baseline(name, rankers)


def _mode(corpus: Corpus, mode: SearchMode, *, rerank: bool = False) -> _System:
    def search(question: Question) -> _Found:
        query = SearchQuery(
            question.text,
            mode=mode,
            collections=(question.collection,) if question.collection else corpus.collections,
            filters=scope_filters(question),
            # Documents that do not count take places too.
            limit=min(DEPTH + len(question.exclude), _MAX_LIMIT),
            # The ranking is measured, not what is left out of it.
            min_score=0,
            # Documents are judged, by their best chunk.
            per_document=1,
            expand=Expansion.CHUNK,
            rerank=rerank,
        )
        result = corpus.workspace.search(query, wait_for_vectors=True)
        # Without a warning the question has operators alone, so that there is nothing to embed.
        if result.mode is not mode and result.warnings:
            raise EmbedderUnavailableError(result.warnings[0])
        for warning in result.warnings:
            if warning.startswith(NOT_RERANKED):  # figures of both orders together would say nothing
                raise EmbedderUnavailableError(warning)
        found = [(hit.path if question.collection else corpus.path_of(hit), hit.text) for hit in result.hits]
        return _Found(found, result.confidence.value, result.reranked)

    return search


def _baseline(name: str, rankers: Mapping[str, Mapping[str, Ranker]]) -> _System:
    return lambda question: _Found(rankers[question.collection][name](question))


def _outcomes(questions: QuestionSet, corpus: Corpus, system: _System) -> tuple[QuestionOutcome, ...]:
    located = [corpus.naming.located(question) for question in questions.questions]
    system(located[0])  # loads the model and the caches before anything is timed
    outcomes: list[QuestionOutcome] = []
    for question, place in zip(questions.questions, located, strict=True):
        started = time.perf_counter()
        found = system(place)
        latency_ms = (time.perf_counter() - started) * 1000
        best = best_of_each(found.passages, place, most=DEPTH)
        ranking = tuple(corpus.naming.name_of(path) for path in best)
        texts = list(best.values())
        outcomes.append(
            QuestionOutcome(
                question=question.id,
                ranking=ranking,
                metrics=measure(ranking, question.relevant),
                latency_ms=latency_ms,
                tokens=sum(map(estimate_token_count, texts)),
                confidence=found.confidence,
                best_text=texts[0][:_BEST_TEXT_CHARS] if texts else "",
                bad=tuple(name for name in ranking if name in question.bad),
                reranked=found.reranked,
            )
        )
    return tuple(outcomes)


def best_of_each(passages: Iterable[tuple[str, str]], located: Question, *, most: int) -> dict[str, str]:
    """Return the best documents that count, each with its best passage; reads no further than needed."""
    folder = f"{located.scope}/" if located.scope else ""
    best: dict[str, str] = {}
    for path, text in passages:
        if path.startswith(folder) and path not in located.exclude:
            best.setdefault(path, text)
        if len(best) == most:
            break
    return best


def _system_report(
    name: str, questions: QuestionSet, outcomes: tuple[QuestionOutcome, ...], by: Sequence[str]
) -> SystemReport:
    values = np.array([[outcome.metrics[metric] for metric in METRICS] for outcome in outcomes])
    p50_ms, p95_ms = np.percentile([outcome.latency_ms for outcome in outcomes], [50, 95]).tolist()
    return SystemReport(
        system=name,
        metrics=_by_metric(values),
        groups=tuple(
            QuestionGroup(group, len(rows), _by_metric(values[rows]))
            for group, rows in _groups(questions.questions, by).items()
        ),
        outcomes=outcomes,
        p50_ms=p50_ms,
        p95_ms=p95_ms,
        tokens=sum(outcome.tokens for outcome in outcomes) / len(outcomes),
    )


def _by_metric(values: NDArray[np.float64]) -> dict[str, Interval]:
    return dict(zip(METRICS, intervals(values), strict=True))


def _groups(questions: Sequence[Question], by: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of the questions in each group, in the order the groups appear."""
    groups: dict[str, list[int]] = {}
    if any(label in question.labels for question in questions for label in by):
        for position, question in enumerate(questions):
            name = "/".join(question.labels.get(label, NO_LABEL) for label in by)
            groups.setdefault(name, []).append(position)
    return groups


def _comparisons(reports: Sequence[SystemReport]) -> Iterator[SystemComparison]:
    """Compare hybrid with every other system."""
    tested = next((each for each in reports if each.system == SearchMode.HYBRID), None)
    for other in reports:
        if tested is None or other is tested:
            continue
        differences = [
            one.metrics[PRIMARY] - two.metrics[PRIMARY]
            for one, two in zip(tested.outcomes, other.outcomes, strict=True)
        ]
        yield SystemComparison(
            better=tested.system,
            other=other.system,
            difference=intervals(np.array(differences)[:, np.newaxis])[0],
            p_value=paired_p_value(differences),
            wins=sum(difference > 0 for difference in differences),
            losses=sum(difference < 0 for difference in differences),
        )
