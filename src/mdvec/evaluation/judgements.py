"""Questions with the documents that answer them, and judged sets: folders of both and of the documents."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from mdvec.errors import NotFoundError, UsageError

_QUERIES = "queries{}.jsonl"
_QRELS = "qrels{}.tsv"
_CORPUS = "corpus.jsonl"
_TREE = "tree"
_ARCHIVE = "tree.tar.gz"
_SET_HINT = "A set is a folder with queries.jsonl, qrels.tsv, and either corpus.jsonl or tree/."
_RESERVED = frozenset({"_id", "text", "scope", "exclude"})
_QRELS_COLUMNS = 3
_NO_GRADES: Mapping[str, int] = {}


class Question(Struct, frozen=True):
    """A question with the documents that answer it.

    Documents are named as their set names them: by path, or by the ``_id`` of ``corpus.jsonl``.

    Attributes:
        id: Unique in its set.
        text: The question itself.
        relevant: Positive grade of each document that answers it.
        scope: Folder whose documents alone count, without a final ``/``; empty for all.
        exclude: Documents that do not count.
        bad: Documents that a person marked as no answer; they are only counted.
        collection: Name of the collection to search; empty for all that are measured.
        labels: Values to group results by, such as those of ``type`` or ``lang``.
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
"""Returns path and best passage of at least ten documents (if there are as many), best first.

Its question names documents by their paths in the workspace.
"""


class QuestionSet(Struct, frozen=True):
    """Questions over one body of documents.

    Attributes:
        name: Name in reports; unique in a report.
        source: The place it was read from, for people.
        questions: Those that have a relevant document, in the order of their file.
        own: Whether people wrote the questions for their own collections.
        notes: How they were made and what was left out, for people.
        warnings: Oddities of the files, for people.
        min_grade: Documents that were judged lower are not relevant.
    """

    name: str
    source: str
    questions: tuple[Question, ...]
    own: bool = False
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    min_grade: int = 1


class JudgedSet(Struct, frozen=True):
    """A judged set whose documents are not read yet.

    Attributes:
        set: The questions that have a relevant document.
        documents: ``corpus.jsonl``, the folder ``tree`` or the archive ``tree.tar.gz``.
    """

    set: QuestionSet
    documents: Path


class CorpusDocument(Struct, frozen=True):
    """A line of ``corpus.jsonl``: its ``_id``, its title (may be empty) and its Markdown."""

    id: str
    title: str
    text: str


def read_judged_sets(
    folder: Path, *, suffix: str = "", min_grades: Mapping[str, int] = _NO_GRADES
) -> list[JudgedSet]:
    """Read a set with :func:`read_judged_set`; without ``queries.jsonl`` each ``queries*.jsonl`` is a set.

    Args:
        folder: The set.
        suffix: Of its files; see there.
        min_grades: Least grade of a relevant document by the name of a set; under "" of others.

    Raises:
        NotFoundError: If one of its files is missing.
        UsageError: If one of them cannot be parsed, or no question is left.
    """
    suffixes = [suffix]
    if not suffix and not (folder / _QUERIES.format("")).is_file():
        suffixes = _suffixes(folder, _QUERIES) or suffixes
    name, default = folder.resolve().name, min_grades.get("", 1)
    return [
        read_judged_set(folder, suffix=each, min_grade=min_grades.get(name + each, default))
        for each in suffixes
    ]


def read_judged_set(folder: Path, *, suffix: str = "", min_grade: int = 1) -> JudgedSet:
    """Read the questions of a set and the judgements about them.

    Args:
        folder: The set.
        suffix: Of the names of its two files, before their extensions, such as ``_xl``.
        min_grade: Documents with a lower grade are not relevant.

    Raises:
        NotFoundError: If one of its files is missing.
        UsageError: If one of them cannot be parsed, or no question is left.
    """
    queries, qrels = folder / _QUERIES.format(suffix), folder / _QRELS.format(suffix)
    _check_files(folder, suffix)
    grades, grade_warnings = _read_qrels(qrels)
    listed = list(_read_queries(queries, grades, min_grade))
    if not listed:
        msg = f"{queries}: it contains no question"
        raise UsageError(msg, hint='Write one JSON object a line: {"_id": "q1", "text": "…"}.')
    questions = tuple(question for question in listed if question.relevant)
    if not questions:
        msg = f"{qrels}: no question has a document of grade {min_grade} or more"
        raise UsageError(msg, hint="Lower --min-grade, or check that both files use the same ids.")
    known = {question.id for question in listed}
    unknown = [name for name in grades if name not in known]
    left_out = len(listed) - len(questions)
    note = f"{left_out:,} of {len(listed):,} questions have no relevant document and are left out"
    question_set = QuestionSet(
        folder.resolve().name + suffix,
        str(folder),
        questions,
        notes=(note,) if left_out else (),
        warnings=(
            *grade_warnings,
            *counted(f"questions in {qrels.name} that are not in {queries.name}", unknown),
        ),
        min_grade=min_grade,
    )
    return JudgedSet(question_set, _documents_of(folder))


def read_corpus(path: Path) -> list[CorpusDocument]:
    """Read ``corpus.jsonl``.

    Raises:
        UsageError: If a line is no document, or an ``_id`` occurs twice; the message names the line.
    """
    documents: dict[str, CorpusDocument] = {}
    for place, line in json_lines(path):
        name = text_of(line, "_id", place)
        if name in documents:
            raise _twice(name, place)
        documents[name] = CorpusDocument(
            name, text_of(line, "title", place, default=""), text_of(line, "text", place, default="")
        )
    if not documents:
        msg = f"{path}: it contains no document"
        raise UsageError(msg, hint='Write one JSON object a line: {"_id": "d1", "title": "…", "text": "…"}.')
    return list(documents.values())


def counted(problem: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return a warning with the number of names and the first of them; nothing without names."""
    return (f"{problem}: {len(names):,}, such as {names[0]!r}",) if names else ()


def json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Read a file with one JSON object a line; blank lines are skipped.

    Yields:
        ``path:line`` and the object.

    Raises:
        UsageError: If a line is not an object; the message names the line.
    """
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            msg = f"{place}: not JSON: {error}"
            raise UsageError(msg, hint="Each line holds one JSON object.") from error
        if not isinstance(value, dict):
            msg = f"{place}: not a JSON object"
            raise UsageError(msg, hint="Each line holds one JSON object.")
        yield place, value


def text_of(value: Mapping[str, object], key: str, place: str, *, default: str | None = None) -> str:
    """Return the text at a key, or a whole number as text; the default stands for a missing key or null.

    Raises:
        UsageError: If it is something else, or without a default if it is missing or blank; the message names
            the place, which is a file and a line.
    """
    found = value.get(key)
    if found is None and default is not None:
        return default
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if not isinstance(found, str) or (default is None and not found.strip()):
        msg = f'{place}: "{key}" is {"missing" if found is None else "not a text that says something"}'
        raise UsageError(msg, hint=f'Give it a text: {{"{key}": "…"}}.')
    return found


def names_of(value: Mapping[str, object], key: str, place: str) -> tuple[str, ...]:
    """Return the texts at a key, none when it is missing; a single text is a list of one.

    Raises:
        UsageError: If it is something else.
    """
    found = value.get(key)
    items = [] if found is None else [found] if isinstance(found, str) else found
    if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
        msg = f'{place}: "{key}" is not a list of texts'
        raise UsageError(msg, hint=f'Write {{"{key}": ["…", "…"]}}.')
    return tuple(items)


def labels_of(value: Mapping[str, object], reserved: Iterable[str]) -> dict[str, str]:
    """Return every other single value as a label."""
    reserved = frozenset(reserved)
    return {
        key: str(item)
        for key, item in value.items()
        if key not in reserved and isinstance(item, (str, int, float))
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 (byte {error.start:,})"
        raise UsageError(msg, hint="Save the file as UTF-8.") from error


def _check_files(folder: Path, suffix: str) -> None:
    if not folder.is_dir():
        msg = f"{folder} is not a folder"
        raise NotFoundError(msg, hint=_SET_HINT)
    for pattern in (_QUERIES, _QRELS):
        if (folder / pattern.format(suffix)).is_file():
            continue
        msg = f"{folder} has no {pattern.format(suffix)}"
        if others := _suffixes(folder, pattern):
            shown = ", ".join(f"--suffix {other}" if other else "no --suffix" for other in others)
            raise NotFoundError(msg, hint=f"There are others: {shown}.")
        raise NotFoundError(msg, hint=_SET_HINT)


def _suffixes(folder: Path, pattern: str) -> list[str]:
    start, end = pattern.split("{}")
    return sorted(
        path.name.removeprefix(start).removesuffix(end) for path in folder.glob(pattern.format("*"))
    )


def _documents_of(folder: Path) -> Path:
    for path in (folder / _CORPUS, folder / _TREE, folder / _ARCHIVE):
        if path.is_dir() if path.name == _TREE else path.is_file():
            return path
    msg = f"{folder} has neither {_CORPUS} nor {_TREE}/"
    raise NotFoundError(msg, hint=_SET_HINT)


def _read_queries(path: Path, grades: Mapping[str, Mapping[str, int]], min_grade: int) -> Iterator[Question]:
    seen: set[str] = set()
    for place, line in json_lines(path):
        name = text_of(line, "_id", place)
        if name in seen:
            raise _twice(name, place)
        seen.add(name)
        yield Question(
            id=name,
            text=text_of(line, "text", place),
            relevant={
                document: grade for document, grade in grades.get(name, {}).items() if grade >= min_grade
            },
            scope=text_of(line, "scope", place, default="").strip("/"),
            exclude=frozenset(names_of(line, "exclude", place)),
            labels=labels_of(line, _RESERVED),
        )


def _read_qrels(path: Path) -> tuple[dict[str, dict[str, int]], tuple[str, ...]]:
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    twice: list[str] = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        columns = line.rstrip("\r").split("\t")
        if not line.strip() or (number == 1 and not _is_whole(columns[-1])):  # the header
            continue
        if len(columns) != _QRELS_COLUMNS or not _is_whole(columns[2]):
            msg = f"{path}:{number}: not a judgement"
            raise UsageError(
                msg, hint="Write query-id, corpus-id and a whole number, with tabs between them."
            )
        question, document, grade = columns
        if grades[question].get(document, int(grade)) != int(grade):
            twice.append(document)
        grades[question][document] = int(grade)
    return dict(grades), counted(
        f"documents judged twice for one question in {path.name} (the last grade counts)", twice
    )


def _is_whole(text: str) -> bool:
    return text.strip().removeprefix("-").isdecimal()


def _twice(name: str, place: str) -> UsageError:
    msg = f"{place}: the _id {name!r} occurs twice"
    return UsageError(msg, hint="Give each line its own _id.")
