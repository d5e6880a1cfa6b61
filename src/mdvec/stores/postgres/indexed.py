"""A vector index beside the database: searches by meaning without its matrix, and without its HNSW index."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdvec.errors import ConfigError
from mdvec.stores.dense import IndexedReader
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.snapshots import Snapshot
from mdvec.stores.records import ChunkPlace
from mdvec.stores.vectors.index import VectorKind
from mdvec.stores.vectors.journal import ATTACHED
from mdvec.types.ids import SpaceId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAY_READ_ALL = """SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c
    WHERE c.oid = 'chunks'::regclass"""


def is_attached(connection: Connection) -> bool:
    """Return True if removals are written down.

    Raises:
        ConfigError: If the role may not read every collection: an index would lack the others, and show
            those that it may not read any more.
    """
    if not connection.execute(_MAY_READ_ALL).fetchall()[0][0]:
        msg = "a vector index beside the database needs a role that may read every collection"
        raise ConfigError(msg, hint="Leave out [store] vectors, or connect as the owner of the tables.")
    return connection.execute(ATTACHED).fetchone() is not None


def attach(connection: Connection) -> None:
    """Write down removals from now on, inside a transaction."""
    connection.execute(
        "INSERT INTO meta VALUES ('vector_index', %s) ON CONFLICT DO NOTHING", (secrets.randbits(62),)
    )


class IndexedSnapshot(IndexedReader, Snapshot):
    """A snapshot that searches through an index, and as any other one where that fails."""

    def _similarities(
        self, kind: VectorKind, space_id: SpaceId, queries: NDArray[np.float32], ids: Sequence[int]
    ) -> NDArray[np.float64]:
        return self._similarities_by_server(kind, space_id, queries, ids)

    def _sampled(self, space_id: SpaceId, count: int) -> list[ChunkPlace]:
        return self._sampled_by_server(space_id, count)
