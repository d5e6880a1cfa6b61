"""The rows that a matrix in memory is made of."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mdvec.stores.loaded import OWNERS, TABLES, KeptSpace, LoadedSpaces, Seen
from mdvec.stores.sqlite.checksums import VECTOR
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.vectors.index import VectorKind
from mdvec.types.ids import SpaceId

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.stores.kept import SpaceFiles

_BATCH_ROWS = 4096

_NEWEST = "SELECT (SELECT max(id) FROM vectors), (SELECT max(id) FROM chunks), (SELECT max(id) FROM names)"

# The plus makes SQLite read the table in order of id instead of sorting what an index gives.
_NEW_VECTORS = f"SELECT v.id, {VECTOR} FROM vectors v WHERE +v.space_id = ? AND v.id > ? ORDER BY v.id"  # noqa: S608

_NEW_OWNERS = """SELECT {owner}, v.id FROM {table} o
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash WHERE o.id > ? ORDER BY o.id"""
# Of chunks or names that were there before their vectors.
_OLD_OWNERS = """SELECT {owner}, v.id FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    WHERE +v.space_id = ? AND v.id > ? AND +o.id <= ? ORDER BY v.id"""

_MARK = "SELECT value FROM meta WHERE key = 'mark'"
_USED_IDS = "SELECT name, seq FROM sqlite_sequence WHERE name IN ('vectors', 'chunks', 'names')"
_CHECKSUMS = "SELECT v.id, crc32(v.vector) FROM json_each(?) j CROSS JOIN vectors v ON v.id = j.value"
_VECTORS_OF = """SELECT c.id, v.id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash"""
_HOLDS_VECTORS = "SELECT EXISTS(SELECT 1 FROM vectors WHERE space_id = ?)"

# How many vectors and chunks of a file are compared: half of them the latest, half spread over all.
_COMPARED = 64


class SqliteVectors:
    """The vectors that a snapshot shows; a :class:`mdvec.stores.loaded.VectorRows`.

    Args:
        connection: The snapshot.
        spaces: Say where spaces are kept; None for nowhere.
    """

    def __init__(self, connection: Connection, spaces: LoadedSpaces | None = None) -> None:
        self._connection = connection
        self._files: SpaceFiles | None = None
        self._read_only = True
        if spaces is not None and spaces.store is not None:
            from mdvec.stores.kept import SpaceFiles

            self._files, self._read_only = SpaceFiles(spaces.store), spaces.read_only

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

    def kept(self, space_id: SpaceId, version: int, epoch: int) -> KeptSpace | None:
        """Return a space from its file, unless the file is of another state than one this one came from."""
        if self._files is None:
            return None
        kept = self._files.read(space_id, self._connection.execute(_MARK).get)
        if kept is None or kept.epoch != epoch or kept.version > version:
            return None
        return kept if self._came_from(kept, space_id) else None

    def keep(self, space_id: SpaceId, space: KeptSpace) -> KeptSpace | None:
        """Write the file of a space and map it, unless another process has just done so."""
        if self._files is None or self._read_only:
            return None
        kept = self.kept(space_id, space.version, space.epoch)
        if kept is not None and kept.seen == space.seen and len(kept.chunks.ids) <= len(space.chunks.ids):
            return kept
        for other in self._files.spaces():
            if not self._number(_HOLDS_VECTORS, other):
                self._files.remove(other)
        if not self._files.write(space_id, self._connection.execute(_MARK).get, space):
            return None
        return self.kept(space_id, space.version, space.epoch)

    def _came_from(self, kept: KeptSpace, space_id: SpaceId) -> bool:
        """Return True if the snapshot is a later state of what was kept, and not of a backup put back."""
        used = dict(iter(self._connection.execute(_USED_IDS)))
        seen = {"vectors": kept.seen.vector, "chunks": kept.seen.chunk, "names": kept.seen.name}
        if any(used.get(table, 0) < last for table, last in seen.items()):
            return False
        at = _compared(len(kept.block.keys))
        rows = self._connection.execute(_CHECKSUMS, (json.dumps(kept.block.keys[at].tolist()),))
        checksums = [zlib.crc32(row.tobytes()) for row in kept.block.rows[at]]
        if dict(iter(rows)) != dict(zip(kept.block.keys[at].tolist(), checksums, strict=True)):
            return False
        at = _compared(len(kept.chunks.ids))
        owners = dict(
            zip(kept.chunks.ids[at].tolist(), kept.block.keys[kept.chunks.rows[at]].tolist(), strict=True)
        )
        found = self._connection.execute(_VECTORS_OF, (json.dumps([*owners]), space_id))
        return all(owners[chunk] == vector for chunk, vector in found)

    def _number(self, sql: str, *arguments: int) -> int:
        number: int = self._connection.execute(sql, arguments).get
        return number

    def _pairs(self, template: str, kind: VectorKind, *arguments: int) -> NDArray[np.int64]:
        """Return pairs of whole numbers, shape (n, 2)."""
        import numpy as np

        sql = template.format(owner=OWNERS[kind], table=TABLES[kind])
        rows: Iterable[Any] = iter(self._connection.execute(sql, arguments))
        batches = [np.empty((0, 2), np.int64)]
        while batch := list(itertools.islice(rows, _BATCH_ROWS)):
            batches.append(np.array(batch, np.int64))
        return np.concatenate(batches)


def _compared(count: int) -> NDArray[np.int64]:
    """Return which of ``count`` rows are compared, ascending, each once."""
    import numpy as np

    spread = np.linspace(0, max(count - 1, 0), _COMPARED // 2).astype(np.int64)
    latest = np.arange(max(0, count - _COMPARED // 2), count)
    # numpy.union1d would import numpy.ma, which takes longer than all the rest here.
    return np.array(sorted({*spread[:count].tolist(), *latest.tolist()}), np.int64)
