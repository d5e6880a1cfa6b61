"""The filters of a query as SQL, the same for every store that has tables.

Every piece is written with question marks, as for SQLite.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from mdvec.stores.columns import LabelKind, fold_label, prefix_end
from mdvec.text.properties import as_number, fold_property, is_date, is_year
from mdvec.types.query import Comparison, Filters, PropertyCondition, TagMatch, Where


class Sql(Struct, frozen=True):
    """A piece of SQL with the values of its question marks."""

    text: str
    arguments: tuple[Any, ...] = ()


def covers_whole_collections(where: Where) -> bool:
    """Return True if nothing restricts the chunks but their collections."""
    return where == Where(where.collections)


def filter_conditions(filters: Filters, *, date: str, labels: str = "labels l") -> Iterator[Sql]:
    """Yield the conditions of filters on a document ``d``, except for its path.

    Args:
        filters: The filters.
        date: SQL that is true if ``p.value`` begins with a year and a month (:func:`is_date`).
        labels: The table of labels, as ``l``.
    """
    if filters.tags:
        tags = [tag_conditions(tag) for tag in filters.tags]
        groups = [[part for tag in tags for part in tag]] if filters.tag_match is TagMatch.ANY else tags
        yield from (_has_label(group, labels) for group in groups)
    if filters.alias_prefix is not None:
        yield _has_label([alias_condition(filters.alias_prefix)], labels)
    if filters.clean_only:
        yield Sql("d.dirty_since_ms IS NULL")
    yield from (_property_condition(each, date) for each in filters.properties)
    if filters.updated_since_ns is not None:
        yield Sql("coalesce(d.updated_ns, d.mtime_ns) >= ?", (filters.updated_since_ns,))
    if filters.updated_until_ns is not None:
        yield Sql("coalesce(d.updated_ns, d.mtime_ns) < ?", (filters.updated_until_ns,))


def tag_conditions(tag: str) -> list[Sql]:
    """Return the conditions on a label ``l`` for a tag and for the tags below it."""
    folded = fold_label(tag)
    below = starts_with("l.folded", f"{folded}/")
    return [
        Sql("l.kind = ? AND l.folded = ?", (LabelKind.TAG.value, folded)),
        Sql(f"l.kind = ? AND {below.text}", (LabelKind.TAG.value, *below.arguments)),
    ]


def alias_condition(prefix: str) -> Sql:
    """Return the condition on a label ``l`` for the aliases that start with a prefix."""
    names = starts_with("l.folded", fold_label(prefix))
    return Sql(f"l.kind = ? AND {names.text}", (LabelKind.ALIAS.value, *names.arguments))


def starts_with(column: str, prefix: str) -> Sql:
    """Return the condition that a text, ordered by code point, starts with a prefix."""
    end = prefix_end(prefix)
    if end is None:
        return Sql(f"{column} >= ?", (prefix,))
    return Sql(f"({column} >= ? AND {column} < ?)", (prefix, end))


def all_of(parts: Iterable[Sql]) -> Sql:
    """Return the condition that all conditions are met."""
    return _joined(" AND ", [*parts])


def any_of(parts: Iterable[Sql]) -> Sql:
    """Return the condition that one of several conditions is met; without any, it never is."""
    joined = _joined(" OR ", [Sql(f"({part.text})", part.arguments) for part in parts])
    return Sql(f"({joined.text or '1 = 0'})", joined.arguments)


def _joined(word: str, parts: Sequence[Sql]) -> Sql:
    return Sql(
        word.join(part.text for part in parts),
        tuple(argument for part in parts for argument in part.arguments),
    )


def _has_label(conditions: Iterable[Sql], labels: str) -> Sql:
    label = any_of(conditions)
    text = f"EXISTS(SELECT 1 FROM {labels} WHERE l.document_id = d.id AND {label.text})"
    return Sql(text, label.arguments)


def _property_condition(condition: PropertyCondition, date: str) -> Sql:
    """Return a condition on a property: numbers are compared as numbers, dates as text."""
    comparison, value = condition.comparison, fold_property(condition.value)
    number = as_number(value)
    tests: list[Sql] = []
    if comparison in (Comparison.EQUAL, Comparison.UNEQUAL):
        tests.append(Sql("p.value = ?", (value,)))
        if number is not None:
            tests.append(Sql("p.number = ?", (number,)))
    else:
        if number is not None:
            tests.append(Sql(f"p.number {comparison.value} ?", (number,)))
        if is_date(value) or is_year(value):  # as precise as the filter: all of May is at most 2026-05
            text = f"{date} AND substr(p.value, 1, ?) {comparison.value} ?"
            tests.append(Sql(text, (len(value), value)))
    met = any_of(tests)
    negation = "NOT " if comparison is Comparison.UNEQUAL else ""
    text = f"""{negation}EXISTS(SELECT 1 FROM properties p
        WHERE p.document_id = d.id AND p.key = ? AND {met.text})"""
    return Sql(text, (fold_property(condition.key), *met.arguments))
