"""A transaction of SQLite in its parts."""

from __future__ import annotations

from mdvec.stores.collection_tables import CollectionTables
from mdvec.stores.snapshot import Snapshot
from mdvec.stores.sqlite.claim_files import FileClaims
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import SqliteTables
from mdvec.stores.sqlite.documents import SqliteChunks, SqliteDocuments
from mdvec.stores.sqlite.vectors import SqliteVectors
from mdvec.stores.sqlite.where import SqliteWhere
from mdvec.stores.sqlite.words import SqliteWords
from mdvec.stores.tables import Memo, Readable, Sql
from mdvec.stores.vector_tables import AttachedTo, Matrices, SpaceTables
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.report import Activity

# EXCEPT merges two indexes in order of hash: 7 ms for 72,000 chunks, where looking for each chunk's vector by
# itself takes 49.
_MISSING = """(SELECT count(*) FROM (SELECT text_hash FROM chunks WHERE collection_id = ?
        EXCEPT SELECT text_hash FROM vectors WHERE space_id = ?) missing
     CROSS JOIN chunks c ON c.collection_id = ? AND c.text_hash = missing.text_hash
     CROSS JOIN documents d ON d.id = c.document_id AND NOT d.superseded)"""
_WITHOUT_SPACE = """(SELECT count(*) FROM chunks WHERE collection_id = ?)
    - (SELECT count(*) FROM documents d CROSS JOIN chunks c ON c.document_id = d.id
        WHERE d.collection_id = ? AND d.superseded)"""


class SqliteCollections(CollectionTables):
    """The collections of a transaction."""

    def __init__(self, tables: SqliteTables, where: SqliteWhere, claims: FileClaims | None) -> None:
        super().__init__(tables, where)
        self._claims = claims

    def _activities(self) -> list[Activity]:
        """Return what live processes are doing now."""
        return [] if self._claims is None else self._claims.activities(self.all())

    def delete(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self._tables.change("DELETE FROM collections WHERE id = ?", collection_id)
        if self._claims is not None:
            self._claims.remove(collection_id)

    def _pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        """Return how many chunks lack a vector, as SQL."""
        if space_id is None:
            return Sql(_WITHOUT_SPACE, (collection_id, collection_id))
        return Sql(_MISSING, (collection_id, space_id, collection_id))


def snapshot(
    connection: Connection,
    claims: FileClaims | None = None,
    memo: Memo | None = None,
    matrices: Matrices | None = None,
    index: AttachedTo | None = None,
    readable: Readable = None,
) -> Snapshot:
    """Return the parts of a transaction.

    Args:
        connection: Inside the transaction.
        claims: Those of the store; None where nobody asks for them.
        memo: What is known of versions; None where what is read may yet be undone.
        matrices: Those of the store; None inside a transaction that writes.
        index: The vector index of the store, if it has one.
        readable: The collections that may be read.
    """
    tables = SqliteTables(connection, memo, readable)
    where = SqliteWhere(tables)
    documents = SqliteDocuments(tables, where)
    chunks = SqliteChunks(tables, where, documents.texts)
    spaces = SpaceTables(tables, where)
    vectors = SqliteVectors
    if index is not None:
        from mdvec.stores.sqlite.indexed import SqliteIndexedVectors

        vectors = SqliteIndexedVectors
    return Snapshot(
        version=tables.version,
        restricted=readable is not None,
        tables=tables,
        collections=SqliteCollections(tables, where, claims),
        documents=documents,
        chunks=chunks,
        words=SqliteWords(tables, where),
        spaces=spaces,
        vectors=vectors(tables, where, chunks, spaces, matrices, index),
    )
