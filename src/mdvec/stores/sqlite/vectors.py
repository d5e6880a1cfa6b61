"""Vectors by space and text, and exact search through one matrix for each space."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdvec.model.ids import ChunkId, SpaceId, TextHash
from mdvec.model.query import Scope
from mdvec.model.space import EmbeddingSpace
from mdvec.stores.interface import DenseMatches
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Database, vector_epoch
from mdvec.stores.sqlite.scope import SMALL_SCOPE, chunks_inside, covers_everything, keep_inside

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.stores.sqlite.matrix import MatrixView, VectorMatrix

_LOAD_ROWS = 4096
_FIRST_CANDIDATES_FACTOR = 8
_CANDIDATES_GROWTH = 8

# The first products are of half precision: the last of the nearest may come out just behind.
_SPARE_CANDIDATES = 32

_Pair = tuple[ChunkId, int]  # a chunk, and the id of its text's vector
_Ranking = list[tuple[ChunkId, float]]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A matrix, and what must still be so for it to be right."""

    matrix: VectorMatrix
    epoch: int
    rollbacks: int


class SqliteVectorIndex:
    """The vectors of all spaces in one table; those of a space in memory once they are searched."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._loaded: dict[SpaceId, _Loaded] = {}

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
        with self._database.reading() as connection:
            view = self._view(connection, space_id)
            mean, spread = view.mean_and_spread(query)
            if limit <= 0 or not scope.collections or not len(view.ids):
                ranking: _Ranking = []
            elif covers_everything(connection, scope):
                ranking = _search_large_scope(connection, view, query, limit, None)
            else:
                few = chunks_inside(connection, scope, SMALL_SCOPE)
                if few is not None:
                    pairs = _vectors_of(connection, space_id, few)
                    ranking = _search_small_scope(view, query, limit, pairs)
                else:
                    ranking = _search_large_scope(connection, view, query, limit, scope)
        best = ranking[:limit]
        return DenseMatches(
            tuple(chunk_id for chunk_id, _ in best), tuple(cosine for _, cosine in best), mean, spread
        )

    def similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], ids: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return the cosine similarity of those of the chunks that have a vector."""
        with self._database.reading() as connection:
            view = self._view(connection, space_id)
            return _similarities(view, query, _vectors_of(connection, space_id, ids))

    def drop_unused(self, *, keep: int = 0) -> int:
        """Remove vectors of any space that no chunk uses, except the newest ``keep``."""
        with self._database.writing() as connection:
            connection.execute(
                """DELETE FROM vectors WHERE id IN (
                SELECT v.id FROM vectors v
                WHERE NOT EXISTS(SELECT 1 FROM chunks c WHERE c.text_hash = v.text_hash)
                ORDER BY v.id DESC LIMIT -1 OFFSET ?)""",
                (keep,),
            )
            removed = connection.changes()
            if removed:
                connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'")
            return removed

    def _view(self, connection: Connection, space_id: SpaceId) -> MatrixView:
        """Return the matrix of a space with at least the vectors of this connection's snapshot.

        It may hold newer ones, read by another thread; no row of this snapshot refers to them.
        """
        from mdvec.stores.sqlite.matrix import VectorMatrix

        epoch = vector_epoch(connection)
        with self._guard:
            loaded = self._loaded.get(space_id)
            rollbacks = self._database.rollbacks
            # Ids are only used again for what a rolled back transaction had added.
            if loaded is None or loaded.epoch < epoch or loaded.rollbacks != rollbacks:
                count = connection.execute("SELECT count(*) FROM vectors WHERE space_id = ?", (space_id,)).get
                matrix = VectorMatrix(_dimension(connection, space_id), count)
                loaded = _Loaded(matrix, epoch, rollbacks)
                self._loaded[space_id] = loaded
            _append_new(connection, space_id, loaded.matrix)
            return loaded.matrix.view()


def _find_space(connection: Connection, space: EmbeddingSpace) -> SpaceId | None:
    found = connection.execute("SELECT id FROM spaces WHERE key = ?", (space.key,)).get
    return None if found is None else SpaceId(found)


def _dimension(connection: Connection, space_id: SpaceId) -> int:
    dimension: int = connection.execute("SELECT dimension FROM spaces WHERE id = ?", (space_id,)).get
    return dimension


def _append_new(connection: Connection, space_id: SpaceId, matrix: VectorMatrix) -> None:
    newest = connection.execute("SELECT max(id) FROM vectors").get or 0
    if newest <= matrix.seen:
        return
    # The plus makes SQLite read the table in order of id instead of sorting what an index gives.
    rows = connection.execute(
        "SELECT id, vector FROM vectors WHERE +space_id = ? AND id > ? ORDER BY id", (space_id, matrix.seen)
    )
    while batch := list(itertools.islice(rows, _LOAD_ROWS)):
        matrix.append([row[0] for row in batch], [row[1] for row in batch])
    matrix.seen = newest


def _search_large_scope(
    connection: Connection,
    view: MatrixView,
    query: NDArray[np.float32],
    limit: int,
    scope: Scope | None,
) -> _Ranking:
    """Take the nearest vectors, more of them until enough of their chunks are inside the scope.

    Args:
        connection: Where to look up chunks.
        view: The vectors.
        query: What to be near to.
        limit: How many chunks are enough.
        scope: What is allowed; None for everything.
    """
    from mdvec.stores.sqlite.matrix import nearest

    products = view.products(query)
    # Nearly every vector has a chunk; inside a scope most may have none.
    size = limit + _SPARE_CANDIDATES if scope is None else _FIRST_CANDIDATES_FACTOR * limit
    while True:
        size = min(size, len(products))
        pairs = _chunks_of(connection, view.ids[nearest(products, size)].tolist())
        if scope is not None:
            inside = keep_inside(connection, scope, {chunk_id for chunk_id, _ in pairs})
            pairs = [pair for pair in pairs if pair[0] in inside]
        if len(pairs) >= limit or size == len(products):
            return _rank(_similarities(view, query, pairs))
        size *= _CANDIDATES_GROWTH


def _search_small_scope(
    view: MatrixView, query: NDArray[np.float32], limit: int, pairs: Sequence[_Pair]
) -> _Ranking:
    """Compare with the vectors of some chunks alone."""
    from mdvec.stores.sqlite.matrix import nearest

    subset = view.subset([vector_id for _, vector_id in pairs])
    size = _FIRST_CANDIDATES_FACTOR * limit
    if len(subset.ids) > size:
        near = set(subset.ids[nearest(subset.products(query), size)].tolist())
        pairs = [pair for pair in pairs if pair[1] in near]
    return _rank(_similarities(subset, query, pairs))


def _chunks_of(connection: Connection, vector_ids: Sequence[int]) -> list[_Pair]:
    """Return the chunks whose texts have these vectors, each with its vector."""
    rows = connection.execute(
        """SELECT c.id, v.id FROM json_each(?) j CROSS JOIN vectors v ON v.id = j.value
        CROSS JOIN chunks c ON c.text_hash = v.text_hash""",
        (json.dumps(vector_ids),),
    )
    return [(ChunkId(chunk_id), vector_id) for chunk_id, vector_id in rows]


def _vectors_of(connection: Connection, space_id: SpaceId, ids: Iterable[ChunkId]) -> list[_Pair]:
    """Return those of the chunks that have a vector, each with it."""
    rows = connection.execute(
        """SELECT c.id, v.id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
        CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash""",
        (json.dumps(list(ids)), space_id),
    )
    return [(ChunkId(chunk_id), vector_id) for chunk_id, vector_id in rows]


def _similarities(
    view: MatrixView, query: NDArray[np.float32], pairs: Sequence[_Pair]
) -> dict[ChunkId, float]:
    subset = view.subset([vector_id for _, vector_id in pairs])
    by_vector = dict(zip(subset.ids.tolist(), subset.similarities(query).tolist(), strict=True))
    return {chunk_id: by_vector[vector_id] for chunk_id, vector_id in pairs if vector_id in by_vector}


def _rank(similarities: dict[ChunkId, float]) -> _Ranking:
    return sorted(similarities.items(), key=lambda pair: (-pair[1], pair[0]))
