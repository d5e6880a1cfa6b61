"""How measurements are shown."""

from __future__ import annotations

import json
import re

from msgspec.structs import replace
from tests.unit.evaluation.reports import QUESTIONS, report

from mdvec.evaluation.metrics import METRICS
from mdvec.interfaces.cli.eval_report import bad_lines, report_json, set_tables


def test_json_has_every_value() -> None:
    """Means, intervals, groups and single outcomes of every system are there, to six digits."""
    made = report()
    systems = made.sets[0].systems
    printed = json.dumps(report_json(made))
    [measured] = json.loads(printed)["sets"]
    assert [each["system"] for each in measured["systems"]] == [each.system for each in systems]
    for shown, system in zip(measured["systems"], systems, strict=True):
        assert list(shown["metrics"]) == list(METRICS)
        assert [group["name"] for group in shown["groups"]] == [group.name for group in system.groups]
        assert [each["ranking"] for each in shown["outcomes"]] == [
            list(each.ranking) for each in system.outcomes
        ]
    assert not re.search(r"\d\.\d{7}", printed)


def test_tables_for_people() -> None:
    """Each system has a row with its values and one with their intervals; then differences, then groups."""
    systems, differences, groups = set_tables(report().sets[0])
    assert systems.title == "notes & <tags>: 3 questions, 1,200 documents, 3,400 chunks"
    assert [row[0] for row in systems.rows] == [
        *("lexical", "  95 %", "dense", "  95 %", "hybrid", "  95 %", "grep", "  95 %")
    ]
    assert systems.rows[4][-3:] == ("4.0", "81.4", "100")
    assert all(re.fullmatch(r"\d\.\d{3}-\d\.\d{3}", cell) for cell in systems.rows[5][1:6])
    assert differences.rows[0] == ("lexical", "+0.1250", "-0.050 to +0.300", "0.0004", "1", "1")
    assert [row[:3] for row in groups.rows[:2]] == [("ja", "1", "lexical"), ("ja", "1", "dense")]
    for table in (systems, differences, groups):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_failed_questions_are_listed() -> None:
    """At most so many questions are listed, with the relevant documents and those found instead."""
    [measured] = report(["dense", "hybrid"]).sets
    *_, failed = set_tables(measured, max_failures=5)
    assert failed.title.startswith("notes & <tags>: 1 of 3 questions failed with hybrid")
    assert failed.rows == (("who pays & why", "en/invoice.md", "x.md"),)
    [grep] = report(["grep"]).sets
    *_, failed = set_tables(grep, max_failures=1)
    assert "2 of 3 questions failed with grep" in failed.title
    assert failed.title.endswith(", the first 1")
    assert failed.rows == ((QUESTIONS[0].text, "en/reset.md, ja/reset.md", "nothing"),)
    assert len(set_tables(measured)) == len(set_tables(measured, max_failures=5)) - 1


def test_documents_marked_bad_are_counted() -> None:
    """Each system has a line, but only when any are marked."""
    [measured] = report(["hybrid"]).sets
    unmarked = tuple(replace(question, bad=frozenset()) for question in measured.set.questions)
    assert bad_lines(replace(measured, set=replace(measured.set, questions=unmarked))) == []
    first, *others = unmarked
    marked = (replace(first, bad=frozenset({"ja/reset.md", "y.md"})), *others)
    [system] = measured.systems
    outcomes = tuple(replace(each, bad=()) for each in system.outcomes)
    shown = replace(system, outcomes=(replace(outcomes[0], bad=("ja/reset.md",)), *outcomes[1:]))
    assert bad_lines(replace(measured, set=replace(measured.set, questions=marked), systems=(shown,))) == [
        "hybrid: 1 of 2 documents marked bad among the ten best"
    ]
