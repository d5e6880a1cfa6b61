"""Vectors as rows, by space and text: searched in one matrix in memory, in a large space by its index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mdvec.stores.postgres.claims import IS_ALIVE
from mdvec.stores.postgres.database import PostgresTables
from mdvec.stores.postgres.halfvec import STORED, as_halfvecs, decode
from mdvec.stores.records import DamagedRows, PendingText
from mdvec.stores.tables import Tables
from mdvec.stores.vector_tables import VectorTables
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
    SELECT ?, u.text_hash, ? FROM unnest(?::bytea[]) u(text_hash)
    WHERE NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = u.text_hash)
    ON CONFLICT (space_id, text_hash) DO UPDATE SET token = excluded.token
    WHERE NOT taken.token = ANY(?) RETURNING text_hash"""
_GIVE_BACK = "DELETE FROM taken WHERE space_id = %s AND text_hash = ANY(%s::bytea[])"


class PostgresVectors(VectorTables):
    """The vectors of a transaction, searched in memory."""

    tables: PostgresTables
    dialect = Dialect(STORED, ">f2")

    def page(
        self, space_id: SpaceId, *, after: bytes, limit: int
    ) -> tuple[list[TextHash], NDArray[np.float32]]:
        """Return vectors of a space with the hashes of their texts, in order of hash."""
        self._where.require_everything()
        rows = self.tables.connection.execute(
            f"""SELECT v.text_hash, {STORED} FROM vectors v WHERE v.space_id = %s AND v.text_hash > %s
            ORDER BY v.text_hash LIMIT %s""",  # noqa: S608 - constants
            (space_id, after, limit),
            binary=True,
        ).fetchall()
        matrix = decode([row[1] for row in rows], self._spaces.dimension(space_id))
        return [TextHash(row[0]) for row in rows], matrix

    def of_chunks(self, space_id: SpaceId, ids: Sequence[ChunkId]) -> NDArray[np.float32]:
        """Return the vectors of the chunks' texts."""
        from mdvec.stores.matrix import in_rows_of

        rows = self.tables.connection.execute(
            f"""SELECT c.id, {STORED} FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash
            WHERE v.space_id = %s AND c.id = ANY(%s)""",  # noqa: S608 - constants
            (space_id, list(ids)),
            binary=True,
        ).fetchall()
        matrix = decode([row[1] for row in rows], self._spaces.dimension(space_id))
        return in_rows_of(ids, [row[0] for row in rows], matrix)

    def known(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return those of the hashes that have a vector."""
        self._where.require_everything()
        rows = self.tables.connection.execute(
            "SELECT text_hash FROM vectors WHERE space_id = %s AND text_hash = ANY(%s::bytea[])",
            (space_id, list(hashes)),
        )
        return {TextHash(row[0]) for row in rows}

    def pending(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return chunk texts without a vector in the space, oldest chunk first, each hash once."""
        arguments = (collection_id, space_id, space_id, _live_tokens(self.tables), limit)
        rows = self.tables.connection.execute(_PENDING_CHUNKS, arguments).fetchall()
        bodies = self._chunks.texts(list({row[1] for row in rows})) if rows else {}
        found: list[PendingText] = []
        for text_hash, document_id, start, stop, context, title in rows:
            above = f"{context}\n" if context else ""
            text = f"{above}{bodies[document_id][start:stop]}"
            found.append(PendingText(TextHash(text_hash), text, title, len(above)))
        return found

    def pending_names(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return names without a vector in the space, oldest first, each hash once."""
        rows = self.tables.connection.execute(
            f"""SELECT n.text_hash, min(n.text) {_MISSING_NAMES} {_NOT_TAKEN.format("n")}
            GROUP BY n.text_hash ORDER BY min(n.id) LIMIT %s""",
            (collection_id, space_id, space_id, _live_tokens(self.tables), limit),
        )
        return [PendingText(TextHash(text_hash), text) for text_hash, text in rows]

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Return how many names :meth:`pending_names` would return without a limit."""
        return self._number(f"SELECT count(DISTINCT n.text_hash) {_MISSING_NAMES}", (collection_id, space_id))

    def _number(self, sql: str, arguments: tuple[Any, ...]) -> int:
        number: int = self.tables.connection.execute(sql, arguments).fetchall()[0][0]
        return number

    def put(self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]) -> None:
        """Add unit vectors; a hash that has one keeps it."""
        self._check_shape(vectors.shape, len(hashes), space_id)
        first = {key: at for at, key in reversed([*enumerate(hashes)])}
        keys = sorted(first, key=lambda key: first[key])
        halfvecs = as_halfvecs(vectors[[first[key] for key in keys]], self._number(_TYPE, ()))
        self.tables.connection.execute(_PUT, (space_id, keys, halfvecs, space_id))
        self.tables.connection.execute(_GIVE_BACK, (space_id, keys))

    def discard_damaged(self, collection_id: CollectionId) -> DamagedRows:  # noqa: ARG002
        """Find nothing damaged: the server checks what it reads."""
        return DamagedRows()


def take_texts(tables: Tables, space_id: SpaceId, hashes: Sequence[TextHash], token: int) -> set[TextHash]:
    """Take those of the texts that have no vector and that no live process has; return them."""
    live = [each for each in _live_tokens(tables) if each != token]
    rows = tables.rows(_TAKE, space_id, token, list({*hashes}), space_id, live)
    return {TextHash(row[0]) for row in rows}


def _live_tokens(tables: Tables) -> list[int]:
    """Return the tokens of the claims of live processes."""
    return [token for (token,) in tables.rows(f"SELECT token FROM claims l WHERE {IS_ALIVE}")]  # noqa: S608
