"""How documents are written: some statements for a whole batch, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mdvec.clock import now_ms
from mdvec.stores.columns import locator_bytes
from mdvec.stores.postgres.connection import insert_rows, stored_text
from mdvec.stores.postgres.documents import DocumentReader
from mdvec.stores.postgres.words import put_terms, remove_terms
from mdvec.stores.records import DocumentRecord, embedded_names
from mdvec.stores.rows import CHUNKS, DOCUMENTS, PARTS, chunk_rows, document_row
from mdvec.stores.vectors.feed import ATTACHED
from mdvec.text.hashing import text_hash
from mdvec.types.change import Move, SourceEntry
from mdvec.types.ids import ChunkId, CollectionId, DocumentId


class DocumentWriter(DocumentReader):
    """Writes documents."""

    def put_documents(self, collection_id: CollectionId, records: Sequence[DocumentRecord]) -> None:
        """Write documents with all that belongs to them, each instead of the one at its path."""
        by_path = {record.document.path: record for record in records}
        self.delete_documents(collection_id, list(by_path))
        identified = list(zip(self._new_ids("documents", len(by_path)), by_path.values(), strict=True))
        rows = ((key, *document_row(collection_id, each, stored_text)) for key, each in identified)
        insert_rows(self.connection, "documents", {"id": "bigint", **DOCUMENTS}, rows)
        for part in PARTS:
            rows = (row for key, each in identified for row in part.rows(key, each, stored_text))
            insert_rows(self.connection, part.table, part.columns, rows)
        names = (text_hash(name) for _, record in identified for name in embedded_names(record.document))
        self.connection.execute(
            "UPDATE vectors SET named = true WHERE text_hash = ANY(%s::bytea[]) AND NOT named", (list(names),)
        )
        self._put_chunks(collection_id, identified)

    def touch_documents(self, collection_id: CollectionId, entries: Sequence[SourceEntry]) -> None:
        """Write the time, size and spelling of documents whose content is the same."""
        values = [(each.path, each.mtime_ns, each.size, locator_bytes(each.locator)) for each in entries]
        if values:
            self.connection.execute(
                """UPDATE documents d SET mtime_ns = u.mtime_ns, size = u.size, locator = u.locator,
                dirty_since_ms = NULL FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bytea[])
                u(path, mtime_ns, size, locator) WHERE d.collection_id = %s AND d.path = u.path""",
                (*(list(column) for column in zip(*values, strict=True)), collection_id),
            )

    def move_documents(self, collection_id: CollectionId, moves: Sequence[Move]) -> bool:
        """Write the new place of documents; return False where a vector index has the old one."""
        if self.connection.execute(ATTACHED).fetchone() is not None:
            return False
        entries = [each.entry for each in moves]
        self.connection.execute(
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
        self.connection.execute(
            """UPDATE documents d SET dirty_since_ms = %s FROM unnest(%s::text[]) u(path)
            WHERE d.collection_id = %s AND d.dirty_since_ms IS NULL
            AND (d.path = u.path OR u.path LIKE '%%/' AND starts_with(d.path, u.path))""",
            (now_ms(), list(paths), collection_id),
        )

    def delete_documents(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Remove documents with all that belongs to them."""
        rows = self.connection.execute(
            "SELECT id FROM documents WHERE collection_id = %s AND path = ANY(%s)",
            (collection_id, list(paths)),
        ).fetchall()
        if rows:
            ids = [row[0] for row in rows]
            remove_terms(self.connection, collection_id, ids)
            self.connection.execute("DELETE FROM documents WHERE id = ANY(%s::bigint[])", (ids,))

    def set_superseded(self, collection_id: CollectionId, documents: Iterable[DocumentId]) -> None:
        """Write which documents of a collection another one replaces."""
        self.connection.execute(
            """UPDATE documents SET superseded = NOT superseded WHERE collection_id = %s
            AND superseded <> (id = ANY(%s::bigint[]))""",
            (collection_id, list(documents)),
        )

    def _put_chunks(
        self, collection_id: CollectionId, identified: Sequence[tuple[int, DocumentRecord]]
    ) -> None:
        rows = [row for key, each in identified for row in chunk_rows(collection_id, key, each, stored_text)]
        terms = [each for _, record in identified for each in record.terms]
        ids = [ChunkId(each) for each in self._new_ids("chunks", len(rows))]
        insert_rows(
            self.connection,
            "chunks",
            {"id": "bigint", **CHUNKS},
            ((key, *row) for key, row in zip(ids, rows, strict=True)),
        )
        if terms:
            put_terms(self.connection, collection_id, list(zip(ids, terms, strict=True)))

    def _new_ids(self, table: str, count: int) -> list[int]:
        """Return ids that were never used, ascending."""
        rows = self.connection.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", (table, count)
        )
        return [row[0] for row in rows]
