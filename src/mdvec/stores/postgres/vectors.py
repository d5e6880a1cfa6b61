"""Vectors as rows, by space and text: searched in a matrix in memory, in a large space by an HNSW index."""

# ruff: noqa: S608 - the SQL is put together from constants and numbers; values are always bound

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mdvec.stores.matrix import as_similarities, best_first, exact_products, in_order_of, in_rows_of
from mdvec.stores.postgres.claims import IS_ALIVE
from mdvec.stores.postgres.connection import Binary, Connection, ids_text
from mdvec.stores.postgres.database import PostgresTables
from mdvec.stores.postgres.opening import EF_SEARCH
from mdvec.stores.records import ChunkPlace, DamagedRows, PendingText, VectorKind
from mdvec.stores.tables import Tables, memorized
from mdvec.stores.vector_tables import VectorTables
from mdvec.stores.vectors.follower import NearestQuery
from mdvec.types.ids import ChunkId, CollectionId, SpaceId, TextHash

_MAX_DIMENSIONS = 4000  # of an index; longer vectors are compared one by one
_MEMORY_MB = 512  # at most, to make an index: enough for 300,000 vectors of 384 numbers; with more it is slow
_SPARE = 32  # the index compares in half precision: the last of the nearest may come out just behind
_EF_SEARCH_OF_NAMES = 400  # an eighth as many are wanted as of texts
_MAX_PROPOSED = 5_000  # vectors, in whose order a filter is asked; where that is too few, all are compared

# The numbers of a space and its dimension are part of the text, or the index could not be used. OFFSET 0
# keeps the order of the index: owners are looked up for one vector after the other, until there are enough.
# Without the inner LIMIT the planner wants the cheapest way to all rows, and that is to sort all vectors.
_NEAREST = """SELECT o.owner, v.similarity FROM (
    SELECT v.text_hash, -(v.vector::vector <#> ?::vector) AS similarity
    FROM vectors v WHERE v.space_id = {space}{named}
    ORDER BY v.vector::halfvec({dimension}) <#> ?::halfvec({dimension}) LIMIT {most}
) v, LATERAL ({owners} AND {table}.text_hash = v.text_hash AND {condition} OFFSET 0) o LIMIT ?"""
_EXACT = """SELECT o.owner, -(v.vector::vector <#> ?::vector) AS similarity
    FROM ({owners} AND {condition}) o JOIN vectors v ON v.text_hash = o.text_hash
    WHERE v.space_id = {space} ORDER BY similarity DESC, o.owner LIMIT ?"""
_OWNERS = {
    VectorKind.TEXT: """SELECT c.id AS owner, c.text_hash FROM chunks c
        JOIN documents d ON d.id = c.document_id WHERE true""",
    VectorKind.NAME: """SELECT d.id AS owner, n.text_hash FROM names n
        JOIN documents d ON d.id = n.document_id
        WHERE EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id)""",
}
_TABLES = {VectorKind.TEXT: "c", VectorKind.NAME: "n"}
_NAMED = {VectorKind.TEXT: "", VectorKind.NAME: " AND v.named"}

# The query in single precision, or its own rounding would be seen. A document may have many names.
_SIMILARITIES = {
    VectorKind.TEXT: """SELECT c.id, -(v.vector::vector <#> ?::vector)
        FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash
        WHERE v.space_id = ? AND c.id = ANY(?::bigint[])""",
    VectorKind.NAME: """SELECT n.document_id, max(-(v.vector::vector <#> ?::vector))
        FROM names n JOIN vectors v ON v.text_hash = n.text_hash
        WHERE v.space_id = ? AND n.document_id = ANY(?::bigint[]) GROUP BY n.document_id""",
}
_VECTORS = f"""SELECT c.id, {PostgresTables.vector} FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash
    WHERE v.space_id = ? AND c.id = ANY(?::bigint[])"""
_NAME_OF_INDEX = "vectors_{kind}_{space}"

# Texts that a live process is embedding are left to it.
_NOT_TAKEN = """AND NOT EXISTS(SELECT 1 FROM taken w
        WHERE w.space_id = ? AND w.text_hash = {}.text_hash AND w.token = ANY(?))"""
_PENDING_CHUNKS = f"""WITH missing AS (
    SELECT min(c.id) AS id FROM chunks c JOIN documents d ON d.id = c.document_id AND NOT d.superseded
    WHERE c.collection_id = ? AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash) {_NOT_TAKEN.format("c")}
    GROUP BY c.text_hash ORDER BY 1 LIMIT ?
) SELECT c.text_hash, c.document_id, c.start, c.stop, c.context, d.title
    FROM missing m JOIN chunks c ON c.id = m.id JOIN documents d ON d.id = c.document_id ORDER BY c.id"""
_PENDING = {
    VectorKind.TEXT: _PENDING_CHUNKS,
    VectorKind.NAME: f"""SELECT n.text_hash, min(n.text)
    FROM names n JOIN documents d ON d.id = n.document_id
    WHERE d.collection_id = ? AND NOT d.superseded AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = n.text_hash) {_NOT_TAKEN.format("n")}
    GROUP BY n.text_hash ORDER BY min(n.id) LIMIT ?""",
}

_COUNT = "SELECT count(*) FROM vectors WHERE space_id = ?"
_TYPE = "SELECT 'halfvec'::regtype::oid"
_PUT = """INSERT INTO vectors(space_id, text_hash, vector, named)
    SELECT ?, u.text_hash, u.vector, EXISTS(SELECT 1 FROM names n WHERE n.text_hash = u.text_hash)
    FROM unnest(?::bytea[], ?::halfvec[]) WITH ORDINALITY u(text_hash, vector, position)
    WHERE NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = u.text_hash)
    ORDER BY u.position"""
_TAKE = """INSERT INTO taken(space_id, text_hash, token)
    SELECT ?, u.text_hash, ? FROM unnest(?::bytea[]) u(text_hash)
    WHERE NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = u.text_hash)
    ON CONFLICT (space_id, text_hash) DO UPDATE SET token = excluded.token
    WHERE NOT taken.token = ANY(?) RETURNING text_hash"""
_GIVE_BACK = "DELETE FROM taken WHERE space_id = ? AND text_hash = ANY(?::bytea[])"


class PostgresVectors(VectorTables):
    """The vectors of a transaction, searched by the server where a space is large, and else in memory."""

    tables: PostgresTables
    _ef_search = EF_SEARCH

    def of_chunks(self, space_id: SpaceId, ids: Sequence[ChunkId]) -> NDArray[np.float32]:
        rows = self.tables.rows(_VECTORS, space_id, list(ids))
        return in_rows_of(ids, [row[0] for row in rows], self._decoded(space_id, [row[1] for row in rows]))

    def known(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        self.tables.require_everything()
        sql = "SELECT text_hash FROM vectors WHERE space_id = ? AND text_hash = ANY(?::bytea[])"
        rows = self.tables.rows(sql, space_id, list(hashes))
        return {TextHash(row[0]) for row in rows}

    def pending(
        self, kind: VectorKind, collection_id: CollectionId, space_id: SpaceId, limit: int
    ) -> list[PendingText]:
        arguments = (collection_id, space_id, space_id, _live_tokens(self.tables), limit)
        return self._pending_texts(kind, self.tables.rows(_PENDING[kind], *arguments))

    def put(self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]) -> None:
        self._check_shape(vectors.shape, len(hashes), space_id)
        first = {key: at for at, key in reversed([*enumerate(hashes)])}
        keys = sorted(first, key=lambda key: first[key])
        ((oid,),) = self.tables.rows(_TYPE)
        halfvecs = as_halfvecs(vectors[[first[key] for key in keys]], oid)
        self.tables.rows(_PUT, space_id, keys, halfvecs, space_id)
        self.tables.rows(_GIVE_BACK, space_id, keys)

    def discard_damaged(self, collection_id: CollectionId) -> DamagedRows:  # noqa: ARG002
        """Find nothing damaged: the server checks what it reads."""
        return DamagedRows()

    @memorized
    def sample(self, space_id: SpaceId, count: int) -> list[ChunkPlace]:
        places = super().sample(space_id, count)
        if self._is_compared_by_server(space_id):  # every search compares with them
            ids = [place.id for place in places]
            rows = self.tables.rows(_VECTORS, space_id, ids)
            at_hand = self._vectors_at_hand(space_id)
            at_hand.update((row[0], np.frombuffer(row[1], ">f2")) for row in rows)
        return places

    def _nearest_of_all(self, query: NearestQuery) -> list[tuple[int, float]]:
        if not self._is_large(query.space_id):
            return super()._nearest_of_all(query)
        if query.few is not None:
            ids = [*query.few]
            near = self.similarities(query.kind, query.space_id, query.vector[np.newaxis], ids)[0]
        else:
            ids, near = self._proposed_by_server(_NEAREST, query)
            if len(ids) < query.limit:  # the filter lets little through, or there is no more
                ids, near = self._proposed_by_server(_EXACT, query)
        return best_first(ids, near, query.limit)

    def similarities(
        self, kind: VectorKind, space_id: SpaceId, queries: NDArray[np.float32], owners: Sequence[int]
    ) -> NDArray[np.float64]:
        if not self._is_compared_by_server(space_id):
            return super().similarities(kind, space_id, queries, owners)
        at_hand = self._vectors_at_hand(space_id) if kind is VectorKind.TEXT else {}
        known = sorted(each for each in set(owners) if each in at_hand)
        found = np.full((len(queries), len(owners)), np.nan)
        if known:
            rows = np.stack([at_hand[each] for each in known])
            found = in_order_of(owners, np.array(known), exact_products(rows, queries))
        rest = set(owners).difference(known)
        for row, query in enumerate(queries if rest else ()):
            others = self.tables.rows(_SIMILARITIES[kind], as_vector(query), space_id, ids_text(rest))
            found[row] = np.fmax(found[row], in_order_of(owners, *_by_owner(others))[0])
        return found

    @memorized
    def _vectors_at_hand(self, space_id: SpaceId) -> dict[int, NDArray[np.float16]]:  # noqa: ARG002
        """Return the vectors of sampled chunks, by chunk; to be added to."""
        return {}

    def _proposed_by_server(
        self, template: str, query: NearestQuery
    ) -> tuple[list[int], NDArray[np.float64]]:
        """Return the nearest owners inside, some more than wanted, as a query of ours finds them."""
        kind, vector = query.kind, query.vector
        # A document may have many names.
        size = query.limit * (1 if kind is VectorKind.TEXT else 2) + _SPARE
        condition = (self._where.chunks if kind is VectorKind.TEXT else self._where.documents)(query.where)
        sql = template.format(
            space=int(query.space_id),
            dimension=len(vector),
            owners=_OWNERS[kind],
            table=_TABLES[kind],
            named=_NAMED[kind],
            condition=condition.text,
            most=_MAX_PROPOSED,
        )
        if template is _NEAREST:
            self._set_ef_search(EF_SEARCH if kind is VectorKind.TEXT else _EF_SEARCH_OF_NAMES)
        vectors = [as_vector(vector)] + ([as_halfvec(vector)] if template is _NEAREST else [])
        arguments = (*vectors, *condition.arguments, size)
        owners, near = _by_owner(self.tables.rows(sql, *arguments))
        if kind is VectorKind.TEXT:
            return owners.tolist(), near[0]
        # Of the names of a document another one may be nearer, which was not proposed.
        documents = np.unique(owners).tolist()
        return documents, self.similarities(kind, query.space_id, vector[np.newaxis], documents)[0]

    def _set_ef_search(self, count: int) -> None:
        """Set how many vectors an index examines; a transaction begins with the number for texts."""
        if count != self._ef_search:
            self.tables.rows(f"SET LOCAL hnsw.ef_search = {count}")
            self._ef_search = count

    def _is_compared_by_server(self, space_id: SpaceId) -> bool:
        """Return True if similarities are computed by the server, and not in memory."""
        return self._index is not None or self._is_large(space_id)

    @memorized
    def _is_large(self, space_id: SpaceId) -> bool:
        ((index,),) = self.tables.rows("SELECT to_regclass(?)::oid", _index(space_id, VectorKind.TEXT))
        return index is not None and self.tables.rows(_COUNT, space_id)[0][0] > self.tables.exact_up_to


def take_texts(tables: Tables, space_id: SpaceId, hashes: Sequence[TextHash], token: int) -> set[TextHash]:
    """Take the texts that have no vector and that no live process has taken; return them."""
    live = [each for each in _live_tokens(tables) if each != token]
    rows = tables.rows(_TAKE, space_id, token, list({*hashes}), space_id, live)
    return {TextHash(row[0]) for row in rows}


def _live_tokens(tables: Tables) -> list[int]:
    """Return the tokens of the claims of live processes."""
    return [token for (token,) in tables.rows(f"SELECT token FROM claims l WHERE {IS_ALIVE}")]


def spaces_without_indexes(connection: Connection, exact_up_to: int) -> list[tuple[SpaceId, int]]:
    """Return the spaces that are to be searched by an index and have none, with their dimensions."""
    sql = """SELECT s.id, s.dimension FROM spaces s WHERE s.dimension <= %s
        AND to_regclass(%s || s.id) IS NULL
        AND (SELECT count(*) FROM vectors v WHERE v.space_id = s.id) > %s"""
    arguments = (_MAX_DIMENSIONS, _NAME_OF_INDEX.format(kind=VectorKind.TEXT.value, space=""), exact_up_to)
    return [(SpaceId(row[0]), row[1]) for row in connection.execute(sql, arguments)]


def make_indexes(connection: Connection, space_id: SpaceId, dimension: int) -> None:
    """Make the indexes of the texts and of the names of a space.

    Readers go on meanwhile; other writers wait. One process makes them, and in memory: several would need as
    much shared memory, of which a container has little. All vectors have unit length, so the inner product is
    the cosine, and vectors of zeros are found, too.
    """
    connection.execute(
        f"SET LOCAL maintenance_work_mem = '{_MEMORY_MB}MB'; SET LOCAL max_parallel_maintenance_workers = 0"
    )
    for kind in VectorKind:
        connection.execute(
            f"""CREATE INDEX {_index(space_id, kind)} ON vectors
            USING hnsw ((vector::halfvec({int(dimension)})) halfvec_ip_ops)
            WHERE space_id = {int(space_id)}{_NAMED[kind].replace("v.", "")}"""
        )


def _index(space_id: SpaceId, kind: VectorKind) -> str:
    return _NAME_OF_INDEX.format(kind=kind.value, space=int(space_id))


def _by_owner(rows: Sequence[tuple[int, float]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return owners, ascending, with their similarities as every store shows them, shape (1, n)."""
    ids, products = zip(*sorted(rows), strict=True) if rows else ((), ())
    return np.array(ids, np.int64), as_similarities(np.array([products], np.float64))


def as_halfvec(vector: NDArray[np.float32]) -> Binary:
    """Return a vector, shape (dim,), as a ``halfvec``; rounded here, as every store rounds."""
    return Binary(_items(vector[None], ">f2").tobytes()[4:])


def as_vector(vector: NDArray[np.float32]) -> Binary:
    """Return a vector, shape (dim,), as a ``vector``."""
    return Binary(_items(vector[None], ">f4").tobytes()[4:])


def as_halfvecs(vectors: NDArray[np.float32], oid: int) -> Binary:
    """Return vectors, shape (n, dim), as an array of ``halfvec``, a type that has this number."""
    one_dimension, without_nulls, first_index = 1, 0, 1
    head = struct.pack(">2iI2i", one_dimension, without_nulls, oid, len(vectors), first_index)
    return Binary(head + _items(vectors, ">f2").tobytes())


def _items(vectors: NDArray[np.float32], number: str) -> NDArray[np.void]:
    """Return vectors as an array holds them: each after the count of its bytes."""
    count, dimension = vectors.shape
    fields = [("size", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("numbers", number, (dimension,))]
    items = np.zeros(count, fields)
    items["size"] = items.dtype.itemsize - items.dtype["size"].itemsize
    items["dimension"] = dimension
    items["numbers"] = vectors
    return items
