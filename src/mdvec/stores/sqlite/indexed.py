"""Searches by meaning through a vector index beside the store, without a matrix in memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdvec.stores.exact import best_inside, largest_similarities, spread_evenly
from mdvec.stores.loaded import LoadedSpaces
from mdvec.stores.memo import Memo
from mdvec.stores.records import ChunkPlace
from mdvec.stores.sqlite.checksums import VECTOR
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.documents import places_of
from mdvec.stores.sqlite.snapshots import Snapshot
from mdvec.stores.sqlite.vectors import Inside, VectorReader
from mdvec.stores.vectors.following import FollowedIndex
from mdvec.stores.vectors.index import VectorKind
from mdvec.types.ids import SpaceId
from mdvec.types.query import Where

_BATCH_ROWS = 4096

# A sample of a space is taken again when its owners have grown or shrunk by this share.
_SAMPLE_DRIFT = 0.05

_ALL_TEXTS = f"""SELECT c.id, {VECTOR} FROM chunks c
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash"""  # noqa: S608 - a constant
_ALL_NAMES = f"""SELECT n.document_id, {VECTOR} FROM names n
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = n.text_hash"""  # noqa: S608 - a constant
_TEXTS_OF = f"""SELECT c.id, {VECTOR} FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash"""  # noqa: S608 - a constant
_NAMES_OF = f"""SELECT n.document_id, {VECTOR} FROM json_each(?) j
    CROSS JOIN names n ON n.document_id = j.value
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = n.text_hash"""  # noqa: S608 - a constant
# How many chunks and vectors had ever been written.
_ROWS = """SELECT coalesce((SELECT max(id) FROM vectors), 0) + coalesce((SELECT max(id) FROM chunks), 0)"""
# Two indexes that cover it: no vector is read.
_TEXT_IDS = """SELECT c.id FROM vectors v CROSS JOIN chunks c ON c.text_hash = v.text_hash
    WHERE v.space_id = ?"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Chunks that were spread evenly over a space when they were chosen.

    Attributes:
        ids: The chunks.
        total: Of how many.
        rows: How many chunks and vectors had ever been written, in all spaces.
    """

    ids: tuple[int, ...]
    total: int
    rows: int

    def is_current(self, rows: int, wanted: int) -> bool:
        """Return True if it still stands for a space with so many rows, from which so many are wanted."""
        if self.rows == rows:
            return True
        return len(self.ids) == wanted and 0 <= rows - self.rows <= _SAMPLE_DRIFT * self.total


Samples = dict[tuple[SpaceId, int], Sample]
"""What was sampled, by space and size; shared by all snapshots of a store."""


class IndexedVectors(VectorReader):
    """Answers what :class:`VectorReader` answers, through an index; similarities are the store's own.

    Args:
        connection: The snapshot.
        memo: What is known of versions.
        spaces: What is known of pending texts; no matrix is loaded.
        samples: What was sampled.
        follow: Makes the index follow the snapshot; it is given the connection and the version.
    """

    def __init__(
        self,
        connection: Connection,
        memo: Memo | None,
        spaces: LoadedSpaces | None,
        samples: Samples,
        follow: Callable[[Connection, int], FollowedIndex],
    ) -> None:
        super().__init__(connection, memo, spaces)
        self._samples = samples
        self._index = follow(connection, self.version)

    def _nearest(
        self,
        kind: VectorKind,
        space_id: SpaceId,
        query: NDArray[np.float32],
        where: Where,
        limit: int,
        inside: Inside,
    ) -> list[tuple[int, float]]:
        best: Iterable[int] | None
        if isinstance(inside, frozenset):
            best = inside
        else:
            collections = None if self.covers_everything(where) else where.collections
            best = self._index.propose(space_id, query, kind, limit, inside, collections)
            if best is None:
                best = self._scan(kind, space_id, query, limit, inside)
        found = self._similarities(kind, space_id, query, [*best])
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def _similarities(
        self, kind: VectorKind, space_id: SpaceId, query: NDArray[np.float32], ids: Sequence[int]
    ) -> dict[int, float]:
        sql = _TEXTS_OF if kind is VectorKind.TEXT else _NAMES_OF
        return largest_similarities(self._batches(sql, (json.dumps(sorted(set(ids))), space_id)), query)

    def _scan(
        self,
        kind: VectorKind,
        space_id: SpaceId,
        query: NDArray[np.float32],
        limit: int,
        inside: Callable[[Sequence[int]], set[int]],
    ) -> list[int]:
        """Return owners by looking at every vector of the space, some at a time."""
        sql = _ALL_TEXTS if kind is VectorKind.TEXT else _ALL_NAMES
        found = largest_similarities(self._batches(sql, (space_id,)), query)
        ids = np.fromiter(found, np.int64, len(found))
        values = np.fromiter(found.values(), np.float32, len(found))
        return best_inside(ids, values, limit, inside) if found else []

    def _batches(self, sql: str, arguments: tuple[str | int, ...]) -> Iterator[tuple[list[int], list[bytes]]]:
        rows: Iterable[Any] = self.connection.execute(sql, arguments)
        while batch := list(itertools.islice(rows, _BATCH_ROWS)):
            yield [row[0] for row in batch], [row[1] for row in batch]

    def _sampled(self, space_id: SpaceId, count: int) -> list[ChunkPlace]:
        rows: int = self.connection.execute(_ROWS).get
        known = self._samples.get((space_id, count))
        if known is not None and known.is_current(rows, count):
            places = places_of(self.connection, known.ids)
            if places and len(places) >= (1 - _SAMPLE_DRIFT) * len(known.ids):
                return places
        known = self._samples[space_id, count] = self._choose_sample(space_id, count, rows)
        return places_of(self.connection, known.ids)

    def _choose_sample(self, space_id: SpaceId, count: int, rows: int) -> Sample:
        found = self.connection.execute(_TEXT_IDS, (space_id,))
        ids = np.sort(np.fromiter((row[0] for row in found), np.int64))
        return Sample(tuple(spread_evenly(ids, count)), len(ids), rows)


class IndexedSnapshot(IndexedVectors, Snapshot):
    """A snapshot of a store with a vector index."""
