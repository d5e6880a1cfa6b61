"""Checks a query and normalises it."""

from __future__ import annotations

import re
from unicodedata import category

from msgspec.structs import replace

from mdvec.errors import InvalidQueryError, UsageError
from mdvec.text.properties import as_number, fold_property, is_date
from mdvec.text.undecodable import spelled
from mdvec.types.query import Comparison, Expansion, Filters, PropertyCondition, SearchQuery

MAX_QUERIES = 5
MAX_QUERY_CHARS = 10_000
MAX_LIMIT = 1_000
MAX_DEPTH = 3
_MAX_SHOWN_CHARS = 40
MAX_TAGS = 100  # each adds to the SQL, whose size is limited
# Occurs in globs and file names, and rarely in the names of folders.
_GLOB_OR_SUFFIX = re.compile(r"[*?{}]|\.\w+$")
_MAX_NS = 2**63 - 1  # file times are stored in 64 bits


def clean(query: SearchQuery) -> tuple[SearchQuery, tuple[str, ...]]:
    """Check a query.

    Returns:
        The normalised query, and warnings about changes.

    Raises:
        InvalidQueryError: If there is nothing to search for.
        UsageError: If a number is out of its range.
    """
    if len(query.queries) >= MAX_QUERIES:
        msg = f"a search has at most {MAX_QUERIES} queries, not {len(query.queries) + 1:,}"
        raise UsageError(msg, hint="Search for the rest in another call.")
    given = [spelled(each).replace("\x00", " ").strip() for each in (query.text, *query.queries)]
    for each in given:
        if not each:
            msg = "the query is empty"
            raise InvalidQueryError(msg)
        if not any(category(char)[0] in "LNS" for char in each):  # letters, numbers, symbols such as emoji
            msg = f"the query has no words: {each[:_MAX_SHOWN_CHARS]}"
            raise InvalidQueryError(msg)
    text, *others = dict.fromkeys(each[:MAX_QUERY_CHARS] for each in given)
    warnings = tuple(
        f"the query has {len(each):,} characters; only the first {MAX_QUERY_CHARS:,} are used"
        for each in given
        if len(each) > MAX_QUERY_CHARS
    )
    _check_range("limit", query.limit, 1, MAX_LIMIT)
    _check_range("per_document", query.per_document, 1, MAX_LIMIT)
    _check_range("expand_tokens", query.expand_tokens, 1, None)
    _check_range("max_tokens", query.max_tokens, 1, None)
    if query.threshold is not None and not -1.0 <= query.threshold <= 1.0:
        msg = f"threshold is a cosine similarity from -1 to 1, not {query.threshold}"
        raise UsageError(msg)
    # All passages of a document are the same when it is shown whole.
    per_document = 1 if query.expand is Expansion.DOCUMENT else query.per_document
    filters = clean_filters(query.filters)
    cleaned = replace(query, text=text, queries=tuple(others), filters=filters, per_document=per_document)
    return cleaned, warnings


def _check_range(name: str, value: int | None, least: int, most: int | None) -> None:
    if value is None:
        return
    if value < least or (most is not None and value > most):
        span = f"{least} to {most:,}" if most is not None else f"{least} or more"
        msg = f"{name} is a number from {span}, not {value:,}"
        raise UsageError(msg)


def folder_or_glob(path: str) -> str:
    """Return the pattern for everything below a folder if a path names one; else the path itself.

    A name without a slash matches a folder at any place, as the name of a file does.
    """
    folders, _, name = path.rpartition("/")
    if not name or _GLOB_OR_SUFFIX.search(name):
        return path
    return f"{path}/" if folders or path.startswith("/") else f"**/{path}/"


def _check_condition(condition: PropertyCondition) -> None:
    value = fold_property(condition.value)
    if not fold_property(condition.key):
        msg = "a condition names no property"
        raise UsageError(msg, hint="Write it as author='Ridley Scott' or rating>=4.")
    orders = condition.comparison not in (Comparison.EQUAL, Comparison.UNEQUAL)
    if orders and as_number(value) is None and not is_date(value):
        written = f"{condition.key}{condition.comparison.value}{condition.value}"
        msg = f"{written}: only numbers and dates have an order"
        raise UsageError(msg, hint="Write a number, or a date such as 2026-05-01; or compare with = or !=.")


def clean_filters(filters: Filters) -> Filters:
    """Return filters in their normal form.

    Raises:
        UsageError: If nothing can meet one of them.
    """
    since_ns, until_ns = filters.updated_since_ns, filters.updated_until_ns
    _check_range("updated_since_ns", since_ns, 0, _MAX_NS)
    _check_range("updated_until_ns", until_ns, 0, _MAX_NS)
    if since_ns is not None and until_ns is not None and until_ns <= since_ns:
        msg = "updated-until is not later than updated-since"
        raise UsageError(msg, hint="Give the earlier time to updated-since.")
    for condition in filters.properties:
        _check_condition(condition)
    for depth in filters.depths:
        _check_range("depth", depth, 0, MAX_DEPTH)
    tags = tuple(spelled(tag).strip().lstrip("#").strip("/") for tag in filters.tags)
    if len(tags) > MAX_TAGS:
        msg = f"a search filters by at most {MAX_TAGS} tags, not {len(tags):,}"
        raise UsageError(msg, hint="Use a parent tag: a also finds a/b.")
    if any(not tag for tag in tags):
        msg = "a tag to filter by is empty"
        raise UsageError(msg)
    return replace(
        filters,
        tags=tags,
        path=folder_or_glob(spelled(filters.path or "")) or None,
        # Some clients write the wildcard of SQL.
        alias_prefix=spelled(filters.alias_prefix or "").removesuffix("%") or None,
        linked_to=spelled(filters.linked_to or "").strip() or None,
    )
