"""Shapes of answers other than the values of :mod:`mdvec.types`, and all answers as JSON and JSON Schema.

Every door shows its own fields of the same classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct

from mdvec.text.folding import spelled
from mdvec.types import collection as collections
from mdvec.types import report as reports
from mdvec.types.fields import DIGITS, DOOR, HIDDEN, TIME, Door, doc
from mdvec.types.folder_context import FolderContext, shown_contexts
from mdvec.types.hit import SCORE_DIGITS
from mdvec.types.links import Backlink, NearDocument, OutgoingLink
from mdvec.types.outline import Outline
from mdvec.types.report import ChangeProgress, FileStatus, ImportReport, ListedDocument, Passage, TagCount
from mdvec.types.store_report import PublishedVersion

JsonObject = dict[str, Any]

_Kind = TypeVar("_Kind", bound=Struct)

# --- documents and tags ------------------------------------------------------------------------------


class Listed(Struct, frozen=True):
    """A document in a list."""

    collection: str
    path: str
    title: str
    updated: Annotated[str, doc("ISO 8601, UTC; empty if unknown")]
    size: Annotated[int, doc("bytes", "programs")]
    file: Annotated[str | None, doc("absolute path", "programs")]


class Documents(Struct, frozen=True):
    """Documents, the last updated first."""

    documents: tuple[Listed, ...]
    more: Annotated[bool, doc("there are others")] = False
    hint: Annotated[str, HIDDEN] = ""
    """Advice if there are none."""


class RelatedDocument(Struct, frozen=True):
    """A document on the same subject as another."""

    path: str
    title: str
    score: Annotated[float, doc("0 to 1", digits=SCORE_DIGITS)]


class Map(Outline, frozen=True):
    """The sections and the surroundings of a document."""

    links: tuple[OutgoingLink, ...]
    backlinks: tuple[Backlink, ...]
    near: tuple[NearDocument, ...]
    related: tuple[RelatedDocument, ...]
    more: Annotated[int, doc("rows that are left out")] = 0


class Tags(Struct, frozen=True):
    """Tags, most used first."""

    tags: tuple[TagCount, ...]
    more: Annotated[int, doc("tags that are left out")] = 0


def documents(values: Sequence[ListedDocument], limit: int, hint: str = "") -> Documents:
    """Return the shape of a list of documents, which has one more than the limit if there are others."""
    listed = (
        # A repository has no times.
        _from_attributes(Listed, each, updated=iso_time(each.changed_ns // 10**6 or None) or "")
        for each in values[:limit]
    )
    return Documents(tuple(listed), len(values) > limit, hint)


class Unread(Struct, frozen=True):
    """A document that could not be read."""

    path: Annotated[str, doc("as requested")]
    reason: Annotated[str, doc("and the next step")]


class Reading(Struct, frozen=True):
    """Documents, or parts of them, that were read together."""

    documents: tuple[Passage, ...]
    failed: tuple[Unread, ...] = ()
    more: Annotated[bool, doc("there are others")] = False


# --- imports -----------------------------------------------------------------------------------------


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


def import_report(value: ImportReport) -> ImportReport:
    """Return an import's outcome as it is shown: a failure is the last of its warnings."""
    failure = () if value.failure is None else (str(value.failure),)
    return msgspec.structs.replace(value, warnings=(*value.warnings, *failure))


def reindexed(done: Sequence[ImportReport], warnings: Sequence[str]) -> Reindexed:
    """Return the shape of the outcome of several imports."""
    counts = [name for name in Reindexed.__struct_fields__ if name in ImportReport.__struct_fields__]
    totals = {name: sum(getattr(each, name) for each in done) for name in counts if name != "warnings"}
    return Reindexed(**totals, collections=tuple(done), warnings=tuple(warnings))


# --- collections and status --------------------------------------------------------------------------


class RegisteredCollection(Struct, frozen=True):
    """A collection as it is registered."""

    name: str
    description: str
    source: Annotated[str, doc(door="programs")]
    include: Annotated[tuple[str, ...], doc("globs", "programs")]
    exclude: Annotated[tuple[str, ...], doc("globs", "programs")]
    enabled: bool
    created: Annotated[str | None, doc("when it was registered", "programs")]
    updated: Annotated[str | None, doc("when its registration last changed", "programs")]
    app_version: Annotated[str | None, doc("of mdvec, by which it last changed", "programs")]
    last_indexed: str | None
    revision: Annotated[str | None, doc("commit that was imported, or a digest of a bucket", "programs")]
    preset: Annotated[str | None, doc(door="programs")]
    chunker: Annotated[str, doc(door="programs")]


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


class CollectionState(RegisteredCollection, frozen=True):
    """A collection and its contents."""

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


class Status(Struct, frozen=True):
    """The state of a database."""

    database: str
    size_bytes: int
    model: str
    published: Annotated[PublishedVersion | None, doc("the version that is searched")]
    watcher: Annotated[str | None, doc("processes that keep it up to date", "programs")]
    warnings: tuple[str, ...]
    collections: tuple[CollectionState, ...]


def collection(value: collections.Collection) -> RegisteredCollection:
    """Return the shape of a collection."""
    return RegisteredCollection(**_registered(value))


def status(value: reports.WorkspaceStatus) -> Status:
    """Return the shape of the state of a database."""
    return _from_attributes(
        Status,
        value,
        watcher="; ".join(map(str, value.watchers)) or None,
        collections=tuple(map(_collection_status, value.collections)),
    )


def _collection_status(value: reports.CollectionStatus) -> CollectionState:
    check = value.check
    return _from_attributes(
        CollectionState,
        value,
        **_registered(value.collection),
        **msgspec.structs.asdict(value.counts),
        check=check and _from_attributes(Check, check, moved=tuple(Moved(*pair) for pair in check.moved)),
        check_error=value.check_error or None,
        activity=None if value.activity is None else str(value.activity),
        folder_contexts=tuple(shown_contexts(value.collection.folder_contexts)),
    )


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
        "app_version": value.app_version or None,
        "last_indexed": iso_time(value.last_indexed_ms),
        "revision": value.revision or None,
        "preset": value.preset or None,
        "chunker": value.chunking.strategy,
    }


def _from_attributes(kind: type[_Kind], value: object, **others: object) -> _Kind:
    """Make a shape of the attributes of a value that have the same names, and of others."""
    same = {name: getattr(value, name) for name in kind.__struct_fields__ if name not in others}
    return kind(**same, **others)


# --- as JSON ------------------------------------------------------------------------------------------


def to_json(value: object, door: Door = "programs") -> Any:
    """Return a value as JSON has it: objects, lists, text, numbers, true, false and null.

    Fields of other doors are left out.
    """
    match value:
        case Enum():
            return value.value
        case str():
            return spelled(value)
        case Struct():
            shown = _fields_of(type(value), door)
            return {key: to_json(written(getattr(value, name)), door) for name, key, written in shown}
        case Mapping():
            return {key: to_json(each, door) for key, each in value.items()}
        case list() | tuple():
            return [to_json(each, door) for each in value]
        case None | bool() | int() | float():
            return value
        case _:
            return to_json(msgspec.to_builtins(value), door)


@cache
def schema_of(kind: type[Struct], door: Door) -> JsonObject:
    """Return the JSON Schema of a class in one piece, without the fields of other doors. Callers share it."""
    [found], parts = msgspec.json.schema_components(
        [kind], ref_template="{name}", schema_hook=lambda _: {"type": "object"}
    )
    return _in_one_piece(found, parts, door)


def iso_time(moment_ms: int | None) -> str | None:
    """Write milliseconds since 1970 as ISO 8601 in UTC, to the second."""
    if moment_ms is None:
        return None
    return datetime.fromtimestamp(moment_ms // 1000, UTC).isoformat().replace("+00:00", "Z")


@cache
def _fields_of(kind: type[Struct], door: Door) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    """Return attribute, key and way of writing of the fields that a door shows."""
    return tuple(
        (field.name, field.encode_name, _renderer(field.type))
        for field in msgspec.structs.fields(kind)
        if _metadata(field.type, DOOR) in (None, door)
    )


def _metadata(kind: object, key: str) -> Any:
    metas = (each.extra_json_schema or {} for each in get_args(kind) if isinstance(each, Meta))
    return next((each[key] for each in metas if key in each), None)


def _renderer(kind: object) -> Callable[[Any], Any]:
    """Return the function from the value of a field to the value that is shown."""
    if _metadata(kind, TIME):
        return iso_time
    digits = _metadata(kind, DIGITS)
    return lambda value: round(value, digits) if digits and value is not None else value


def _in_one_piece(node: JsonObject, parts: Mapping[str, JsonObject], door: Door) -> JsonObject:
    """Put the parts of a schema in their places."""
    if "$ref" in node:
        # The docstring of a class is for programmers.
        part = {key: each for key, each in parts[node["$ref"]].items() if key != "description"}
        return _in_one_piece({**part, **{key: node[key] for key in node if key != "$ref"}}, parts, door)
    whole = {key: node[key] for key in node if key not in ("title", DOOR, DIGITS, TIME)}
    if "properties" in node:
        shown = {name: each for name, each in node["properties"].items() if each.get(DOOR, door) == door}
        whole["properties"] = {name: _in_one_piece(each, parts, door) for name, each in shown.items()}
        whole["required"] = [name for name in node.get("required", ()) if name in shown]
    if TIME in node and "type" in node:
        whole["type"] = "string"
    elif TIME in node:
        whole["anyOf"] = [{"type": "string"}, {"type": "null"}]
    elif "anyOf" in node:
        whole["anyOf"] = [_in_one_piece(each, parts, door) for each in node["anyOf"]]
    if isinstance(node.get("items"), dict):
        whole["items"] = _in_one_piece(node["items"], parts, door)
    return whole
