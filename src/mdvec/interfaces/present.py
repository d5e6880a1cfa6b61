"""The shapes in which results leave mdvec, shared by all doors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, assert_never

from mdvec.interfaces.passage import without_gaps
from mdvec.types.collection import Collection
from mdvec.types.hit import Confidence, SearchHit, SearchResult
from mdvec.types.links import DocumentLinks
from mdvec.types.report import CollectionStatus, Finding, ImportReport, TagCount, WorkspaceStatus

JsonObject = dict[str, object]

_SIMILARITY_DIGITS = 6
# Enough to tell commits apart, as git's own messages do.
_REVISION_CHARS = 12
_LABEL_ESCAPES = {ord("\\"): "\\\\", ord("["): "\\[", ord("]"): "\\]", ord("\n"): " "}
# Angle brackets around a target let it hold spaces; these would end it or start a query.
_TARGET_ESCAPES = {ord(char): f"%{ord(char):02X}" for char in "\n<>#?%"}


def search_json(result: SearchResult) -> JsonObject:
    """Return an answer as documented in ``docs/reference/json.md``."""
    return {
        "query": result.query,
        "mode": result.mode.value,
        "hits": [hit_json(hit) for hit in result.hits],
        "total_chunks": result.total_chunks,
        "pending_chunks": result.pending_chunks,
        "last_indexed": iso_time(result.last_indexed_ms),
        "elapsed_ms": round(result.elapsed_ms, 1),
        "warnings": list(result.warnings),
        "hint": result.hint,
        "confidence": result.confidence.value,
    }


def hit_json(hit: SearchHit) -> JsonObject:
    """Return one hit, its fields in the order of :class:`SearchHit`."""
    similarity = hit.similarity
    return {
        **_shallow(hit),
        "heading_path": list(hit.heading_path),
        "score": round(hit.score, _SIMILARITY_DIGITS),
        "similarity": None if similarity is None else round(similarity, _SIMILARITY_DIGITS),
        "supersedes": list(hit.supersedes),
        "superseded_by": list(hit.superseded_by),
    }


def import_json(report: ImportReport) -> JsonObject:
    """Return an import's outcome, its fields in the order of :class:`ImportReport`; a failure is told."""
    shown = _shallow(report)
    del shown["failure"]
    failure = [] if report.failure is None else [str(report.failure)]
    return {
        **shown,
        "warnings": [*report.warnings, *failure],
        "elapsed_ms": round(report.elapsed_ms, 1),
    }


def links_json(found: DocumentLinks) -> JsonObject:
    """Return what a document is linked with, its fields in the order of :class:`DocumentLinks`."""
    return {
        **_shallow(found),
        "links": [_shallow(link) for link in found.links],
        "backlinks": [_shallow(link) for link in found.backlinks],
        "supersedes": list(found.supersedes),
        "superseded_by": list(found.superseded_by),
    }


def collection_json(collection: Collection) -> JsonObject:
    """Return what is known of a collection without looking at its documents."""
    return {
        "name": collection.name,
        "description": collection.description,
        "source": str(collection.source),
        "include": list(collection.source.include),
        "exclude": list(collection.source.exclude),
        "enabled": collection.enabled,
        "last_indexed": iso_time(collection.last_indexed_ms),
        "revision": collection.revision or None,
        "preset": collection.preset or None,
        "chunker": collection.chunking.strategy,
    }


def status_json(status: WorkspaceStatus) -> JsonObject:
    """Return the state of a database and its collections."""
    return {
        "database": status.database,
        "size_bytes": status.size_bytes,
        "model": status.model,
        "collections": [_collection_status_json(each) for each in status.collections],
    }


def revision_line(collection: Collection) -> str:
    """Say which commit was imported; empty when there is none."""
    return f"{collection.revision[:_REVISION_CHARS]} of {collection.source}" if collection.revision else ""


def change_line(status: CollectionStatus) -> str:
    """Say how far the change to another model is; empty when there is none."""
    change = status.change
    if change is None:
        return ""
    done = change.chunks - change.pending_chunks
    return f"changing to {change.model}: {done:,} of {change.chunks:,} chunks"


def tags_json(tags: Sequence[TagCount]) -> list[JsonObject]:
    """Return tags in the order given."""
    return [_shallow(tag) for tag in tags]


def findings_json(findings: Sequence[Finding]) -> list[JsonObject]:
    """Return what ``doctor`` found, in the order given."""
    return [_shallow(finding) for finding in findings]


def iso_time(moment_ms: int | None) -> str | None:
    """Write milliseconds since 1970 as ISO 8601 in UTC, to the second."""
    if moment_ms is None:
        return None
    return datetime.fromtimestamp(moment_ms // 1000, UTC).isoformat().replace("+00:00", "Z")


def moment(moment_ms: int | None) -> str:
    """Write milliseconds since 1970 for people: local time, to the minute; ``never`` without one."""
    if moment_ms is None:
        return "never"
    return f"{datetime.fromtimestamp(moment_ms // 1000).astimezone():%Y-%m-%d %H:%M}"


def trail(hit: SearchHit) -> str:
    """Return ``title › heading › heading``; a first heading that is the title is not said twice."""
    headings = hit.heading_path[1:] if hit.heading_path[:1] == (hit.title,) else hit.heading_path
    return " › ".join((hit.title, *headings))


def versions_line(hit: SearchHit) -> str:
    """Say which older versions the document of a hit supersedes, and what supersedes it; else empty."""
    parts = (("supersedes", hit.supersedes), ("superseded by", hit.superseded_by))
    return "; ".join(f"{words} {', '.join(paths)}" for words, paths in parts if paths)


def hits_markdown(result: SearchResult) -> str:
    """Return hits as a Markdown list of links, relative to the collection's folder; empty without hits."""
    return "".join(f"{line}\n" for hit in result.hits for line in _hit_markdown(hit))


def confidence_line(confidence: Confidence) -> str:
    """Say for people how sure an answer is."""
    match confidence:
        case Confidence.HIGH | Confidence.MEDIUM:
            return f"confidence: {confidence.value}"
        case Confidence.LOW:
            return "confidence: low; these passages may not answer the question"
        case Confidence.NONE:
            return "confidence: none; these passages probably do not answer the question"
        case _:
            assert_never(confidence)


def hit_paths(result: SearchResult) -> list[str]:
    """Return the paths of an answer, best first, each once."""
    return list(dict.fromkeys(hit.path for hit in result.hits))


def import_summary(report: ImportReport) -> str:
    """Return two lines for people, and one about a change of the model that was completed."""
    changes = [
        f"{count:,} {word}"
        for word, count in (
            ("added", report.added),
            ("updated", report.updated),
            ("moved", report.moved),
            ("deleted", report.deleted),
            ("unchanged", report.unchanged),
            ("failed", report.failed),
            ("excluded", report.excluded),
        )
        if count
    ]
    changed = f"\n{report.collection} uses {report.new_model} from now on" if report.new_model else ""
    return (
        f"{report.collection}: {', '.join(changes) or 'nothing to do'}\n"
        f"{report.total_documents:,} documents, {report.total_chunks:,} chunks: "
        f"{report.embedded_chunks:,} embedded, {report.cached_chunks:,} from cache, "
        f"{report.pending_chunks:,} pending, in {report.elapsed_ms / 1000:.1f} s{changed}"
    )


def embedded_so_far(report: ImportReport) -> str:
    """Say how much of a collection is found by meaning after an import that could not make all vectors."""
    done = report.total_chunks - report.pending_chunks
    return f"{done:,} of {report.total_chunks:,} chunks are embedded and kept"


def _hit_markdown(hit: SearchHit) -> Iterator[str]:
    label = trail(hit).translate(_LABEL_ESCAPES)
    target = hit.path.translate(_TARGET_ESCAPES)
    yield f"- [{label}](<{target}#L{hit.start_line}>) ({hit.score:.2f})"
    if versions := versions_line(hit):
        yield f"  ({versions.translate(_LABEL_ESCAPES)})"
    yield from (f"  > {line}".rstrip() for line in without_gaps(hit.text).strip().splitlines())


def _collection_status_json(status: CollectionStatus) -> JsonObject:
    check = status.check
    return {
        **collection_json(status.collection),
        **_shallow(status.counts),
        "check": check
        and {
            "in_sync": check.in_sync,
            "new": list(check.new),
            "changed": list(check.changed),
            "moved": [{"from": old, "to": new} for old, new in check.moved],
            "deleted": list(check.deleted),
        },
        "check_error": status.check_error or None,
        "files": [_shallow(each) for each in status.files],
        "model": status.model,
        "change": None if status.change is None else _shallow(status.change),
        "warnings": list(status.warnings),
    }


def _shallow(value: Any) -> JsonObject:  # any dataclass of the model
    return {item.name: getattr(value, item.name) for item in fields(value)}
