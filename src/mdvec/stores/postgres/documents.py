"""Documents as rows, with their chunks; the text of a chunk is cut from its document's body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mdvec.clock import now_ms
from mdvec.stores.columns import locator_bytes
from mdvec.stores.document_tables import (
    CHUNK_COLUMNS,
    CHUNK_JOINS,
    PLACE_COLUMNS,
    ChunkTables,
    DocumentTables,
)
from mdvec.stores.postgres.connection import ids_text
from mdvec.stores.postgres.database import PostgresTables
from mdvec.stores.postgres.words import put_terms, remove_terms
from mdvec.stores.records import (
    ChunkPlace,
    ChunkTerms,
    DocumentRecord,
    StoredChunk,
    places_of_rows,
)
from mdvec.stores.vectors.journal import ATTACHED
from mdvec.stores.where_tables import BY_PLACE
from mdvec.text.hashing import text_hash
from mdvec.types.change import Move, SourceEntry
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import Where

# Not by their ids: those of two imports at once take turns.
_PLACE = f"{PLACE_COLUMNS}, coalesce(before.id, 0), coalesce(after.id, 0)"
_BESIDE = """LEFT JOIN chunks before ON before.document_id = c.document_id AND before.ordinal = c.ordinal - 1
    LEFT JOIN chunks after ON after.document_id = c.document_id AND after.ordinal = c.ordinal + 1"""


class PostgresDocuments(DocumentTables):
    """The documents of a transaction; some statements for a whole batch, whatever its size."""

    _tables: PostgresTables

    def texts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """Return the texts of those of the documents that exist, by id."""
        sql = "SELECT document_id, body FROM contents WHERE document_id = ANY(%s::bigint[])"
        return dict(self._tables.connection.execute(sql, (list(documents),)).fetchall())

    def _put_terms(
        self, collection_id: CollectionId, chunks: Sequence[int], terms: Sequence[ChunkTerms]
    ) -> None:
        """Write the terms of new chunks."""
        put_terms(self._tables.connection, collection_id, list(zip(map(ChunkId, chunks), terms, strict=True)))

    def _complete(self, documents: Sequence[int], records: Sequence[DocumentRecord]) -> None:  # noqa: ARG002
        """Mark the vectors of texts that are names from now on."""
        names = (text_hash(name) for record in records for name in record.names)
        self._tables.connection.execute(
            "UPDATE vectors SET named = true WHERE text_hash = ANY(%s::bytea[]) AND NOT named", (list(names),)
        )

    def touch(self, collection_id: CollectionId, entries: Sequence[SourceEntry]) -> None:
        """Write the time, size and spelling of documents whose content is the same."""
        values = [(each.path, each.mtime_ns, each.size, locator_bytes(each.locator)) for each in entries]
        if values:
            self._tables.connection.execute(
                """UPDATE documents d SET mtime_ns = u.mtime_ns, size = u.size, locator = u.locator,
                dirty_since_ms = NULL FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bytea[])
                u(path, mtime_ns, size, locator) WHERE d.collection_id = %s AND d.path = u.path""",
                (*(list(column) for column in zip(*values, strict=True)), collection_id),
            )

    def move(self, collection_id: CollectionId, moves: Sequence[Move]) -> bool:
        """Write the new place of documents; return False where a vector index has the old one."""
        if self._tables.connection.execute(ATTACHED).fetchone() is not None:
            return False
        entries = [each.entry for each in moves]
        self._tables.connection.execute(
            """UPDATE documents d SET path = u.path, mtime_ns = u.mtime_ns, size = u.size,
            locator = u.locator, dirty_since_ms = NULL
            FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bytea[])
            u(old, path, mtime_ns, size, locator) WHERE d.collection_id = %s AND d.path = u.old""",
            (
                [each.old_path for each in moves],
                [each.path for each in entries],
                [each.mtime_ns for each in entries],
                [each.size for each in entries],
                [locator_bytes(each.locator) for each in entries],
                collection_id,
            ),
        )
        return True

    def mark_dirty(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Mark documents as changed since they were indexed."""
        self._tables.connection.execute(
            """UPDATE documents d SET dirty_since_ms = %s FROM unnest(%s::text[]) u(path)
            WHERE d.collection_id = %s AND d.dirty_since_ms IS NULL
            AND (d.path = u.path OR u.path LIKE '%%/' AND starts_with(d.path, u.path))""",
            (now_ms(), list(paths), collection_id),
        )

    def delete(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Remove documents with all that belongs to them."""
        rows = self._tables.connection.execute(
            "SELECT id FROM documents WHERE collection_id = %s AND path = ANY(%s)",
            (collection_id, list(paths)),
        ).fetchall()
        if rows:
            ids = [row[0] for row in rows]
            remove_terms(self._tables.connection, collection_id, ids)
            self._tables.connection.execute("DELETE FROM documents WHERE id = ANY(%s::bigint[])", (ids,))

    def set_superseded(self, collection_id: CollectionId, documents: Iterable[DocumentId]) -> None:
        """Write which documents of a collection another one replaces."""
        self._tables.connection.execute(
            """UPDATE documents SET superseded = NOT superseded WHERE collection_id = %s
            AND superseded <> (id = ANY(%s::bigint[]))""",
            (collection_id, list(documents)),
        )


class PostgresChunks(ChunkTables):
    """The chunks of a transaction."""

    def get(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Return those of the chunks that exist, by id, in the order of their ids."""
        sql = f"SELECT {CHUNK_COLUMNS} FROM chunks c {CHUNK_JOINS} WHERE c.id = ANY(?::bigint[])"  # noqa: S608
        found = self.stored_chunks(self._tables.rows(sql, list(ids)))
        return {key: found[key] for key in ids if key in found}

    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        """Return the places of the chunks that exist, in order."""
        sql = f"""SELECT {_PLACE} FROM chunks c {CHUNK_JOINS} {_BESIDE}
            WHERE c.id = ANY(?::bigint[]) ORDER BY {BY_PLACE}, c.ordinal"""  # noqa: S608 - constants
        return places_of_rows(self._tables.rows(sql, ids_text(ids)))

    def places_in(self, documents: Sequence[DocumentId], where: Where, limit: int) -> list[ChunkPlace]:
        """Return the places of some documents' chunks inside ``where``, in their order and by ordinal."""
        if not documents:
            return []
        condition = self._where.chunks(where)
        sql = f"""SELECT {_PLACE} FROM unnest(?::bigint[]) WITH ORDINALITY j(id, position)
            JOIN documents d ON d.id = j.id JOIN chunks c ON c.document_id = d.id {_BESIDE}
            WHERE {condition.text} ORDER BY j.position, c.ordinal LIMIT ?"""  # noqa: S608 - constants
        return places_of_rows(self._tables.rows(sql, ids_text(documents), *condition.arguments, limit))

    def skeletons(self, ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        """Return the skeletons of those of the chunks that have one."""
        sql = "SELECT id, skeleton FROM chunks WHERE id = ANY(?::bigint[]) AND skeleton IS NOT NULL"
        return dict(self._tables.rows(sql, ids_text(ids)))
