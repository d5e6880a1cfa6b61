"""Documents as rows, with their chunks; the text of a chunk is cut from its document's body."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from mdvec.clock import now_ms
from mdvec.stores.columns import locator_bytes, storable
from mdvec.stores.document_tables import (
    CHUNK_COLUMNS,
    CHUNK_JOINS,
    PLACE_COLUMNS,
    ChunkTables,
    DocumentTables,
)
from mdvec.stores.records import ChunkPlace, ChunkTerms, DocumentRecord, StoredChunk, places_of_rows
from mdvec.stores.sqlite.checksums import BODY, DOCUMENT_CHECKSUM, MOVED_CHECKSUM
from mdvec.stores.sqlite.database import SqliteTables
from mdvec.stores.vector_tables import NEW_EPOCH
from mdvec.stores.where_tables import BY_PLACE
from mdvec.types.change import Move, SourceEntry
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import Where

_LAST_CHARACTER = "\U0010ffff"

# The chunks of a document are written in one transaction, so their ids follow each other.
_PLACE = f"{PLACE_COLUMNS}, iif(c.ordinal > 0, c.id - 1, 0), coalesce(after.id, 0)"
_AFTER = "LEFT JOIN chunks after ON after.id = c.id + 1 AND after.document_id = c.document_id"


class SqliteDocuments(DocumentTables):
    """The documents of a transaction."""

    body_column = BODY
    links_table = "links l INDEXED BY links_previous"

    _tables: SqliteTables

    def texts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """Return the texts of those of the documents that exist, by id."""
        sql = f"""SELECT t.document_id, {BODY} FROM json_each(?) j
            CROSS JOIN contents t ON t.document_id = j.value"""  # noqa: S608 - constants
        return dict(self._tables.rows(sql, json.dumps(list(documents))))

    def _put_terms(
        self,
        collection_id: CollectionId,  # noqa: ARG002 - words are counted for all collections together
        chunks: Sequence[int],
        terms: Sequence[ChunkTerms],
    ) -> None:
        """Write the terms of new chunks."""
        self._tables.connection.executemany(
            "INSERT INTO chunks_fts(rowid, main, minor) VALUES (?, ?, ?)",
            [(key, each.main, each.minor) for key, each in zip(chunks, terms, strict=True)],
        )

    def _complete(self, documents: Sequence[int], records: Sequence[DocumentRecord]) -> None:  # noqa: ARG002
        """Write the checksums of new documents."""
        self._tables.change(
            f"UPDATE documents AS d SET checksum = {DOCUMENT_CHECKSUM} WHERE id BETWEEN ? AND ?",  # noqa: S608
            documents[0],
            documents[-1],
        )

    def touch(self, collection_id: CollectionId, entries: Sequence[SourceEntry]) -> None:
        """Write the time, size and spelling of documents whose content is the same."""
        self._tables.connection.executemany(
            """UPDATE documents SET mtime_ns = ?, size = ?, locator = ?, dirty_since_ms = NULL
            WHERE collection_id = ? AND path = ?""",
            [
                (each.mtime_ns, each.size, locator_bytes(each.locator), collection_id, each.path)
                for each in entries
            ],
        )

    def move(self, collection_id: CollectionId, moves: Sequence[Move]) -> bool:
        """Write the new place of documents; return False where a vector index has the old one."""
        from mdvec.stores.sqlite.attaching import is_attached

        if is_attached(self._tables.connection):
            return False
        self._tables.connection.executemany(
            f"""UPDATE documents AS d SET path = :path, mtime_ns = :mtime_ns, size = :size,
            locator = :locator, dirty_since_ms = NULL, checksum = {MOVED_CHECKSUM}
            WHERE collection_id = :collection AND path = :old""",  # noqa: S608 - constants
            [
                {
                    "path": each.entry.path,
                    "mtime_ns": each.entry.mtime_ns,
                    "size": each.entry.size,
                    "locator": locator_bytes(each.entry.locator),
                    "collection": collection_id,
                    "old": each.old_path,
                }
                for each in moves
            ],
        )
        return True

    def mark_dirty(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Mark documents as changed since they were indexed."""
        self._tables.connection.executemany(
            """UPDATE documents SET dirty_since_ms = ?
            WHERE collection_id = ? AND path >= ? AND path <= ? AND dirty_since_ms IS NULL""",
            [
                (now_ms(), collection_id, path, path + _LAST_CHARACTER if path.endswith("/") else path)
                for path in map(storable, paths)
            ],
        )

    def delete(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Remove documents with all that belongs to them."""
        self._tables.connection.executemany(
            "DELETE FROM documents WHERE collection_id = ? AND path = ?",
            [(collection_id, path) for path in paths],
        )

    def set_superseded(self, collection_id: CollectionId, documents: Iterable[DocumentId]) -> None:
        """Write which documents of a collection another one replaces."""
        ids = json.dumps(sorted(documents))
        returned = self._tables.connection.execute(
            """UPDATE documents SET superseded = 0 WHERE collection_id = ? AND superseded
            AND id NOT IN (SELECT value FROM json_each(?)) RETURNING id""",
            (collection_id, ids),
        ).fetchall()
        if returned:  # their vectors were passed over: all that is missing is looked for again
            self._tables.change(NEW_EPOCH)
        self._tables.connection.execute(
            """UPDATE documents SET superseded = 1 WHERE collection_id = ? AND NOT superseded
            AND id IN (SELECT value FROM json_each(?))""",
            (collection_id, ids),
        )


class SqliteChunks(ChunkTables):
    """The chunks of a transaction."""

    def get(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Return those of the chunks that exist, by id."""
        sql = f"""SELECT {CHUNK_COLUMNS} FROM json_each(?) j
            CROSS JOIN chunks c ON c.id = j.value {CHUNK_JOINS}"""  # noqa: S608
        return self.stored_chunks(self._tables.rows(sql, json.dumps(list(ids))))

    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        """Return the places of those of the chunks that exist, in order."""
        sql = f"""SELECT {_PLACE} FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value {CHUNK_JOINS}
            {_AFTER} ORDER BY {BY_PLACE}, c.ordinal"""  # noqa: S608 - constants
        return places_of_rows(self._tables.rows(sql, json.dumps(sorted(set(ids)))))

    def places_in(self, documents: Sequence[DocumentId], where: Where, limit: int) -> list[ChunkPlace]:
        """Return the places of some documents' chunks inside ``where``, in their order and by ordinal."""
        if not documents:
            return []
        condition = self._where.chunks(where)
        rows = self._tables.rows(
            f"""SELECT {_PLACE} FROM json_each(?) j CROSS JOIN documents d ON d.id = j.value
            CROSS JOIN chunks c ON c.document_id = d.id {_AFTER}
            WHERE {condition.text} ORDER BY j.key, c.ordinal LIMIT ?""",  # noqa: S608 - constants
            json.dumps(list(documents)),
            *condition.arguments,
            limit,
        )
        return places_of_rows(rows)

    def skeletons(self, ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        """Return the skeletons of those of the chunks that have one."""
        sql = """SELECT c.id, c.skeleton FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
            WHERE c.skeleton IS NOT NULL"""
        return dict(self._tables.rows(sql, json.dumps(sorted(ids))))
