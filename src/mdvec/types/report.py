"""Reports of imports, and the state of collections."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Struct, field

from mdvec.errors import EmbeddingError
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState
from mdvec.types.fields import HIDDEN, MOMENT, doc
from mdvec.types.store_report import PublishedVersion


class ImportReport(Struct, frozen=True):
    """The outcome of one import; the fields count documents unless they say otherwise.

    Attributes:
        collection: Name of the collection.
        added: New ones.
        updated: Ones with other content.
        moved: Ones at another path, content unchanged.
        deleted: Ones that are gone.
        unchanged: Ones that needed nothing.
        failed: Ones that could not be read; their reasons are in ``warnings``.
        excluded: Files (or whole folders) that the rules leave out.
        total_documents: Searchable documents afterwards.
        total_chunks: Chunks afterwards.
        embedded_chunks: Texts of chunks that went through the model in this run.
        cached_chunks: Chunks written in this run whose vector was there already.
        pending_chunks: Chunks that still have no vector.
        superseded: Documents that another one replaces, and that are left out of results.
        new_model: The model it has changed to in this run; None when it has not.
        warnings: For people.
        elapsed_ms: Time taken, in milliseconds.
        failure: What the model failed with before all vectors were made; None when it did not.
        embedded_names: Names of documents that went through the model in this run.
        error: Why the collection is not up to date, where a door says so; None if it is.
    """

    collection: str
    added: int = 0
    updated: int = 0
    moved: int = 0
    deleted: int = 0
    unchanged: int = 0
    failed: int = 0
    excluded: Annotated[int, doc("files and folders left out", "programs")] = 0
    total_documents: Annotated[int, doc("documents afterwards", "programs")] = 0
    total_chunks: int = 0
    embedded_chunks: Annotated[int, doc("went through the model", "programs")] = 0
    cached_chunks: Annotated[int, doc("had a vector already", "programs")] = 0
    pending_chunks: int = 0
    superseded: Annotated[int, doc("older versions, left out of results", "programs")] = 0
    new_model: Annotated[str | None, doc("model since this import", "programs")] = None
    warnings: Annotated[tuple[str, ...], doc(door="programs")] = ()
    elapsed_ms: Annotated[float, doc("milliseconds", "programs", digits=1)] = 0.0
    failure: Annotated[EmbeddingError | None, HIDDEN] = None
    embedded_names: Annotated[int, doc("names that went through the model", "programs")] = 0
    error: Annotated[str | None, doc("why it is not up to date")] = None


class FileStatus(Struct, frozen=True):
    """The state of one file of a collection.

    Attributes:
        path: Path of the file; a folder that is excluded as a whole ends in ``/``.
        state: Its one state.
        reason: Why it is failed or excluded, or what was odd in it; empty otherwise.
        chunks: Chunks in the index.
        pending_chunks: Those without a vector.
        indexed_ms: When its chunks were written, in milliseconds since 1970; None of what is not indexed.
    """

    path: str
    state: DocumentState
    reason: str = ""
    chunks: int = 0
    pending_chunks: int = 0
    indexed_ms: Annotated[int | None, MOMENT] = field(name="indexed", default=None)


class CollectionCounts(Struct, frozen=True):
    """The size of a collection.

    Attributes:
        documents: Searchable documents.
        failed: Files that could not be read.
        excluded: Files and folders left out.
        chunks: Chunks.
        pending_chunks: Chunks without a vector in the space in use; superseded documents need none.
        dirty: Documents that are marked as changed since they were indexed.
        superseded: Documents that another one replaces, and that are left out of results.
    """

    documents: int
    failed: int
    excluded: int
    chunks: int
    pending_chunks: int
    dirty: int = 0
    superseded: int = 0


class DiskCheck(Struct, frozen=True):
    """The differences between the disk and the index right now.

    Attributes:
        new: Paths on disk that the index does not know.
        changed: Paths with other content, or to be cut again.
        moved: Pairs of old and new path.
        deleted: Paths that are gone from disk.
    """

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    deleted: tuple[str, ...] = ()

    @property
    def in_sync(self) -> bool:
        """True if an import would change nothing."""
        return not (self.new or self.changed or self.moved or self.deleted)


class TagCount(Struct, frozen=True):
    """A tag and how many documents carry it.

    Attributes:
        tag: As first written.
        documents: Number of documents.
    """

    tag: str
    documents: int


_UNITS = {"fetch": "documents fetched", "text": "documents read", "embed": "texts embedded"}


class Activity(Struct, frozen=True):
    """The work of a process on a collection, or on the whole database.

    Attributes:
        collection: Name of the collection; empty for the process that keeps the database up to date.
        purpose: Such as ``importing notes``.
        pid: Its process; 0 where that is not shown.
        host: Its machine; empty where that is not shown.
        since_ms: Since when, in milliseconds since 1970.
        stage: The current step, a :class:`mdvec.run.Stage`; empty before the first one.
        done: Units done of that step.
        total: Units in all; 0 when unknown.
    """

    collection: str
    purpose: str
    pid: int
    host: str
    since_ms: int
    stage: str = ""
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).astimezone()
        process = f"process {self.pid} on {self.host}" if self.pid else "a process"
        text = f"{process} has been {self.purpose} since {since:%Y-%m-%d %H:%M:%S}"
        unit = _UNITS.get(self.stage)
        return f"{text}: {self.done:,} of {self.total:,} {unit}" if unit and self.total else text


class ImportMode(StrEnum):
    """The ways to treat documents that are indexed already."""

    NEW = "new"
    REPLACE = "replace"
    UPDATE = "update"


class ImportOptions(Struct, frozen=True):
    """The options of an import.

    Attributes:
        mode: What to do with the documents that are indexed already.
        embed: Make vectors now; without them the collection is searched by words.
        allow_empty: Accept a source that is missing or holds nothing, which deletes all documents.
        max_tokens: Largest chunk from now on; None leaves it as it is.
        overlap_tokens: Overlap of chunks from now on; None leaves it as it is.
        accept_pending: If the model fails on the way, such as a service without quota, end the import with a
            report; its ``failure`` is the reason why chunks are pending.
        wait_s: How long to wait for another process that works on the collection, in seconds.
        check: Read every file, also where time and size are as before, and compare every stored text and
            vector with its checksum; what is damaged is made anew.
        processes: How many processes prepare documents, where there are many; None for one per core, four at
            most. More than one import the main module again, as :mod:`multiprocessing` says: a script needs
            ``if __name__ == "__main__":`` then.
    """

    mode: ImportMode = ImportMode.UPDATE
    embed: bool = True
    allow_empty: bool = False
    max_tokens: int | None = None
    overlap_tokens: int | None = None
    accept_pending: bool = False
    wait_s: float = 60.0
    check: bool = False
    processes: int | None = 1


class ListedDocument(Struct, frozen=True):
    """A document in a list.

    Attributes:
        collection: Name of the collection.
        path: Path of the document.
        title: Title of the document.
        size: Bytes of the file.
        modified_ns: When the file was last changed, in nanoseconds since 1970.
        updated_ns: The same by its frontmatter, where the list is one by time; None if that says nothing.
        locator: Where the source has it, where the list is one by time.
        file: Absolute path of its file; None when it is none of this machine, or in another list.
    """

    collection: str
    path: str
    title: str
    size: int
    modified_ns: int
    updated_ns: int | None = None
    locator: str = ""
    file: str | None = None

    @property
    def changed_ns(self) -> int:
        """When it was last updated, by its frontmatter or else its file."""
        return self.modified_ns if self.updated_ns is None else self.updated_ns


class Passage(Struct, frozen=True):
    """A part of a document, or all of it.

    Attributes:
        collection: Name of the collection.
        path: Path of the document.
        title: Title of the document.
        tags: Tags of the document.
        start_line: 1-based first line.
        end_line: 1-based last line.
        text: The lines, as indexed.
        stale: The file has changed (or gone) since it was indexed.
        next_lines: The lines to read next, where the text is cut to fit; else None.
        warnings: Why the document has no text, or what of it was lost or guessed.
    """

    collection: str
    path: str
    title: str
    tags: tuple[str, ...]
    start_line: int
    end_line: int
    text: str
    stale: bool
    next_lines: Annotated[str | None, doc("lines to request next; null at the end")] = None
    warnings: tuple[str, ...] = ()


class ChangeProgress(Struct, frozen=True):
    """The progress of a collection towards another model.

    Attributes:
        model: That model.
        chunks: Chunks in all.
        pending_chunks: Those without a vector of it.
    """

    model: str
    chunks: int
    pending_chunks: int


class CollectionStatus(Struct, frozen=True):
    """The status of a collection.

    Attributes:
        collection: The collection itself.
        counts: How much it holds.
        files: The state of every file; empty unless requested.
        check: The differences between disk and index; None unless requested.
        check_error: The reason why the disk could not be compared; empty otherwise.
        check_hint: The next step then; empty when there is none.
        is_unreachable: True if the reason is a source elsewhere that cannot be reached now.
        model: The model it is searched by: its space, or why there is none.
        change: The progress of a change to another model; None when there is none.
        warnings: About its model, for people.
        activity: The work of a process on it now; None when there is none.
        remarks: The first files that failed or were odd, and how many follow; empty if ``files`` is not.
    """

    collection: Collection
    counts: CollectionCounts
    files: tuple[FileStatus, ...] = ()
    check: DiskCheck | None = None
    check_error: str = ""
    check_hint: str = ""
    is_unreachable: bool = False
    model: str = ""
    change: ChangeProgress | None = None
    warnings: tuple[str, ...] = ()
    activity: Activity | None = None
    remarks: tuple[str, ...] = ()


class WorkspaceStatus(Struct, frozen=True):
    """The status of a database.

    Attributes:
        database: Absolute path of the file.
        size_bytes: Its size with its log.
        model: The embedding spaces in use, or why there is none.
        collections: By name.
        watchers: The processes that keep it up to date now; more than one divide the collections.
        published: The version that is searched of a published workspace; None for any other.
        warnings: About its settings and the database, for people.
    """

    database: str
    size_bytes: int
    model: str
    collections: tuple[CollectionStatus, ...]
    watchers: tuple[Activity, ...] = ()
    published: PublishedVersion | None = None
    warnings: tuple[str, ...] = ()


class Severity(StrEnum):
    """The weight of a finding."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


class Finding(Struct, frozen=True):
    """One line of ``doctor``.

    Attributes:
        severity: How much it matters.
        subject: What was looked at, such as ``database``.
        message: What was seen.
        hint: The next step; empty when there is none.
    """

    severity: Severity
    subject: str
    message: str
    hint: str = ""
