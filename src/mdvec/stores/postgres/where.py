"""A ``Where`` as SQL: conditions on a chunk ``c`` and on its document ``d``.

PostgreSQL has statistics and chooses its joins itself. Globs are matched here, by the code of every other
store, among the paths of a version.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

from collections.abc import Iterable

from mdvec.stores.postgres.connection import ids_text
from mdvec.stores.tables import Sql, starts_with
from mdvec.stores.where_tables import IdFilter, WhereTables
from mdvec.text.globs import compile_glob, literal_prefix
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import Where


class PostgresWhere(WhereTables):
    """Finds which chunks and documents a ``Where`` covers."""

    date_condition = "p.value ~ '^[0-9]{4}-[0-9]{2}'"

    def path_condition(self, glob: str, collections: tuple[CollectionId, ...]) -> Sql:
        """Return the condition that a document ``d`` is one of those whose path matches a glob."""
        found = self._tables.memorized(
            ("glob", glob, collections), lambda: self._documents_at(glob, collections)
        )
        return self._tables.listed("d.id", found)

    def all_chunks(self) -> int:
        """Return the number of chunks in all collections."""
        return sum(self._chunks_by_collection().values())

    def hold_all_chunks(self, collections: tuple[CollectionId, ...]) -> bool:
        """Return True if no other collection has a chunk."""
        return not any(
            chunks for key, chunks in self._chunks_by_collection().items() if key not in collections
        )

    def chunks_inside(self, where: Where, most: int) -> list[tuple[ChunkId, DocumentId]]:
        """Return at most some of the chunks inside, with their documents."""
        condition = self.chunks(where)
        sql = f"""SELECT c.id, c.document_id FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE {condition.text} LIMIT ?"""
        return [
            (ChunkId(row[0]), DocumentId(row[1]))
            for row in self._tables.rows(sql, *condition.arguments, most)
        ]

    def chunk_filter(self, where: Where) -> IdFilter:
        """Return what keeps those of some chunks that are inside."""
        condition = self.chunks(where)
        sql = f"""SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE c.id = ANY(?::bigint[]) AND {condition.text}"""
        return self._filter(sql, condition)

    def document_filter(self, where: Where) -> IdFilter:
        """Return what keeps those of some documents that have a chunk inside."""
        condition = self.documents(where)
        sql = f"""SELECT d.id FROM documents d WHERE d.id = ANY(?::bigint[]) AND {condition.text}
            AND EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id)"""
        return self._filter(sql, condition)

    def _filter(self, sql: str, condition: Sql) -> IdFilter:
        def keep(ids: Iterable[int]) -> set[int]:
            return {key for (key,) in self._tables.rows(sql, ids_text(ids), *condition.arguments)}

        return keep

    def _chunks_by_collection(self) -> dict[int, int]:
        return self._tables.memorized(
            "chunks", lambda: dict(self._tables.rows("SELECT id, chunks FROM collections"))
        )

    def _documents_at(self, glob: str, collections: tuple[CollectionId, ...]) -> list[int]:
        matches = compile_glob(glob)
        prefix = starts_with("d.path", literal_prefix(glob))
        sql = f"""SELECT d.id, d.path FROM documents d
            WHERE d.collection_id = ANY(?::bigint[]) AND {prefix.text}"""
        rows = self._tables.rows(sql, list(collections), *prefix.arguments)
        return [document_id for document_id, path in rows if matches(path)]
