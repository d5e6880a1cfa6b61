"""What is asked: a workspace that holds the documents of a set."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from mdvec.config.schema import Config
from mdvec.errors import CollectionExistsError, NotFoundError
from mdvec.evaluation.corpus import archived_files, corpus_files, lay_out
from mdvec.evaluation.datasets import JudgedSet, read_corpus, telling_some
from mdvec.evaluation.model import QuestionSet
from mdvec.evaluation.naming import Naming, naming_by_path, neutral_naming
from mdvec.text.hashing import text_hash
from mdvec.types.document import DocumentState
from mdvec.types.report import ImportMode, Progress, WorkspaceStatus
from mdvec.workspace import Workspace

_COLLECTION = "documents"
# Another run may be embedding thousands of documents into the same cache.
_WAIT_S = 24 * 3600.0
# Names of folders may be as long as the file system allows; the hash is to fit after them.
_MAX_NAME_CHARS = 80


class Opener(Protocol):
    """Opens a workspace, as :func:`mdvec.open_workspace` does."""

    def __call__(self, config: Config | None = None, *, database: Path | None = None) -> Workspace:
        """Open it; the caller closes it."""
        ...


ShownProgress = Callable[[], AbstractContextManager[Progress | None]]
"""Shows how far an import is while its context lasts."""


@dataclass(frozen=True, slots=True)
class Indexing:
    """How documents are brought into a workspace of their own.

    Attributes:
        opener: Opens it.
        config: The settings; for a judged set those of chunking and embedding alone count, so that its
            figures are the same wherever it is measured.
        embed: Whether vectors are needed.
        cache: Where databases are kept for the next run; None to keep nothing.
        progress: Shows how far it is.
    """

    opener: Opener
    config: Config
    embed: bool = True
    cache: Path | None = None
    progress: ShownProgress = nullcontext


@dataclass(frozen=True, slots=True)
class Subject:
    """A workspace to be asked.

    Attributes:
        workspace: Open while the subject is used.
        naming: Between the questions' names for documents and its paths.
        collections: Names of what is searched; empty for all that are enabled.
        documents: Documents in it.
        chunks: Chunks in it.
        model: The embedding space in use, or why there is none.
        notes: How it was made, for people.
        warnings: What makes the figures doubtful, for people.
    """

    workspace: Workspace
    naming: Naming
    collections: tuple[str, ...]
    documents: int
    chunks: int
    model: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A set to be measured.

    Attributes:
        set: The questions.
        open: Makes the workspace they are put to; may take minutes.
    """

    set: QuestionSet
    open: Callable[[], AbstractContextManager[Subject]]


def judged_task(judged: JudgedSet, indexing: Indexing) -> Task:
    """Return what measures a judged set."""
    return Task(judged.set, lambda: indexed_set(judged, indexing))


@contextmanager
def indexed_set(judged: JudgedSet, indexing: Indexing) -> Iterator[Subject]:
    """Index the documents of a set through the normal pipeline.

    Args:
        judged: The set; its files are only read.
        indexing: How to do it.

    Yields:
        A workspace with them and nothing else. Without a cache it is deleted afterwards.

    Raises:
        UsageError: If ``corpus.jsonl`` or ``tree.tar.gz`` cannot be read.
        NotFoundError: If there is no document.
    """
    config = indexing.config
    indexing = replace(indexing, config=Config(chunking=config.chunking, embedding=config.embedding))
    with _home(judged, indexing) as home:
        folder, naming = _documents(judged, home)
        with opened_index(folder, naming, home / "index.sqlite", indexing) as subject:
            unknown = unknown_documents(subject, judged.set)
            warnings = telling_some("relevant documents that are not among the documents", unknown)
            yield replace(
                subject, notes=judged.notes, warnings=(*judged.warnings, *subject.warnings, *warnings)
            )


@contextmanager
def opened_index(folder: Path, naming: Naming, database: Path, indexing: Indexing) -> Iterator[Subject]:
    """Index a folder into a database of its own, or bring that up to date.

    Args:
        folder: The documents.
        naming: What judgements call them.
        database: Made when it is not there.
        indexing: How to do it.

    Yields:
        A workspace with these documents alone.

    Raises:
        NotFoundError: If there is no document in the folder.
    """
    with indexing.opener(indexing.config, database=database) as workspace:
        with suppress(CollectionExistsError):  # another run may add it at the same moment
            workspace.add_collection(_COLLECTION, "Documents of a set", str(folder))
        with indexing.progress() as progress:
            report = workspace.import_collection(
                _COLLECTION,
                mode=ImportMode.UPDATE,
                embed=indexing.embed,
                allow_empty=True,
                wait_s=_WAIT_S,
                progress=progress,
            )
        if not report.total_documents:
            msg = f"{folder} holds no document"
            raise NotFoundError(msg, hint="Documents are files that end in .md, .markdown, .mdx or .txt.")
        yield Subject(
            workspace,
            naming,
            (),
            report.total_documents,
            report.total_chunks,
            workspace.status(_COLLECTION).model,
            warnings=telling_some("warnings of the import", report.warnings),
        )


def unknown_documents(subject: Subject, questions: QuestionSet) -> list[str]:
    """Return the names of relevant documents that are not where they are asked for, each once."""
    known: dict[str, set[str]] = {}
    unknown: dict[str, None] = {}
    for question in questions.questions:
        place = question.collection
        if place not in known:
            known[place] = _paths_in(subject.workspace, (place,) if place else subject.collections)
        for name in question.relevant:
            if subject.naming.path_of(name) not in known[place]:
                unknown[name] = None
    return list(unknown)


def paths_of(status: WorkspaceStatus) -> set[str]:
    """Return the paths of all searchable documents in a status with files."""
    searchable = (DocumentState.READY, DocumentState.PENDING)
    return {file.path for each in status.collections for file in each.files if file.state in searchable}


def _paths_in(workspace: Workspace, collections: Sequence[str]) -> set[str]:
    names = collections or [each.name for each in workspace.collections()]
    return {path for name in names for path in paths_of(workspace.status(name, files=True))}


def _home(judged: JudgedSet, indexing: Indexing) -> AbstractContextManager[Path]:
    """Return where the index of a set goes."""
    if indexing.cache is None:
        return temporary_folder()
    # Whose documents they are and what cuts and embeds them; the next run need only look for changes.
    chunking, settings = indexing.config.chunking, indexing.config.embedding
    model = f"{settings.provider}:{settings.model}@{settings.dimension}"
    key = text_hash(f"{judged.documents.resolve()}\n{chunking}\n{model}").hex()[:16]
    home = indexing.cache / f"{judged.documents.resolve().parent.name[:_MAX_NAME_CHARS]}-{key}"
    home.mkdir(parents=True, exist_ok=True)
    return nullcontext(home)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is deleted afterwards.

    Yields:
        Its path.
    """
    with tempfile.TemporaryDirectory(prefix="mdvec-eval-") as name:
        yield Path(name).resolve()


def _documents(judged: JudgedSet, home: Path) -> tuple[Path, Naming]:
    """Return the folder that holds the documents as files, and what they are called."""
    source, folder = judged.documents, home / "documents"
    if source.suffix == ".jsonl":
        corpus = read_corpus(source)
        naming = neutral_naming(document.id for document in corpus)
        lay_out(corpus_files(corpus, naming), folder)
        return folder, naming
    if source.is_dir():
        folder = source
    else:
        lay_out(archived_files(source), folder)
    questions = judged.set.questions
    return folder, naming_by_path(name for each in questions for name in (*each.relevant, *each.exclude))
