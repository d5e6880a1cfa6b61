"""Searches by meaning through a vector index of its own, without a matrix in memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdvec.stores.matrix import (
    STORED,
    Ids,
    Owners,
    best_allowed,
    best_first,
    exact_products,
    in_order_of,
    in_rows_of,
)
from mdvec.stores.records import VectorKind
from mdvec.stores.sqlite.checksums import VECTOR
from mdvec.stores.sqlite.vectors import SqliteVectors
from mdvec.stores.vectors.follower import NearestQuery
from mdvec.stores.vectors.journal import OWNERS, TABLES
from mdvec.types.ids import ChunkId, SpaceId

_BATCH_ROWS = 4096

_ALL = f"""SELECT {{owner}}, {VECTOR} FROM {{table}} o
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash"""  # noqa: S608 - a constant
_SOME = f"""SELECT {{owner}}, {VECTOR} FROM json_each(?) j CROSS JOIN {{table}} o ON {{owner}} = j.value
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash"""  # noqa: S608 - a constant


class SqliteIndexedVectors(SqliteVectors):
    """The vectors of a snapshot, searched through an index; no matrix is loaded."""

    def similarities(
        self, kind: VectorKind, space_id: SpaceId, queries: NDArray[np.float32], owners: Sequence[int]
    ) -> NDArray[np.float64]:
        batches = self._batches(_SOME, kind, json.dumps(sorted(set(owners))), space_id)
        return in_order_of(owners, *_largest_similarities(batches, queries))

    def of_chunks(self, space_id: SpaceId, ids: Sequence[ChunkId]) -> NDArray[np.float32]:
        rows = [*self._rows(_SOME, VectorKind.TEXT, json.dumps(ids), space_id)]
        return in_rows_of(ids, [row[0] for row in rows], self._decoded(space_id, [row[1] for row in rows]))

    def _nearest_of_all(self, query: NearestQuery) -> list[tuple[int, float]]:
        """Return the nearest of the owners inside by looking at every vector of the space, some at a time."""
        batches = self._batches(_ALL, query.kind, query.space_id)
        ids, similarities = _largest_similarities(batches, query.vector[np.newaxis])
        if not len(ids):
            return []
        best = best_allowed(ids, similarities[0].astype(np.float32), query.limit, query.inside)
        return best_first(best, in_order_of(best, ids, similarities)[0], query.limit)

    def _rows(self, template: str, kind: VectorKind, *arguments: str | int) -> Iterable[Any]:
        sql = template.format(owner=OWNERS[kind], table=TABLES[kind])
        return self.tables.connection.execute(sql, arguments)

    def _batches(
        self, template: str, kind: VectorKind, *arguments: str | int
    ) -> Iterator[tuple[list[int], list[bytes]]]:
        rows = self._rows(template, kind, *arguments)
        while batch := list(itertools.islice(rows, _BATCH_ROWS)):
            yield [row[0] for row in batch], [row[1] for row in batch]


def _largest_similarities(
    batches: Iterable[tuple[Sequence[int], Sequence[bytes]]], queries: NDArray[np.float32]
) -> tuple[Ids, NDArray[np.float64]]:
    """Return the exact cosine similarities of owners; of several vectors of one the largest counts.

    Args:
        batches: Owners and their vectors as they are stored; one batch is in memory at a time.
        queries: Shape (k, dim), unit length.

    Returns:
        The owners, ascending, each once, shape (n,), and their similarities, shape (k, n).
    """
    ids, values = [np.empty(0, np.int64)], [np.empty((len(queries), 0))]
    for owners, vectors in batches:
        rows = np.frombuffer(b"".join(vectors), STORED).reshape(len(vectors), queries.shape[1])
        ids.append(np.array(owners, np.int64))
        values.append(exact_products(rows, queries))
    found = np.concatenate(ids)
    order = np.argsort(found, kind="stable")
    return Owners(found[order], order).largest(np.concatenate(values, axis=1)[:, order])
