"""Searches by meaning through a vector index beside the store, without a matrix in memory."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdvec import run
from mdvec.errors import StoreError
from mdvec.stores.exact import STORED, best_inside, largest_similarities, products_by_numpy
from mdvec.stores.sqlite.changes import (
    Applied,
    can_follow,
    count_entries,
    decode,
    dropped_spaces,
    indexed_space,
    next_changes,
    state,
)
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Memo
from mdvec.stores.sqlite.snapshots import Snapshot
from mdvec.stores.sqlite.vectors import LoadedSpaces, VectorReader
from mdvec.stores.sqlite.where import keep_chunks, keep_documents
from mdvec.stores.vectors.index import IndexedSpace, VectorIndex, VectorKind
from mdvec.types.ids import ChunkId, DocumentId, SpaceId
from mdvec.types.query import Where

_BATCH_ROWS = 4096

# A search catches up with about so many entries, a second's work. What is left waits for the next one, and
# the vectors of the store answer.
_MOST_PER_SEARCH = 10_000

# The index ranks by similarities of its own: the last of the nearest may come out just behind.
_SPARE = 32

# A filter usually lets a good part through; where it does not, more and more are proposed.
_FIRST_FACTOR = 2
_NEXT_FACTOR = 4
# Of more, looking at all vectors of the store is no slower.
_MOST_PROPOSED = 4_096

# A sample of a space is taken again when its owners have grown or shrunk by this share.
_SAMPLE_DRIFT = 0.05

_TEXTS_OF = """SELECT c.id, v.vector FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash"""
_NAMES_OF = """SELECT n.document_id, v.vector FROM json_each(?) j
    CROSS JOIN names n ON n.document_id = j.value
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = n.text_hash"""
_ALL_TEXTS = """SELECT c.id, v.vector FROM chunks c
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash"""
_ALL_NAMES = """SELECT n.document_id, v.vector FROM names n
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = n.text_hash"""
# Two indexes that cover it: no vector is read.
_TEXT_IDS = """SELECT c.id FROM vectors v CROSS JOIN chunks c ON c.text_hash = v.text_hash
    WHERE v.space_id = ?"""


@dataclass(frozen=True, slots=True)
class _Sample:
    """Chunks that are spread evenly over a space.

    Attributes:
        ids: The chunks.
        total: Of how many.
        rows: How many chunks and vectors had ever been written, in all spaces.
    """

    ids: tuple[int, ...]
    total: int
    rows: int

    def is_current(self, rows: int, wanted: int) -> bool:
        if self.rows == rows:
            return True
        return len(self.ids) == wanted and 0 <= rows - self.rows <= _SAMPLE_DRIFT * self.total


class AttachedIndex:
    """The vector index of a store, and how it catches up. Safe to use from several threads.

    Args:
        index: The index.
        current_version: Reads the version of the store now.
    """

    def __init__(self, index: VectorIndex, current_version: Callable[[], int]) -> None:
        self.index = index
        self.samples: dict[tuple[SpaceId, int], _Sample] = {}
        self._current_version = current_version
        self._catching_up = threading.Lock()

    def catch_up(
        self,
        connection: Connection,
        space_id: SpaceId,
        space: IndexedSpace,
        now: Applied,
        most: int,
        *,
        wait: bool = False,
    ) -> bool:
        """Apply what the index has missed.

        Args:
            connection: The snapshot.
            space_id: The space.
            space: The same, as the index knows it.
            now: The state of the snapshot.
            most: About how many entries to apply.
            wait: Wait while another thread does the same; else return False then.

        Returns:
            True if the index holds all that the snapshot shows.
        """
        if self.serves(space, now):
            return True
        # One thread is enough; meanwhile the others use the vectors of the store.
        if not self._catching_up.acquire(blocking=wait):
            return False
        try:
            return self._catch_up(connection, space_id, space, now, most)
        finally:
            self._catching_up.release()

    def serves(self, space: IndexedSpace, now: Applied) -> bool:
        """Return True if the index holds all that a snapshot shows."""
        mark = decode(self.index.applied(space))
        return mark is not None and mark.serves(now) and not self._is_ahead(mark, now)

    def rebuild(self, connection: Connection, version: int) -> int:
        """Empty the index and fill it; return how many vectors it holds.

        Raises:
            StoreError: If it does not take them.
        """
        now, total = state(connection, version), 0
        for (space_id,) in list(connection.execute("SELECT id FROM spaces ORDER BY id")):
            space = indexed_space(connection, space_id)
            self.index.drop(space)
            entries = count_entries(connection, space_id)
            # More than is needed, so that another process may interfere; but not for ever.
            most = _MOST_PER_SEARCH + 3 * entries
            if entries and not self.catch_up(connection, space_id, space, now, most, wait=True):
                msg = f"the vector index {self.index.location} cannot be filled"
                raise StoreError(msg, hint="Another process may be rebuilding it; try again.")
            total += entries
        return total

    def _is_ahead(self, mark: Applied, now: Applied) -> bool:
        """Return True if the mark is of a later version than the store has: it was set back, by a backup."""
        return mark.version > now.version and mark.version > self._current_version()

    def _catch_up(
        self, connection: Connection, space_id: SpaceId, space: IndexedSpace, now: Applied, most: int
    ) -> bool:
        applied = 0
        while applied < most:
            run.current().check()
            text = self.index.applied(space)
            mark = decode(text)
            ahead = mark is not None and self._is_ahead(mark, now)
            if mark is not None and not ahead:
                if mark.serves(now):
                    return True
                if mark.version > now.version and mark.store == now.store:
                    return False  # the snapshot is older than the index
            if text is not None and (
                mark is None or ahead or not can_follow(connection, space_id, mark, now)
            ):
                self.index.drop(space)
                mark = None
            elif mark is not None:
                self._drop_others(connection, mark, now)
            changes = next_changes(connection, space_id, mark, now)
            self.index.apply(space, changes)
            applied += len(changes.added) + len(changes.removed) + 1
        return self.serves(space, now)

    def _drop_others(self, connection: Connection, mark: Applied, now: Applied) -> None:
        """Drop spaces that the store dropped, once: none is searched again that would notice it itself."""
        if mark.removed == now.removed:
            return
        for other in dropped_spaces(connection, mark, now):
            self.index.drop(other)


class IndexedVectors(VectorReader):
    """Answers what :class:`VectorReader` answers, through an index; similarities are the store's own.

    Attributes:
        attached: The index.
    """

    attached: AttachedIndex

    def __init__(
        self,
        connection: Connection,
        memo: Memo | None,
        spaces: LoadedSpaces | None,
        attached: AttachedIndex,
    ) -> None:
        super().__init__(connection, memo, spaces)
        self.attached = attached
        self._caught_up: dict[SpaceId, bool] = {}

    def nearest_chunks(
        self, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[ChunkId, float]]:
        """Return the chunks whose texts are nearest to a query, by plain cosine similarity."""
        if not where.collections or limit <= 0:
            return []
        few = self.few_inside(where)
        best: Iterable[int]
        if few is not None:
            best = few[0]
        else:
            best = self._best(
                space_id,
                query,
                where,
                limit,
                VectorKind.TEXT,
                lambda ids: keep_chunks(self.connection, where, ids),
            )
        found = self.chunk_similarities(space_id, query, [ChunkId(each) for each in best])
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def nearest_documents(
        self, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[DocumentId, float]]:
        """Return the documents whose names are nearest to a query."""
        if not where.collections or limit <= 0:
            return []
        few = self.few_inside(where)
        best: Iterable[int]
        if few is not None:
            best = few[1]
        else:
            best = self._best(
                space_id,
                query,
                where,
                limit,
                VectorKind.NAME,
                lambda ids: keep_documents(self.connection, where, ids),
            )
        found = self.name_similarities(space_id, query, [DocumentId(each) for each in best])
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def chunk_similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], ids: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return the exact cosine similarity of those of the chunks' texts that have a vector."""
        found = self._similarities(_TEXTS_OF, space_id, query, ids)
        return {ChunkId(each): similarity for each, similarity in found.items()}

    def name_similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], documents: Sequence[DocumentId]
    ) -> dict[DocumentId, float]:
        """Return the exact cosine similarity of the nearest name of those documents with an embedded name."""
        found = self._similarities(_NAMES_OF, space_id, query, documents)
        return {DocumentId(each): similarity for each, similarity in found.items()}

    def sampled_similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], count: int
    ) -> NDArray[np.float32]:
        """Return the cosine similarities of chunks that are spread evenly over a whole space."""
        sampled = self.memorized(("sampled", space_id, count), lambda: self._sampled(space_id, count))
        return products_by_numpy(sampled, query)

    def _best(
        self,
        space_id: SpaceId,
        query: NDArray[np.float32],
        where: Where,
        limit: int,
        kind: VectorKind,
        inside: Callable[[Sequence[int]], set[int]],
    ) -> list[int]:
        """Return owners inside that may be among the nearest, by the index if it can be used now."""
        with run.current().step("vector index", kind=kind.value) as details:
            try:
                proposed = self._proposed(space_id, query, where, limit, kind, inside)
            except StoreError as error:
                details.update(problem=str(error))
                proposed = None
            details.update(used=proposed is not None)
        return self._scan(space_id, query, limit, kind, inside) if proposed is None else proposed

    def _proposed(
        self,
        space_id: SpaceId,
        query: NDArray[np.float32],
        where: Where,
        limit: int,
        kind: VectorKind,
        inside: Callable[[Sequence[int]], set[int]],
    ) -> list[int] | None:
        """Return owners from the index; None if too many are wanted, or it differs from the snapshot."""
        index = self.attached.index
        now = self._state()
        space = self.memorized(("indexed space", space_id), lambda: indexed_space(self.connection, space_id))
        if space_id not in self._caught_up:
            self._caught_up[space_id] = self.attached.catch_up(
                self.connection, space_id, space, now, _MOST_PER_SEARCH
            )
        if not self._caught_up[space_id]:
            return None
        everything = self.covers_everything(where)
        collections = None if everything else where.collections
        size = (1 if everything and kind is VectorKind.TEXT else _FIRST_FACTOR) * limit + _SPARE
        while True:
            if size > _MOST_PROPOSED:
                return None
            found = index.nearest(space, query, kind, size, collections)
            owners = list(dict.fromkeys(owner for owner, _ in found))
            allowed = inside(owners)
            if len(allowed) >= limit or len(found) < size:
                break
            size *= _NEXT_FACTOR
        if not self.attached.serves(space, now):  # another process went on, or rebuilds it
            return None
        return [owner for owner in owners if owner in allowed][: limit + _SPARE]

    def _state(self) -> Applied:
        return self.memorized("index state", lambda: state(self.connection, self.version))

    def _scan(
        self,
        space_id: SpaceId,
        query: NDArray[np.float32],
        limit: int,
        kind: VectorKind,
        inside: Callable[[Sequence[int]], set[int]],
    ) -> list[int]:
        """Return owners by looking at every vector of the space, some at a time."""
        sql = _ALL_TEXTS if kind is VectorKind.TEXT else _ALL_NAMES
        found = largest_similarities(self._batches(sql, (space_id,)), query)
        ids = np.fromiter(found, np.int64, len(found))
        values = np.fromiter(found.values(), np.float32, len(found))
        return best_inside(ids, values, limit, inside) if found else []

    def _similarities(
        self, sql: str, space_id: SpaceId, query: NDArray[np.float32], ids: Iterable[int]
    ) -> dict[int, float]:
        return largest_similarities(self._batches(sql, (json.dumps(sorted(set(ids))), space_id)), query)

    def _batches(self, sql: str, arguments: tuple[str | int, ...]) -> Iterator[tuple[list[int], list[bytes]]]:
        rows: Iterable[Any] = self.connection.execute(sql, arguments)
        while batch := list(itertools.islice(rows, _BATCH_ROWS)):
            yield [row[0] for row in batch], [row[1] for row in batch]

    def _sampled(self, space_id: SpaceId, count: int) -> NDArray[np.float16]:
        """Return the vectors of the sample, shape (n, dim)."""
        now = self._state()
        rows = now.vector + now.text
        known = self.attached.samples.get((space_id, count))
        vectors: list[bytes] = []
        if known is not None and known.is_current(rows, count):
            vectors = self._vectors_of(space_id, known.ids)
        if known is None or len(vectors) < (1 - _SAMPLE_DRIFT) * len(known.ids) or not vectors:
            known = self._choose_sample(space_id, count, rows)
            self.attached.samples[space_id, count] = known
            vectors = self._vectors_of(space_id, known.ids)
        dimension = self.connection.execute("SELECT dimension FROM spaces WHERE id = ?", (space_id,)).get
        return _matrix(vectors, dimension)

    def _choose_sample(self, space_id: SpaceId, count: int, rows: int) -> _Sample:
        found = self.connection.execute(_TEXT_IDS, (space_id,))
        ids = np.sort(np.fromiter((row[0] for row in found), np.int64))
        at = np.linspace(0, len(ids) - 1, min(len(ids), count)).astype(np.intp)
        return _Sample(tuple(ids[at].tolist()) if len(ids) else (), len(ids), rows)

    def _vectors_of(self, space_id: SpaceId, ids: Sequence[int]) -> list[bytes]:
        rows = self.connection.execute(_TEXTS_OF, (json.dumps(ids), space_id))
        return [row[1] for row in rows]


class IndexedSnapshot(IndexedVectors, Snapshot):
    """A snapshot of a store with a vector index."""


def _matrix(vectors: Sequence[bytes], dimension: int) -> NDArray[np.float16]:
    return np.frombuffer(b"".join(vectors), STORED).reshape(len(vectors), dimension)
