"""Reads people's own questions, and puts them to the collections they have."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from mdvec.errors import NotFoundError, UsageError
from mdvec.evaluation.datasets import json_lines, labels_of, names_of, text_of
from mdvec.evaluation.model import Question, QuestionSet
from mdvec.evaluation.naming import Naming
from mdvec.evaluation.subject import ShownProgress, Subject, Task, unknown_documents
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import Workspace

TOML_SUFFIX = ".toml"
JSONL_SUFFIX = ".jsonl"

_RESERVED = frozenset({"id", "query", "good", "paths", "bad", "collection", "at"})
_EXAMPLE = '{"query": "how to sign in", "good": ["account.md"]}'
_SHOWN_PATHS = 5


@dataclass(frozen=True, slots=True)
class OwnQuestions:
    """A file of questions.

    Attributes:
        set: Those that name a good document.
        notes: What was left out.
    """

    set: QuestionSet
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """An entry of a file of questions.

    Attributes:
        query: What was asked.
        good: Paths of documents that answer it.
        bad: Paths of documents that do not.
        collection: Where it was asked; empty for everywhere.
        labels: What can be grouped by.
    """

    query: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    collection: str
    labels: Mapping[str, str]


def read_questions(path: Path) -> OwnQuestions:
    """Read a file of questions: ``[[question]]`` tables in TOML, or one JSON object a line.

    Entries that ask the same are one question; what the last one says of a document counts.

    Args:
        path: Ends in ``.toml`` or ``.jsonl``.

    Returns:
        The questions, in the order they first appear.

    Raises:
        UsageError: If the file cannot be understood, or no question has a good document.
    """
    judgements = read_judgements(path)
    merged: dict[tuple[str, str], tuple[dict[str, bool], dict[str, str]]] = {}
    for each in judgements:
        verdicts, labels = merged.setdefault((each.query, each.collection), ({}, {}))
        verdicts |= dict.fromkeys(each.bad, False) | dict.fromkeys(each.good, True)
        labels |= each.labels
    questions = tuple(
        Question(
            id=str(number),
            text=query,
            relevant={name: 1 for name, good in verdicts.items() if good},
            bad=frozenset(name for name, good in verdicts.items() if not good),
            collection=collection,
            labels=labels,
        )
        for number, ((query, collection), (verdicts, labels)) in enumerate(merged.items(), 1)
    )
    usable = tuple(question for question in questions if question.relevant)
    if not usable:
        msg = f"{path}: no question names a document that answers it"
        raise UsageError(
            msg, hint=f"Write for example {_EXAMPLE}, or run 'mdvec feedback QUERY --good PATH'."
        )
    left_out = len(questions) - len(usable)
    note = f"{left_out:,} of {len(questions):,} questions name no document that answers them and are left out"
    return OwnQuestions(QuestionSet(path.stem, str(path), usable), (note,) if left_out else ())


def read_judgements(path: Path) -> list[Judgement]:
    """Read the entries of a file of questions as they are written.

    Raises:
        UsageError: If the file cannot be understood.
    """
    if path.suffix.lower() == TOML_SUFFIX:
        entries = _toml_entries(path)
    elif path.suffix.lower() == JSONL_SUFFIX:
        entries = json_lines(path)
    else:
        msg = f"{path} is neither a set nor a file of questions"
        raise UsageError(msg, hint="Give a folder with a set, or questions in a .toml or .jsonl file.")
    return [_judgement(entry, place) for place, entry in entries]


def own_task(
    questions: OwnQuestions,
    workspace: Workspace,
    collections: Sequence[str] = (),
    *,
    progress: ShownProgress = nullcontext,
) -> Task:
    """Return what puts questions to a workspace as it is.

    Args:
        questions: The questions.
        workspace: Open as long as the task is used; nothing in it is changed.
        collections: Names; all enabled ones when empty.
        progress: Shows how far the first import of an unregistered folder is.
    """
    return Task(questions.set, lambda: _as_indexed(questions, workspace, tuple(collections), progress))


@contextmanager
def _as_indexed(
    questions: OwnQuestions, workspace: Workspace, collections: tuple[str, ...], progress: ShownProgress
) -> Iterator[Subject]:
    # A folder that is not registered is indexed by its first search, here as anywhere.
    first = questions.set.questions[0]
    asked = (first.collection,) if first.collection else collections
    with progress() as shown:
        query = SearchQuery(first.text, mode=SearchMode.LEXICAL, collections=asked, limit=1)
        answer = workspace.search(query, progress=shown)
    if not answer.total_chunks:
        msg = "there is nothing to search for the answers"
        raise NotFoundError(msg, hint=answer.hint)
    named = {question.collection for question in questions.set.questions if question.collection}
    searched = collections or tuple(each.name for each in workspace.collections())
    statuses = [workspace.status(name) for name in dict.fromkeys((*searched, *sorted(named)))]
    counts = [each.counts for status in statuses for each in status.collections]
    pending = sum(count.pending_chunks for count in counts)
    subject = Subject(
        workspace,
        Naming(),
        collections,
        documents=sum(count.documents for count in counts),
        chunks=sum(count.chunks for count in counts),
        model=statuses[0].model,
        notes=questions.notes,
    )
    warnings = [*answer.warnings]
    if pending:
        warnings.append(f"{pending:,} chunks have no vector yet and are found by words only")
    unknown = unknown_documents(subject, questions.set)
    if unknown:
        more = f" and {len(unknown) - _SHOWN_PATHS:,} more" if len(unknown) > _SHOWN_PATHS else ""
        warnings.append(
            "no collection has these documents, so they count as not found: "
            + ", ".join(unknown[:_SHOWN_PATHS])
            + more
        )
    yield replace(subject, warnings=tuple(warnings))


def _toml_entries(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        msg = f"{path}: not TOML: {error}"
        raise UsageError(
            msg, hint='Write [[question]], then query = "…" and paths = ["…"] below it.'
        ) from error
    entries = values.get("question", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        msg = f"{path}: question is not a list of tables"
        raise UsageError(msg, hint="Write [[question]], with two brackets, above each.")
    unknown = sorted(set(values) - {"question"})
    if unknown:
        msg = f"{path}: {unknown[0]!r} is not understood"
        raise UsageError(msg, hint="A file of questions holds [[question]] tables alone.")
    for number, entry in enumerate(entries, 1):
        yield f"{path}: question {number}", entry


def _judgement(entry: Mapping[str, object], place: str) -> Judgement:
    good = (*names_of(entry, "good", place), *names_of(entry, "paths", place))
    bad = names_of(entry, "bad", place)
    if not good and not bad:
        msg = f"{place}: no document is named"
        raise UsageError(msg, hint=f'Name them in "good" (or "paths") and "bad", as in {_EXAMPLE}.')
    return Judgement(
        query=text_of(entry, "query", place).strip(),
        good=tuple(map(_as_path, good)),
        bad=tuple(map(_as_path, bad)),
        collection=text_of(entry, "collection", place, default=""),
        labels=labels_of(entry, _RESERVED),
    )


def _as_path(name: str) -> str:
    return unicodedata.normalize("NFC", name).removeprefix("./")
