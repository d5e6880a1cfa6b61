"""Which chunks and documents a ``Where`` covers; an adapter adds the SQL that differs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from msgspec.structs import replace

from mdvec.errors import NotAllowedError
from mdvec.stores.conditions import Sql, all_of, filter_conditions
from mdvec.stores.records import FEW_CHUNKS
from mdvec.stores.tables import Tables
from mdvec.stores.vectors.index import VectorKind
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import Where

BY_PLACE = "coalesce(d.updated_ns, d.mtime_ns) DESC, k.name, d.path"
"""The order of documents ``d`` in collections ``k``: the last updated first, then by collection and path."""

# More equal ones keep the order of their ids: looking up their places would take longer than the search.
_MOST_TIED = FEW_CHUNKS

_OWNERS = {
    VectorKind.TEXT: """SELECT c.id FROM chunks c CROSS JOIN documents d ON d.id = c.document_id
        CROSS JOIN collections k ON k.id = d.collection_id""",
    VectorKind.NAME: "SELECT d.id FROM documents d CROSS JOIN collections k ON k.id = d.collection_id",
}
Owner = TypeVar("Owner", bound=int)


class WhereTables(ABC):
    """Finds, once for a version, what a ``Where`` covers.

    Args:
        tables: The transaction.
    """

    date_condition: ClassVar[str]
    """True if ``p.value`` begins with a year and a month."""

    labels_table: ClassVar[str] = "labels l"
    """The table of labels, as ``l``, where those of one document are read."""

    unindexed: ClassVar[str] = ""
    """Stands before a column that must not choose an index."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @abstractmethod
    def path_condition(self, glob: str, collections: tuple[CollectionId, ...]) -> Sql:
        """Return the condition that the path of a document ``d`` matches a glob."""

    @abstractmethod
    def all_chunks(self) -> int:
        """Return the number of chunks in all collections."""

    @abstractmethod
    def hold_all_chunks(self, collections: tuple[CollectionId, ...]) -> bool:
        """Return True if no other collection has a chunk."""

    @abstractmethod
    def chunks_inside(self, where: Where, most: int) -> list[tuple[ChunkId, DocumentId]]:
        """Return at most some of the chunks inside, with their documents."""

    @abstractmethod
    def keep_chunks(self, where: Where, ids: Iterable[int]) -> set[int]:
        """Return those of the chunks that are inside."""

    @abstractmethod
    def keep_documents(self, where: Where, ids: Iterable[int]) -> set[int]:
        """Return those of the documents that have a chunk inside."""

    def readable(self, collections: tuple[CollectionId, ...]) -> tuple[CollectionId, ...]:
        """Return those of the collections that may be read."""
        if self._tables.readable is None:
            return collections
        return tuple(each for each in collections if each in self.all_readable())

    def all_readable(self) -> tuple[CollectionId, ...]:
        """Return the collections that may be read, where those are not all."""
        condition = self._tables.named("name", self._tables.readable or ())
        sql = f"SELECT id FROM collections WHERE {condition.text}"  # noqa: S608 - a column of ours
        return self._tables.memorized(
            "readable", lambda: tuple(row[0] for row in self._tables.rows(sql, *condition.arguments))
        )

    def require_everything(self) -> None:
        """Check that all collections may be read, of which vectors without an owner show something.

        Raises:
            NotAllowedError: If not.
        """
        if self._tables.readable is not None:
            raise NotAllowedError

    def covers_everything(self, where: Where) -> bool:
        """Return True if every chunk is inside, apart from hidden ones and those of hidden documents."""
        return self._tables.memorized(("everything", where), lambda: self._covers_everything(where))

    def few_inside(self, where: Where) -> tuple[frozenset[ChunkId], frozenset[DocumentId]] | None:
        """Return the chunks inside and their documents if they are few; None if not, or for all chunks."""
        if self.covers_everything(where):
            return None
        return self._tables.memorized(("few", where), lambda: self._few_inside(where))

    def holds_few(self, where: Where) -> bool:
        """Return True if at most ``FEW_CHUNKS`` chunks are inside."""
        if self.covers_everything(where):
            return self.all_chunks() <= FEW_CHUNKS
        return self.few_inside(where) is not None

    def owners_inside(self, kind: VectorKind, where: Where, ids: Sequence[int]) -> set[int]:
        """Return the chunks (for texts) or documents (for names) among ``ids`` that are inside ``where``."""
        return self.keep_chunks(where, ids) if kind is VectorKind.TEXT else self.keep_documents(where, ids)

    def first_by_place(
        self, kind: VectorKind, found: Sequence[tuple[Owner, float]], limit: int
    ) -> list[tuple[Owner, float]]:
        """Return the first of some chunks (for texts) or documents (for names), equal ones in order of place.

        Ids depend on the order of imports, and equal documents should give equal answers.

        Args:
            kind: Of what.
            found: With their values, best first, ties in order of id; all that equal the last one wanted.
            limit: How many are wanted.
        """
        least = found[min(limit, len(found)) - 1][1] if found else 0.0
        wanted = [each for each in found if each[1] >= least]
        times = Counter(value for _, value in wanted)
        tied = [owner for owner, value in wanted if times[value] > 1]
        if not tied or len(tied) > _MOST_TIED:
            return wanted[:limit]
        ranks = {owner: rank for rank, owner in enumerate(self._by_place(kind, tied))}
        return sorted(wanted, key=lambda each: (-each[1], ranks.get(each[0], 0)))[:limit]

    def _by_place(self, kind: VectorKind, owners: Iterable[int]) -> list[int]:
        listed = self._tables.listed("c.id" if kind is VectorKind.TEXT else "d.id", owners)
        order = f"{BY_PLACE}, c.ordinal" if kind is VectorKind.TEXT else BY_PLACE
        sql = f"{_OWNERS[kind]} WHERE {listed.text} ORDER BY {order}"
        return [row[0] for row in self._tables.rows(sql, *listed.arguments)]

    def documents(self, where: Where) -> Sql:
        """Return the conditions on a document ``d``; one of its chunks has to be inside, too."""
        readable = self.readable(where.collections)
        parts = [self._tables.one_of("d.collection_id", readable), *self.document_conditions(where)]
        if own := self._own_conditions(where):
            chunk = all_of(own)
            text = f"EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id AND {chunk.text})"  # noqa: S608
            parts.append(Sql(text, chunk.arguments))
        return all_of(parts)

    def chunks(self, where: Where) -> Sql:
        """Return the conditions on a chunk ``c`` and on its document ``d``."""
        readable = self.readable(where.collections)
        in_collections = self._tables.one_of(f"{self.unindexed}c.collection_id", readable)
        return all_of([in_collections, *self.document_conditions(where), *self._own_conditions(where)])

    def document_conditions(self, where: Where) -> list[Sql]:
        """Return the conditions on a document ``d`` itself, but for its collection."""
        filters = where.filters
        conditions: list[Sql] = []
        if where.only is not None:
            conditions.append(self._tables.listed("d.id", where.only))
        if where.hidden:
            conditions.append(self._tables.unlisted("d.id", where.hidden))
        conditions += filter_conditions(filters, date=self.date_condition, labels=self.labels_table)
        if filters.path is not None:
            conditions.append(self.path_condition(filters.path, where.collections))
        return conditions

    def _own_conditions(self, where: Where) -> list[Sql]:
        """Return the conditions on a chunk ``c`` itself, but for its collection."""
        key = f"{self.unindexed}c.id"
        conditions: list[Sql] = []
        if where.filters.depths:
            conditions.append(self._tables.one_of(f"{self.unindexed}c.depth", where.filters.depths))
        if where.chunks is not None:
            conditions.append(self._tables.listed(key, where.chunks))
        if where.hidden_chunks:
            conditions.append(self._tables.unlisted(key, where.hidden_chunks))
        return conditions

    def _covers_everything(self, where: Where) -> bool:
        shown = replace(where, hidden=frozenset(), hidden_chunks=frozenset())
        if self.document_conditions(shown) or self._own_conditions(shown):
            return False
        return self.hold_all_chunks(self.readable(where.collections))

    def _few_inside(self, where: Where) -> tuple[frozenset[ChunkId], frozenset[DocumentId]] | None:
        rows = self.chunks_inside(where, FEW_CHUNKS + 1)  # a few milliseconds
        if len(rows) > FEW_CHUNKS:
            return None
        return frozenset(row[0] for row in rows), frozenset(row[1] for row in rows)


class Part:
    """A part of a transaction.

    Args:
        tables: The transaction.
        where: Which chunks and documents a ``Where`` covers.
    """

    def __init__(self, tables: Tables, where: WhereTables) -> None:
        self._tables = tables
        self._where = where
