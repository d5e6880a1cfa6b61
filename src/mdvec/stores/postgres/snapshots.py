"""A transaction of PostgreSQL in its parts."""

from __future__ import annotations

from mdvec.stores.collection_tables import CollectionTables
from mdvec.stores.conditions import Sql
from mdvec.stores.memo import Memo, Readable
from mdvec.stores.postgres.claims import ACTIVITIES
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.database import PostgresTables
from mdvec.stores.postgres.documents import PostgresChunks, PostgresDocuments
from mdvec.stores.postgres.hnsw import LargeSpaceVectors
from mdvec.stores.postgres.where import PostgresWhere
from mdvec.stores.postgres.words import PostgresWords
from mdvec.stores.snapshot import Snapshot
from mdvec.stores.vector_tables import AttachedTo, Matrices, SpaceTables
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.report import Activity

_MISSING = """(SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id AND NOT d.superseded
     WHERE c.collection_id = ? AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash))"""


class PostgresCollections(CollectionTables):
    """The collections of a transaction."""

    def _activities(self) -> list[Activity]:
        """Return what live processes are doing now."""
        return [Activity(*row) for row in self._tables.rows(ACTIVITIES)]

    def delete(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self._tables.change(
            "DELETE FROM postings WHERE term_id IN (SELECT id FROM terms WHERE collection_id = ?)",
            collection_id,
        )
        self._tables.change("DELETE FROM collections WHERE id = ?", collection_id)

    def _pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        """Return how many chunks lack a vector, as SQL."""
        return Sql(_MISSING, (collection_id, space_id))


def snapshot(
    connection: Connection,
    exact_up_to: int,
    memo: Memo | None = None,
    matrices: Matrices | None = None,
    index: AttachedTo | None = None,
    readable: Readable = None,
) -> Snapshot:
    """Return the parts of a transaction.

    Args:
        connection: Inside the transaction.
        exact_up_to: The most vectors of a space that are searched in memory.
        memo: What is known of versions; None where what is read may yet be undone.
        matrices: Those of the store; None inside a transaction that writes.
        index: The vector index of the store, if it has one.
        readable: The collections that may be read.
    """
    tables = PostgresTables(connection, exact_up_to, memo, readable)
    where = PostgresWhere(tables)
    documents = PostgresDocuments(tables, where)
    chunks = PostgresChunks(tables, where, documents.texts)
    spaces = SpaceTables(tables, where)
    return Snapshot(
        version=tables.version,
        restricted=readable is not None,
        tables=tables,
        collections=PostgresCollections(tables, where),
        documents=documents,
        chunks=chunks,
        words=PostgresWords(tables, where),
        spaces=spaces,
        vectors=LargeSpaceVectors(tables, where, chunks, spaces, matrices, index),
    )
