"""Vectors as rows, by space and text: searched in one matrix in memory, in a large space by its index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mdvec.stores.dense import DenseReader, Matrices
from mdvec.stores.memo import Memo
from mdvec.stores.postgres.claims import ClaimReader
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.documents import DocumentReader
from mdvec.stores.postgres.halfvec import STORED, as_halfvecs, decode
from mdvec.stores.records import DamagedRows, PendingText
from mdvec.stores.spaces import SpaceReader, SpaceWriter, check_shape
from mdvec.stores.vectors.journal import Dialect
from mdvec.types.ids import ChunkId, CollectionId, SpaceId, TextHash

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

# What a live process is embedding is left to it.
_NOT_TAKEN = """AND NOT EXISTS(SELECT 1 FROM taken w
        WHERE w.space_id = %s AND w.text_hash = {}.text_hash AND w.token = ANY(%s))"""
_PENDING_CHUNKS = f"""WITH missing AS (
    SELECT min(c.id) AS id FROM chunks c JOIN documents d ON d.id = c.document_id AND NOT d.superseded
    WHERE c.collection_id = %s AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = %s AND v.text_hash = c.text_hash) {_NOT_TAKEN.format("c")}
    GROUP BY c.text_hash ORDER BY 1 LIMIT %s
) SELECT c.text_hash, c.document_id, c.start, c.stop, c.context, d.title
    FROM missing m JOIN chunks c ON c.id = m.id JOIN documents d ON d.id = c.document_id ORDER BY c.id"""  # noqa: S608 - constants
_MISSING_NAMES = """FROM names n JOIN documents d ON d.id = n.document_id
    WHERE d.collection_id = %s AND NOT d.superseded AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = %s AND v.text_hash = n.text_hash)"""

_TYPE = "SELECT 'halfvec'::regtype::oid"
_PUT = """INSERT INTO vectors(space_id, text_hash, vector, named)
    SELECT %s, u.text_hash, u.vector, EXISTS(SELECT 1 FROM names n WHERE n.text_hash = u.text_hash)
    FROM unnest(%s::bytea[], %s::halfvec[]) WITH ORDINALITY u(text_hash, vector, position)
    WHERE NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = %s AND v.text_hash = u.text_hash)
    ORDER BY u.position"""
_TAKE = """INSERT INTO taken(space_id, text_hash, token)
    SELECT %s, u.text_hash, %s FROM unnest(%s::bytea[]) u(text_hash)
    WHERE NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = %s AND v.text_hash = u.text_hash)
    ON CONFLICT (space_id, text_hash) DO UPDATE SET token = excluded.token
    WHERE NOT taken.token = ANY(%s) RETURNING text_hash"""
_GIVE_BACK = "DELETE FROM taken WHERE space_id = %s AND text_hash = ANY(%s::bytea[])"


class VectorReader(ClaimReader, DocumentReader, SpaceReader, DenseReader):
    """Reads vectors and spaces, and finds the texts without a vector.

    Args:
        connection: Inside a transaction.
        memo: Values known for each version; None inside a writing transaction.
        matrices: The matrices of the store; None inside a writing transaction.
        exact_up_to: The most vectors of a space that are searched in memory.
    """

    dialect = Dialect(STORED, ">f2")

    def __init__(
        self, connection: Connection, memo: Memo | None, matrices: Matrices | None, exact_up_to: int
    ) -> None:
        super().__init__(connection, memo)
        self.exact_up_to = exact_up_to
        self.matrices = matrices

    def vectors(
        self, space_id: SpaceId, *, after: bytes, limit: int
    ) -> tuple[list[TextHash], NDArray[np.float32]]:
        """Return vectors of a space with the hashes of their texts, in order of hash."""
        rows = self.connection.execute(
            f"""SELECT v.text_hash, {STORED} FROM vectors v WHERE v.space_id = %s AND v.text_hash > %s
            ORDER BY v.text_hash LIMIT %s""",  # noqa: S608 - constants
            (space_id, after, limit),
            binary=True,
        ).fetchall()
        matrix = decode([row[1] for row in rows], self.dimension(space_id))
        return [TextHash(row[0]) for row in rows], matrix

    def chunk_vectors(self, space_id: SpaceId, ids: Sequence[ChunkId]) -> NDArray[np.float32]:
        """Return the vectors of the chunks' texts."""
        from mdvec.stores.matrix import in_rows_of

        rows = self.connection.execute(
            f"""SELECT c.id, {STORED} FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash
            WHERE v.space_id = %s AND c.id = ANY(%s)""",  # noqa: S608 - constants
            (space_id, list(ids)),
            binary=True,
        ).fetchall()
        matrix = decode([row[1] for row in rows], self.dimension(space_id))
        return in_rows_of(ids, [row[0] for row in rows], matrix)

    def cached(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return those of the hashes that have a vector."""
        rows = self.connection.execute(
            "SELECT text_hash FROM vectors WHERE space_id = %s AND text_hash = ANY(%s::bytea[])",
            (space_id, list(hashes)),
        )
        return {TextHash(row[0]) for row in rows}

    def pending(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return chunk texts without a vector in the space, oldest chunk first, each hash once."""
        arguments = (collection_id, space_id, space_id, self.live_tokens(), limit)
        rows = self.connection.execute(_PENDING_CHUNKS, arguments).fetchall()
        bodies = self.bodies(list({row[1] for row in rows})) if rows else {}
        found: list[PendingText] = []
        for text_hash, document_id, start, stop, context, title in rows:
            above = f"{context}\n" if context else ""
            text = f"{above}{bodies[document_id][start:stop]}"
            found.append(PendingText(TextHash(text_hash), text, title, len(above)))
        return found

    def pending_names(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return names without a vector in the space, oldest first, each hash once."""
        rows = self.connection.execute(
            f"""SELECT n.text_hash, min(n.text) {_MISSING_NAMES} {_NOT_TAKEN.format("n")}
            GROUP BY n.text_hash ORDER BY min(n.id) LIMIT %s""",
            (collection_id, space_id, space_id, self.live_tokens(), limit),
        )
        return [PendingText(TextHash(text_hash), text) for text_hash, text in rows]

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Return how many names :meth:`pending_names` would return without a limit."""
        return self._number(f"SELECT count(DISTINCT n.text_hash) {_MISSING_NAMES}", (collection_id, space_id))

    def _number(self, sql: str, arguments: tuple[Any, ...]) -> int:
        number: int = self.connection.execute(sql, arguments).fetchall()[0][0]
        return number


class VectorWriter(VectorReader, SpaceWriter):
    """Writes vectors and spaces."""

    def put_vectors(
        self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]
    ) -> None:
        """Add unit vectors; a hash that has one keeps it."""
        check_shape(vectors.shape, len(hashes), self.dimension(space_id))
        first = {key: at for at, key in reversed([*enumerate(hashes)])}
        keys = sorted(first, key=lambda key: first[key])
        halfvecs = as_halfvecs(vectors[[first[key] for key in keys]], self._number(_TYPE, ()))
        self.connection.execute(_PUT, (space_id, keys, halfvecs, space_id))
        self.connection.execute(_GIVE_BACK, (space_id, keys))

    def take_texts(self, space_id: SpaceId, hashes: Sequence[TextHash], token: str) -> set[TextHash]:
        """Take those of the texts that have no vector and that no live process has; return them."""
        live = [each for each in self.live_tokens() if each != token]
        rows = self.connection.execute(_TAKE, (space_id, token, list({*hashes}), space_id, live))
        return {TextHash(row[0]) for row in rows}

    def discard_damaged(self, collection_id: CollectionId) -> DamagedRows:  # noqa: ARG002
        """Find nothing damaged: the server checks what it reads."""
        return DamagedRows()
