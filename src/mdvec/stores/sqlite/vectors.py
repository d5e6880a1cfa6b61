"""Vectors as rows, by space and text, and exact search through the matrices in memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from mdvec.stores.records import DamagedRows, PendingText
from mdvec.stores.sqlite.checksums import BODY, VECTOR, discard
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import SqliteTables
from mdvec.stores.vector_tables import VectorTables, removed
from mdvec.stores.vectors.journal import Dialect
from mdvec.types.ids import CollectionId, SpaceId, TextHash

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

# Two indexes merged in order of hash: in a database where no name lacks its vector, four times as fast as
# looking for each one's.
_ANY_NAME_MISSING = """SELECT text_hash FROM names
    EXCEPT SELECT text_hash FROM vectors WHERE space_id = ? LIMIT 1"""
_MISSING_NAMES = """FROM names n CROSS JOIN documents d ON d.id = n.document_id
    WHERE n.id > ? AND d.collection_id = ? AND NOT d.superseded
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = n.text_hash)"""
_MISSING_CHUNKS = """SELECT c.id, c.document_id, c.start, c.stop, c.context, c.text_hash, d.title
    FROM chunks c CROSS JOIN documents d ON d.id = c.document_id WHERE +c.collection_id = ? AND c.id > ?
    AND NOT d.superseded
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash)
    ORDER BY c.id"""


class SqliteVectors(VectorTables):
    """The vectors of a transaction, searched in memory."""

    tables: SqliteTables
    dialect = Dialect(VECTOR, "<f2")

    def known(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return those of the hashes that have a vector."""
        self._where.require_everything()
        rows = self.tables.connection.execute(
            """SELECT v.text_hash FROM json_each(?) j
            CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = unhex(j.value)""",
            (json.dumps([each.hex() for each in hashes]), space_id),
        )
        return {TextHash(row[0]) for row in rows}

    def pending(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return chunk texts without a vector; starts where the last call found the first one."""
        after = self._embedded_up_to("chunks", collection_id, space_id)
        rows = self.tables.connection.execute(_MISSING_CHUNKS, (collection_id, after, space_id))
        found: dict[bytes, PendingText] = {}
        body, body_of = "", 0
        with closing(rows):
            for chunk_id, document_id, start, stop, context, text_hash, title in rows:
                if not found:
                    after = chunk_id - 1
                if text_hash in found:
                    continue
                if len(found) >= limit:
                    break
                if document_id != body_of:
                    body, body_of = _body(self.tables.connection, document_id), document_id
                above = f"{context}\n" if context else ""
                text = f"{above}{body[start:stop]}"
                found[text_hash] = PendingText(TextHash(text_hash), text, title, len(above))
        if not found:
            last = self.tables.connection.execute(
                "SELECT max(id) FROM chunks WHERE collection_id = ?", (collection_id,)
            ).get
            after = max(after, last or 0)
        self._remember("chunks", collection_id, space_id, after)
        return list(found.values())

    def pending_names(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return names without a vector; starts where the last call found the first one."""
        after = self._embedded_up_to("names", collection_id, space_id)
        newest = self.tables.connection.execute("SELECT max(id) FROM names").get or 0
        if not after and self.tables.connection.execute(_ANY_NAME_MISSING, (space_id,)).get is None:
            self._remember("names", collection_id, space_id, newest)
            return []
        rows = self.tables.connection.execute(
            f"SELECT n.id, n.text_hash, n.text {_MISSING_NAMES} ORDER BY n.id",
            (after, collection_id, space_id),
        )
        found: dict[bytes, PendingText] = {}
        with closing(rows):
            for name_id, text_hash, text in rows:
                if not found:
                    after = name_id - 1
                if len(found) >= limit:
                    break
                found.setdefault(text_hash, PendingText(TextHash(text_hash), text))
        self._remember("names", collection_id, space_id, after if found else max(after, newest))
        return list(found.values())

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Count the names without a vector, each hash once."""
        sql = f"SELECT count(DISTINCT n.text_hash) {_MISSING_NAMES}"
        count: int = self.tables.connection.execute(sql, (0, collection_id, space_id)).get
        return count

    def _embedded_up_to(self, table: str, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Return the id up to which all have their vector: ids only grow, and vectors go with an epoch."""
        if self._matrices is None:
            return 0
        return self._matrices.embedded_up_to.get(
            (table, collection_id, space_id, self.tables.vector_epoch), 0
        )

    def _remember(self, table: str, collection_id: CollectionId, space_id: SpaceId, after: int) -> None:
        if self._matrices is not None:
            self._matrices.embedded_up_to[table, collection_id, space_id, self.tables.vector_epoch] = after

    def put(self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]) -> None:
        """Add unit vectors; a hash that has one keeps it."""
        from mdvec.stores.matrix import encode

        self._check_shape(vectors.shape, len(hashes), space_id)
        self.tables.connection.executemany(
            """INSERT OR IGNORE INTO vectors(space_id, text_hash, vector, checksum)
            VALUES (?1, ?2, ?3, crc32(?3))""",
            zip(itertools.repeat(space_id), hashes, encode(vectors)),
        )

    def discard_damaged(self, collection_id: CollectionId) -> DamagedRows:
        """Remove damaged vectors, and forget the files of a collection's damaged documents."""
        damaged = discard(self.tables.connection, collection_id)
        removed(self.tables, damaged.vectors)
        return damaged


def _body(connection: Connection, document_id: int) -> str:
    sql = f"SELECT {BODY} FROM contents t WHERE document_id = ?"  # noqa: S608 - a constant
    body: str = connection.execute(sql, (document_id,)).get
    return body
