"""A ``Where`` as SQL: conditions on a chunk ``c`` and on its document ``d``.

PostgreSQL has statistics and chooses its joins itself. Globs are matched here, by the code of every other
store, among the paths of a version.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from mdvec.stores.conditions import Sql, all_of, covers_whole_collections, filter_conditions, starts_with
from mdvec.stores.postgres.connection import ids_text
from mdvec.stores.postgres.database import Reader
from mdvec.stores.records import FEW_CHUNKS
from mdvec.text.globs import compile_glob, literal_prefix
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Where

_DATE = "p.value ~ '^[0-9]{4}-[0-9]{2}'"


class WhereReader(Reader):
    """Looks once for a version which chunks a ``Where`` covers."""

    def covers_everything(self, where: Where) -> bool:
        """Return True if every chunk is inside, apart from hidden ones and those of hidden documents."""
        return self.memorized(("everything", where), lambda: self._covers_everything(where))

    def few_inside(self, where: Where) -> tuple[frozenset[ChunkId], frozenset[DocumentId]] | None:
        """Return the chunks inside and their documents where they are few, else None; None for all chunks."""
        if self.covers_everything(where):
            return None
        return self.memorized(("few", where), lambda: self._chunks_inside(where))

    def holds_few(self, where: Where) -> bool:
        """Return True if at most ``FEW_CHUNKS`` chunks are inside."""
        if self.covers_everything(where):
            return self.all_chunks() <= FEW_CHUNKS
        return self.few_inside(where) is not None

    def all_chunks(self) -> int:
        """Return the number of chunks in all collections."""
        return sum(self.chunks_by_collection().values())

    def chunks_by_collection(self) -> dict[int, int]:
        """Return the number of chunks of each collection, by its id."""
        return self.memorized("chunks", lambda: dict(self.rows("SELECT id, chunks FROM collections")))

    def keep_chunks(self, where: Where, ids: Iterable[int]) -> set[int]:
        """Return those of the chunks that are inside."""
        condition = self.chunk_condition(where)
        sql = f"""SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE c.id = ANY(?::bigint[]) AND {condition.text}"""
        return {key for (key,) in self.rows(sql, ids_text(ids), *condition.arguments)}

    def keep_documents(self, where: Where, ids: Iterable[int]) -> set[int]:
        """Return those of the documents that hold a chunk inside."""
        condition = self.document_condition(where)
        sql = f"""SELECT d.id FROM documents d WHERE d.id = ANY(?::bigint[]) AND {condition.text}
            AND EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id)"""
        return {key for (key,) in self.rows(sql, ids_text(ids), *condition.arguments)}

    def document_condition(self, where: Where) -> Sql:
        """Return the conditions on a document ``d``; one of its chunks has to be inside, too."""
        parts = [_one_of("d.collection_id", where.collections), *self._document_conditions(where)]
        own = _own_conditions(where)
        if own:
            chunk = all_of(own)
            text = f"EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id AND {chunk.text})"
            parts.append(Sql(text, chunk.arguments))
        return all_of(parts)

    def chunk_condition(self, where: Where) -> Sql:
        """Return the conditions on a chunk ``c`` and on its document ``d``."""
        in_collections = _one_of("c.collection_id", where.collections)
        return all_of([in_collections, *self._document_conditions(where), *_own_conditions(where)])

    def _covers_everything(self, where: Where) -> bool:
        if not covers_whole_collections(replace(where, hidden=frozenset(), hidden_chunks=frozenset())):
            return False
        return not any(
            chunks for key, chunks in self.chunks_by_collection().items() if key not in where.collections
        )

    def _chunks_inside(self, where: Where) -> tuple[frozenset[ChunkId], frozenset[DocumentId]] | None:
        condition = self.chunk_condition(where)
        sql = f"""SELECT c.id, c.document_id FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE {condition.text} LIMIT ?"""
        rows = self.rows(sql, *condition.arguments, FEW_CHUNKS + 1)
        if len(rows) > FEW_CHUNKS:
            return None
        return frozenset(ChunkId(row[0]) for row in rows), frozenset(DocumentId(row[1]) for row in rows)

    def _document_conditions(self, where: Where) -> list[Sql]:
        filters = where.filters
        conditions: list[Sql] = []
        if where.only is not None:
            conditions.append(_one_of("d.id", where.only))
        if where.hidden:
            conditions.append(Sql("NOT d.id = ANY(?::bigint[])", (list(where.hidden),)))
        conditions += filter_conditions(filters, date=_DATE)
        if filters.path is not None:
            conditions.append(_one_of("d.id", self._documents_at(filters.path, where.collections)))
        return conditions

    def _documents_at(self, glob: str, collections: tuple[int, ...]) -> list[int]:
        return self.memorized(("glob", glob, collections), lambda: self._match(glob, collections))

    def _match(self, glob: str, collections: tuple[int, ...]) -> list[int]:
        matches = compile_glob(glob)
        prefix = starts_with("d.path", literal_prefix(glob))
        sql = f"""SELECT d.id, d.path FROM documents d
            WHERE d.collection_id = ANY(?::bigint[]) AND {prefix.text}"""
        rows = self.rows(sql, list(collections), *prefix.arguments)
        return [document_id for document_id, path in rows if matches(path)]


def _own_conditions(where: Where) -> list[Sql]:
    """Return the conditions on a chunk ``c`` itself."""
    conditions: list[Sql] = []
    if where.filters.depths:
        conditions.append(_one_of("c.depth", where.filters.depths))
    if where.chunks is not None:
        conditions.append(_one_of("c.id", where.chunks))
    if where.hidden_chunks:
        conditions.append(Sql("NOT c.id = ANY(?::bigint[])", (list(where.hidden_chunks),)))
    return conditions


def _one_of(column: str, values: Iterable[int]) -> Sql:
    return Sql(f"{column} = ANY(?::bigint[])", (ids_text(values),))
