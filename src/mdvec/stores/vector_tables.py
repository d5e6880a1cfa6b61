"""Dense search through matrices in memory, the same for every store that has tables.

A matrix follows the commits of its store by ids that only grow: rows with larger ids are read and added.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdvec.stores.document_tables import ChunkTables, texts_of
from mdvec.stores.interface import VectorWriter
from mdvec.stores.records import ChunkPlace, PendingText, StoredSpace, VectorKind
from mdvec.stores.tables import NEW_EPOCH, Part, Sql, Tables, memorized
from mdvec.stores.vectors.follower import AttachedIndex, IndexFollower, NearestQuery
from mdvec.stores.vectors.journal import OWNERS, TABLES
from mdvec.stores.where_tables import BY_PLACE, NarrowedPart, WhereTables
from mdvec.types.chunk import under_context
from mdvec.types.ids import ChunkId, CollectionId, SpaceId, TextHash
from mdvec.types.query import Where
from mdvec.types.space import EmbeddingSpace, Unrelated, UnrelatedTexts

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.stores.matrix import Matrix, VectorBlock
    from mdvec.stores.matrix_file import MatrixFile, SpaceMatrix

# Up to this many chunks are read anew after every commit, which takes milliseconds and drops deleted ones.
_FEW_CHUNKS = 4096

# With more chunks, deleted ones are dropped once there are this many times as many owners as chunks.
_MAX_OWNERS = 1.25

# A matrix is written to its file once this many rows, or this share of all, were added to those of the file.
_FEW_ADDED = 8192
_MAX_ADDED = 0.05

_MAX_VERSIONS = 64  # that are remembered of a matrix; snapshots are short
_BATCH_ROWS = 4096

# As SQLite reads them: CROSS JOIN keeps the order of the tables, a plus keeps an index from being used.
_LAST_IDS = "SELECT (SELECT max(id) FROM vectors), (SELECT max(id) FROM chunks), (SELECT max(id) FROM names)"
_COUNT = "SELECT count(*) FROM vectors v WHERE {space_id} = ? AND v.id > ?"
_NEW_VECTORS = """SELECT v.id, {vector} FROM vectors v
    WHERE {unindexed}v.space_id = ? AND v.id > ? ORDER BY v.id LIMIT ?"""
_NEW_OWNERS = """SELECT {owner}, v.id FROM {table} o
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash WHERE o.id > ? ORDER BY o.id"""
# Of chunks or names that were there before their vectors.
_OLD_OWNERS = """SELECT {owner}, v.id FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    WHERE {unindexed}v.space_id = ? AND v.id > ? AND {unindexed}o.id <= ? ORDER BY v.id"""

_PAGE = """SELECT v.text_hash, {vector} FROM vectors v WHERE v.space_id = ? AND v.text_hash > ?
    ORDER BY v.text_hash LIMIT ?"""

_COUNT_PENDING_NAMES = """SELECT count(DISTINCT n.text_hash) FROM names n
    CROSS JOIN documents d ON d.id = n.document_id WHERE d.collection_id = ? AND NOT d.superseded
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = n.text_hash)"""

_NO_IDS = {"vectors": 0, "chunks": 0, "names": 0}

# In the order of the index of a space's vectors, so that no more than the sample is read.
_SAMPLE = f"""SELECT c.text_hash, c.id FROM (SELECT v.text_hash FROM vectors v WHERE v.space_id = ?
        AND EXISTS(SELECT 1 FROM chunks c WHERE c.text_hash = v.text_hash {{inside}})
        ORDER BY v.text_hash LIMIT ?) sampled
    CROSS JOIN chunks c ON c.text_hash = sampled.text_hash {{inside}}
    CROSS JOIN documents d ON d.id = c.document_id CROSS JOIN collections k ON k.id = d.collection_id
    ORDER BY c.text_hash, {BY_PLACE}, c.ordinal"""  # noqa: S608 - constants

# Only if a vector index was attached.
_REMEMBER_DROPPED = """INSERT INTO removed_owners(id, kind, owner_id)
    SELECT coalesce((SELECT max(id) FROM removed_owners), 0) + 1, 'space', CAST(? AS bigint)
    WHERE EXISTS(SELECT 1 FROM meta WHERE key = 'vector_index')"""
_DROP_UNUSED = f"""DELETE FROM vectors WHERE id IN (
    SELECT v.id FROM vectors v
    WHERE NOT EXISTS(SELECT 1 FROM chunks c WHERE c.text_hash = v.text_hash)
    AND NOT EXISTS(SELECT 1 FROM names n WHERE n.text_hash = v.text_hash)
    ORDER BY v.id DESC LIMIT {2**62} OFFSET ?)"""  # noqa: S608 - a number


class Matrices:
    """The matrices of a store, shared by all snapshots. Safe to use from several threads.

    Attributes:
        embedded_up_to: By table, collection, space and vector epoch: the id up to which every row of the
            table has its vector.
        database: The SQLite database that has files of matrices next to it; None for no files.
        read_only: Whether such files are read, but not written.
    """

    def __init__(self, database: Path | None = None, *, read_only: bool = False) -> None:
        self.database = database
        self.read_only = read_only
        self._guard = threading.Lock()
        self._spaces: dict[SpaceId, SpaceMatrix] = {}
        self.embedded_up_to: dict[tuple[str, CollectionId, SpaceId, int], int] = {}

    def matrix(self, vectors: VectorTables, space_id: SpaceId) -> Matrix:
        """Return a matrix with at least the owners that a transaction shows."""
        version, epoch = vectors.tables.version, vectors.tables.vector_epoch
        with self._guard:
            space = self._spaces.get(space_id)
            if space is None or space.epoch < epoch:
                space = vectors.load_matrix(space_id)
            elif space.epoch == epoch and space.version < version:
                space = vectors.update_matrix(space_id, space)
            self._spaces[space_id] = space
        if space.epoch != epoch or version not in space.versions:
            # The snapshot is older; this is rare. Owners may be gone that it shows.
            space = vectors.load_matrix(space_id)
        return space.matrix


class SpaceTables(Part):
    """The embedding spaces of a transaction; a :class:`mdvec.stores.interface.SpaceWriter`."""

    def all(self) -> list[StoredSpace]:
        self.tables.require_everything()
        rows = self.tables.rows(
            """SELECT s.id, s.key, (SELECT count(*) FROM vectors v WHERE v.space_id = s.id)
            FROM spaces s ORDER BY s.id"""
        )
        return [StoredSpace(SpaceId(key), EmbeddingSpace.from_key(space), size) for key, space, size in rows]

    @memorized
    def find(self, space: EmbeddingSpace) -> SpaceId | None:
        rows = self.tables.rows("SELECT id FROM spaces WHERE key = ?", space.key)
        return next((SpaceId(key) for (key,) in rows), None)

    @memorized
    def unrelated(self, space_id: SpaceId) -> UnrelatedTexts | None:
        sql = "SELECT unspaced, mean, spread, passages FROM unrelated WHERE space_id = ?"
        found = {bool(unspaced): Unrelated(*rest) for unspaced, *rest in self.tables.rows(sql, space_id)}
        return UnrelatedTexts(spaced=found[False], unspaced=found[True]) if found else None

    def open(self, space: EmbeddingSpace, measured: UnrelatedTexts | None = None) -> SpaceId:
        space_id = self.find(space)
        if space_id is None:
            sql = "INSERT INTO spaces(key, dimension) VALUES (?, ?) RETURNING id"
            ((space_id,),) = self.tables.rows(sql, space.key, space.dimension)
        if measured is not None and self.unrelated(space_id) is None:
            for unspaced, each in ((False, measured.spaced), (True, measured.unspaced)):
                sql = (
                    "INSERT INTO unrelated(space_id, unspaced, mean, spread, passages) VALUES (?, ?, ?, ?, ?)"
                )
                self.tables.rows(sql, space_id, unspaced, each.mean, each.spread, each.passages)
        return SpaceId(space_id)

    def drop(self, space_id: SpaceId) -> int:
        """Remove all vectors of a space; its row stays, so that its id is not used again."""
        self.tables.change(_REMEMBER_DROPPED, space_id)
        return removed(self.tables, self.tables.change("DELETE FROM vectors WHERE space_id = ?", space_id))


def removed(tables: Tables, vectors: int) -> int:
    """Return how many vectors were removed; those in memory are of no use then."""
    if vectors:
        tables.change(NEW_EPOCH)
    return vectors


class VectorTables(NarrowedPart, VectorWriter):
    """The vectors of a transaction, and searches in them; a :class:`mdvec.stores.interface.VectorWriter`.

    Subclasses that search elsewhere than in memory override the methods that begin with an underscore.

    Attributes:
        tables: The transaction.
        index: The vector index of the store, as it follows the transaction; None without one.

    Args:
        where: Finds which chunks and documents a ``Where`` covers in the transaction.
        chunks: The chunks of the transaction.
        matrices: Those of the store; None inside a transaction that writes, whose rows no other may see.
        index: The vector index of the store, if it has one.
    """

    def __init__(
        self,
        where: WhereTables,
        chunks: ChunkTables,
        matrices: Matrices | None,
        index: AttachedIndex | None,
    ) -> None:
        super().__init__(where)
        self._chunks = chunks
        self._matrices = matrices
        self._products: tuple[SpaceId, NDArray[np.float32], NDArray[np.float32]] | None = None
        self._index = None if index is None else IndexFollower(index, self.tables)
        self.index = self._index if self.tables.readable is None else None

    def nearest(
        self, kind: VectorKind, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[Any, float]]:
        nothing = limit <= 0 or not where.collections
        few = (frozenset(), frozenset()) if nothing else self._where.few_inside(where)
        is_text = kind is VectorKind.TEXT
        inside = self._where.chunk_filter(where) if is_text else self._where.document_filter(where)
        owners = None if few is None else few[0 if is_text else 1]
        asked = NearestQuery(kind, space_id, query, where, limit, owners, inside)
        found = self._nearest_of_all(asked) if self._index is None else self._nearest_by(self._index, asked)
        return self._where.first_by_place(kind, found, limit)

    def similarities(
        self, kind: VectorKind, space_id: SpaceId, queries: NDArray[np.float32], owners: Sequence[int]
    ) -> NDArray[np.float64]:
        return self._matrix(space_id).similarities(kind, owners, queries)

    def of_chunks(self, space_id: SpaceId, ids: Sequence[ChunkId]) -> NDArray[np.float32]:
        return self._matrix(space_id).vectors(ids)

    def pages(self, space_id: SpaceId) -> Iterator[tuple[list[TextHash], NDArray[np.float32]]]:
        self.tables.require_everything()
        sql, after = _PAGE.format(vector=self.tables.vector), b""
        while found := self.tables.rows(sql, space_id, after, _BATCH_ROWS):
            hashes, vectors = zip(*found, strict=True)
            yield list(hashes), self._decoded(space_id, vectors)
            after = hashes[-1]

    def _pending_texts(self, kind: VectorKind, rows: Iterable[Sequence[Any]]) -> list[PendingText]:
        """Return pending texts from rows: hash and name, or hash, document, start, stop, context, title."""
        if kind is VectorKind.NAME:
            return [PendingText(TextHash(text_hash), name) for text_hash, name in rows]
        rows, found = list(rows), []
        bodies = texts_of(self.tables, list({row[1] for row in rows}))
        for text_hash, document_id, start, stop, context, title in rows:
            text = under_context(context, bodies[document_id][start:stop])
            found.append(PendingText(TextHash(text_hash), text, title, len(text) - (stop - start)))
        return found

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        ((count,),) = self.tables.rows(_COUNT_PENDING_NAMES, collection_id, space_id)
        return int(count)

    def drop_unused(self, *, keep: int = 0) -> int:
        return removed(self.tables, self.tables.change(_DROP_UNUSED, keep))

    def _decoded(self, space_id: SpaceId, stored: Sequence[bytes]) -> NDArray[np.float32]:
        """Return vectors as they are stored, shape (n, dim)."""
        from mdvec.stores.matrix import rows_of, widened

        return widened(rows_of(stored, self.tables.vector_dtype, self._dimension(space_id)))

    def _check_shape(self, shape: tuple[int, ...], hashes: int, space_id: SpaceId) -> None:
        """Refuse an array that is not one vector for each hash.

        Raises:
            ValueError: If it is not.
        """
        if shape != (hashes, self._dimension(space_id)):
            msg = f"vectors of shape {shape} where {(hashes, self._dimension(space_id))} was expected"
            raise ValueError(msg)

    @memorized
    def _dimension(self, space_id: SpaceId) -> int:
        """Return the length of a vector of a space."""
        ((dimension,),) = self.tables.rows("SELECT dimension FROM spaces WHERE id = ?", space_id)
        return int(dimension)

    @memorized
    def sample(self, space_id: SpaceId, count: int) -> list[ChunkPlace]:
        inside = Sql("")
        if self.tables.readable is not None:
            some = self.tables.one_of("c.collection_id", self._where.all_readable())
            inside = Sql(f"AND {some.text}", some.arguments)
        sql = _SAMPLE.format(inside=inside.text)
        rows = self.tables.rows(sql, space_id, *inside.arguments, count, *inside.arguments)
        of_text: dict[bytes, ChunkId] = {}
        for text_hash, key in rows:
            of_text.setdefault(text_hash, ChunkId(key))
        places = self._chunks.places([*of_text.values()])
        by_id = {place.id: place for place in places}
        different: dict[bytes | ChunkId, ChunkId] = {}
        for each in of_text.values():
            different.setdefault(by_id[each].skeleton or each, each)
        sampled = {*different.values()}
        return [place for place in places if place.id in sampled]

    def _nearest_by(self, index: IndexFollower, query: NearestQuery) -> list[tuple[Any, float]]:
        """Return the nearest of the owners inside, through an index if it can be used."""
        from mdvec.stores.matrix import best_first

        if query.few is None:
            collections = None if self._where.covers_everything(query.where) else query.where.collections
            owners = index.propose(query, collections)
        else:
            owners = [*query.few]
        if owners is None:
            return self._nearest_of_all(query)
        near = self.similarities(query.kind, query.space_id, query.vector.reshape(1, -1), owners)
        return best_first(owners, near[0], query.limit)

    def _nearest_of_all(self, query: NearestQuery) -> list[tuple[Any, float]]:
        """Return the nearest of the owners inside by the vectors of the store itself."""
        matrix, known = self._matrix(query.space_id), self._products
        if known is None or known[0] != query.space_id or known[1] is not query.vector:
            known = query.space_id, query.vector, matrix.products(query.vector)  # for texts and names
            self._products = known if self._matrices is not None else None
        allowed = query.inside if query.few is None else query.few
        return matrix.nearest(query.kind, known[2], query.vector, query.limit, allowed)

    @memorized
    def _matrix(self, space_id: SpaceId) -> Matrix:
        if self._matrices is None:
            return self.load_matrix(space_id).matrix
        return self._matrices.matrix(self, space_id)

    def load_matrix(self, space_id: SpaceId) -> SpaceMatrix:
        """Return the matrix of a space as the snapshot shows it, from its file or the database."""
        import numpy as np

        from mdvec.stores.matrix import Matrix, VectorBlock
        from mdvec.stores.matrix_file import SpaceMatrix

        file = self._file(space_id)
        space = None if file is None else file.read(self.tables.version, self.tables.vector_epoch)
        if space is None:
            shape = (0, self._dimension(space_id))
            nothing = VectorBlock(np.empty(0, np.int64), np.empty(shape, np.float16))
            space = SpaceMatrix(-1, self.tables.vector_epoch, _NO_IDS, Matrix((nothing,)))
        return space if space.version == self.tables.version else self.update_matrix(space_id, space)

    def update_matrix(self, space_id: SpaceId, space: SpaceMatrix) -> SpaceMatrix:
        """Return a matrix of an earlier version in the same epoch, with the new rows of the snapshot."""
        from mdvec.stores.matrix import Matrix
        from mdvec.stores.matrix_file import SpaceMatrix

        matrix, seen, versions = space.matrix, space.last_ids, space.versions
        chunks = self._where.all_chunks() if versions else 0  # from nothing, there is nothing to drop
        many_are_gone = len(matrix.owners[VectorKind.TEXT].ids) > _MAX_OWNERS * max(chunks, _FEW_CHUNKS)
        if chunks <= _FEW_CHUNKS or many_are_gone:
            matrix, seen, versions = Matrix(matrix.blocks), {**_NO_IDS, "vectors": seen["vectors"]}, ()
        # The newest row may have been deleted meanwhile.
        last_ids = zip(_NO_IDS, self.tables.rows(_LAST_IDS)[0], strict=True)
        now = {table: max(last or 0, seen[table]) for table, last in last_ids}
        has_new_vectors = now["vectors"] > seen["vectors"]
        if has_new_vectors:
            matrix = matrix.with_block(self._new_vectors(space_id, seen["vectors"], matrix))
        for kind, table in TABLES.items():
            owners = self._owners(kind, _NEW_OWNERS, space_id, seen[table])
            matrix = matrix.with_owners(kind, owners)
            if has_new_vectors and seen[table]:
                owners = self._owners(kind, _OLD_OWNERS, space_id, seen["vectors"], seen[table])
                matrix = matrix.with_owners(kind, owners)
        versions = (*versions[1 - _MAX_VERSIONS :], self.tables.version)
        updated = SpaceMatrix(self.tables.version, self.tables.vector_epoch, now, matrix, versions)
        return self._written(space_id, updated, always=many_are_gone)

    def _written(self, space_id: SpaceId, space: SpaceMatrix, *, always: bool) -> SpaceMatrix:
        """Write a matrix for later processes, if many rows were added; return it as it is mapped then."""
        from msgspec.structs import replace

        added = sum(len(each.ids) for each in space.matrix.blocks if each.codes is None)
        file = self._file(space_id, to_write=True)
        if file is None or not (always or added > max(_FEW_ADDED, _MAX_ADDED * len(space.matrix))):
            return space
        written = file.write(space)
        if written is None or written.last_ids != space.last_ids:
            return space
        return replace(space, matrix=written.matrix)

    def _file(self, space_id: SpaceId, *, to_write: bool = False) -> MatrixFile | None:
        """Return the file of a matrix, if there may be one."""
        from mdvec.stores.matrix_file import MatrixFile

        shared = self._matrices
        if shared is None or shared.database is None or (to_write and shared.read_only):
            return None
        return MatrixFile(shared.database, space_id, self.tables.rows)

    def _new_vectors(self, space_id: SpaceId, after: int, matrix: Matrix) -> VectorBlock:
        """Return the vectors of a space with larger ids, in the shape of those of a matrix."""
        import numpy as np

        from mdvec.stores.matrix import VectorBlock, rows_of

        # All of them are counted by an index, the latest by looking at them.
        space = f"{self._where.unindexed if after else ''}v.space_id"
        ((count,),) = self.tables.rows(_COUNT.format(space_id=space), space_id, after)
        dimension = matrix.blocks[0].rows.shape[1]
        ids, rows = np.empty(count, np.int64), np.empty((count, dimension), np.float16)
        sql = _NEW_VECTORS.format(vector=self.tables.vector, unindexed=self._where.unindexed)
        for start in range(0, count, _BATCH_ROWS):
            found = self.tables.rows(sql, space_id, after, _BATCH_ROWS)
            some = slice(start, start + len(found))
            ids[some] = [row[0] for row in found]
            rows[some] = rows_of([row[1] for row in found], self.tables.vector_dtype, dimension)
            after = found[-1][0]
        return VectorBlock(ids, rows)

    def _owners(self, kind: VectorKind, template: str, *arguments: int) -> NDArray[np.int64]:
        """Return owners with the ids of their vectors, shape (n, 2)."""
        import numpy as np

        sql = template.format(owner=OWNERS[kind], table=TABLES[kind], unindexed=self._where.unindexed)
        return np.fromiter(self.tables.each_row(sql, *arguments), np.dtype((np.int64, 2)))
