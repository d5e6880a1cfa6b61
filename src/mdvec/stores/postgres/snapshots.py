"""What is read and written in one transaction, put together from its parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mdvec.stores.catalog import CatalogReader, CatalogWriter
from mdvec.stores.claims import live_holders
from mdvec.stores.conditions import Sql
from mdvec.stores.postgres.claims import CLOCK
from mdvec.stores.postgres.connection import stored_text
from mdvec.stores.postgres.database import own_dialect
from mdvec.stores.postgres.documents import DocumentWriter
from mdvec.stores.postgres.hnsw import LargeSpaceReader
from mdvec.stores.postgres.vectors import VectorWriter
from mdvec.stores.postgres.words import WordReader
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.report import Activity

_MISSING = """(SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id AND NOT d.superseded
     WHERE c.collection_id = ? AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash))"""


class Snapshot(LargeSpaceReader, WordReader, CatalogReader):
    """One consistent snapshot; a :class:`mdvec.stores.interface.View`."""

    def activities(self) -> list[Activity]:
        """Return what live processes are doing now."""
        return [holder.activity for holder in live_holders(self.rows, CLOCK)]

    def pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        """Return how many chunks lack a vector, as SQL."""
        return Sql(_MISSING, (collection_id, space_id))


class Transaction(VectorWriter, Snapshot, DocumentWriter, CatalogWriter):
    """One transaction; a :class:`mdvec.stores.interface.Writer`."""

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

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self.connection.execute(
            "DELETE FROM postings WHERE term_id IN (SELECT id FROM terms WHERE collection_id = %s)",
            (collection_id,),
        )
        self.connection.execute("DELETE FROM collections WHERE id = %s", (collection_id,))
