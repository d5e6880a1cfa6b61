"""The page on JSON shows what ``mdvec eval`` prints."""

from __future__ import annotations

import json

from tests.docs.test_reference import documented, shape

from mdvec.evaluation.judgements import Question, QuestionSet
from mdvec.evaluation.metrics import METRICS
from mdvec.evaluation.report import (
    EvalReport,
    Interval,
    QuestionGroup,
    QuestionOutcome,
    SetReport,
    SystemComparison,
    SystemReport,
)
from mdvec.interfaces.cli.eval_report import report_json


def test_the_example_has_the_keys_of_a_report() -> None:
    """Every object of the example has exactly the keys, in the order, that are printed."""
    question = Question("q1", "宿はどこ", {"旅行/京都.md": 2}, labels={"lang": "ja"})
    one = Interval(1, 1, 1)
    means = dict.fromkeys(METRICS, one)
    outcome = QuestionOutcome("q1", ("旅行/京都.md",), dict.fromkeys(METRICS, 1.0), 8.0, 1067)
    system = SystemReport("hybrid", means, 8.0, 12.0, 1067.4, (QuestionGroup("ja", 1, means),), (outcome,))
    compared = SystemComparison("hybrid", "lexical", one, 0.001, 12, 4)
    report = SetReport(QuestionSet("s", "/s", (question,)), 5, 9, (system,), (compared,))
    printed = json.loads(json.dumps(report_json(EvalReport("m", (report,), ("lang",)))))
    assert documented("eval --format json") == shape(printed)
