"""Vectors by space and text, and exact search through one matrix for each space."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mdvec.types.ids import ChunkId, SpaceId, TextHash
from mdvec.types.query import Scope
from mdvec.types.space import EmbeddingSpace, Unrelated, UnrelatedTexts
from mdvec.stores.interface import DenseMatches
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Database, generation, vector_epoch
from mdvec.stores.sqlite.scope import SMALL_SCOPE, chunks_inside, covers_everything, keep_inside

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.stores.sqlite.placement import SpaceView
    from mdvec.stores.sqlite.space import LoadedSpace

_FIRST_CANDIDATES_FACTOR = 8
_CANDIDATES_GROWTH = 8

# Estimates are of half precision: the last of the nearest may come out just behind.
_SPARE_CANDIDATES = 32

# A newer snapshot is what another thread has read already, except when the file was replaced.
_MOST_TRIES = 4

_Ranking = list[tuple[ChunkId, float]]


class SqliteVectorIndex:
    """The vectors of all spaces in one table; those of a space in memory once they are searched."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._loaded: dict[SpaceId, LoadedSpace] = {}

    def find_space(self, space: EmbeddingSpace) -> SpaceId | None:
        """Return the id of a space that is known already."""
        with self._database.reading() as connection:
            return _find_space(connection, space)

    def open_space(self, space: EmbeddingSpace) -> SpaceId:
        """Return the id of a space, writing it down when it is new."""
        with self._database.writing() as connection:
            known = _find_space(connection, space)
            if known is not None:
                return known
            connection.execute(
                "INSERT INTO spaces(key, dimension) VALUES (?, ?)", (space.key, space.dimension)
            )
            return SpaceId(connection.last_insert_rowid())

    def unrelated(self, space_id: SpaceId) -> UnrelatedTexts | None:
        """Return how similar unrelated texts are in a space; None until it was measured."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT unspaced, mean, spread FROM unrelated WHERE space_id = ?", (space_id,)
            )
            found = {bool(unspaced): Unrelated(mean, spread) for unspaced, mean, spread in rows}
        return UnrelatedTexts(spaced=found[False], unspaced=found[True]) if found else None

    def set_unrelated(self, space_id: SpaceId, measured: UnrelatedTexts) -> None:
        """Write down how similar unrelated texts are; what is there already is left as it is."""
        rows = [(space_id, 0, measured.spaced), (space_id, 1, measured.unspaced)]
        with self._database.writing() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO unrelated(space_id, unspaced, mean, spread) VALUES (?, ?, ?, ?)",
                [(space, unspaced, each.mean, each.spread) for space, unspaced, each in rows],
            )

    def cached(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return those of the hashes that have a vector."""
        with self._database.reading() as connection:
            rows = connection.execute(
                """SELECT v.text_hash FROM json_each(?) j
                CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = unhex(j.value)""",
                (json.dumps([each.hex() for each in hashes]), space_id),
            )
            return {TextHash(row[0]) for row in rows}

    def add(self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]) -> None:
        """Add unit vectors; a hash that is there already is left as it is.

        Raises:
            ValueError: If the vectors do not have the shape (len(hashes), dim).
        """
        from mdvec.stores.sqlite.matrix import encode

        with self._database.writing() as connection:
            expected = (len(hashes), _dimension(connection, space_id))
            if vectors.shape != expected:
                msg = f"vectors of shape {vectors.shape} where {expected} was expected"
                raise ValueError(msg)
            connection.executemany(
                "INSERT OR IGNORE INTO vectors(space_id, text_hash, vector) VALUES (?, ?, ?)",
                zip(itertools.repeat(space_id), hashes, encode(vectors)),
            )

    def search(self, space_id: SpaceId, query: NDArray[np.float32], limit: int, scope: Scope) -> DenseMatches:
        """Return the exact nearest chunks inside the scope."""
        with self._snapshot(space_id) as (connection, view):
            mean, spread = view.mean_and_spread(query)
            ranking = _search(connection, view, query, limit, scope)
        return DenseMatches(
            tuple(chunk_id for chunk_id, _ in ranking), tuple(near for _, near in ranking), mean, spread
        )

    def similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], ids: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return how near those of the chunks are that have a vector."""
        with self._snapshot(space_id) as (connection, view):
            return view.similarities(view.positions(_that_exist(connection, ids)), query)

    def drop_space(self, space_id: SpaceId) -> int:
        """Remove all vectors of a space; its row stays, so that its id is not used again."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM vectors WHERE space_id = ?", (space_id,))
            return _removed(connection)

    def drop_unused(self, *, keep: int = 0) -> int:
        """Remove vectors of any space that no chunk and no name uses, except the newest ``keep``."""
        with self._database.writing() as connection:
            connection.execute(
                """DELETE FROM vectors WHERE id IN (
                SELECT v.id FROM vectors v
                WHERE NOT EXISTS(SELECT 1 FROM chunks c WHERE c.text_hash = v.text_hash)
                AND NOT EXISTS(SELECT 1 FROM names n WHERE n.text_hash = v.text_hash)
                ORDER BY v.id DESC LIMIT -1 OFFSET ?)""",
                (keep,),
            )
            return _removed(connection)

    @contextmanager
    def _snapshot(self, space_id: SpaceId) -> Iterator[tuple[Connection, SpaceView]]:
        """Read from one snapshot of the database.

        Yields:
            A connection to look at it, and the vectors of a space. Those may belong to chunks that are
            not there, never the other way round.
        """
        for _ in range(_MOST_TRIES):
            with self._database.reading() as connection:
                view = self._view(connection, space_id)
                if view is not None:
                    yield connection, view
                    return
        with self._database.reading() as connection:
            yield connection, _read(connection, space_id)

    def _view(self, connection: Connection, space_id: SpaceId) -> SpaceView | None:
        """Return what is in memory of a space, brought up to date; None when it is newer than the snapshot.

        What another thread read of a newer snapshot may lack chunks that were replaced meanwhile.
        """
        from mdvec.stores.sqlite.space import LoadedSpace

        if self._database.in_transaction:  # what may yet be undone is nothing for others
            return _read(connection, space_id)
        now = generation(connection)
        with self._guard:
            # What breaks off in the middle, because of Ctrl-C for one, is not put back.
            loaded = self._loaded.pop(space_id, None)
            if loaded is None or loaded.epoch < vector_epoch(connection):
                loaded = LoadedSpace(connection, space_id)
            elif loaded.generation < now:
                loaded.catch_up(connection)
            self._loaded[space_id] = loaded
            return loaded.view() if loaded.generation == now else None


def _find_space(connection: Connection, space: EmbeddingSpace) -> SpaceId | None:
    found = connection.execute("SELECT id FROM spaces WHERE key = ?", (space.key,)).get
    return None if found is None else SpaceId(found)


def _removed(connection: Connection) -> int:
    """Return how many vectors the last statement removed; those in memory are of no use then."""
    removed = connection.changes()
    if removed:
        connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'")
    return removed


def _dimension(connection: Connection, space_id: SpaceId) -> int:
    dimension: int = connection.execute("SELECT dimension FROM spaces WHERE id = ?", (space_id,)).get
    return dimension


def _read(connection: Connection, space_id: SpaceId) -> SpaceView:
    """Read a space for one search alone."""
    from mdvec.stores.sqlite.space import LoadedSpace

    return LoadedSpace(connection, space_id).view()


def _search(
    connection: Connection, view: SpaceView, query: NDArray[np.float32], limit: int, scope: Scope
) -> _Ranking:
    if limit <= 0 or not scope.collections or not len(view.chunks):
        return []
    if covers_everything(connection, scope):
        # Nearly every chunk in memory is there; inside a narrower scope most may not be.
        return _search_large_scope(connection, view, query, limit, scope, limit + _SPARE_CANDIDATES)
    few = chunks_inside(connection, scope, SMALL_SCOPE)
    if few is not None:
        positions = view.positions(few)
        return _ranking(view, positions, view.estimates_at(positions, query), query, limit)
    return _search_large_scope(connection, view, query, limit, scope, _FIRST_CANDIDATES_FACTOR * limit)


def _search_large_scope(
    connection: Connection,
    view: SpaceView,
    query: NDArray[np.float32],
    limit: int,
    scope: Scope,
    size: int,
) -> _Ranking:
    """Take the nearest chunks, more of them until enough are inside the scope.

    Args:
        connection: Where to test them.
        view: Vectors and chunks.
        query: What to be near to.
        limit: How many chunks are enough.
        scope: What is allowed.
        size: How many to begin with.
    """
    from mdvec.stores.sqlite.matrix import nearest

    estimates = view.estimates(query)
    while True:
        size = min(size, len(estimates))
        inside = keep_inside(connection, scope, view.chunks[nearest(estimates, size)].tolist())
        if len(inside) >= limit or size == len(estimates):
            positions = view.positions(inside)
            return _ranking(view, positions, estimates[positions], query, limit)
        size *= _CANDIDATES_GROWTH


def _ranking(
    view: SpaceView,
    positions: NDArray[np.intp],
    estimates: NDArray[np.float32],
    query: NDArray[np.float32],
    limit: int,
) -> _Ranking:
    """Rank some chunks: the nearest of them exactly, ties in order of id.

    Args:
        view: Vectors and chunks.
        positions: Where the chunks stand, ascending.
        estimates: About how near each of them is, in the same order.
        query: What to be near to.
        limit: Most chunks to return.
    """
    from mdvec.stores.sqlite.matrix import nearest

    size = limit + _SPARE_CANDIDATES
    if len(positions) > size:
        positions = positions[nearest(estimates, size)]
    similarities = view.similarities(positions, query)
    return sorted(similarities.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


def _that_exist(connection: Connection, ids: Iterable[ChunkId]) -> list[ChunkId]:
    rows = connection.execute(
        "SELECT c.id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value", (json.dumps(list(ids)),)
    )
    return [ChunkId(row[0]) for row in rows]
