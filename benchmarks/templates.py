"""Measures search in templated documents: many from one form, with one to four fields differing.

    python -m benchmarks.templates                 measures, writes JSON
    python -m benchmarks.templates --sets FOLDER   writes the sets alone, as ``benchmarks.quality`` reads them

The sets are the same at every run. The documents of a set are those of one template and some short notes
about other things. A question has one of two kinds:

- ``field``: names what differs, so one document answers it;
- ``family``: asks what the template says, so all its documents answer it alike.

``first`` is the share of questions whose first hit answers; ``recall`` the share of the template's documents
that are hits of a ``family`` question, or counted by one as like it.

The facts (elements, countries, status codes, capitals of prefectures) are public and common knowledge; what
is decided in meetings, sold or pumped is made up, and all texts are our own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from string import Formatter
from typing import Any

from benchmarks.harness import write_result
from mdvec import SearchQuery, open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import temporary_folder

DATA = Path(__file__).with_name("templates_data.json")
"""The templates, their values, the questions and the notes."""

FIELD_QUESTIONS = 36
"""Questions of the kind ``field`` in each set."""

FIELD = "field"
"""Kind of the questions that one document answers."""

FAMILY = "family"
"""Kind of the questions that all documents of the template answer."""

NOTES_FOLDER = "notes"
"""Folder of the documents that are of no template."""

# A document's grade, where it answers the question.
_RELEVANT = 1


def make_sets(folder: Path) -> Iterator[Path]:
    """Write all sets.

    Args:
        folder: Where to write; a set that is there is written anew.

    Yields:
        The folder of each.
    """
    for collection in read_collections():
        yield write_set(collection, folder / collection.name)


def read_collections() -> list[Collection]:
    """Return what the data file holds, in its order."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    return [_collection(each, data["notes"][each["lang"]]) for each in data["collections"]]


def write_set(collection: Collection, folder: Path) -> Path:
    """Write the documents, questions and judgements of a collection.

    Args:
        collection: What to write.
        folder: The set's folder; emptied first.

    Returns:
        The folder.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in (family_documents(collection) | note_documents(collection)).items():
        path = folder / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    questions = [*field_questions(collection), *family_questions(collection)]
    rows = [
        {"_id": each.identifier, "text": each.text, "kind": each.kind, "lang": collection.lang}
        for each in questions
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "queries.jsonl").write_text(lines, encoding="utf-8")
    judged = "".join(
        f"{each.identifier}\t{name}\t{_RELEVANT}\n" for each in questions for name in each.relevant
    )
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", encoding="utf-8")
    return folder


def family_documents(collection: Collection) -> dict[str, str]:
    """Return the documents of the template, by their paths.

    Args:
        collection: Holds the template and its values.

    Raises:
        ValueError: Two documents have the same path.
    """
    documents = {
        collection.path.format_map(values): collection.text.format_map(values) for values in collection.rows
    }
    if len(documents) < len(collection.rows):
        message = f"{collection.name}: two documents have the same path"
        raise ValueError(message)
    return documents


def note_documents(collection: Collection) -> dict[str, str]:
    """Return the documents of no template, by their paths."""
    return {f"{NOTES_FOLDER}/{title}.md": f"{text}\n" for title, text in collection.notes.items()}


def field_questions(collection: Collection) -> list[Question]:
    """Return questions that name what differs.

    Wordings take turns, over documents in an order that has nothing to do with their values.

    Args:
        collection: Holds the wordings and the values.
    """
    rows = sorted(collection.rows, key=lambda values: _shuffling(collection.name, values))
    return [
        Question(
            identifier=f"{FIELD}-{at + 1:02}",
            text=_first_naming_one(collection, values, at).format_map(values),
            kind=FIELD,
            relevant=[collection.path.format_map(values)],
        )
        for at, values in enumerate(rows[:FIELD_QUESTIONS])
    ]


def family_questions(collection: Collection) -> list[Question]:
    """Return questions about what all documents of the template say.

    Args:
        collection: Holds the questions and the values.
    """
    relevant = list(family_documents(collection))
    return [
        Question(identifier=f"{FAMILY}-{at + 1:02}", text=text, kind=FAMILY, relevant=relevant)
        for at, text in enumerate(collection.family_questions)
    ]


def _first_naming_one(collection: Collection, values: Mapping[str, str], turn: int) -> str:
    """Return the wording whose turn it is, or the next whose values are one document's alone."""
    wordings = collection.field_questions
    for at in range(len(wordings)):
        wording = wordings[(turn + at) % len(wordings)]
        named = [name for _, name, _, _ in Formatter().parse(wording) if name]
        alike = Counter(tuple(row[name] for name in named) for row in collection.rows)
        if alike[tuple(values[name] for name in named)] == 1:
            return wording
    message = f"{collection.name}: no question names {dict(values)} alone"
    raise ValueError(message)


def _shuffling(name: str, values: Mapping[str, str]) -> str:
    return hashlib.sha256("\t".join((name, *values.values())).encode()).hexdigest()


def _collection(data: Mapping[str, Any], notes: Mapping[str, str]) -> Collection:
    return Collection(
        name=data["name"],
        lang=data["lang"],
        path=data["path"],
        text="\n".join(data["text"]) + "\n",
        rows=[dict(zip(data["fields"], row, strict=True)) for row in data["rows"]],
        field_questions=data["field_questions"],
        family_questions=data["family_questions"],
        notes=notes,
    )


def measure(collection: Collection, folder: Path) -> dict[str, float]:
    """Return the shares of a set, whose documents are written to an empty folder."""
    write_set(collection, folder)
    first: dict[str, list[bool]] = {FIELD: [], FAMILY: []}
    recall: list[float] = []
    with open_workspace(Config(), database=folder / "index.sqlite") as workspace:
        workspace.add_collection("set", collection.name, str(folder / "tree"))
        workspace.import_collection("set")
        for question in (*field_questions(collection), *family_questions(collection)):
            hits = workspace.search(SearchQuery(question.text), wait_for_vectors=True).hits
            right = [hit for hit in hits if hit.path in question.relevant]
            first[question.kind].append(bool(hits) and hits[0] in right)
            if question.kind == FAMILY:
                found = sum(1 + hit.similar for hit in right)
                recall.append(min(1.0, found / len(question.relevant)))
    figures = {f"{kind} first": mean(each) for kind, each in first.items()} | {"family recall": mean(recall)}
    return {name: round(share, 3) for name, share in figures.items()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, metavar="FOLDER", help="write the sets there, measure nothing")
    parser.add_argument("--output", type=Path, metavar="F")
    arguments = parser.parse_args()
    if arguments.sets is not None:
        for path in make_sets(arguments.sets):
            print(path)
        return
    result: dict[str, dict[str, float]] = {}
    for each in read_collections():
        with temporary_folder() as folder:
            result[each.name] = measure(each, folder)
        print(
            f"{each.name:16}", *(f"{name} {share}" for name, share in result[each.name].items()), flush=True
        )
    result["mean"] = {
        name: round(mean(each[name] for each in result.values()), 3) for name in next(iter(result.values()))
    }
    print(f"{'mean':16}", *(f"{name} {share}" for name, share in result["mean"].items()))
    print(write_result("templates", result, arguments.output))


@dataclass(frozen=True, slots=True)
class Collection:
    """The documents of one template, and what is asked about them."""

    name: str
    """Name of the set."""

    lang: str
    """Language of its documents and questions."""

    path: str
    """Path of a document below the tree, with the fields in braces."""

    text: str
    """Text of a document, with the fields in braces."""

    rows: Sequence[Mapping[str, str]]
    """The values of each document, by field."""

    field_questions: Sequence[str]
    """Wordings of questions that name what differs, with the fields in braces."""

    family_questions: Sequence[str]
    """Questions that all documents answer."""

    notes: Mapping[str, str]
    """Short texts about other things, by title."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the documents that answer it."""

    identifier: str
    """Names it within its set."""

    text: str
    """What is asked."""

    kind: str
    """Whether it names one document or asks about all: :data:`FIELD` or :data:`FAMILY`."""

    relevant: Sequence[str]
    """Paths of the documents that answer it."""


if __name__ == "__main__":
    main()
