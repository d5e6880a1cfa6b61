"""A report held against a record."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from mdvec.errors import UsageError
from mdvec.evaluation.gate import Verdict, compare, read_record
from mdvec.evaluation.judgements import QuestionSet
from mdvec.evaluation.report import EvalReport, Interval, SetReport, SystemReport
from mdvec.interfaces.cli.eval_report import report_json


def report(*, min_grade: int = 1, **values: Mapping[str, float]) -> EvalReport:
    """Make a report of one set, ``s``: values of systems."""
    systems = tuple(
        SystemReport(
            name, {metric: Interval(value, 0, 1) for metric, value in metrics.items()}, 1, 2, 3, (), ()
        )
        for name, metrics in values.items()
    )
    questions = QuestionSet("s", "", (), min_grade=min_grade)
    return EvalReport("m", (SetReport(questions, 1, 1, systems, ()),))


def gate(tmp_path: Path, recorded: EvalReport, now: EvalReport, **more: object) -> Verdict:
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps({**report_json(recorded), **more}), encoding="utf-8")
    return compare(now, read_record(path))


def test_a_value_below_its_tolerance_fails(tmp_path: Path) -> None:
    """The line names set, system, metric, value and record; what fell less than it may passes."""
    recorded = report(hybrid={"nDCG@10": 0.8, "R@5": 0.9})
    verdict = gate(tmp_path, recorded, report(hybrid={"nDCG@10": 0.785, "R@5": 0.89}))
    assert verdict == Verdict(("s hybrid nDCG@10 is 0.7850, recorded 0.8000: more than 0.01 below",), (), 1)


def test_the_record_sets_the_tolerance(tmp_path: Path) -> None:
    """Each metric has its own; the others keep the usual one."""
    recorded = report(hybrid={"nDCG@10": 0.8, "R@5": 0.9})
    now = report(hybrid={"nDCG@10": 0.775, "R@5": 0.885})
    verdict = gate(tmp_path, recorded, now, tolerance={"nDCG@10": 0.03})
    assert [line.split()[2] for line in verdict.failures] == ["R@5"]


def test_better_values_pass_and_are_told(tmp_path: Path) -> None:
    """Sets, systems and metrics that were not recorded do not matter."""
    now = report(hybrid={"nDCG@10": 0.85, "R@5": 0.1}, dense={"nDCG@10": 0.1})
    verdict = gate(tmp_path, report(hybrid={"nDCG@10": 0.8}), now)
    assert verdict == Verdict((), ("s hybrid nDCG@10 is 0.8500, recorded 0.8000",), 1)


def test_what_was_recorded_must_be_measured(tmp_path: Path) -> None:
    """A system that was not run fails, and so does another choice of what is relevant."""
    recorded = report(hybrid={"nDCG@10": 0.8}, dense={"nDCG@10": 0.7})
    [line] = gate(tmp_path, recorded, report(hybrid={"nDCG@10": 0.8})).failures
    assert line == "s dense nDCG@10 is recorded (0.7000) and was not measured"
    [line] = gate(tmp_path, recorded, report(min_grade=2, hybrid={"nDCG@10": 1})).failures
    assert line == "s is recorded with --min-grade 1, measured with 2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a report"),
        ("[]", "is not a report"),
        ('{"sets": [{"name": "s"}]}', "is not a report"),
        ('{"tolerance": {"nDCG@10": 0.1}}', "is not a report"),
        ('{"sets": []}', "records no value"),
        (
            '{"sets": [{"name": "s", "systems": [{"system": "a", "metrics": {"R@5": {"mean": 1}}}]}],'
            ' "tolerance": {"MAP": 0.1}}',
            "tolerance of 'MAP'",
        ),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The error names the file; the hint says how a record is made."""
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message) as caught:
        read_record(path)
    assert caught.value.hint


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 87])
def test_recorded_values_are_those_of_metrics(tmp_path: Path, value: float) -> None:
    """Nothing is below NaN or a negative record, and nothing reaches one above 1: none was ever measured."""
    recorded = report(hybrid={"R@5": value})
    with pytest.raises(UsageError, match="R@5 of hybrid on s cannot be"):
        gate(tmp_path, recorded, recorded)
