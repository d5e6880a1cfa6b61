"""People's own questions."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from mdvec.errors import UsageError
from mdvec.evaluation.own_questions import read_questions


def jsonl(path: Path, *entries: object) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def test_toml_and_jsonl_say_the_same(tmp_path: Path) -> None:
    """Both forms give the same questions; ``paths`` is another word for ``good``."""
    toml = tmp_path / "q.toml"
    toml.write_text(
        '[[question]]\nquery = "宿は?"\npaths = ["旅/a.md"]\nlang = "ja"\n'
        '[[question]]\nquery = "milk"\ngood = ["./todo.txt"]\nbad = ["b.md"]\ncollection = "notes"\n',
        encoding="utf-8",
    )
    lines = jsonl(
        tmp_path / "q.jsonl",
        {"query": "宿は?", "good": ["旅/a.md"], "lang": "ja"},
        {"query": "milk", "paths": ["todo.txt"], "bad": ["b.md"], "collection": "notes"},
    )
    first, second = read_questions(toml).questions
    assert read_questions(lines).questions == (first, second)
    assert (first.text, first.relevant, first.labels) == ("宿は?", {"旅/a.md": 1}, {"lang": "ja"})
    assert (dict(second.relevant), set(second.bad), second.collection) == ({"todo.txt": 1}, {"b.md"}, "notes")


def test_what_is_said_last_counts(tmp_path: Path) -> None:
    """Entries that ask the same are one question; the same words in another collection are another."""
    path = jsonl(
        tmp_path / "q.jsonl",
        {"query": "a", "good": ["x.md", "y.md"]},
        {"query": "b", "bad": ["x.md"]},
        {"query": "a", "bad": ["x.md"]},
        {"query": "a", "good": ["x.md"], "collection": "c"},
    )
    read = read_questions(path)
    assert [(each.text, set(each.relevant), set(each.bad)) for each in read.questions] == [
        ("a", {"y.md"}, {"x.md"}),
        ("a", {"x.md"}, set()),
    ]
    assert read.notes == ("1 of 3 questions name no document that answers them and are left out",)


def test_a_path_in_another_unicode_form(tmp_path: Path) -> None:
    """A name typed on a Mac is the path that is indexed."""
    path = jsonl(tmp_path / "q.jsonl", {"query": "a", "good": [unicodedata.normalize("NFD", "が.md")]})
    assert list(read_questions(path).questions[0].relevant) == ["が.md"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.jsonl", '{"query": "a"}\n', "q.jsonl:1: no document is named"),
        ("q.jsonl", '\n{"good": ["a"]}\n', 'q.jsonl:2: "query" is missing'),
        ("q.jsonl", '{"query": "a", "good": [1]}\n', 'q.jsonl:1: "good" is not a list'),
        ("q.jsonl", '{"query": "a", "bad": ["b"]}\n', "no question names a document that answers it"),
        ("q.jsonl", "", "no question names a document"),
        ("q.toml", "question = 3\n", "question is not a list of tables"),
        ("q.toml", "[[question]\n", "not TOML: .*line 1"),
        ("q.toml", '[[questions]]\nquery = "a"\n', "unknown key 'questions'"),
        ("q.toml", '[[question]]\nquery = "a"\n', "question 1: no document is named"),
        ("q.md", "# Questions\n", "neither a set nor a file of questions"),
    ],
)
def test_what_cannot_be_understood_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    """The error names the place, and the hint shows how it should be."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message) as caught:
        read_questions(path)
    assert caught.value.hint
