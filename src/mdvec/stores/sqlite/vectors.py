"""Vectors as rows, by space and text, and exact search through one matrix in memory for each space."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdvec.stores.records import PendingText
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Memo
from mdvec.stores.sqlite.where import keep_chunks, keep_documents
from mdvec.stores.sqlite.words import WhereReader
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.query import Where
from mdvec.types.space import EmbeddingSpace, Unrelated, UnrelatedTexts

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.stores.exact import ExactMatrix, ExactView

_BATCH_ROWS = 4096

# So few chunks are read anew after every commit, in milliseconds: then none that is gone is left.
_FEW_CHUNKS = 4096

# Of more chunks, those that are gone are left out once there are so many times as many owners as chunks.
_MOST_OWNERS = 1.25

# The plus makes SQLite read the table in order of id instead of sorting what an index gives.
_NEW_VECTORS = "SELECT id, vector FROM vectors WHERE +space_id = ? AND id > ? ORDER BY id"

# Chunks own the vectors of their texts, documents those of their names.
_OWNERS = {"chunks": "o.id", "names": "o.document_id"}
_NEW_OWNERS = """SELECT {owner}, v.id FROM {table} o
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash WHERE o.id > ? ORDER BY o.id"""
# Of chunks or names that were there before their vectors.
_OLD_OWNERS = """SELECT {owner}, v.id FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    WHERE +v.space_id = ? AND v.id > ? AND +o.id <= ? ORDER BY v.id"""

# Two indexes merged in order of hash: in a database where no name lacks its vector, four times as fast as
# looking for each one's.
_ANY_NAME_MISSING = """SELECT text_hash FROM names
    EXCEPT SELECT text_hash FROM vectors WHERE space_id = ? LIMIT 1"""
_MISSING_NAMES = """FROM names n CROSS JOIN documents d ON d.id = n.document_id
    WHERE n.id > ? AND d.collection_id = ?
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = n.text_hash)"""
_MISSING_CHUNKS = """SELECT c.id, c.document_id, c.start, c.stop, c.context, c.text_hash, d.title
    FROM chunks c CROSS JOIN documents d ON d.id = c.document_id WHERE +c.collection_id = ? AND c.id > ?
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash)
    ORDER BY c.id"""

# Where a vector index was attached (changes.py).
_REMEMBER_DROPPED = """INSERT INTO removed_owners(kind, owner_id) SELECT 'space', ?
    WHERE EXISTS(SELECT 1 FROM meta WHERE key = 'vector_index')"""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The largest ids that were read, of whatever space: they are never used again."""

    vector: int = 0
    chunk: int = 0
    name: int = 0


class _LoadedSpace:
    """The matrix of a space, and the versions of the database that it serves.

    Attributes:
        matrix: The vectors and their owners.
        epoch: The vector epoch it was read in.
        newest: The newest version that was read.
    """

    def __init__(self, connection: Connection, space_id: SpaceId, version: int, epoch: int) -> None:
        from mdvec.stores.exact import ExactMatrix

        count = connection.execute("SELECT count(*) FROM vectors WHERE space_id = ?", (space_id,)).get
        dimension = connection.execute("SELECT dimension FROM spaces WHERE id = ?", (space_id,)).get
        self.matrix: ExactMatrix = ExactMatrix(dimension, count)
        self.epoch = epoch
        self.newest = version
        self._versions = {version}
        self._space_id = space_id
        self._seen = _Seen()
        self._read(connection)

    def serves(self, version: int, epoch: int) -> bool:
        """Return True if every owner that a snapshot of this version shows is here.

        What came and went between two versions that were read was never seen.
        """
        return self.epoch == epoch and version in self._versions

    def catch_up(self, connection: Connection, version: int) -> None:
        """Read what is new in a newer version of the same epoch. After an exception it is of no use."""
        from mdvec.stores.exact import NO_OWNERS

        chunks: int = connection.execute("SELECT count(*) FROM chunks").get
        if chunks <= _FEW_CHUNKS or len(self.matrix.chunks.ids) > _MOST_OWNERS * chunks:
            self.matrix.chunks = self.matrix.documents = NO_OWNERS
            self._seen = _Seen(vector=self._seen.vector)
            self._versions.clear()
        self._read(connection)
        self._versions.add(version)
        self.newest = version

    def _read(self, connection: Connection) -> None:
        seen = self._seen
        row = connection.execute(
            "SELECT (SELECT max(id) FROM vectors), (SELECT max(id) FROM chunks), (SELECT max(id) FROM names)"
        ).get
        # Rows that were deleted meanwhile count too.
        vector, chunk, name = (max(now or 0, then) for now, then in zip(row, _ids(seen), strict=True))
        if vector > seen.vector:
            rows = connection.execute(_NEW_VECTORS, (self._space_id, seen.vector))
            while batch := list(itertools.islice(rows, _BATCH_ROWS)):
                self.matrix.append([each[0] for each in batch], [each[1] for each in batch])
        new_vectors = vector > seen.vector
        chunks = self._owners(connection, "chunks", seen.chunk, new_vectors=new_vectors)
        self.matrix.chunks = self.matrix.chunks.adding(chunks[:, 0], self.matrix.rows_of(chunks[:, 1]))
        names = self._owners(connection, "names", seen.name, new_vectors=new_vectors)
        self.matrix.documents = self.matrix.documents.adding(names[:, 0], self.matrix.rows_of(names[:, 1]))
        self._seen = _Seen(vector, chunk, name)

    def _owners(
        self, connection: Connection, table: str, seen: int, *, new_vectors: bool
    ) -> NDArray[np.int64]:
        """Return owner and vector of all pairs that were not seen; shape (n, 2)."""
        import numpy as np

        names = {"owner": _OWNERS[table], "table": table}
        found = [_numbers(connection.execute(_NEW_OWNERS.format(**names), (self._space_id, seen)))]
        if new_vectors and seen:
            arguments = (self._space_id, self._seen.vector, seen)
            found.append(_numbers(connection.execute(_OLD_OWNERS.format(**names), arguments)))
        return np.concatenate(found)


class LoadedSpaces:
    """The spaces in memory, shared by all snapshots of a store. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loaded: dict[SpaceId, _LoadedSpace] = {}
        self.embedded_up_to: dict[tuple[str, CollectionId, SpaceId, int], int] = {}

    def view(self, connection: Connection, space_id: SpaceId, version: int, epoch: int) -> ExactView:
        """Return the vectors of a space with at least the owners that a snapshot shows."""
        with self._guard:
            # What breaks off in the middle, because of Ctrl-C for one, is not put back.
            loaded = self._loaded.pop(space_id, None)
            if loaded is None or loaded.epoch < epoch:
                loaded = _LoadedSpace(connection, space_id, version, epoch)
            elif loaded.epoch == epoch and loaded.newest < version:
                loaded.catch_up(connection, version)
            self._loaded[space_id] = loaded
            if loaded.serves(version, epoch):
                return loaded.matrix.view()
        # The snapshot began before the last one that was read, and shows what that did not: this is rare.
        return _LoadedSpace(connection, space_id, version, epoch).matrix.view()


class VectorReader(WhereReader):
    """Finds by vectors, and those that have none yet."""

    def __init__(self, connection: Connection, memo: Memo | None, spaces: LoadedSpaces | None) -> None:
        super().__init__(connection, memo)
        self._spaces = spaces
        self._views: dict[SpaceId, ExactView] = {}
        self._products: tuple[SpaceId, NDArray[np.float32], NDArray[np.float32]] | None = None

    def find_space(self, space: EmbeddingSpace) -> SpaceId | None:
        """Return the id of a space that is known already."""
        return self.memorized(("space", space.key), lambda: _find_space(self.connection, space))

    def unrelated(self, space_id: SpaceId) -> UnrelatedTexts | None:
        """Return how similar unrelated texts are in a space; None until it was measured."""
        return self.memorized(("unrelated", space_id), lambda: _unrelated(self.connection, space_id))

    def nearest_chunks(
        self, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[ChunkId, float]]:
        """Return the chunks whose texts are nearest to a query, by plain cosine similarity."""
        view, few = self._view(space_id), self.few_inside(where)
        found = view.nearest(
            view.chunks,
            self._products_of(space_id, query),
            query,
            limit if where.collections else 0,
            few[0] if few else lambda ids: keep_chunks(self.connection, where, ids),
        )
        return [(ChunkId(key), similarity) for key, similarity in found]

    def nearest_documents(
        self, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[DocumentId, float]]:
        """Return the documents whose names are nearest to a query."""
        view, few = self._view(space_id), self.few_inside(where)
        found = view.nearest(
            view.documents,
            self._products_of(space_id, query),
            query,
            limit if where.collections else 0,
            few[1] if few else lambda ids: keep_documents(self.connection, where, ids),
        )
        return [(DocumentId(key), similarity) for key, similarity in found]

    def chunk_similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], ids: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return the exact cosine similarity of those of the chunks' texts that have a vector."""
        view = self._view(space_id)
        return {ChunkId(key): value for key, value in view.similarities(view.chunks, ids, query).items()}

    def name_similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], documents: Sequence[DocumentId]
    ) -> dict[DocumentId, float]:
        """Return the exact cosine similarity of the nearest name of those documents with an embedded name."""
        view = self._view(space_id)
        found = view.similarities(view.documents, documents, query)
        return {DocumentId(key): value for key, value in found.items()}

    def sampled_similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], count: int
    ) -> NDArray[np.float32]:
        """Return the cosine similarities of chunks that are spread evenly over a whole space."""
        return self._view(space_id).sample(query, count)

    def cached(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return those of the hashes that have a vector."""
        rows = self.connection.execute(
            """SELECT v.text_hash FROM json_each(?) j
            CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = unhex(j.value)""",
            (json.dumps([each.hex() for each in hashes]), space_id),
        )
        return {TextHash(row[0]) for row in rows}

    def pending(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return chunk texts without a vector; starts where the last call found the first one."""
        after = self._embedded_up_to("chunks", collection_id, space_id)
        rows = self.connection.execute(_MISSING_CHUNKS, (collection_id, after, space_id))
        found: dict[bytes, PendingText] = {}
        body, body_of = "", 0
        with closing(rows):
            for chunk_id, document_id, start, stop, context, text_hash, title in rows:
                if not found:
                    after = chunk_id - 1
                if text_hash in found:
                    continue
                if len(found) >= limit:
                    break
                if document_id != body_of:
                    body, body_of = _body(self.connection, document_id), document_id
                text = f"{context}\n{body[start:stop]}" if context else body[start:stop]
                found[text_hash] = PendingText(TextHash(text_hash), text, title)
        if not found:
            last = self.connection.execute(
                "SELECT max(id) FROM chunks WHERE collection_id = ?", (collection_id,)
            ).get
            after = max(after, last or 0)
        self._remember("chunks", collection_id, space_id, after)
        return list(found.values())

    def pending_names(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return names without a vector; starts where the last call found the first one."""
        after = self._embedded_up_to("names", collection_id, space_id)
        newest = self.connection.execute("SELECT max(id) FROM names").get or 0
        if not after and self.connection.execute(_ANY_NAME_MISSING, (space_id,)).get is None:
            self._remember("names", collection_id, space_id, newest)
            return []
        rows = self.connection.execute(
            f"SELECT n.id, n.text_hash, n.text {_MISSING_NAMES} ORDER BY n.id",
            (after, collection_id, space_id),
        )
        found: dict[bytes, PendingText] = {}
        with closing(rows):
            for name_id, text_hash, text in rows:
                if not found:
                    after = name_id - 1
                if len(found) >= limit:
                    break
                found.setdefault(text_hash, PendingText(TextHash(text_hash), text))
        self._remember("names", collection_id, space_id, after if found else max(after, newest))
        return list(found.values())

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Count the names without a vector, each hash once."""
        sql = f"SELECT count(DISTINCT n.text_hash) {_MISSING_NAMES}"
        count: int = self.connection.execute(sql, (0, collection_id, space_id)).get
        return count

    def _view(self, space_id: SpaceId) -> ExactView:
        if space_id not in self._views:
            if self._spaces is None:  # what may yet be undone is nothing for others
                loaded = _LoadedSpace(self.connection, space_id, self.version, self.vector_epoch)
                return loaded.matrix.view()
            self._views[space_id] = self._spaces.view(
                self.connection, space_id, self.version, self.vector_epoch
            )
        return self._views[space_id]

    def _products_of(self, space_id: SpaceId, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Multiply once for the texts and the names of one query."""
        known = self._products
        if known is None or known[0] != space_id or known[1] is not query:
            known = space_id, query, self._view(space_id).products(query)
            self._products = known if self._spaces is not None else None
        return known[2]

    def _embedded_up_to(self, table: str, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Return the id up to which all have their vector: ids only grow, and vectors go with an epoch."""
        if self._spaces is None:
            return 0
        return self._spaces.embedded_up_to.get((table, collection_id, space_id, self.vector_epoch), 0)

    def _remember(self, table: str, collection_id: CollectionId, space_id: SpaceId, after: int) -> None:
        if self._spaces is not None:
            self._spaces.embedded_up_to[table, collection_id, space_id, self.vector_epoch] = after


class VectorWriter(VectorReader):
    """Writes vectors and spaces."""

    def open_space(self, space: EmbeddingSpace) -> SpaceId:
        """Return the id of a space, writing it when it is new."""
        known = _find_space(self.connection, space)
        if known is not None:
            return known
        self.connection.execute(
            "INSERT INTO spaces(key, dimension) VALUES (?, ?)", (space.key, space.dimension)
        )
        return SpaceId(self.connection.last_insert_rowid())

    def set_unrelated(self, space_id: SpaceId, measured: UnrelatedTexts) -> None:
        """Write how similar unrelated texts are, unless that is known."""
        self.connection.executemany(
            "INSERT OR IGNORE INTO unrelated(space_id, unspaced, mean, spread) VALUES (?, ?, ?, ?)",
            [
                (space_id, unspaced, each.mean, each.spread)
                for unspaced, each in ((0, measured.spaced), (1, measured.unspaced))
            ],
        )

    def put_vectors(
        self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]
    ) -> None:
        """Add unit vectors; a hash that has one keeps it."""
        from mdvec.stores.exact import encode

        dimension = self.connection.execute("SELECT dimension FROM spaces WHERE id = ?", (space_id,)).get
        expected = (len(hashes), dimension)
        if vectors.shape != expected:
            msg = f"vectors of shape {vectors.shape} where {expected} was expected"
            raise ValueError(msg)
        self.connection.executemany(
            "INSERT OR IGNORE INTO vectors(space_id, text_hash, vector) VALUES (?, ?, ?)",
            zip(itertools.repeat(space_id), hashes, encode(vectors)),
        )

    def drop_space(self, space_id: SpaceId) -> int:
        """Remove all vectors of a space; its row stays, so that its id is not used again."""
        self.connection.execute(_REMEMBER_DROPPED, (space_id,))
        self.connection.execute("DELETE FROM vectors WHERE space_id = ?", (space_id,))
        return self._removed()

    def drop_unused(self, *, keep: int = 0) -> int:
        """Remove vectors of any space that no chunk and no name uses, except the newest ``keep``."""
        self.connection.execute(
            """DELETE FROM vectors WHERE id IN (
            SELECT v.id FROM vectors v
            WHERE NOT EXISTS(SELECT 1 FROM chunks c WHERE c.text_hash = v.text_hash)
            AND NOT EXISTS(SELECT 1 FROM names n WHERE n.text_hash = v.text_hash)
            ORDER BY v.id DESC LIMIT -1 OFFSET ?)""",
            (keep,),
        )
        return self._removed()

    def _removed(self) -> int:
        """Return how many vectors the last statement removed; those in memory are of no use then."""
        removed = self.connection.changes()
        if removed:
            self.connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'")
        return removed


def _ids(seen: _Seen) -> tuple[int, int, int]:
    return seen.vector, seen.chunk, seen.name


def _find_space(connection: Connection, space: EmbeddingSpace) -> SpaceId | None:
    found = connection.execute("SELECT id FROM spaces WHERE key = ?", (space.key,)).get
    return None if found is None else SpaceId(found)


def _unrelated(connection: Connection, space_id: SpaceId) -> UnrelatedTexts | None:
    rows = connection.execute("SELECT unspaced, mean, spread FROM unrelated WHERE space_id = ?", (space_id,))
    found = {bool(unspaced): Unrelated(mean, spread) for unspaced, mean, spread in rows}
    return UnrelatedTexts(spaced=found[False], unspaced=found[True]) if found else None


def _body(connection: Connection, document_id: int) -> str:
    body: str = connection.execute("SELECT body FROM contents WHERE document_id = ?", (document_id,)).get
    return body


def _numbers(rows: Iterable[tuple[Any, ...]]) -> NDArray[np.int64]:
    """Return pairs of whole numbers as an array, shape (n, 2)."""
    import numpy as np

    batches = [np.empty((0, 2), np.int64)]
    rows = iter(rows)
    while batch := list(itertools.islice(rows, _BATCH_ROWS)):
        batches.append(np.array(batch, np.int64))
    return np.concatenate(batches)
