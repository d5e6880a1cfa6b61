"""A store that searches exactly, and one on the same data that searches through a vector index."""

from __future__ import annotations

import itertools
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.contract.store_world import make_document, make_record
from tests.fakes.vector_index import MemoryVectorIndex
from tests.postgres_server import shared_server

from mdvec.stores.records import DocumentRecord, VectorKind
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.stores.vectors.index import (
    MAX_NEAREST,
    IndexedSpace,
    Mark,
    VectorChanges,
    VectorEntry,
    VectorIndex,
)
from mdvec.stores.vectors.sqlite_vec import SqliteVecIndex
from mdvec.text.hashing import text_hash
from mdvec.types.collection import Collection, SourceSpec
from mdvec.types.ids import CollectionId, SpaceId, TextHash
from mdvec.types.query import Filters, Where
from mdvec.types.section import IndexedSection
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.stores.postgres.store import PostgresStore

    IndexableStore = SqliteStore | PostgresStore

DIMENSION = 32
SPACE = EmbeddingSpace("fake", "fake", "1", DIMENSION)
OTHER = EmbeddingSpace("fake", "other", "1", 16)
TEXTS, NAMES = (IndexedSpace(SPACE.key, DIMENSION, kind) for kind in VectorKind)
WORDS = [f"word{number}" for number in range(300)]
CHUNKS_PER_DOCUMENT = 8
DOCUMENTS = 250
RARE = 2  # chunks with a tag of one in a thousand

MakeIndex = Callable[[Path], VectorIndex]


def make_lancedb(path: Path) -> VectorIndex:
    """Make an index in LanceDB."""
    from mdvec.stores.vectors.lancedb import LanceVectorIndex

    return LanceVectorIndex(str(path))


def make_chroma(path: Path) -> VectorIndex:
    """Make an index in Chroma."""
    from mdvec.stores.vectors.chroma import ChromaVectorIndex

    return ChromaVectorIndex(str(path))


FACTORIES: dict[str, MakeIndex] = {
    "memory": lambda path: MemoryVectorIndex(str(path)),
    "sqlite-vec": lambda path: SqliteVecIndex(str(path)),
    "lancedb": make_lancedb,
    "chroma": make_chroma,
}

_MARKS = {"lancedb": [pytest.mark.lancedb], "chroma": [pytest.mark.chroma]}
EVERY_INDEX = [pytest.param(name, marks=_MARKS.get(name, ())) for name in FACTORIES]
"""For the fixture ``make``, indirectly; without it, tests use the index in memory."""

EVERY_INDEX_ONCE = [
    *(pytest.param("sqlite", name, marks=_MARKS.get(name, ())) for name in FACTORIES),
    pytest.param("postgres", "memory", marks=pytest.mark.postgres),
]
"""For the fixtures ``store_kind`` and ``make``, indirectly: a store knows its index by the port alone."""


@dataclass
class SqlitePlace:
    """A file."""

    path: Path

    def open(self, index: VectorIndex | None = None, *, read_only: bool = False) -> SqliteStore:
        """Open it as a store."""
        return SqliteStore(self.path, read_only=read_only, vector_index=index)

    def copy(self, folder: Path) -> Place:
        """Copy the file."""
        return SqlitePlace(Path(shutil.copy(self.path, folder / "index.sqlite")))

    def put_back(self, backup: Place) -> None:
        """Overwrite the file."""
        assert isinstance(backup, SqlitePlace)
        shutil.copy(backup.path, self.path)

    def forget_removals(self) -> None:
        """Delete them."""
        self._execute("DELETE FROM removed_owners")

    def count_removals(self) -> int:
        """Count them."""
        return self._execute("SELECT count(*) FROM removed_owners")

    def _execute(self, sql: str) -> int:
        with sqlite3.connect(self.path) as database:
            rows = database.execute(sql).fetchall()
        database.close()
        return int(rows[0][0]) if rows else 0


_databases = itertools.count(1)


class PostgresPlace:
    """A database of the server that all tests share."""

    def __init__(self, template: str = "postgres") -> None:
        self.name = f"attached_{next(_databases)}"
        self._make_from(template)

    def open(self, index: VectorIndex | None = None, *, read_only: bool = False) -> PostgresStore:
        """Open it as a store."""
        from mdvec.stores.postgres.store import PostgresStore

        assert not read_only
        return PostgresStore(self.address, vector_index=index)

    def copy(self, folder: Path) -> Place:
        """Make another database of it."""
        return PostgresPlace(self.name)

    def put_back(self, backup: Place) -> None:
        """Make the database anew."""
        assert isinstance(backup, PostgresPlace)
        self._execute(f"DROP DATABASE {self.name}", shared_server())
        self._make_from(backup.name)

    def forget_removals(self) -> None:
        """Delete them but for the last, after which they are counted."""
        self._execute(
            "DELETE FROM mdvec.removed_owners WHERE id < (SELECT max(id) FROM mdvec.removed_owners)"
        )

    def count_removals(self) -> int:
        """Count them."""
        return self._execute("SELECT count(*) FROM mdvec.removed_owners")

    @property
    def address(self) -> str:
        """Where it is."""
        return shared_server().replace("/postgres?", f"/{self.name}?")

    def _make_from(self, template: str) -> None:
        if template == "postgres":  # others are connected to it
            self._execute(f"CREATE DATABASE {self.name}", shared_server())
            self._execute("CREATE EXTENSION vector")
        else:
            self._execute(f"CREATE DATABASE {self.name} TEMPLATE {template}", shared_server())

    def _execute(self, sql: str, address: str = "") -> int:
        import psycopg

        with psycopg.connect(address or self.address, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return int(cursor.fetchall()[0][0]) if cursor.description else 0


Place: TypeAlias = SqlitePlace | PostgresPlace
"""A database that can be opened, copied, and looked into."""


@dataclass
class World:
    """A database, a store that searches it exactly, and one that searches it through an index."""

    place: Place
    index: VectorIndex
    exact: IndexableStore
    store: IndexableStore
    collections: list[CollectionId] = field(default_factory=list)

    def put(self, path: str, texts: Sequence[str], *, collection: int = 0) -> None:
        """Write a document without vectors."""
        with self.exact.write() as writer:
            writer.documents.put(self.collections[collection], [record(path, texts)])

    def delete(self, path: str, *, collection: int = 0) -> None:
        """Remove a document."""
        with self.exact.write() as writer:
            writer.documents.delete(self.collections[collection], [path])

    def embed(self, space: EmbeddingSpace = SPACE, *, most: int = 100_000) -> None:
        """Give vectors to texts and names that lack one."""
        with self.exact.write() as writer:
            space_id = writer.spaces.open(space)
            for collection in self.collections:
                pending = [
                    *writer.vectors.pending(VectorKind.TEXT, collection, space_id, most),
                    *writer.vectors.pending(VectorKind.NAME, collection, space_id, most),
                ]
                hashes = [each.text_hash for each in pending]
                writer.vectors.put(space_id, hashes, vectors_of(hashes, space.dimension))

    def where(self, filters: Filters | None = None) -> Where:
        """Both collections."""
        return Where(tuple(self.collections), filters or Filters())

    def space_id(self, space: EmbeddingSpace = SPACE) -> SpaceId:
        """Return the id of a space."""
        with self.exact.read() as view:
            found = view.spaces.find(space)
        assert found is not None
        return found

    def close(self) -> None:
        """Close everything."""
        self.store.close()
        self.exact.close()

    def open(self, *, read_only: bool = False) -> None:
        """Open everything again, as another process would; an index in memory survives that."""
        self.index = reopened(self.index)
        self.exact, self.store = self.place.open(), self.place.open(self.index, read_only=read_only)


def reopened(index: VectorIndex) -> VectorIndex:
    """Open an index again; one in memory is as it was."""
    return index if isinstance(index, MemoryVectorIndex) else type(index)(index.location)  # type: ignore[call-arg]


def new_place(kind: str, folder: Path) -> Place:
    """Return an empty database."""
    return PostgresPlace() if kind == "postgres" else SqlitePlace(folder / "index.sqlite")


def open_world(place: Place, make: MakeIndex, folder: Path) -> World:
    """Open a database with two collections, and an index in a folder; make what is not there."""
    index = make(folder / "index.sqlite.sqlite-vec")
    world = World(place, index, place.open(), place.open(index))
    with world.exact.write() as writer:
        world.collections = [each.id for each in writer.collections.all()]
        for name in () if world.collections else ("first", "second"):
            made = writer.collections.add(
                Collection(CollectionId(0), name, "", SourceSpec("folder", f"/{name}"))
            )
            world.collections.append(made.id)
    return world


def fill(world: World) -> None:
    """Write 2,000 chunks: 30 % of the documents have one tag, a thousandth of the chunks another."""
    chance = random.Random(7)
    with world.exact.write() as writer:
        for number in range(DOCUMENTS):
            length = {100: RARE, 102: 2 * CHUNKS_PER_DOCUMENT - RARE}.get(number, CHUNKS_PER_DOCUMENT)
            texts = [" ".join(chance.choices(WORDS, k=12)) for _ in range(length)]
            tags = [*(["often"] if number % 10 < 3 else []), *(["rare"] if number == 100 else [])]
            writer.documents.put(world.collections[number % 2], [record(f"{number}.md", texts, tags)])
    world.embed()


def record(path: str, texts: Sequence[str], tags: Sequence[str] = ()) -> DocumentRecord:
    """Make a document of one chunk for each text."""
    depths = [ordinal % 3 for ordinal in range(len(texts))]
    return make_record(*make_document(path, texts, tags=tuple(tags), depths=depths))


def vectors_of(hashes: Sequence[TextHash], dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Return unit vectors around a few centres; the same for the same text."""
    rows = np.empty((len(hashes), dimension), np.float32)
    centres = np.random.default_rng(3).normal(size=(20, dimension))
    for row, each in zip(rows, hashes, strict=True):
        rng = np.random.default_rng(int.from_bytes(each[:8]))
        row[:] = centres[rng.integers(20)] + rng.normal(size=dimension)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def queries(count: int, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Return vectors of queries."""
    return vectors_of([text_hash(f"query {number}") for number in range(count)], dimension)


Hits = list[tuple[Any, float]]


def nearest(
    store: IndexableStore,
    world: World,
    query: NDArray[np.float32],
    *,
    limit: int = 10,
    filters: Filters | None = None,
    kind: VectorKind = VectorKind.TEXT,
    space: EmbeddingSpace = SPACE,
) -> Hits:
    """Search in a snapshot of its own."""
    space_id = world.space_id(space)
    with store.read() as view:
        return view.vectors.nearest(kind, space_id, query, world.where(filters), limit)


def assert_equal(found: Hits, expected: Hits) -> None:
    """The same owners in the same order; the last digit of a similarity depends on the order of the sums."""
    assert [each for each, _ in found] == [each for each, _ in expected]
    assert [near for _, near in found] == pytest.approx([near for _, near in expected], abs=1e-5)


def assert_same(world: World, *, filters: Filters | None = None, limit: int = 10, count: int = 20) -> None:
    """Both stores find the same chunks and documents with the same similarities, through the index."""
    for kind in VectorKind:
        for query in queries(count):
            found = nearest(world.store, world, query, limit=limit, filters=filters, kind=kind)
            assert_equal(found, nearest(world.exact, world, query, limit=limit, filters=filters, kind=kind))


def held(world: World) -> int:
    """Count the entries of an index."""
    query = np.eye(1, DIMENSION, dtype=np.float32)[0]
    return sum(len(world.index.nearest(space, query, MAX_NEAREST, None)) for space in (TEXTS, NAMES))


def entry(key: int, vector: NDArray[np.float32], *, owner: int = 0, collection: int = 1) -> VectorEntry:
    """Make an entry."""
    unknown = {"is_dirty": False, "document_hash": "", "created_at_ms": 0, "updated_at_ms": 0}
    section = IndexedSection(str(key), f"{key}.md", "Part", 1, "", 0, None, 0, **unknown)  # type: ignore[arg-type]
    return VectorEntry(key, owner or key, vector, CollectionId(collection), "Top > Part", section)


def placed(made: VectorEntry, path: str, ordinal: int) -> VectorEntry:
    """Return an entry of another place."""
    return replace(made, section=replace(made.section, document_path=path, order=ordinal))


def step(
    since: str | None, until: str, added: Sequence[VectorEntry] = (), removed: Sequence[int] = ()
) -> VectorChanges:
    """Make changes."""
    return VectorChanges(None if since is None else Mark(since), Mark(until), removed, added)
