"""Judged sets on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mdvec.errors import NotFoundError, UsageError
from mdvec.evaluation.judgements import CorpusDocument, read_corpus, read_judged_set

HEADER = "query-id\tcorpus-id\tscore\n"
MakeSet = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> MakeSet:
    """Write a set: lines of queries and of judgements."""

    def write(queries: list[object], qrels: str, suffix: str = "") -> Path:
        folder = tmp_path / "my_set"
        (folder / "tree").mkdir(parents=True, exist_ok=True)
        lines = [line if isinstance(line, str) else json.dumps(line) for line in queries]
        (folder / f"queries{suffix}.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (folder / f"qrels{suffix}.tsv").write_text(HEADER + qrels, encoding="utf-8")
        return folder

    return write


def test_a_set_is_read(make: MakeSet) -> None:
    """Scope, exclusions, labels and grades arrive; questions keep their order."""
    folder = make(
        [
            {
                "_id": "b",
                "text": "宿は?",
                "scope": "ja/",
                "exclude": ["ja/x.md"],
                "lang": "ja",
                "overlap": 0.5,
            },
            "",
            {"_id": 7, "text": "sign in", "list": [1]},
        ],
        "b\tja/a.md\t2\nb\tja/b.md\t1\n7\ten/a.md\t1\n",
        "_xl",
    )
    judged = read_judged_set(folder, suffix="_xl")
    first, second = judged.set.questions
    assert (judged.set.name, judged.documents) == ("my_set_xl", folder / "tree")
    assert (first.id, first.text, first.relevant) == ("b", "宿は?", {"ja/a.md": 2, "ja/b.md": 1})
    assert (first.scope, set(first.exclude)) == ("ja", {"ja/x.md"})
    assert first.labels == {"lang": "ja", "overlap": "0.5"}
    assert (second.id, second.labels) == ("7", {})
    assert (judged.set.notes, judged.set.warnings) == ((), ())


def test_low_grades_are_not_relevant(make: MakeSet) -> None:
    """A question that is left with nothing is left out, and that is noted."""
    folder = make(
        [{"_id": "a", "text": "?"}, {"_id": "b", "text": "?"}], "a\tx\t2\na\ty\t1\nb\tx\t1\nb\tz\t0\n"
    )
    judged = read_judged_set(folder, min_grade=2)
    assert [(each.id, each.relevant) for each in judged.set.questions] == [("a", {"x": 2})]
    assert judged.set.notes == ("1 of 2 questions have no relevant document and are left out",)
    with pytest.raises(UsageError, match="no question has a document of grade 3"):
        read_judged_set(folder, min_grade=3)


def test_odd_judgements_are_told(make: MakeSet) -> None:
    """Judgements of questions that are not there, and two grades for one document, each make a warning."""
    folder = make([{"_id": "a", "text": "?"}], "a\tx\t2\na\tx\t1\nz\tx\t1\nzz\tx\t1\n")
    first, second = read_judged_set(folder).set.warnings
    assert first.startswith("documents judged twice")
    assert first.endswith("1, such as 'x'")
    assert second.endswith("not in queries.jsonl: 2, such as 'z'")


@pytest.mark.parametrize(
    ("queries", "qrels", "message"),
    [
        (["{"], "", r"queries.jsonl:1: not JSON"),
        ([{"_id": "a", "text": "?"}, "[1]"], "", r"queries.jsonl:2: not a JSON object"),
        ([{"text": "?"}], "", r'queries.jsonl:1: "_id" is missing'),
        ([{"_id": "a", "text": " "}], "", r'queries.jsonl:1: "text" is not a text'),
        ([{"_id": "a", "text": "?", "exclude": 3}], "", r'queries.jsonl:1: "exclude" is not a list'),
        ([{"_id": "a", "text": "?"}, {"_id": "a", "text": "!"}], "", r"queries.jsonl:2: .* twice"),
        ([], "", r"contains no question"),
        ([{"_id": "a", "text": "?"}], "a\tx\n", r"qrels.tsv:2: not a judgement"),
        ([{"_id": "a", "text": "?"}], "a\tx\tmuch\n", r"qrels.tsv:2: not a judgement"),
        ([{"_id": "a", "text": "?"}], "", r"no question has a document of grade 1"),
    ],
)
def test_what_cannot_be_understood_is_named(
    make: MakeSet, queries: list[object], qrels: str, message: str
) -> None:
    """The error names the file and the line, and says how it should be."""
    with pytest.raises(UsageError, match=message) as caught:
        read_judged_set(make(queries, qrels))
    assert caught.value.hint


def test_judgements_without_a_header(make: MakeSet) -> None:
    """A first line that is a judgement is taken as one."""
    folder = make([{"_id": "a", "text": "?"}], "")
    (folder / "qrels.tsv").write_text("a\tx\t1\n", encoding="utf-8")
    assert read_judged_set(folder).set.questions[0].relevant == {"x": 1}


def test_missing_files_are_named(make: MakeSet, tmp_path: Path) -> None:
    """The hint says which suffixes there are, or what a set is."""
    folder = make([{"_id": "a", "text": "?"}], "a\tx\t1\n", "_xl")
    with pytest.raises(NotFoundError, match=r"has no queries\.jsonl") as caught:
        read_judged_set(folder)
    assert "--suffix _xl" in caught.value.hint
    (folder / "tree").rmdir()
    with pytest.raises(NotFoundError, match=r"neither corpus\.jsonl nor tree/"):
        read_judged_set(folder, suffix="_xl")
    with pytest.raises(NotFoundError, match="is not a folder"):
        read_judged_set(tmp_path / "nowhere")


def test_a_corpus_is_read(tmp_path: Path) -> None:
    """Titles may be missing, ids may be numbers; two of the same are refused."""
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": 1, "text": "a"}\n{"_id": "b", "title": "B", "text": ""}\n', encoding="utf-8")
    assert read_corpus(path) == [CorpusDocument("1", "", "a"), CorpusDocument("b", "B", "")]
    path.write_text('{"_id": "1", "text": "a"}\n{"_id": 1, "text": "b"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"corpus\.jsonl:2: .* twice"):
        read_corpus(path)
    path.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="no document"):
        read_corpus(path)
    path.write_bytes(b'{"_id": "\xff"}')
    with pytest.raises(UsageError, match="not UTF-8"):
        read_corpus(path)
