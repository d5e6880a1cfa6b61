"""A space as it is kept in memory: read once, then kept up to date by what is new."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdvec.types.ids import SpaceId
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import generation, vector_epoch
from mdvec.stores.sqlite.matrix import VectorMatrix
from mdvec.stores.sqlite.placement import SpaceView, nothing_placed

_BATCH_ROWS = 4096

# So few chunks are placed anew after every commit, in milliseconds: then none that is gone is left.
_FEW_CHUNKS = 4096

# Of more chunks, those that are gone are left out once there are so many times as many places as chunks.
_MOST_PLACES = 1.25

# The plus makes SQLite read the table in order of id instead of sorting what an index gives.
_NEW_VECTORS = "SELECT id, vector FROM vectors WHERE +space_id = ? AND id > ? ORDER BY id"

_PLACES_OF_NEW = """SELECT o.id, o.document_id, v.id FROM {owners} o
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash WHERE o.id > ? ORDER BY o.id"""

# Of chunks or names that were there before their vectors.
_PLACES_OF_OLD = """SELECT o.id, o.document_id, v.id FROM vectors v
    CROSS JOIN {owners} o ON o.text_hash = v.text_hash
    WHERE +v.space_id = ? AND v.id > ? AND +o.id <= ? ORDER BY v.id"""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The largest ids that were looked at, of whatever space: they are never used again."""

    vector: int = 0
    document: int = 0
    chunk: int = 0
    name: int = 0


class LoadedSpace:
    """The vectors of a space and what they belong to. Not safe for two threads, but its views are.

    Attributes:
        generation: That of the newest snapshot it was read from.
        epoch: The vector epoch of that snapshot; its vectors are of no use in another.
    """

    def __init__(self, connection: Connection, space_id: SpaceId) -> None:
        self.generation = generation(connection)
        self.epoch = vector_epoch(connection)
        self._space_id = space_id
        count = connection.execute("SELECT count(*) FROM vectors WHERE space_id = ?", (space_id,)).get
        dimension = connection.execute("SELECT dimension FROM spaces WHERE id = ?", (space_id,)).get
        self._matrix = VectorMatrix(dimension, count)
        self._placement = nothing_placed()
        self._seen = _Seen()
        self._read_what_is_new(connection)

    def catch_up(self, connection: Connection) -> None:
        """Read what a newer snapshot of the same epoch holds. After an exception it is of no use."""
        self.generation = generation(connection)
        if self._has_too_much(connection):
            self._placement = nothing_placed()
            self._seen = _Seen(vector=self._seen.vector)
        self._read_what_is_new(connection)

    def view(self) -> SpaceView:
        """Return what was read so far."""
        return SpaceView(self._matrix.view(), self._placement)

    def _has_too_much(self, connection: Connection) -> bool:
        chunks: int = connection.execute("SELECT count(*) FROM chunks").get
        return chunks <= _FEW_CHUNKS or len(self._placement.chunks) > _MOST_PLACES * chunks

    def _read_what_is_new(self, connection: Connection) -> None:
        seen = self._seen
        newest = _newest(connection, seen)
        if newest.vector > seen.vector:
            self._read_vectors(connection)
        if newest.document > seen.document:
            rows = connection.execute("SELECT id FROM documents WHERE id > ? ORDER BY id", (seen.document,))
            self._placement = self._placement.with_documents(_numbers(rows, columns=1)[:, 0])
        row_ids = self._matrix.view().ids
        chunks = self._places(connection, "chunks", seen.chunk, newest)
        if len(chunks):
            rows_of = np.searchsorted(row_ids, chunks[:, 2])
            self._placement = self._placement.with_chunks(chunks[:, 0], chunks[:, 1], rows_of)
        names = self._places(connection, "names", seen.name, newest)
        if len(names):
            rows_of = np.searchsorted(row_ids, names[:, 2])
            self._placement = self._placement.with_names(names[:, 1], rows_of)
        self._seen = newest

    def _read_vectors(self, connection: Connection) -> None:
        rows = connection.execute(_NEW_VECTORS, (self._space_id, self._seen.vector))
        while batch := list(itertools.islice(rows, _BATCH_ROWS)):
            self._matrix.append([row[0] for row in batch], [row[1] for row in batch])

    def _places(
        self, connection: Connection, owners: str, seen_owner: int, newest: _Seen
    ) -> NDArray[np.int64]:
        """Return owner, document and vector of all pairs that were not seen; shape (n, 3)."""
        of_new = connection.execute(_PLACES_OF_NEW.format(owners=owners), (self._space_id, seen_owner))
        found = [_numbers(of_new, columns=3)]
        if newest.vector > self._seen.vector and seen_owner:
            arguments = (self._space_id, self._seen.vector, seen_owner)
            of_old = connection.execute(_PLACES_OF_OLD.format(owners=owners), arguments)
            found.append(_numbers(of_old, columns=3))
        return np.concatenate(found)


def _newest(connection: Connection, seen: _Seen) -> _Seen:
    """Return the largest ids; those of rows that were deleted meanwhile count too."""
    row = connection.execute(
        """SELECT (SELECT max(id) FROM vectors), (SELECT max(id) FROM documents),
        (SELECT max(id) FROM chunks), (SELECT max(id) FROM names)"""
    ).get
    vector, document, chunk, name = (each or 0 for each in row)
    return _Seen(
        max(vector, seen.vector),
        max(document, seen.document),
        max(chunk, seen.chunk),
        max(name, seen.name),
    )


def _numbers(rows: Iterable[tuple[int, ...]], *, columns: int) -> NDArray[np.int64]:
    """Return rows of whole numbers as an array, shape (n, columns)."""
    batches = [np.empty((0, columns), np.int64)]
    rows = iter(rows)
    while batch := list(itertools.islice(rows, _BATCH_ROWS)):
        batches.append(np.array(batch, np.int64))
    return np.concatenate(batches)
