"""Which chunks and documents a ``Where`` covers, as SQL; an adapter adds what differs.

The chunks are listed when they are few; otherwise those that a search proposes are tested.

Every piece is written with question marks, as for SQLite.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, TypeVar

from msgspec.structs import replace

from mdvec.stores.records import FEW_CHUNKS, VectorKind
from mdvec.stores.tables import Part, Sql, all_of, any_of, memorized, starts_with
from mdvec.text.folding import fold_characters
from mdvec.text.properties import as_number, fold_property, is_date, is_year
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import ANY_VALUE, Comparison, PropertyCondition, TagMatch, Where

IdFilter = Callable[[Iterable[int]], set[int]]
"""Filters ids: returns the ones that may be found."""


def covers_whole_collections(where: Where) -> bool:
    """Return True if nothing restricts the chunks but their collections."""
    # The documents of the last three are in ``only`` and ``hidden``; without tags, none has to match.
    filters = replace(
        where.filters, tag_match=TagMatch.ANY, linked_to=None, links=None, include_superseded=False
    )
    return replace(where, filters=filters) == Where(where.collections)


def tag_conditions(tag: str) -> list[Sql]:
    """Return the conditions on a label ``l`` for a tag and for the tags below it."""
    folded = fold_characters(tag)
    below = starts_with("l.folded", f"{folded}/")
    return [
        Sql("l.kind = 'tag' AND l.folded = ?", (folded,)),
        Sql(f"l.kind = 'tag' AND {below.text}", below.arguments),
    ]


def alias_condition(prefix: str) -> Sql:
    """Return the condition on a label ``l`` for the aliases that start with a prefix."""
    names = starts_with("l.folded", fold_characters(prefix))
    return Sql(f"l.kind = 'alias' AND {names.text}", names.arguments)


BY_PLACE = "coalesce(d.updated_ns, d.mtime_ns) DESC, k.name, d.path"
"""The order of documents ``d`` in collections ``k``: the last updated first, then by collection and path."""

# A document without any date was not updated in any span of time.
_UPDATED = "coalesce(d.updated_ns, nullif(d.mtime_ns, 0))"

# More equal ones keep the order of their ids: looking up their places would take longer than the search.
_MOST_TIED = FEW_CHUNKS

# The id of an owner, the tables of owners and of their documents, and the order of place.
_CHUNKS = "chunks c CROSS JOIN documents d ON d.id = c.document_id"
_OWNERS = {
    VectorKind.TEXT: ("c.id", _CHUNKS, f"{BY_PLACE}, c.ordinal"),
    VectorKind.NAME: ("d.id", "documents d", BY_PLACE),
}
Owner = TypeVar("Owner", bound=int)


class WhereTables(Part, ABC):
    """Finds, once for a version, what a ``Where`` covers.

    Args:
        tables: The transaction.
    """

    date_condition: ClassVar[str]
    """SQL that is true if ``p.value`` begins with a year and a month (:func:`is_date`)."""

    labels_table: ClassVar[str] = "labels l"
    """The table of labels, as ``l``, where the labels of one document are read."""

    unindexed: ClassVar[str] = ""
    """Stands before a column that must not choose an index."""

    count_chunks: ClassVar[str]
    """Returns the number of chunks."""

    @abstractmethod
    def path_condition(self, glob: str, collections: tuple[CollectionId, ...]) -> Sql:
        """Return the condition that the path of a document ``d`` matches a glob."""

    @abstractmethod
    def source(self, where: Where) -> Sql:
        """Return joins of chunks ``c``, and a condition, that reach at least every chunk inside.

        Documents are joined as ``d`` where a condition is about one.
        """

    @memorized
    def all_chunks(self) -> int:
        """Return the number of chunks in all collections."""
        return int(self.tables.rows(self.count_chunks)[0][0])

    def chunk_filter(self, where: Where) -> IdFilter:
        """Return a filter for chunks: it keeps the ones inside."""
        documents = (
            "CROSS JOIN documents d ON d.id = c.document_id" if self.document_conditions(where) else ""
        )
        return self._filter(f"CROSS JOIN chunks c ON c.id = j.value {documents}", self.chunks(where))

    def document_filter(self, where: Where) -> IdFilter:
        """Return a filter for documents: it keeps the ones with a chunk inside."""
        chunk = Sql("EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id)")
        return self._filter("CROSS JOIN documents d ON d.id = j.value", all_of(chunk, self.documents(where)))

    def _filter(self, joins: str, condition: Sql) -> IdFilter:
        sql = f"SELECT j.value FROM {self.tables.each_id} {joins} WHERE {condition.text}"

        def keep(ids: Iterable[int]) -> set[int]:
            return {row[0] for row in self.tables.rows(sql, self.tables.ids(ids), *condition.arguments)}

        return keep

    def readable(self, collections: tuple[CollectionId, ...]) -> tuple[CollectionId, ...]:
        """Return the collections among these that may be read."""
        if self.tables.readable is None:
            return collections
        return tuple(each for each in collections if each in self.all_readable())

    @memorized
    def all_readable(self) -> tuple[CollectionId, ...]:
        """Return the collections that may be read, where those are not all."""
        condition = self.tables.named("name", self.tables.readable or ())
        sql = f"SELECT id FROM collections WHERE {condition.text}"
        return tuple(row[0] for row in self.tables.rows(sql, *condition.arguments))

    @memorized
    def covers_everything(self, where: Where) -> bool:
        """Return True if every chunk is inside, except hidden ones and the chunks of hidden documents."""
        shown = replace(where, hidden=frozenset(), hidden_chunks=frozenset())
        if not covers_whole_collections(shown):
            return False
        inside = self.tables.one_of("k.id", self.readable(where.collections))
        others = f"""SELECT 1 FROM collections k WHERE NOT {inside.text}
            AND EXISTS(SELECT 1 FROM chunks c WHERE c.collection_id = k.id) LIMIT 1"""
        return not self.tables.rows(others, *inside.arguments)

    @memorized
    def few_inside(self, where: Where) -> tuple[frozenset[ChunkId], frozenset[DocumentId]] | None:
        """Return the chunks inside and their documents if they are few; None if not, or for all chunks."""
        if self.covers_everything(where):
            return None
        source, condition = self.source(where), self.chunks(where)
        sql = f"SELECT c.id, c.document_id FROM {source.text} AND {condition.text} LIMIT ?"
        # A few milliseconds.
        rows = self.tables.rows(sql, *source.arguments, *condition.arguments, FEW_CHUNKS + 1)
        if len(rows) > FEW_CHUNKS:
            return None
        return frozenset(row[0] for row in rows), frozenset(row[1] for row in rows)

    def first_by_place(
        self, kind: VectorKind, found: Sequence[tuple[Owner, float]], limit: int
    ) -> list[tuple[Owner, float]]:
        """Return the first of some chunks (for texts) or documents (for names), equal ones in order of place.

        Ids depend on the order of imports, and equal documents should give equal answers.

        Args:
            kind: Texts for chunks, names for documents.
            found: With their values, best first, ties in order of id; all that equal the last one wanted.
            limit: How many are wanted.
        """
        least = found[min(limit, len(found)) - 1][1] if found else 0.0
        wanted = [each for each in found if each[1] >= least]
        times = Counter(value for _, value in wanted)
        tied = [owner for owner, value in wanted if times[value] > 1]
        if not tied or len(tied) > _MOST_TIED:
            return wanted[:limit]
        key, owners, order = _OWNERS[kind]
        listed = self.tables.listed(key, tied)
        sql = f"""SELECT {key} FROM {owners} CROSS JOIN collections k ON k.id = d.collection_id
            WHERE {listed.text} ORDER BY {order}"""
        rows = self.tables.rows(sql, *listed.arguments)
        ranks = {owner: rank for rank, (owner,) in enumerate(rows)}
        return sorted(wanted, key=lambda each: (-each[1], ranks.get(each[0], 0)))[:limit]

    def documents(self, where: Where) -> Sql:
        """Return the conditions on a document ``d``; one of its chunks has to be inside, too."""
        readable = self.readable(where.collections)
        parts = [self.tables.one_of("d.collection_id", readable), *self.document_conditions(where)]
        if own := self._own_conditions(where):
            chunk = all_of(*own)
            text = f"EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id AND {chunk.text})"
            parts.append(Sql(text, chunk.arguments))
        return all_of(*parts)

    def chunks(self, where: Where) -> Sql:
        """Return the conditions on a chunk ``c`` and on its document ``d``."""
        readable = self.readable(where.collections)
        in_collections = self.tables.one_of(f"{self.unindexed}c.collection_id", readable)
        return all_of(in_collections, *self.document_conditions(where), *self._own_conditions(where))

    def document_conditions(self, where: Where) -> list[Sql]:
        """Return the conditions on a document ``d`` itself, but for its collection."""
        filters = where.filters
        conditions: list[Sql] = []
        if where.only is not None:
            conditions.append(self.tables.listed("d.id", where.only))
        if where.hidden:
            conditions.append(self.tables.unlisted("d.id", where.hidden))
        if filters.tags:
            tags = [tag_conditions(tag) for tag in filters.tags]
            groups = [[part for tag in tags for part in tag]] if filters.tag_match is TagMatch.ANY else tags
            conditions += [_has_label(group, self.labels_table) for group in groups]
        if filters.alias_prefix is not None:
            conditions.append(_has_label([alias_condition(filters.alias_prefix)], self.labels_table))
        if filters.clean_only:
            conditions.append(Sql("d.dirty_since_ms IS NULL"))
        conditions += [_property_condition(each, self.date_condition) for each in filters.properties]
        if filters.updated_since_ns is not None:
            conditions.append(Sql(f"{_UPDATED} >= ?", (filters.updated_since_ns,)))
        if filters.updated_until_ns is not None:
            conditions.append(Sql(f"{_UPDATED} < ?", (filters.updated_until_ns,)))
        if filters.path is not None:
            conditions.append(self.path_condition(filters.path, where.collections))
        return conditions

    def _own_conditions(self, where: Where) -> list[Sql]:
        """Return the conditions on a chunk ``c`` itself, but for its collection."""
        key = f"{self.unindexed}c.id"
        conditions: list[Sql] = []
        if where.filters.depths:
            conditions.append(self.tables.one_of(f"{self.unindexed}c.depth", where.filters.depths))
        if where.chunks is not None:
            conditions.append(self.tables.listed(key, where.chunks))
        if where.hidden_chunks:
            conditions.append(self.tables.unlisted(key, where.hidden_chunks))
        return conditions


class NarrowedPart(Part):
    """A part of a transaction that takes a ``Where``.

    Args:
        where: Finds which chunks and documents a ``Where`` covers in the transaction.
    """

    def __init__(self, where: WhereTables) -> None:
        super().__init__(where.tables)
        self._where = where


def _has_label(conditions: Sequence[Sql], labels: str) -> Sql:
    label = any_of(conditions)
    text = f"EXISTS(SELECT 1 FROM {labels} WHERE l.document_id = d.id AND {label.text})"
    return Sql(text, label.arguments)


def _property_condition(condition: PropertyCondition, date: str) -> Sql:
    """Return a condition on a property: numbers are compared as numbers, dates as text."""
    comparison, value = condition.comparison, fold_property(condition.value)
    number = as_number(value)
    tests: list[Sql] = []
    if comparison in (Comparison.EQUAL, Comparison.UNEQUAL):
        tests.append(Sql("p.value = ?", (value,)) if value != ANY_VALUE else Sql("1 = 1"))
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
