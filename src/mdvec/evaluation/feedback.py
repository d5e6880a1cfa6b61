"""Writes down which documents answered a question, for ``mdvec eval`` to ask again."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from mdvec.errors import UsageError
from mdvec.evaluation.questions import JSONL_SUFFIX, TOML_SUFFIX, read_judgements
from mdvec.text.undecodable import spelled
from mdvec.workspace import Workspace

_FILE_NAME = "questions.jsonl"


@dataclass(frozen=True, slots=True)
class Feedback:
    """What was written.

    Attributes:
        file: Where.
        good: Paths as they are indexed.
        bad: Paths as they are indexed.
    """

    file: Path
    good: tuple[str, ...]
    bad: tuple[str, ...]


def default_file(workspace: Workspace) -> Path:
    """Return the file of questions that goes with a database; it may not exist."""
    return workspace.database.with_name(_FILE_NAME)


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
        workspace: Where the documents are looked up.
        query: What was asked.
        good: Documents that answer it, by path.
        bad: Documents that do not.
        collection: Where it was asked; everywhere when None.
        file: Ends in ``.jsonl`` or ``.toml``; made when it is not there. None for :func:`default_file`.

    Returns:
        What was written.

    Raises:
        UsageError: If nothing is judged, a document is both good and bad, or the file holds something else.
        DocumentNotFoundError: If no collection has one of the documents; the hint names near ones.
        OSError: If the file cannot be written.
    """
    if not query.strip() or not (good or bad):
        msg = "feedback takes a question and at least one document"
        raise UsageError(
            msg, hint="Name one that answers it with --good PATH, or one that does not with --bad PATH."
        )
    right, wrong = (
        tuple(dict.fromkeys(workspace.read(path, collection=collection).path for path in paths))
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


def _append(file: Path, entry: dict[str, object]) -> None:
    suffix = file.suffix.lower()
    if suffix not in (JSONL_SUFFIX, TOML_SUFFIX):
        msg = f"{file} is no file of questions"
        raise UsageError(msg, hint="Name a .jsonl or .toml file with --file.")
    if suffix == JSONL_SUFFIX:
        text = json.dumps(entry, ensure_ascii=False) + "\n"
    else:
        text = "\n[[question]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in entry.items())
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab", buffering=0) as stream:
        _lock(stream)
        if file.stat().st_size:
            read_judgements(file)  # what cannot be read must not become longer
        content = (text if _ends_a_line(file) else f"\n{text}").encode()
        if stream.write(content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        os.fsync(stream.fileno())


def _lock(stream: FileIO) -> None:
    """Keep others from adding to a file until it is closed, where the system can do that."""
    if sys.platform != "win32":
        import fcntl

        with suppress(OSError):  # some network file systems have no locks; one write is still one write
            fcntl.flock(stream, fcntl.LOCK_EX)


def _ends_a_line(file: Path) -> bool:
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        return stream.read(1) in (b"", b"\n")


def _toml(value: object) -> str:
    """Write a text or a list of texts; what JSON escapes TOML understands."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
