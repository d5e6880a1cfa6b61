"""The shape of every answer. JSON and JSON Schema derive from these classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
from msgspec import Struct

from mdvec.interfaces.encoding import JsonObject, doc, iso_time
from mdvec.types.folder_context import shown_contexts
from mdvec.types.hit import Confidence
from mdvec.types.query import SearchMode
from mdvec.types.report import ChangeProgress, FileStatus, TagCount

if TYPE_CHECKING:
    from mdvec.types import collection as collections
    from mdvec.types import folder_context as folder_context_types
    from mdvec.types import hit as hits
    from mdvec.types import model_report as models
    from mdvec.types import report as reports

_Kind = TypeVar("_Kind", bound=Struct)

SCORE_DIGITS = 6
"""Digits of a score or a similarity."""

_USD_DIGITS = 6


# --- answers to a search -----------------------------------------------------------------------------


class Hit(Struct, frozen=True):
    """A passage that was found; see :class:`mdvec.types.hit.SearchHit`."""

    rank: Annotated[int, doc("from 1", "programs")]
    collection: str
    path: Annotated[str, doc("of the document")]
    title: Annotated[str, doc("of the document")]
    heading: Annotated[str, doc("nearest heading", "programs")]
    heading_path: Annotated[tuple[str, ...], doc("headings, outermost first")]
    depth: Annotated[int, doc("0 to 3", "programs")]
    start_line: Annotated[int, doc("from 1")]
    end_line: int
    start: Annotated[int, doc("first character in the document", "programs")]
    end: Annotated[int, doc("one past the last character", "programs")]
    score: Annotated[float, doc("0 to 1, higher is better")]
    similarity: Annotated[float | None, doc("cosine; null without vectors")]
    dense_rank: Annotated[int | None, doc("rank by meaning", "programs")]
    lexical_rank: Annotated[int | None, doc("rank by words", "programs")]
    text: Annotated[str, doc("the passage")]
    stale: Annotated[bool, doc("the file has changed since it was indexed")]
    supersedes: Annotated[tuple[str, ...], doc("paths of older versions")]
    superseded_by: Annotated[tuple[str, ...], doc("paths of newer versions", "programs")]
    file: Annotated[str | None, doc("absolute path", "programs")]
    chunk_index: Annotated[int, doc("from 0")]
    folder_contexts: Annotated[tuple[str, ...], doc("what its folders hold")]
    cut_lines: Annotated[tuple[str, ...], doc("lines that did not fit")]
    similar: Annotated[int, doc("like texts folded into it")]


class Correction(Struct, frozen=True):
    """A word that no document contains, and the known one that was searched for instead."""

    typed: str
    searched: str


class SearchAnswer(Struct, frozen=True):
    """The hits, and how complete the index behind them is."""

    query: Annotated[str, doc("as requested")]
    mode: Annotated[SearchMode, doc("how it was searched")]
    hits: Annotated[tuple[Hit, ...], doc("best first")]
    total_chunks: Annotated[int, doc("passages that were searched")]
    pending_chunks: Annotated[int, doc("passages without a vector")]
    last_indexed: Annotated[str | None, doc("ISO 8601, UTC")]
    elapsed_ms: Annotated[float, doc("milliseconds", "programs")]
    warnings: tuple[str, ...]
    hint: Annotated[str | None, doc("next step when there is no hit")]
    confidence: Annotated[Confidence, doc("that the documents answer the query")]
    corrections: Annotated[tuple[Correction, ...], doc("words taken for mistyped", "programs")]
    unknown_words: Annotated[tuple[str, ...], doc("no document contains them", "programs")]
    left_out: Annotated[int, doc("hits that did not fit", "programs")]
    weaker: Annotated[int, doc("passages with a score below the least one")]


def hit(value: hits.SearchHit) -> Hit:
    """Return the shape of a hit."""
    similarity = value.similarity
    return _taken(
        Hit,
        value,
        score=round(value.score, SCORE_DIGITS),
        similarity=None if similarity is None else round(similarity, SCORE_DIGITS),
    )


def search_answer(value: hits.SearchResult) -> SearchAnswer:
    """Return the shape of an answer to a search."""
    return _taken(
        SearchAnswer,
        value,
        hits=tuple(map(hit, value.hits)),
        last_indexed=iso_time(value.last_indexed_ms),
        elapsed_ms=round(value.elapsed_ms, 1),
        corrections=tuple(Correction(*pair) for pair in value.corrections.items()),
    )


# --- documents and tags ------------------------------------------------------------------------------


class Passage(Struct, frozen=True):
    """A part of a document, or all of it."""

    collection: str
    path: str
    title: str
    tags: tuple[str, ...]
    start_line: int
    end_line: int
    next_lines: Annotated[str | None, doc("lines to request next; null at the end")]
    stale: bool
    text: str


class Tags(Struct, frozen=True):
    """Tags, most used first."""

    tags: tuple[TagCount, ...]
    more: Annotated[int, doc("tags that are left out")] = 0


def passage(value: reports.Passage, next_lines: str | None) -> Passage:
    """Return the shape of a part of a document.

    Args:
        value: The part.
        next_lines: The lines to request next; None when nothing was left out.
    """
    return _taken(Passage, value, next_lines=next_lines)


# --- imports -----------------------------------------------------------------------------------------


class ImportReport(Struct, frozen=True):
    """The outcome of an import; see :class:`mdvec.types.report.ImportReport`."""

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
    elapsed_ms: Annotated[float, doc("milliseconds", "programs")] = 0.0
    embedded_names: Annotated[int, doc("names that went through the model", "programs")] = 0
    error: Annotated[str | None, doc("why it is not up to date")] = None


class Reindexed(Struct, frozen=True):
    """The outcome of the imports of several collections, with totals."""

    added: int
    updated: int
    moved: int
    deleted: int
    unchanged: int
    failed: int
    total_chunks: int
    pending_chunks: int
    collections: tuple[ImportReport, ...]
    warnings: tuple[str, ...]


def import_report(value: reports.ImportReport, *, error: str | None = None) -> ImportReport:
    """Return the shape of an import's outcome. A failure is the last of its warnings.

    Args:
        value: The outcome.
        error: Why the collection is not up to date; None if it is.
    """
    failure = [] if value.failure is None else [str(value.failure)]
    return _taken(
        ImportReport,
        value,
        warnings=(*value.warnings, *failure),
        elapsed_ms=round(value.elapsed_ms, 1),
        error=error,
    )


def reindexed(
    values: Sequence[reports.ImportReport], errors: Mapping[str, str], warnings: Iterable[str]
) -> Reindexed:
    """Return the shape of the outcome of several imports.

    Args:
        values: Of the collections whose documents were read.
        errors: Collections that are not up to date, with the reason; a collection without a report has
            zero counts.
        warnings: Warnings of all of them.
    """
    done = [import_report(each, error=errors.get(each.collection)) for each in values]
    known = {each.collection for each in done}
    done += [ImportReport(name, error=reason) for name, reason in errors.items() if name not in known]
    counts = [name for name in Reindexed.__struct_fields__ if name in ImportReport.__struct_fields__]
    totals = {name: sum(getattr(each, name) for each in values) for name in counts if name != "warnings"}
    return Reindexed(**totals, collections=tuple(done), warnings=tuple(warnings))


# --- collections and status --------------------------------------------------------------------------


class Collection(Struct, frozen=True):
    """A collection as it is registered."""

    name: str
    description: str
    source: Annotated[str, doc(door="programs")]
    include: Annotated[tuple[str, ...], doc("globs", "programs")]
    exclude: Annotated[tuple[str, ...], doc("globs", "programs")]
    enabled: bool
    created: Annotated[str | None, doc("when it was registered", "programs")]
    updated: Annotated[str | None, doc("when its registration last changed", "programs")]
    last_indexed: str | None
    revision: Annotated[str | None, doc("commit that was imported, or a digest of a bucket", "programs")]
    preset: Annotated[str | None, doc(door="programs")]
    chunker: Annotated[str, doc(door="programs")]


class FolderContext(Struct, frozen=True):
    """A sentence on what a folder holds."""

    folder: Annotated[str, doc("empty for the root")]
    text: str
    from_file: Annotated[bool, doc("read from .mdvec-context", "programs")]


class Moved(Struct, frozen=True, rename={"old": "from", "new": "to"}):
    """A document at another path."""

    old: str
    new: str


class Check(Struct, frozen=True):
    """The differences between a source and the index."""

    in_sync: bool
    new: tuple[str, ...]
    changed: tuple[str, ...]
    moved: tuple[Moved, ...]
    deleted: tuple[str, ...]


class CollectionStatus(Collection, frozen=True):
    """A collection and what it holds."""

    documents: int
    failed: int
    excluded: int
    chunks: int
    pending_chunks: int
    dirty: Annotated[int, doc("documents that changed since they were indexed")]
    superseded: Annotated[int, doc("older versions, left out of results")]
    check: Annotated[Check | None, doc("null unless requested", "programs")]
    check_error: Annotated[str | None, doc("why it could not be compared", "programs")]
    files: Annotated[tuple[FileStatus, ...], doc("empty unless requested", "programs")]
    model: Annotated[str, doc(door="programs")]
    change: Annotated[ChangeProgress | None, doc("change to another model", "programs")]
    activity: Annotated[str | None, doc("what a process does to it now", "programs")]
    warnings: Annotated[tuple[str, ...], doc(door="programs")]
    folder_contexts: Annotated[tuple[FolderContext, ...], doc("what folders hold")]


class Published(Struct, frozen=True):
    """A version of a published workspace."""

    version: int
    time: Annotated[str | None, doc("when it was published")]


class Status(Struct, frozen=True):
    """The state of a database."""

    database: str
    size_bytes: int
    model: str
    published: Annotated[Published | None, doc("the version that is searched of a published workspace")]
    watcher: Annotated[str | None, doc("processes that keep it up to date", "programs")]
    collections: tuple[CollectionStatus, ...]


def collection(value: collections.Collection) -> Collection:
    """Return the shape of a collection."""
    return Collection(**_registered(value))


def status(value: reports.WorkspaceStatus) -> Status:
    """Return the shape of the state of a database."""
    return _taken(
        Status,
        value,
        watcher="; ".join(map(str, value.watchers)) or None,
        published=None
        if (version := value.published) is None
        else Published(version.number, iso_time(version.published_ms)),
        collections=tuple(map(_collection_status, value.collections)),
    )


def _collection_status(value: reports.CollectionStatus) -> CollectionStatus:
    check = value.check
    return CollectionStatus(
        **_registered(value.collection),
        **msgspec.structs.asdict(value.counts),
        check=None if check is None else _check(check),
        check_error=value.check_error or None,
        files=value.files,
        model=value.model,
        change=value.change,
        activity=None if value.activity is None else str(value.activity),
        warnings=value.warnings,
        folder_contexts=tuple(map(folder_context, shown_contexts(value.collection.folder_contexts))),
    )


def folder_context(value: folder_context_types.FolderContext) -> FolderContext:
    """Return the shape of a context."""
    return _taken(FolderContext, value)


def _check(value: reports.DiskCheck) -> Check:
    return _taken(Check, value, moved=tuple(Moved(*pair) for pair in value.moved))


def _registered(value: collections.Collection) -> JsonObject:
    return {
        "name": value.name,
        "description": value.description,
        "source": str(value.source),
        "include": value.source.include,
        "exclude": value.source.exclude,
        "enabled": value.enabled,
        "created": iso_time(value.created_ms),
        "updated": iso_time(value.updated_ms),
        "last_indexed": iso_time(value.last_indexed_ms),
        "revision": value.revision or None,
        "preset": value.preset or None,
        "chunker": value.chunking.strategy,
    }


# --- models: the values of types/ are their own shape ------------------------------------------------


def model_change(value: models.ModelChange) -> models.ModelChange:
    """Return the shape of the outcome of a change to another model."""
    return msgspec.structs.replace(value, elapsed_ms=round(value.elapsed_ms, 1))


def estimate(value: models.ImportEstimate) -> models.ImportEstimate:
    """Return the shape of what an import would embed."""
    usd, seconds = value.usd, value.seconds
    return msgspec.structs.replace(
        value,
        usd=None if usd is None else round(usd, _USD_DIGITS),
        seconds=None if seconds is None else round(seconds, 1),
    )


def _taken(kind: type[_Kind], value: object, **others: object) -> _Kind:
    """Make a shape of the attributes of a value that have the same names, and of others."""
    same = {name: getattr(value, name) for name in kind.__struct_fields__ if name not in others}
    return kind(**same, **others)
