"""Checks a query, and brings it into one form."""

from __future__ import annotations

from dataclasses import replace

from mdvec.errors import InvalidQueryError, UsageError
from mdvec.text.undecodable import spelled
from mdvec.types.query import Filters, SearchQuery

MAX_QUERY_CHARS = 10_000
MAX_LIMIT = 1_000
MAX_DEPTH = 3
_MAX_NS = 2**63 - 1  # times of files are kept in 64 bits


def clean(query: SearchQuery) -> tuple[SearchQuery, tuple[str, ...]]:
    """Check a query.

    Returns:
        The query in its canonical form, and warnings about what was changed.

    Raises:
        InvalidQueryError: If there is nothing to search for.
        UsageError: If a number is out of its range.
    """
    text = spelled(query.text).replace("\x00", " ").strip()
    if not text:
        msg = "the query is empty"
        raise InvalidQueryError(msg)
    warnings: tuple[str, ...] = ()
    if len(text) > MAX_QUERY_CHARS:
        warnings = (f"the query has {len(text):,} characters; only the first {MAX_QUERY_CHARS:,} are used",)
        text = text[:MAX_QUERY_CHARS]
    _check_range("limit", query.limit, 1, MAX_LIMIT)
    _check_range("per_document", query.per_document, 1, MAX_LIMIT)
    if query.max_tokens is not None:
        _check_range("max_tokens", query.max_tokens, 1, None)
    if query.threshold is not None and not -1.0 <= query.threshold <= 1.0:
        msg = f"threshold is a cosine similarity from -1 to 1, not {query.threshold}"
        raise UsageError(msg)
    since_ns, until_ns = query.filters.updated_since_ns, query.filters.updated_until_ns
    if since_ns is not None:
        _check_range("updated_since_ns", since_ns, 0, _MAX_NS)
    if until_ns is not None:
        _check_range("updated_until_ns", until_ns, 0, _MAX_NS)
    if since_ns is not None and until_ns is not None and until_ns <= since_ns:
        msg = "the time until which documents were updated is not after the one since which they were"
        raise UsageError(msg, hint="Give the earlier time to updated-since.")
    for depth in query.filters.depths:
        _check_range("depth", depth, 0, MAX_DEPTH)
    return replace(query, text=text, filters=_clean_filters(query.filters)), warnings


def _check_range(name: str, value: int, least: int, most: int | None) -> None:
    if value < least or (most is not None and value > most):
        span = f"{least} to {most:,}" if most is not None else f"{least} or more"
        msg = f"{name} is a number from {span}, not {value:,}"
        raise UsageError(msg)


def _clean_filters(filters: Filters) -> Filters:
    tags = tuple(spelled(tag).strip().lstrip("#").strip("/") for tag in filters.tags)
    if any(not tag for tag in tags):
        msg = "a tag to filter by is empty"
        raise UsageError(msg)
    return replace(
        filters,
        tags=tags,
        path=spelled(filters.path or "") or None,
        # As in SQL, where the wildcard is written.
        alias_prefix=spelled(filters.alias_prefix or "").removesuffix("%") or None,
        linked_to=spelled(filters.linked_to or "").strip() or None,
    )
