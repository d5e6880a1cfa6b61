"""The data of the tools' answers, as their output schemas say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdvec.interfaces import present
from mdvec.interfaces.mcp.schemas import REINDEX_COUNTS, STATUS_COUNTS
from mdvec.types.hit import SearchResult
from mdvec.types.report import ImportReport, Passage, TagCount, WorkspaceStatus

_HIT_FIELDS = (
    "collection",
    "path",
    "title",
    "heading_path",
    "start_line",
    "end_line",
    "score",
    "similarity",
    "stale",
    "supersedes",
    "text",
)
_RESULT_FIELDS = (
    "mode",
    "confidence",
    "total_chunks",
    "pending_chunks",
    "last_indexed",
    "warnings",
    "hint",
)


def search_data(result: SearchResult) -> present.JsonObject:
    """Return what a search found: what an agent may need of ``mdvec search --format json``."""
    everything = present.search_json(result)
    hits = [_picked(present.hit_json(hit), _HIT_FIELDS) for hit in result.hits]
    return {"hits": hits, **_picked(everything, _RESULT_FIELDS)}


def passage_data(passage: Passage, next_lines: str | None) -> present.JsonObject:
    """Return a part of a document.

    Args:
        passage: The part.
        next_lines: The lines to ask for next; None when nothing was left out.
    """
    return {
        "collection": passage.collection,
        "path": passage.path,
        "title": passage.title,
        "tags": list(passage.tags),
        "start_line": passage.start_line,
        "end_line": passage.end_line,
        "next_lines": next_lines,
        "stale": passage.stale,
        "text": passage.text,
    }


def tags_data(tags: Sequence[TagCount]) -> present.JsonObject:
    """Return tags in the order given."""
    return {"tags": present.tags_json(tags)}


def reindex_data(reports: Sequence[ImportReport], errors: Sequence[tuple[str, str]]) -> present.JsonObject:
    """Return what was done, in all and to each collection.

    Args:
        reports: Of the collections whose documents were read.
        errors: Collections that are not up to date, each with the reason; nothing is counted for those
            without a report.
    """
    counts = {each.collection: _picked(present.import_json(each), REINDEX_COUNTS) for each in reports}
    reasons = dict(errors)
    nothing = dict.fromkeys(REINDEX_COUNTS, 0)
    return {
        **{name: sum(getattr(each, name) for each in reports) for name in REINDEX_COUNTS},
        "collections": [
            {"collection": name, "error": reasons.get(name), **counts.get(name, nothing)}
            for name in {**counts, **reasons}
        ],
        "warnings": [f"{each.collection}: {warning}" for each in reports for warning in each.warnings],
    }


def status_data(status: WorkspaceStatus) -> present.JsonObject:
    """Return the state of all collections."""
    return {
        "database": status.database,
        "size_bytes": status.size_bytes,
        "model": status.model,
        "collections": [
            {
                "name": each.collection.name,
                "description": each.collection.description,
                "enabled": each.collection.enabled,
                "last_indexed": present.iso_time(each.collection.last_indexed_ms),
                **{name: getattr(each.counts, name) for name in STATUS_COUNTS},
            }
            for each in status.collections
        ],
    }


def _picked(everything: Mapping[str, object], names: Sequence[str]) -> present.JsonObject:
    return {name: everything[name] for name in names}
