"""A report as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from mdvec.evaluation.judgements import Question
from mdvec.evaluation.markup import Html, element, joined
from mdvec.evaluation.metrics import DEPTH, METRICS, PRIMARY
from mdvec.evaluation.plots import bars, differences, latency_histograms
from mdvec.evaluation.report import (
    OUR_MODES,
    Comparison,
    EvalReport,
    Interval,
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
_MAX_RELEVANT = 5

_JAPANESE = re.compile(rf"[{HIRAGANA}{KATAKANA}{HAN}]")


@dataclass(frozen=True, slots=True)
class _Case:
    """A question with the results of one or two systems; the difference is of their primary metrics."""

    question: Question
    outcomes: tuple[Outcome, ...]
    difference: float = 0.0


def render(report: EvalReport, *, max_failures: int = MAX_FAILURES) -> str:
    """Return a report as a whole HTML document. Every text in it is escaped, and it loads nothing.

    Args:
        report: The report.
        max_failures: Failed questions of each set that are shown with their texts.
    """
    template = Template(files("mdvec.evaluation").joinpath("page.html").read_text(encoding="utf-8"))
    sections = [
        _section(_anchor(number), each, report.by, max_failures) for number, each in enumerate(report.sets)
    ]
    return template.substitute(
        names=joined([", ".join(each.set.name for each in report.sets)]),
        summary=joined([_summary(report)]),
        overview=_overview(report.sets),
        sections="\n\n".join(sections),
    )


def _summary(report: EvalReport) -> str:
    questions = sum(len(each.set.questions) for each in report.sets)
    parts = [
        "mdvec eval",
        f"{len(report.sets)} {'set' if len(report.sets) == 1 else 'sets'}",
        f"{questions:,} questions",
        f"model: {report.model}",
    ]
    if report.min_grade > 1:
        parts.append(f"documents count from grade {report.min_grade}")
    if report.elapsed_ms:
        parts.append(f"measured in {report.elapsed_ms / 1000:,.1f} s")
    return " · ".join(parts)


def _anchor(number: int) -> str:
    return f"set-{number + 1}"


# --- all sets ---------------------------------------------------------------------------------


def _overview(reports: Sequence[SetReport]) -> Html:
    cards = [
        element(
            "figure",
            element(
                "h3",
                element("a", each.set.name, href=f"#{_anchor(number)}"),
                " ",
                element("span", f"{PRIMARY}, {len(each.set.questions):,} questions", class_="muted"),
            ),
            bars(f"{PRIMARY} on {each.set.name}", each.systems),
            class_="card",
        )
        for number, each in enumerate(reports)
    ]
    table = _table(
        ("set", "system", *METRICS, "p50 ms", "p95 ms", "tokens"),
        (row for each in reports for row in _system_rows(each)),
        caption="Means with 95 % intervals; the best of each set and measure in bold.",
        first_number=2,
    )
    return element("section", element("div", *cards, class_="cards"), table, aria_label="Overview")


def _system_rows(report: SetReport) -> Iterator[Html]:
    for number, system in enumerate(report.systems):
        name = element("th", report.set.name, scope="rowgroup", rowspan=len(report.systems))
        yield _row(
            *([] if number else [name]),
            element("th", system.system, scope="row"),
            *(_mean(system.metrics[metric], _best(report.systems, metric)) for metric in METRICS),
            _number(f"{system.p50_ms:.1f}"),
            _number(f"{system.p95_ms:.1f}"),
            _number(f"{system.tokens:,.0f}"),
            class_=None if number else "first",
        )


def _best(systems: Sequence[SystemReport], metric: str) -> float:
    return max(system.metrics[metric].mean for system in systems)


# --- one set ----------------------------------------------------------------------------------


def _section(anchor: str, report: SetReport, by: Sequence[str], max_failures: int) -> Html:
    questions = len(report.set.questions)
    size = f"{report.documents:,} documents, {report.chunks:,} chunks, {questions:,} questions"
    parts = [
        element("h2", report.set.name, id=anchor),
        element("p", f"{size} · {report.set.source}", class_="muted"),
        *(element("p", note) for note in report.set.notes),
        *(element("p", warning, class_="warning") for warning in report.warnings),
        *_marked_bad(report),
        *_comparisons(report),
        *_groups(report, by),
        *_confidences(report),
        element("h3", "Latency"),
        _wide(latency_histograms(f"Time of a search on {report.set.name}", report.systems)),
        *_duels(report),
        *_failures(report, max_failures),
    ]
    return element("section", joined(parts, "\n"), aria_labelledby=anchor)


def _marked_bad(report: SetReport) -> Iterator[Html]:
    if marked := sum(len(question.bad) for question in report.set.questions):
        shown = ", ".join(
            f"{sum(len(outcome.bad) for outcome in system.outcomes)} with {system.system}"
            for system in report.systems
        )
        yield element("p", f"Of {marked} documents marked as bad, these are among the {DEPTH} best: {shown}.")


def _comparisons(report: SetReport) -> Iterator[Html]:
    if not report.comparisons:
        return
    yield element("h3", "Compared, question by question")
    yield _table(
        ("systems", f"difference in {PRIMARY}", "p", "better", "equal", "worse"),
        (
            _row(
                element("th", f"{each.better} against {each.other}", scope="row"),
                _number(
                    _signed(each.difference.mean),
                    _range(f"{_signed(each.difference.low)} to {_signed(each.difference.high)}"),
                ),
                _number("< 0.001" if each.p_value < 0.001 else f"{each.p_value:.3f}"),
                _number(f"{each.wins}"),
                _number(f"{_ties(report, each)}"),
                _number(f"{each.losses}"),
            )
            for each in report.comparisons
        ),
    )


def _groups(report: SetReport, by: Sequence[str]) -> Iterator[Html]:
    groups = report.systems[0].groups
    if not groups:
        return
    rows = []
    for number, group in enumerate(groups):
        values = [system.groups[number].metrics[PRIMARY] for system in report.systems]
        best = max(value.mean for value in values)
        head = element("th", group.name, scope="row", lang=_language(group.name))
        rows.append(_row(head, _number(f"{group.questions}"), *(_mean(value, best) for value in values)))
    yield element("h3", f"By {', '.join(by)}")
    yield _table(("group", "questions", *(system.system for system in report.systems)), rows, caption=PRIMARY)


def _confidences(report: SetReport) -> Iterator[Html]:
    """Compare the confidence of each answer with whether its first document is relevant."""
    system = main_system(report.systems)
    total, right = Counter[str](), Counter[str]()
    for question, outcome in zip(report.set.questions, system.outcomes, strict=True):
        total[outcome.confidence] += 1
        right[outcome.confidence] += bool(outcome.ranking) and outcome.ranking[0] in question.relevant
    rows = [
        _row(
            element("th", level.value, scope="row"),
            _number(f"{total[level]}"),
            _number(f"{right[level] / total[level] * 100:.0f} %"),
        )
        for level in Confidence
        if total[level]
    ]
    if rows:
        yield element("h3", f"Confidence of {system.system}")
        yield _table(("confidence", "questions", "first document relevant"), rows)


def _duels(report: SetReport) -> Iterator[Html]:
    """Compare hybrid with our other modes question by question; with baselines if there is no other mode."""
    systems = {system.system: system for system in report.systems}
    ours = [each for each in report.comparisons if each.other in OUR_MODES]
    for each in ours or report.comparisons:
        one, other = systems[each.better], systems[each.other]
        cases = [
            _Case(question, (mine, its), mine.metrics[PRIMARY] - its.metrics[PRIMARY])
            for question, mine, its in zip(report.set.questions, one.outcomes, other.outcomes, strict=True)
        ]
        title = f"{PRIMARY} of {each.better} less that of {each.other}, question by question"
        yield element("h3", f"{each.better} against {each.other}")
        yield element(
            "p",
            element("b", f"{each.wins}", class_="wins"),
            f" questions better, {_ties(report, each)} equal, ",
            element("b", f"{each.losses}", class_="losses"),
            " worse. Each bar is a question, largest gain first.",
        )
        yield _wide(differences(title, [case.difference for case in cases]))
        cases.sort(key=lambda case: -case.difference)
        heads = (each.better, each.other)
        gains = [case for case in cases[:_MAX_CASES] if case.difference > 0]
        losses = [case for case in cases[: -_MAX_CASES - 1 : -1] if case.difference < 0]
        tables = [
            _cases(f"Largest {kind} of {each.better}", heads, some)
            for kind, some in (("gains", gains), ("losses", losses))
            if some
        ]
        if tables:
            yield _details("The largest gains and losses, with texts", *tables)


def _failures(report: SetReport, max_failures: int) -> Iterator[Html]:
    system = main_system(report.systems)
    failed = failures(report.set.questions, system.outcomes)
    if not failed:
        return
    shown = [_Case(question, (outcome,)) for question, outcome in failed[:max_failures]]
    some = f"; the first {len(shown)} of them are below" if len(shown) < len(failed) and shown else ""
    yield element("h3", f"Not found by {system.system}")
    yield element(
        "p",
        f"{len(failed)} of {len(report.set.questions)} questions have no relevant document among the "
        f"{DEPTH} best{some}.",
    )
    if shown:
        yield _details("Show them", _cases("In the order of the set", (system.system,), shown))


# --- questions with their texts ---------------------------------------------------------------


def _cases(title: str, systems: Sequence[str], cases: Sequence[_Case]) -> Html:
    heads = [
        element("th", "question", scope="col", class_="asked"),
        *(element("th", f"{system}: its first document", scope="col") for system in systems),
    ]
    if len(systems) > 1:
        heads.insert(0, element("th", PRIMARY, scope="col", class_="difference"))
    return _wide(
        element(
            "table",
            element("caption", title),
            element("thead", _row(*heads)),
            element("tbody", joined((_case(case, systems) for case in cases), "\n")),
            class_="cases",
        )
    )


def _case(case: _Case, systems: Sequence[str]) -> Html:
    cells = [
        element("td", joined(_found(case.question, outcome), "\n"), data_system=system)
        for system, outcome in zip(systems, case.outcomes, strict=True)
    ]
    values = " / ".join(f"{outcome.metrics[PRIMARY]:.3f}" for outcome in case.outcomes)
    difference = [_number(_signed(case.difference), _range(values))] if len(systems) > 1 else []
    question = element("td", _worded("span", case.question.text), "\n", _range(*_relevant(case.question)))
    return _row(*difference, question, *cells, class_="case")


def _relevant(question: Question) -> Iterator[str]:
    paths = by_grade(question)
    yield "relevant: "
    yield joined((_worded("span", path, class_="path") for path in paths[:_MAX_RELEVANT]), ", ")
    if len(paths) > _MAX_RELEVANT:
        yield f" and {len(paths) - _MAX_RELEVANT} more"


def _found(question: Question, outcome: Outcome) -> Iterator[Html]:
    """Show the first document that a system found, and the rank of the first relevant one."""
    if outcome.ranking:
        first = outcome.ranking[0]
        yield _worded("span", first, class_=f"path {'right' if first in question.relevant else 'wrong'}")
    else:
        yield element("span", "nothing found", class_="wrong")
    ranks = [rank for rank, document in enumerate(outcome.ranking, 1) if document in question.relevant]
    yield _range(
        f"first relevant at rank {ranks[0]}" if ranks else f"no relevant document in {DEPTH}",
    )
    if len(outcome.ranking) > 1 and not ranks:
        others = (_worded("span", path, class_="path") for path in outcome.ranking[1:3])
        yield _range("then ", joined(others, ", "))
    if outcome.best_text:
        yield _worded("div", outcome.best_text, class_="passage")


# --- parts ------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Iterable[Html], *, caption: str = "", first_number: int = 1) -> Html:
    columns = (
        element("th", head, scope="col", class_="number" if column >= first_number else None)
        for column, head in enumerate(heads)
    )
    return _wide(
        element(
            "table",
            *([element("caption", caption)] if caption else []),
            element("thead", _row(*columns)),
            element("tbody", joined(rows, "\n")),
        )
    )


def _row(*cells: Html, class_: str | None = None) -> Html:
    return element("tr", joined(cells, "\n"), class_=class_)


def _wide(content: Html) -> Html:
    return element("div", content, class_="wide")


def _details(title: str, *content: Html) -> Html:
    return element("details", element("summary", title), *content)


def _mean(value: Interval, best: float) -> Html:
    """Return a cell with a mean and its interval, bold if it is shown like the best one."""
    shown = f"{value.mean:.3f}"
    interval = _range(f"{value.low:.3f} – {value.high:.3f}")
    return element("td", shown, interval, class_="number best" if shown == f"{best:.3f}" else "number")


def _number(*content: str) -> Html:
    return element("td", *content, class_="number")


def _range(*content: str) -> Html:
    return element("span", *content, class_="range")


def _worded(name: str, text: str, **attributes: str) -> Html:
    """Return an element with its language: Chinese and Japanese share characters, but not their shapes."""
    return element(name, text, lang=_language(text), **attributes)


def _language(text: str) -> str:
    return "ja" if _JAPANESE.search(text) else "en"


def _ties(report: SetReport, comparison: Comparison) -> int:
    return len(report.set.questions) - comparison.wins - comparison.losses


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")
