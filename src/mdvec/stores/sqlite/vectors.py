"""Vectors as rows, by space and text, and exact search through the matrices in memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from mdvec.stores.records import DamagedRows, PendingText, VectorKind
from mdvec.stores.sqlite.checksums import discard
from mdvec.stores.sqlite.database import SqliteTables
from mdvec.stores.vector_tables import VectorTables, removed
from mdvec.stores.vectors.journal import TABLES
from mdvec.types.ids import CollectionId, SpaceId, TextHash

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

# Two indexes merged in order of hash: where nothing is missing, four times as fast as looking for each one's.
_ANY_MISSING = """SELECT text_hash FROM {table}
    EXCEPT SELECT text_hash FROM vectors WHERE space_id = ? LIMIT 1"""
_NEWEST = "SELECT max(id) FROM {table}"
_PENDING = {
    VectorKind.NAME: """SELECT n.id, n.text_hash, n.text
    FROM names n CROSS JOIN documents d ON d.id = n.document_id WHERE n.id > ? AND d.collection_id = ?
    AND NOT d.superseded
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = n.text_hash)
    ORDER BY n.id""",
    VectorKind.TEXT: """SELECT c.id, c.text_hash, c.document_id, c.start, c.stop, c.context, d.title
    FROM chunks c CROSS JOIN documents d ON d.id = c.document_id WHERE c.id > ? AND +c.collection_id = ?
    AND NOT d.superseded
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash)
    ORDER BY c.id""",
}


class SqliteVectors(VectorTables):
    """The vectors of a transaction, searched in memory."""

    tables: SqliteTables

    def known(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        self.tables.require_everything()
        rows = self.tables.connection.execute(
            """SELECT v.text_hash FROM json_each(?) j
            CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = unhex(j.value)""",
            (json.dumps([each.hex() for each in hashes]), space_id),
        )
        return {TextHash(row[0]) for row in rows}

    def pending(
        self, kind: VectorKind, collection_id: CollectionId, space_id: SpaceId, limit: int
    ) -> list[PendingText]:
        """Return texts without a vector; start where the last call found the first one."""
        table, sql = TABLES[kind], _PENDING[kind]
        # Ids only grow, and vectors are only removed with a new epoch: up to here, all have their vector.
        key = (table, collection_id, space_id, self.tables.vector_epoch)
        known = {} if self._matrices is None else self._matrices.embedded_up_to
        after = known.get(key, 0)
        execute = self.tables.connection.execute
        found: dict[bytes, list[Any]] = {}
        if after or execute(_ANY_MISSING.format(table=table), (space_id,)).get is not None:
            with closing(execute(sql, (after, collection_id, space_id))) as rows:
                for row_id, *row in rows:
                    if not found:
                        after = row_id - 1
                    if len(found) >= limit and row[0] not in found:
                        break
                    found.setdefault(row[0], row)
        known[key] = after if found else max(after, execute(_NEWEST.format(table=table)).get or 0)
        return self._pending_texts(kind, found.values())

    def put(self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]) -> None:
        from mdvec.stores.matrix import encode

        self._check_shape(vectors.shape, len(hashes), space_id)
        self.tables.connection.executemany(
            """INSERT OR IGNORE INTO vectors(space_id, text_hash, vector, checksum)
            VALUES (?1, ?2, ?3, crc32(?3))""",
            zip(itertools.repeat(space_id), hashes, encode(vectors)),
        )

    def discard_damaged(self, collection_id: CollectionId) -> DamagedRows:
        damaged = discard(self.tables.connection, collection_id)
        removed(self.tables, damaged.vectors)
        return damaged
