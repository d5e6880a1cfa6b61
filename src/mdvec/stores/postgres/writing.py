"""How documents are written: some statements for a whole batch, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mdvec.clock import now_ms
from mdvec.stores.columns import locator_bytes
from mdvec.stores.postgres.connection import stored_text
from mdvec.stores.postgres.database import Reader, own_dialect
from mdvec.stores.postgres.documents import DocumentReader
from mdvec.stores.postgres.words import put_terms, remove_terms
from mdvec.stores.records import ChunkTerms, DocumentRecord, first_names
from mdvec.stores.rows import DocumentRows
from mdvec.stores.tables import TableWriter
from mdvec.stores.vectors.journal import ATTACHED
from mdvec.text.hashing import text_hash
from mdvec.types.change import Move, SourceEntry
from mdvec.types.ids import ChunkId, CollectionId, DocumentId


class RowWriter(Reader, TableWriter):
    """Changes rows inside a transaction."""

    def stored(self, text: str) -> str:
        """Return a text without NUL and lone surrogates."""
        return stored_text(text)

    def change(self, sql: str, *arguments: Any) -> int:
        """Run a statement; return how many rows it changed."""
        return self.connection.execute(own_dialect(sql), arguments).rowcount

    def insert(self, table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows by one statement, each column as an array: as fast as COPY, which RLS refuses."""
        values = [list(column) for column in zip(*rows, strict=True)]
        if values:
            arrays = ", ".join(f"%s::{kind}[]" for kind in columns.values())
            sql = f"INSERT INTO {table}({', '.join(columns)}) SELECT * FROM unnest({arrays})"  # noqa: S608
            self.connection.execute(sql, values)

    def new_ids(self, table: str, count: int) -> list[int]:
        """Return ids that were never used, ascending."""
        rows = self.connection.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", (table, count)
        )
        return [row[0] for row in rows]


class DocumentWriter(DocumentReader, DocumentRows):
    """Writes documents."""

    def put_terms(
        self, collection_id: CollectionId, chunks: Sequence[int], terms: Sequence[ChunkTerms]
    ) -> None:
        """Write the terms of new chunks."""
        put_terms(self.connection, collection_id, list(zip(map(ChunkId, chunks), terms, strict=True)))

    def complete(self, documents: Sequence[int], records: Sequence[DocumentRecord]) -> None:  # noqa: ARG002
        """Mark the vectors of texts that are names from now on."""
        names = (text_hash(name) for record in records for name in first_names(record.document.names))
        self.connection.execute(
            "UPDATE vectors SET named = true WHERE text_hash = ANY(%s::bytea[]) AND NOT named", (list(names),)
        )

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
