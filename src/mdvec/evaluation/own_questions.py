"""People's own questions: read from files, written by ``mdvec feedback``, measured on their collections."""

from __future__ import annotations

import errno
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mdvec.config.syntax import toml_value
from mdvec.errors import DocumentNotFoundError, NotFoundError, UsageError
from mdvec.evaluation.corpus import Corpus, Task, paths_of, unknown_documents
from mdvec.evaluation.judgements import Question, QuestionSet, json_lines, labels_of, names_of, text_of
from mdvec.evaluation.naming import Naming
from mdvec.locks import lock_if_possible
from mdvec.text.folding import nfc, spelled
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import Workspace

_TOML = ".toml"
_JSONL = ".jsonl"
_DEFAULT_NAME = "questions.jsonl"
_RESERVED = frozenset({"id", "query", "good", "paths", "bad", "collection", "at"})
_EXAMPLE = '{"query": "how to sign in", "good": ["account.md"]}'
_SHOWN_PATHS = 5


class _Entry(Struct, frozen=True):
    """An entry of a file of questions: paths of documents that answer the query and of some that do not."""

    query: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    collection: str
    labels: Mapping[str, str]


class Feedback(Struct, frozen=True):
    """A judgement that was written: its file, and the paths as they are indexed."""

    file: Path
    good: tuple[str, ...]
    bad: tuple[str, ...]


def default_file(workspace: Workspace) -> Path:
    """Return the file of questions that belongs to a database; it may not exist."""
    return workspace.database.with_name(_DEFAULT_NAME)


def read_questions(path: Path) -> QuestionSet:
    """Read a file of questions: ``[[question]]`` tables in TOML, or one JSON object a line.

    Entries with the same query are one question; the last judgement of a document counts.

    Args:
        path: Ends in ``.toml`` or ``.jsonl``.

    Returns:
        The questions that name a good document, in the order they first appear.

    Raises:
        UsageError: If the file cannot be parsed, or no question has a good document.
    """
    merged: dict[tuple[str, str], tuple[dict[str, bool], dict[str, str]]] = {}
    for entry in _read_entries(path):
        is_good, labels = merged.setdefault((entry.query, entry.collection), ({}, {}))
        is_good |= dict.fromkeys(entry.bad, False) | dict.fromkeys(entry.good, True)
        labels |= entry.labels
    questions = tuple(
        Question(
            id=str(number),
            text=query,
            relevant={name: 1 for name, good in is_good.items() if good},
            bad=frozenset(name for name, good in is_good.items() if not good),
            collection=collection,
            labels=labels,
        )
        for number, ((query, collection), (is_good, labels)) in enumerate(merged.items(), 1)
    )
    usable = tuple(question for question in questions if question.relevant)
    if not usable:
        msg = f"{path}: no question names a document that answers it"
        raise UsageError(
            msg, hint=f"Write for example {_EXAMPLE}, or run 'mdvec feedback QUERY --good PATH'."
        )
    left_out = len(questions) - len(usable)
    note = f"{left_out:,} of {len(questions):,} questions name no document that answers them and are left out"
    return QuestionSet(path.stem, str(path), usable, own=True, notes=(note,) if left_out else ())


def own_task(questions: QuestionSet, workspace: Workspace, collections: Sequence[str] = ()) -> Task:
    """Measure questions on some collections (all enabled ones without names), as they are indexed."""
    return Task(questions, lambda: _as_indexed(questions, workspace, tuple(collections)))


@contextmanager
def _as_indexed(
    questions: QuestionSet, workspace: Workspace, collections: tuple[str, ...]
) -> Iterator[Corpus]:
    # The first search indexes a folder that is not registered, here as anywhere.
    first = questions.questions[0]
    searched = (first.collection,) if first.collection else collections
    query = SearchQuery(first.text, mode=SearchMode.LEXICAL, collections=searched, limit=1, rerank=False)
    result = workspace.search(query, wait_for_vectors=True)
    if not result.total_chunks:
        msg = "there is no collection to search"
        raise NotFoundError(msg, hint=result.hint)
    named = {question.collection for question in questions.questions if question.collection}
    searched = collections or tuple(each.name for each in workspace.collections())
    statuses = [workspace.status(name) for name in dict.fromkeys((*searched, *sorted(named)))]
    counts = [each.counts for status in statuses for each in status.collections]
    corpus = Corpus(
        workspace,
        Naming(),
        collections,
        documents=sum(count.documents for count in counts),
        chunks=sum(count.chunks for count in counts),
        model=statuses[0].model,
        qualified=_qualified(questions, workspace, searched),
    )
    warnings = [*result.warnings]
    if pending := sum(count.pending_chunks for count in counts):
        warnings.append(f"{pending:,} chunks have no vector yet and are found by words only")
    if unknown := unknown_documents(corpus, questions):
        shown = ", ".join(unknown[:_SHOWN_PATHS])
        more = f" and {len(unknown) - _SHOWN_PATHS:,} more" if len(unknown) > _SHOWN_PATHS else ""
        warnings.append(f"no collection has these documents, so they count as not found: {shown}{more}")
    yield replace(corpus, warnings=tuple(warnings))


def _qualified(questions: QuestionSet, workspace: Workspace, collections: Sequence[str]) -> frozenset[str]:
    """Return the paths that questions name with their collection, and none without it.

    A collection may hold a folder of its own name: what is a path as it is is no other one.
    """
    names = {
        name for each in questions.questions if not each.collection for name in (*each.relevant, *each.bad)
    }
    begun = {name for name in names if name.partition("/")[0] in collections}
    if begun:
        statuses = (workspace.status(each, files=True) for each in collections)
        begun -= {path for status in statuses for path in paths_of(status)}
    return frozenset(name.partition("/")[2] for name in begun) - names


def give_feedback(
    workspace: Workspace,
    query: str,
    *,
    good: Sequence[str] = (),
    bad: Sequence[str] = (),
    collection: str | None = None,
    file: Path | None = None,
) -> Feedback:
    """Add a judgement to a file of questions.

    Args:
        workspace: Must hold the documents.
        query: The question.
        good: Documents that answer it, by path.
        bad: Documents that do not.
        collection: The collection that was searched; all when None.
        file: Ends in ``.jsonl`` or ``.toml``; created if needed. :func:`default_file` when None.

    Raises:
        UsageError: If nothing is judged, a document is both good and bad, or the file has another content.
        DocumentNotFoundError: If no collection has one of the documents; the hint names similar ones.
        OSError: If the file cannot be written.
    """
    if not query.strip() or not (good or bad):
        msg = "feedback takes a question and at least one document"
        raise UsageError(
            msg, hint="Name one that answers it with --good PATH, or one that does not with --bad PATH."
        )
    right, wrong = (
        tuple(dict.fromkeys(_indexed_path(workspace, path, collection) for path in paths))
        for paths in (good, bad)
    )
    for path in right:
        if path in wrong:
            msg = f"{path} cannot be good and bad"
            raise UsageError(msg, hint="Name it once.")
    target = file or default_file(workspace)
    entry: dict[str, object] = {"query": spelled(query).strip()}
    entry |= {"good": list(right)} if right else {}
    entry |= {"bad": list(wrong)} if wrong else {}
    entry |= {"collection": collection} if collection else {}
    _append(target, entry)
    return Feedback(target, right, wrong)


def _indexed_path(workspace: Workspace, path: str, collection: str | None) -> str:
    """Return the path of a document, with its collection if another one that is searched has it, too."""
    found = workspace.read(path, collection=collection)
    if collection is None:
        for other in workspace.collections():
            if other.name != found.collection:
                with suppress(DocumentNotFoundError):
                    if workspace.read(found.path, collection=other.name).path == found.path:
                        return f"{found.collection}/{found.path}"
    return found.path


# --- reading ----------------------------------------------------------------------------------


def _read_entries(path: Path) -> list[_Entry]:
    if path.suffix.lower() == _TOML:
        entries = _toml_entries(path)
    elif path.suffix.lower() == _JSONL:
        entries = json_lines(path)
    else:
        msg = f"{path} is neither a set nor a file of questions"
        raise UsageError(msg, hint="Give a folder with a set, or questions in a .toml or .jsonl file.")
    return [_entry(entry, place) for place, entry in entries]


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
        msg = f"{path}: unknown key {unknown[0]!r}"
        raise UsageError(msg, hint="A file of questions contains only [[question]] tables.")
    for number, entry in enumerate(entries, 1):
        yield f"{path}: question {number}", entry


def _entry(values: Mapping[str, object], place: str) -> _Entry:
    good = (*names_of(values, "good", place), *names_of(values, "paths", place))
    bad = names_of(values, "bad", place)
    if not good and not bad:
        msg = f"{place}: no document is named"
        raise UsageError(msg, hint=f'Name them in "good" (or "paths") and "bad", as in {_EXAMPLE}.')
    return _Entry(
        query=text_of(values, "query", place).strip(),
        good=tuple(map(_as_path, good)),
        bad=tuple(map(_as_path, bad)),
        collection=text_of(values, "collection", place, default=""),
        labels=labels_of(values, _RESERVED),
    )


def _as_path(name: str) -> str:
    return nfc(name).removeprefix("./")


# --- writing ----------------------------------------------------------------------------------


def _append(file: Path, entry: Mapping[str, object]) -> None:
    suffix = file.suffix.lower()
    if suffix not in (_JSONL, _TOML):
        msg = f"{file} is not a file of questions"
        raise UsageError(msg, hint="Name a .jsonl or .toml file with --file.")
    if suffix == _JSONL:
        text = json.dumps(entry, ensure_ascii=False) + "\n"
    else:
        text = "\n[[question]]\n" + "".join(f"{key} = {toml_value(value)}\n" for key, value in entry.items())
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(file, "ab", buffering=0, opener=_open_private) as stream:
        lock_if_possible(stream)  # without it, one write is still one write
        if file.stat().st_size:
            _read_entries(file)  # raises, so that nothing is added to another kind of file
        content = (text if _ends_a_line(file) else f"\n{text}").encode()
        if stream.write(content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        os.fsync(stream.fileno())


def _open_private(path: str, flags: int) -> int:
    """Open a file that only its owner can read if it is made now, and no link among documents is followed."""
    if Path(path).parent.name == ".mdvec":
        flags |= getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o600)


def _ends_a_line(file: Path) -> bool:
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        return stream.read(1) in (b"", b"\n")
