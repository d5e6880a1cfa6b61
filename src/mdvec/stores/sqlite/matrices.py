"""The rows that a matrix in memory is made of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mdvec.stores.loaded import Seen
from mdvec.stores.sqlite.checksums import VECTOR
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.vectors.index import VectorKind
from mdvec.types.ids import SpaceId

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

_BATCH_ROWS = 4096

_NEWEST = "SELECT (SELECT max(id) FROM vectors), (SELECT max(id) FROM chunks), (SELECT max(id) FROM names)"

# The plus makes SQLite read the table in order of id instead of sorting what an index gives.
_NEW_VECTORS = f"SELECT v.id, {VECTOR} FROM vectors v WHERE +v.space_id = ? AND v.id > ? ORDER BY v.id"  # noqa: S608

# Chunks own the vectors of their texts, documents those of their names.
_TABLES = {VectorKind.TEXT: "chunks", VectorKind.NAME: "names"}
_OWNERS = {VectorKind.TEXT: "o.id", VectorKind.NAME: "o.document_id"}
_NEW_OWNERS = """SELECT {owner}, v.id FROM {table} o
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash WHERE o.id > ? ORDER BY o.id"""
# Of chunks or names that were there before their vectors.
_OLD_OWNERS = """SELECT {owner}, v.id FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    WHERE +v.space_id = ? AND v.id > ? AND +o.id <= ? ORDER BY v.id"""


class SqliteVectors:
    """The vectors that a snapshot shows; a :class:`mdvec.stores.loaded.VectorRows`.

    Args:
        connection: The snapshot.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def vector_count(self, space_id: SpaceId) -> int:
        """Return the number of vectors of a space."""
        return self._number("SELECT count(*) FROM vectors WHERE space_id = ?", space_id)

    def dimension(self, space_id: SpaceId) -> int:
        """Return the length of a vector of a space."""
        return self._number("SELECT dimension FROM spaces WHERE id = ?", space_id)

    def all_chunks(self) -> int:
        """Return the number of chunks in all collections."""
        return self._number("SELECT count(*) FROM chunks")

    def newest(self) -> Seen:
        """Return the largest ids there are; 0 without a row."""
        return Seen(*(each or 0 for each in self._connection.execute(_NEWEST).get))

    def vectors_after(
        self, space_id: SpaceId, vector: int
    ) -> Iterator[tuple[Sequence[int], Sequence[bytes]]]:
        """Yield ids and vectors of a space with larger ids."""
        rows = self._connection.execute(_NEW_VECTORS, (space_id, vector))
        while batch := list(itertools.islice(rows, _BATCH_ROWS)):
            yield [row[0] for row in batch], [row[1] for row in batch]

    def owners_after(self, kind: VectorKind, space_id: SpaceId, owner: int) -> NDArray[np.int64]:
        """Return owners whose rows have larger ids, with the ids of their vectors."""
        return self._pairs(_NEW_OWNERS, kind, space_id, owner)

    def owners_of_vectors_after(
        self, kind: VectorKind, space_id: SpaceId, vector: int, owner: int
    ) -> NDArray[np.int64]:
        """Return owners whose rows have ids up to ``owner`` and whose vectors have ids above ``vector``."""
        return self._pairs(_OLD_OWNERS, kind, space_id, vector, owner)

    def _number(self, sql: str, *arguments: int) -> int:
        number: int = self._connection.execute(sql, arguments).get
        return number

    def _pairs(self, template: str, kind: VectorKind, *arguments: int) -> NDArray[np.int64]:
        """Return pairs of whole numbers, shape (n, 2)."""
        import numpy as np

        sql = template.format(owner=_OWNERS[kind], table=_TABLES[kind])
        rows: Iterable[Any] = iter(self._connection.execute(sql, arguments))
        batches = [np.empty((0, 2), np.int64)]
        while batch := list(itertools.islice(rows, _BATCH_ROWS)):
            batches.append(np.array(batch, np.int64))
        return np.concatenate(batches)
