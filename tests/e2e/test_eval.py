"""Measuring with the real program and the real model."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.conftest import Shell
from tests.e2e.test_cli import needs_model


@needs_model
def test_measuring_ones_own_notes(shell: Shell) -> None:
    """Feedback becomes questions, questions become figures and a record, and the record becomes a gate."""
    shell.run("tool", "add", "-n", "notes", "-d", "My notes", "-s", "notes")
    shell.run("import", "-n", "notes")
    shell.run("feedback", "どこに泊まりましたか", "--good", "旅行/京都.md", "--bad", "todo.txt")
    shell.run("feedback", "I forgot my login secret", "--good", "account.md")
    report = shell.json("eval")
    [measured] = report["sets"]
    assert measured["source"] == str(Path(shell.env["MDVEC_DATABASE_PATH"]).with_name("questions.jsonl"))
    hybrid = measured["systems"][-1]
    assert hybrid["metrics"]["Hit@1"]["mean"] == 1
    (shell.cwd / "baseline.json").write_text(json.dumps(report), encoding="utf-8")
    table = shell.run("eval", "--gate", "baseline.json")
    assert table.stdout.startswith("questions: 2 questions, 3 documents")
    assert "15 values are as good as recorded" in table.stderr


def test_measuring_a_set_by_words(shell: Shell) -> None:
    """A judged set needs no collection and leaves no trace; a wrong call exits with 2."""
    shell.write("set/corpus.jsonl", '{"_id": "d1", "title": "Milk", "text": "Buy milk."}\n{"_id": "d2"}\n')
    shell.write("set/queries.jsonl", '{"_id": "q1", "text": "milk"}\n')
    shell.write("set/qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    [measured] = shell.json("eval", "set", "--mode", "lexical")["sets"]
    assert measured["systems"][0]["outcomes"][0]["ranking"] == ["d1"]
    assert not Path(shell.env["MDVEC_DATABASE_PATH"]).exists()
    assert sorted(path.name for path in (shell.cwd / "set").iterdir()) == [
        *("corpus.jsonl", "qrels.tsv", "queries.jsonl")
    ]
    shell.run("eval", "set", "set", code=2)
