"""What the tools take and what they answer, as JSON Schema. Agents read this: every word costs tokens."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from mdvec.types.hit import Confidence
from mdvec.types.query import Expansion, SearchMode, TagMatch

Schema = dict[str, Any]
"""A JSON Schema, 2020-12."""

MOST_HITS = 100
"""Most hits of one search: more than an agent can read."""

_TEXT: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_FLAG: Schema = {"type": "boolean"}


def search_input(*, limit: int) -> Schema:
    """Return what ``search`` takes.

    Args:
        limit: Hits when a client does not say, as configured.
    """
    return _input(
        {
            "query": _words(),
            "collections": _list(_words(), "default all"),
            "tags": _list(_words(), "a also finds a/b"),
            "tag_match": _choice(TagMatch),
            "path": _words("glob such as 2026/** or *.md"),
            "depth": {**_number("integer", 0, 3), "description": "heading level"},
            "limit": {**_number("integer", 1, MOST_HITS), "default": min(limit, MOST_HITS)},
            "mode": _choice(SearchMode),
            "threshold": {**_number("number", -1, 1), "description": "least cosine similarity"},
            "expand": _choice(Expansion, "text to return"),
            "max_tokens": {**_number("integer", 1), "description": "of all passages"},
        },
        required=["query"],
    )


def collection_search_input(*, limit: int) -> Schema:
    """Return what the tool of one collection takes.

    Args:
        limit: Hits when a client does not say, as configured.
    """
    taken = search_input(limit=limit)["properties"]
    return _input({name: taken[name] for name in ("query", "limit")}, required=["query"])


def get_doc_input() -> Schema:
    """Return what ``get_doc`` takes."""
    return _input(
        {
            "path": _words("as hits show it"),
            "collection": _words(),
            "lines": _words("such as 10:40"),
            "section": _words("heading, instead of lines"),
        },
        required=["path"],
    )


def one_collection_input() -> Schema:
    """Return what ``list_tags`` and ``reindex`` take."""
    return _input({"collection": _words("default all")})


def no_input() -> Schema:
    """Return what a tool takes that takes nothing."""
    return _input({})


def search_output() -> Schema:
    """Return what a search answers."""
    hit = _output(
        {
            "collection": _TEXT,
            "path": _TEXT,
            "title": _TEXT,
            "heading_path": _list(_TEXT),
            "start_line": _COUNT,
            "end_line": _COUNT,
            "score": _NUMBER,
            "similarity": {"type": ["number", "null"]},
            "stale": _FLAG,
            "supersedes": _list(_TEXT),
            "text": _TEXT,
        }
    )
    return _output(
        {
            "hits": _list(hit),
            "mode": _choice(SearchMode),
            "confidence": _choice(Confidence),
            "total_chunks": _COUNT,
            "pending_chunks": _COUNT,
            "last_indexed": _MAYBE_TEXT,
            "warnings": _list(_TEXT),
            "hint": _MAYBE_TEXT,
        }
    )


def get_doc_output() -> Schema:
    """Return what ``get_doc`` answers."""
    return _output(
        {
            "collection": _TEXT,
            "path": _TEXT,
            "title": _TEXT,
            "tags": _list(_TEXT),
            "start_line": _COUNT,
            "end_line": _COUNT,
            "next_lines": _MAYBE_TEXT,
            "stale": _FLAG,
            "text": _TEXT,
        }
    )


def list_tags_output() -> Schema:
    """Return what ``list_tags`` answers."""
    return _output({"tags": _list(_output({"tag": _TEXT, "documents": _COUNT}))})


REINDEX_COUNTS = (
    "added",
    "updated",
    "moved",
    "deleted",
    "unchanged",
    "failed",
    "total_chunks",
    "pending_chunks",
)
"""What ``reindex`` counts, for each collection and in all."""

STATUS_COUNTS = ("documents", "failed", "excluded", "chunks", "pending_chunks")
"""What ``status`` counts, for each collection."""


def reindex_output() -> Schema:
    """Return what ``reindex`` answers."""
    each = _with_counts({"collection": _TEXT, "error": _MAYBE_TEXT}, REINDEX_COUNTS)
    counts = dict.fromkeys(REINDEX_COUNTS, _COUNT)
    return _output({**counts, "collections": _list(each), "warnings": _list(_TEXT)})


def status_output() -> Schema:
    """Return what ``status`` answers."""
    each = _with_counts(
        {"name": _TEXT, "description": _TEXT, "enabled": _FLAG, "last_indexed": _MAYBE_TEXT}, STATUS_COUNTS
    )
    return _output({"database": _TEXT, "size_bytes": _COUNT, "model": _TEXT, "collections": _list(each)})


def _with_counts(properties: Schema, counts: Sequence[str]) -> Schema:
    """Describe an object with whole numbers besides, whose names say enough."""
    size = len(properties) + len(counts)
    return {**_input(properties), "additionalProperties": _COUNT, "minProperties": size}


def _input(properties: Schema, *, required: Sequence[str] = ()) -> Schema:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _output(properties: Schema) -> Schema:
    """Describe an object that has all these fields and no other.

    With nothing else allowed, their number says that all are there, and takes fewer tokens than
    ``required``, which would name each once more.
    """
    return {**_input(properties), "minProperties": len(properties)}


def _words(description: str = "") -> Schema:
    return _described(_TEXT, description)


def _list(items: Schema, description: str = "") -> Schema:
    return _described({"type": "array", "items": items}, description)


def _choice(values: type[StrEnum], description: str = "") -> Schema:
    return _described({"enum": [value.value for value in values]}, description)


def _number(kind: str, least: int, most: int | None = None) -> Schema:
    return {"type": kind, "minimum": least, **({} if most is None else {"maximum": most})}


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description else schema
