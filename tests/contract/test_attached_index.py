"""What every vector index beside a store must do, and what the store makes of its answers."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mdvec.errors import StoreError
from mdvec.search.answer import find
from mdvec.search.proximity import QuerySpace
from mdvec.stores.records import ChunkTerms, DocumentRecord, embedded_names
from mdvec.stores.sqlite import indexed
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.stores.vectors import following
from mdvec.stores.vectors.index import (
    IndexedSpace,
    Mark,
    VectorChanges,
    VectorEntry,
    VectorIndex,
    VectorKind,
)
from mdvec.stores.vectors.sqlite_vec import SqliteVecIndex
from mdvec.testing.vectors import MemoryVectorIndex
from mdvec.text.hashing import content_hash, text_hash
from mdvec.types.change import SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.collection import ChunkingSpec, SourceSpec
from mdvec.types.document import Document, TitleSource
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.query import Filters, SearchMode, SearchQuery, Where
from mdvec.types.space import EmbeddingSpace

DIMENSION = 32
SPACE = EmbeddingSpace("fake", "fake", "1", DIMENSION)
OTHER = EmbeddingSpace("fake", "other", "1", 16)
INDEXED = IndexedSpace(SPACE.key, DIMENSION)
WORDS = [f"word{number}" for number in range(300)]
CHUNKS_PER_DOCUMENT = 8
DOCUMENTS = 250

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
HEAVY = {"lancedb": pytest.mark.lancedb, "chroma": pytest.mark.chroma}


@pytest.fixture(params=[pytest.param(name, marks=HEAVY.get(name, ())) for name in FACTORIES])
def make(request: pytest.FixtureRequest) -> MakeIndex:
    """Make an index of each kind."""
    return FACTORIES[request.param]


@dataclass
class World:
    """A database, a store that searches it exactly, and one that searches it through an index."""

    path: Path
    index: VectorIndex
    exact: SqliteStore
    store: SqliteStore
    collections: list[CollectionId] = field(default_factory=list)

    def put(self, path: str, texts: Sequence[str], *, collection: int = 0, tags: Sequence[str] = ()) -> None:
        """Write a document without vectors."""
        with self.exact.write() as writer:
            writer.put_documents(self.collections[collection], [record(path, texts, tags)])

    def delete(self, path: str, *, collection: int = 0) -> None:
        """Remove a document."""
        with self.exact.write() as writer:
            writer.delete_documents(self.collections[collection], [path])

    def embed(self, space: EmbeddingSpace = SPACE, *, most: int = 100_000) -> None:
        """Give vectors to texts and names that lack one."""
        with self.exact.write() as writer:
            space_id = writer.open_space(space)
            for collection in self.collections:
                pending = [
                    *writer.pending(collection, space_id, most),
                    *writer.pending_names(collection, space_id, most),
                ]
                hashes = [each.text_hash for each in pending]
                writer.put_vectors(space_id, hashes, vectors_of(hashes, space.dimension))

    def where(self, filters: Filters | None = None) -> Where:
        """Both collections."""
        return Where(tuple(self.collections), filters or Filters())

    def space_id(self, space: EmbeddingSpace = SPACE) -> SpaceId:
        """Return the id of a space."""
        with self.exact.read() as view:
            found = view.find_space(space)
        assert found is not None
        return found

    def close(self) -> None:
        """Close everything."""
        self.store.close()
        self.exact.close()

    def open(self, *, read_only: bool = False) -> None:
        """Open everything again, as another process would; an index in memory survives that."""
        self.index = reopened(self.index)
        self.exact = SqliteStore(self.path)
        self.store = SqliteStore(self.path, read_only=read_only, vector_index=self.index)


def reopened(index: VectorIndex) -> VectorIndex:
    """Open an index again; one in memory is as it was."""
    return index if isinstance(index, MemoryVectorIndex) else type(index)(index.location)  # type: ignore[call-arg]


@pytest.fixture
def world(make: MakeIndex, tmp_path: Path) -> Iterator[World]:
    """An empty database."""
    made = open_world(make, tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def full_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 chunks in two collections: 30 % of the documents with one tag, one in a thousand with another."""
    world = open_world(FACTORIES["memory"], tmp_path_factory.mktemp("full"))
    chance = random.Random(7)
    for number in range(DOCUMENTS):
        texts = [" ".join(chance.choices(WORDS, k=12)) for _ in range(CHUNKS_PER_DOCUMENT)]
        tags = [*(["often"] if number % 10 < 3 else []), *(["rare"] if number == 100 else [])]
        world.put(f"{number}.md", texts, collection=number % 2, tags=tags)
    world.embed()
    world.close()
    return world.path


@pytest.fixture
def full(full_database: Path, make: MakeIndex, tmp_path: Path) -> Iterator[World]:
    """A copy of it, with an empty index."""
    shutil.copy(full_database, tmp_path / "index.sqlite")
    made = open_world(make, tmp_path)
    yield made
    made.close()


def open_world(make: MakeIndex, folder: Path) -> World:
    """Open a database with two collections, and an index; make what is not there."""
    path = folder / "index.sqlite"
    index = make(folder / "index.sqlite.sqlite-vec")
    world = World(path, index, SqliteStore(path), SqliteStore(path, vector_index=index))
    with world.exact.write() as writer:
        world.collections = [each.id for each in writer.collections()]
        for name in () if world.collections else ("first", "second"):
            made = writer.add_collection(name, "", SourceSpec("folder", f"/{name}"), ChunkingSpec())
            world.collections.append(made.id)
    return world


def record(path: str, texts: Sequence[str], tags: Sequence[str] = ()) -> DocumentRecord:
    """Make a document of one chunk for each text."""
    chunks, start = [], 0
    for ordinal, text in enumerate(texts):
        heading, end = ("Top", f"Part {ordinal}"), start + len(text)
        chunks.append(Chunk(ordinal, None, ordinal % 3, "", heading, start, end, 1, 1, 1, text))
        start += len(text) + 2
    body = "\n\n".join(texts)
    document = Document(path, path, TitleSource.FILE_NAME, body, 0, {}, tuple(tags), (), (), (), ())
    terms = tuple(ChunkTerms((), (), text.split()) for text in texts)
    entry = SourceEntry(path, path, 1, 1)
    skeletons = (b"",) * len(texts)
    return DocumentRecord(
        entry,
        content_hash(body.encode()),
        "test/1",
        document,
        tuple(chunks),
        terms,
        unspaced=False,
        skeletons=skeletons,
    )


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


Hits = list[tuple[ChunkId, float]] | list[tuple[DocumentId, float]]


def nearest(
    store: SqliteStore,
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
        if kind is VectorKind.NAME:
            return view.nearest_documents(space_id, query, world.where(filters), limit)
        return view.nearest_chunks(space_id, query, world.where(filters), limit)


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


def held(world: World, space: IndexedSpace = INDEXED) -> int:
    """Count the entries of an index."""
    query = np.eye(1, space.dimension, dtype=np.float32)[0]
    return sum(len(world.index.nearest(space, query, kind, 100_000, None)) for kind in VectorKind)


@pytest.fixture
def no_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail when the vectors of the store are searched instead of the index."""

    def fail(*_: object) -> list[int]:
        pytest.fail("the index was not used")

    monkeypatch.setattr(indexed.IndexedVectors, "_scan", fail)


# --- the port -----------------------------------------------------------------------------------


def entry(key: int, vector: NDArray[np.float32], *, owner: int = 0, collection: int = 1) -> VectorEntry:
    """Make an entry."""
    return VectorEntry(key, owner or key, vector, CollectionId(collection), f"{key}.md", 0, 1, "Top > Part")


def step(
    since: str | None,
    until: str,
    added: Sequence[VectorEntry] = (),
    removed: Sequence[int] = (),
    kind: VectorKind = VectorKind.TEXT,
) -> VectorChanges:
    """Make changes of one kind."""
    mark = None if since is None else Mark(since)
    return VectorChanges(
        mark, Mark(until), [(kind, key) for key in removed], [(kind, each) for each in added]
    )


def test_port_nearest_first(make: MakeIndex, tmp_path: Path) -> None:
    """Entries come by falling cosine similarity, min(limit, entries) of them, of the wanted collections."""
    index, vectors = make(tmp_path / "index"), queries(100)
    added = [entry(at + 1, each, owner=at + 501, collection=at % 3) for at, each in enumerate(vectors)]
    assert index.apply(INDEXED, step(None, "1", added))
    found = index.nearest(INDEXED, vectors[5], VectorKind.TEXT, 10, None)
    cosines = vectors @ vectors[5]
    assert [owner for owner, _ in found] == [501 + at for at in np.argsort(-cosines)[:10]]
    assert [near for _, near in found] == pytest.approx(sorted(cosines, reverse=True)[:10], abs=1e-3)
    assert len(index.nearest(INDEXED, vectors[5], VectorKind.TEXT, 5_000, None)) == 100
    some = index.nearest(INDEXED, vectors[5], VectorKind.TEXT, 50, [CollectionId(1), CollectionId(2)])
    assert {(owner - 501) % 3 for owner, _ in some} == {1, 2}
    assert len(index.nearest(INDEXED, vectors[5], VectorKind.TEXT, 5_000, [CollectionId(1)])) == 33
    assert index.nearest(INDEXED, vectors[5], VectorKind.TEXT, 5, []) == []
    assert index.nearest(INDEXED, vectors[5], VectorKind.NAME, 5, None) == []


def test_port_vectors_without_a_direction(make: MakeIndex, tmp_path: Path) -> None:
    """A vector of zeros is an entry like others, and not near to anything."""
    index, vectors = make(tmp_path / "index"), queries(3)
    vectors[1] = 0
    added = [entry(at + 1, each) for at, each in enumerate(vectors)]
    assert index.apply(INDEXED, step(None, "1", added))
    found = index.nearest(INDEXED, vectors[0], VectorKind.TEXT, 3, None)
    assert {owner for owner, _ in found} == {1, 2, 3}
    assert found[0][0] == 1


def test_port_marks(make: MakeIndex, tmp_path: Path) -> None:
    """Changes are applied once, to the state that they are for; a dropped space starts from nothing."""
    index, vectors = make(tmp_path / "index"), queries(3)
    assert index.applied(INDEXED) is None
    assert not index.apply(INDEXED, step("0", "1", [entry(1, vectors[0])]))
    assert index.apply(INDEXED, step(None, "1", [entry(1, vectors[0])]))
    assert not index.apply(INDEXED, step(None, "1", [entry(1, vectors[0])]))
    assert index.apply(INDEXED, step("1", "2", [entry(2, vectors[1])], removed=[1, 99]))
    assert index.applied(INDEXED) == "2"
    assert [owner for owner, _ in index.nearest(INDEXED, vectors[0], VectorKind.TEXT, 5, None)] == [2]
    index.drop(INDEXED)
    index.drop(INDEXED)
    assert index.applied(INDEXED) is None
    assert index.nearest(INDEXED, vectors[0], VectorKind.TEXT, 5, None) == []


def test_port_spaces_are_apart(make: MakeIndex, tmp_path: Path) -> None:
    """Two models have vectors of different lengths, and dropping one leaves the other."""
    index, other = make(tmp_path / "index"), IndexedSpace(OTHER.key, OTHER.dimension)
    index.apply(INDEXED, step(None, "1", [entry(1, queries(1)[0])]))
    index.apply(other, step(None, "1", [entry(1, queries(1, 16)[0], owner=7)]))
    index.drop(INDEXED)
    assert index.nearest(other, queries(1, 16)[0], VectorKind.TEXT, 5, None)[0][0] == 7


# --- the store with an index --------------------------------------------------------------------


@pytest.mark.usefixtures("no_scan")
def test_recall(full: World) -> None:
    """The ten nearest of 2,000 chunks are those of the exact matrix."""
    same = 0
    for query in queries(50):
        found = {each for each, _ in nearest(full.store, full, query)}
        same += len(found & {each for each, _ in nearest(full.exact, full, query)})
    assert same / 500 >= 0.98
    assert_same(full)
    assert_same(full, limit=400, count=3)


@pytest.mark.usefixtures("no_scan")
@pytest.mark.parametrize("few", [True, False])
def test_filters(full: World, monkeypatch: pytest.MonkeyPatch, *, few: bool) -> None:
    """min(k, matching) hits come back, whether a filter is answered by listing or by proposing more."""
    if not few:
        monkeypatch.setattr(indexed.IndexedVectors, "few_inside", lambda *_: None)
    assert_same(full, filters=Filters(tags=("rare",)), count=5)
    assert_same(full, filters=Filters(tags=("often",)), count=5)
    assert_same(full, filters=Filters(tags=("often",)), limit=400, count=2)
    assert_same(full, filters=Filters(depths=(1,)), count=5)
    rare = nearest(full.store, full, queries(1)[0], filters=Filters(tags=("rare",)))
    assert len(rare) == CHUNKS_PER_DOCUMENT
    one = Where(tuple(full.collections[:1]))
    with full.store.read() as view, full.exact.read() as expected:
        arguments = full.space_id(), queries(1)[0], one, 30
        assert_equal(view.nearest_chunks(*arguments), expected.nearest_chunks(*arguments))
        assert len(view.nearest_documents(*arguments)) == 30


def test_similarities(full: World) -> None:
    """Similarities and samples are those of the exact matrix."""
    query, space_id = queries(1)[0], full.space_id()
    with full.store.read() as view, full.exact.read() as expected:
        ids = [ChunkId(each) for each in range(1, 60)] + [ChunkId(99_999)]
        documents = [DocumentId(each) for each in range(1, 60)] + [DocumentId(99_999)]
        chunks = view.chunk_similarities(space_id, query, ids)
        assert chunks == pytest.approx(expected.chunk_similarities(space_id, query, ids), abs=1e-5)
        names = view.name_similarities(space_id, query, documents)
        assert names == pytest.approx(expected.name_similarities(space_id, query, documents), abs=1e-5)
        assert view.sampled_chunks(space_id, 512) == expected.sampled_chunks(space_id, 512)
        assert len(view.sampled_chunks(space_id, 5_000)) == 2_000


@pytest.mark.usefixtures("no_scan")
def test_the_same_answers(full: World) -> None:
    """A whole search gives the same ten hits, with any mode and filter."""
    same = total = 0
    chance = random.Random(5)
    for number, vector in enumerate(queries(30)):
        mode = (SearchMode.HYBRID, SearchMode.DENSE)[number % 2]
        filters = (Filters(), Filters(tags=("often",)), Filters(tags=("rare",)))[number % 3]
        query = SearchQuery(" ".join(chance.choices(WORDS, k=3)), mode, limit=10, filters=filters)
        hits = []
        for store in (full.store, full.exact):
            with store.read() as view:
                spaces = [
                    QuerySpace(full.space_id(), tuple(full.collections), vector, None, 2_000, unspaced=False)
                ]
                found = find(query, full.where(filters), view, spaces)
                hits.append({chunk.id for _, chunk in found.hits})
        same += len(hits[0] & hits[1])
        total += len(hits[1])
    assert total > 150
    assert same / total >= 0.98


def test_sample_follows(world: World) -> None:
    """A sample that was taken early does not stand for a space that has grown, shrunk or been embedded."""
    world.put("a.md", [f"text {number}" for number in range(20)])
    world.embed(most=4)
    steps: list[tuple[Callable[[], object], int]] = [
        (lambda: None, 4),
        (world.embed, 20),
        (lambda: world.put("b.md", [f"more {number}" for number in range(30)]), 20),
        (world.embed, 50),
        (lambda: world.delete("a.md"), 30),
    ]
    for change, expected in steps:
        change()
        with world.store.read() as view:
            assert len(view.sampled_chunks(world.space_id(), 512)) == expected


# --- catching up --------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_scan")
def test_changes(world: World) -> None:
    """Documents that are new, changed, moved, removed and put back are found as they are now."""
    chance = random.Random(11)
    paths = [f"{number}.md" for number in range(30)]
    for _ in range(12):
        for path in chance.sample(paths, 4):
            texts = [" ".join(chance.choices(WORDS[:9], k=2)) for _ in range(chance.randrange(1, 5))]
            world.put(path, texts, collection=chance.randrange(2))
        world.delete(chance.choice(paths), collection=chance.randrange(2))
        if chance.random() < 0.7:
            world.embed(most=chance.choice([3, 1000]))
        if chance.random() < 0.3:
            with world.exact.write() as writer:
                writer.drop_unused()
        world.embed(most=1)
        assert_same(world, count=3)


@pytest.mark.usefixtures("no_scan")
def test_vectors_that_come_later(world: World) -> None:
    """Texts are found from when they have a vector; equal texts share one."""
    world.put("a.md", ["one", "two"])
    world.put("b.md", ["two", "three"], collection=1)
    world.embed(most=1)
    assert_same(world)
    world.embed()
    assert_same(world)
    assert held(world) == 6


def test_only_what_changed_is_applied(full: World) -> None:
    """An edit of one document applies that document, and a search without changes applies nothing."""
    assert_same(full, count=1)
    applied: list[VectorChanges] = []
    apply = full.index.apply

    def record_changes(space: IndexedSpace, changes: VectorChanges) -> bool:
        applied.append(changes)
        return apply(space, changes)

    full.index.apply = record_changes  # type: ignore[method-assign]
    full.put("7.md", ["changed"], collection=1)
    full.embed()
    with full.exact.write() as writer:
        writer.drop_unused()
    assert_same(full, count=3)
    assert len(applied) == 1
    assert len(applied[0].added) == 2
    assert len(applied[0].removed) == CHUNKS_PER_DOCUMENT + 1


def test_facts(tmp_path: Path) -> None:
    """Entries carry what an index with columns of its own shows."""
    world = open_world(FACTORIES["memory"], tmp_path)
    world.put("notes/a.md", ["one", "two"])
    world.embed()
    assert_same(world, count=1)
    assert isinstance(world.index, MemoryVectorIndex)
    second = world.index.entries(INDEXED, VectorKind.TEXT)[1]
    assert (second.path, second.ordinal, second.depth, second.heading) == ("notes/a.md", 1, 1, "Top > Part 1")
    assert second.collection_id == world.collections[0]
    (name,) = world.index.entries(INDEXED, VectorKind.NAME)
    assert name.heading in embedded_names(record("notes/a.md", []).document)
    assert name.owner == 1


def test_a_second_model(full: World) -> None:
    """A space beside another is filled when it is searched; the dropped one leaves the index."""
    assert_same(full, count=1)
    full.embed(OTHER)
    query = queries(1, 16)[0]
    found = nearest(full.store, full, query, space=OTHER)
    assert_equal(found, nearest(full.exact, full, query, space=OTHER))
    with full.exact.write() as writer:
        writer.drop_space(full.space_id())
    assert_equal(nearest(full.store, full, query, space=OTHER), found)
    assert full.index.applied(INDEXED) is None
    assert nearest(full.store, full, queries(1)[0]) == []
    full.embed()
    assert_same(full, count=2)


def test_dropped_and_filled_again(full: World) -> None:
    """A space whose vectors were replaced is read anew, though no other space was searched meanwhile."""
    assert_same(full, count=1)
    with full.exact.write() as writer:
        space_id = full.space_id()
        writer.drop_space(space_id)
        hashes = [text_hash(f"{number}.md") for number in range(5)]
        writer.put_vectors(space_id, hashes, queries(5))
    assert_same(full, count=2)


@pytest.mark.usefixtures("no_scan")
def test_many_batches(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catching up in small steps gives the same."""
    monkeypatch.setattr("mdvec.stores.sqlite.changes.BATCH", 97)
    assert_same(full, count=3)
    full.put("7.md", ["changed"], collection=1)
    for number in range(0, 60, 2):
        full.delete(f"{number}.md")
    full.embed()
    assert_same(full, count=3)


def test_a_search_does_a_part(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large backlog is shared out among searches, which all give exact answers."""
    monkeypatch.setattr("mdvec.stores.sqlite.changes.BATCH", 100)
    monkeypatch.setattr(following, "_MOST_PER_SEARCH", 300)
    counts = []
    for _ in range(10):
        assert_same(full, count=1, limit=20)
        counts.append(held(full))
    assert counts == sorted(counts)
    assert 300 <= counts[0] < 2_250
    assert counts[-1] == 2_250


@pytest.mark.parametrize("attempt", range(4))
def test_a_crash_repairs_itself(full: World, monkeypatch: pytest.MonkeyPatch, attempt: int) -> None:
    """Whatever ends an apply, before or after it took effect, the next search goes on from there."""
    monkeypatch.setattr("mdvec.stores.sqlite.changes.BATCH", 500)
    apply, calls = full.index.apply, [0]

    def crash(space: IndexedSpace, changes: VectorChanges) -> bool:
        calls[0] += 1
        if calls[0] == 1 + attempt // 2:
            if attempt % 2:
                apply(space, changes)
            raise KeyboardInterrupt
        return apply(space, changes)

    full.index.apply = crash  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        nearest(full.store, full, queries(1)[0])
    monkeypatch.undo()
    assert_same(full, count=3)
    assert held(full) == 2_250


def test_an_index_that_fails_is_replaced_by_the_store(full: World) -> None:
    """Searches are exact while an index cannot be used, and use it as soon as it can."""

    def fail(*_: object) -> bool:
        msg = "the index is on a disk that is full"
        raise StoreError(msg)

    apply = full.index.apply
    full.index.apply = fail  # type: ignore[method-assign,assignment]
    assert_same(full, count=2)
    assert held(full) == 0
    full.index.apply = apply  # type: ignore[method-assign]
    assert_same(full, count=2)
    assert held(full) == 2_250


def test_another_index_starts_from_nothing(full: World, make: MakeIndex, tmp_path: Path) -> None:
    """Another index of the same store is filled from its vectors; both can be used in turn."""
    assert_same(full, count=1)
    second = make(tmp_path / "second.sqlite-vec")
    store = SqliteStore(full.path, vector_index=second)
    full.put("7.md", ["changed"], collection=1)
    full.embed()
    query = queries(1)[0]
    assert_equal(nearest(store, full, query), nearest(full.exact, full, query))
    store.close()
    assert_same(full, count=2)


def test_an_index_that_missed_too_much_is_rebuilt(full: World) -> None:
    """Old removals are forgotten; an index that needs them starts from nothing."""
    assert_same(full, count=1)
    full.delete("8.md")
    with sqlite3.connect(full.path) as database:
        database.execute("DELETE FROM removed_owners")
    database.close()
    full.delete("10.md")
    assert_same(full, count=3)
    assert held(full) == 2_250 - 2 * (CHUNKS_PER_DOCUMENT + 1)


def test_a_backup_is_older_than_the_index(full: World, tmp_path: Path) -> None:
    """A store that is set back is noticed, and one of another history too."""
    full.close()
    shutil.copy(full.path, tmp_path / "backup.sqlite")
    full.open()
    for number in range(0, 40, 2):
        full.put(f"{number}.md", [f"later {number}"])
    full.embed()
    assert_same(full, count=1)
    newer = held(full)
    full.close()
    shutil.copy(tmp_path / "backup.sqlite", full.path)
    full.open()
    assert_same(full, count=3)
    assert held(full) == 2_250 != newer


def test_an_older_snapshot_is_answered_as_it_is(full: World) -> None:
    """A snapshot shows what was there when it began, though the index has gone on."""
    query, space_id = queries(1)[0], full.space_id()
    with full.store.read() as before, full.exact.read() as expected:
        assert before.version == expected.version
        expected_hits = expected.nearest_chunks(space_id, query, full.where(), 20)
        for number in range(0, DOCUMENTS, 2):
            full.delete(f"{number}.md")
        assert_same(full, count=1)
        assert_equal(before.nearest_chunks(space_id, query, full.where(), 20), expected_hits)
    assert_same(full, count=1)
    assert held(full) == 1_125


def test_threads(full: World) -> None:
    """Several threads search and write at once; afterwards nothing is missing and nothing twice."""
    problems: list[BaseException] = []
    stop = threading.Event()

    def search() -> None:
        try:
            while not stop.is_set():
                for query in queries(3):
                    assert len(nearest(full.store, full, query)) == 10
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            problems.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for each in threads:
        each.start()
    for number in range(0, 30, 2):
        full.put(f"{number}.md", [f"new {number}"])
        full.embed()
    stop.set()
    for each in threads:
        each.join()
    assert not problems
    assert_same(full, count=5)
    assert held(full) == 2_250 - 15 * (CHUNKS_PER_DOCUMENT - 1)


def rebuild(world: World) -> int | None:
    """Rebuild the index; return how many vectors it holds."""
    with world.store.vector_index() as index:
        return None if index is None else index.rebuild()


def test_rebuild(full: World) -> None:
    """A rebuild empties the index, fills it, and counts the vectors."""
    assert rebuild(full) == held(full) == 2_250
    full.delete("8.md")
    assert rebuild(full) == held(full) == 2_250 - CHUNKS_PER_DOCUMENT - 1
    with full.exact.vector_index() as index:
        assert index is None


def test_update(full: World) -> None:
    """An update applies all that was missed, however much that is."""
    with full.store.vector_index() as index:
        assert index is not None
        assert index.update() == held(full) == 2_250
        assert index.problems() == []


def test_a_rebuild_that_fails_says_so(full: World) -> None:
    """An index that takes nothing ends the rebuild."""
    full.index.apply = lambda *_: False  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="cannot be filled"):
        rebuild(full)
    assert_same(full, count=1)


@pytest.mark.parametrize("most", [0, 100])
def test_more_than_is_worth_proposing(full: World, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Where an index would have to propose too much, the vectors of the store are searched."""
    monkeypatch.setattr(indexed.IndexedVectors, "few_inside", lambda *_: None)
    monkeypatch.setattr(following, "_MOST_PROPOSED", most)
    assert_same(full, filters=Filters(tags=("rare",)), count=2)
    assert_same(full, filters=Filters(tags=("often",)), limit=400, count=2)
    assert_same(full, count=2)


def test_a_store_without_an_index_writes_no_removals(tmp_path: Path) -> None:
    """Removals are written from when an index was attached, by every process."""
    world = open_world(FACTORIES["memory"], tmp_path / "with")
    plain = SqliteStore(tmp_path / "plain.sqlite")
    with plain.write() as writer:
        made = writer.add_collection("notes", "", SourceSpec("folder", "/notes"), ChunkingSpec())
        writer.put_documents(made.id, [record("a.md", ["one", "two"])])
        writer.delete_documents(made.id, ["a.md"])
    world.put("a.md", ["one", "two"])
    world.delete("a.md")
    for path, expected in ((plain.path, 0), (world.path, 3)):
        with sqlite3.connect(path) as database:
            count = database.execute("SELECT count(*) FROM removed_owners").fetchone()[0]
            triggers = database.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%_removed'")
            assert (count, triggers.fetchone()[0]) == (expected, 2 if expected else 0)
        database.close()


def test_a_file_that_is_only_read(full: World) -> None:
    """An index that was attached before is used for reading; else the matrix in memory answers."""
    assert_same(full, count=1)
    full.close()
    full.open(read_only=True)
    full.put("7.md", ["changed"], collection=1)
    full.embed()
    assert_same(full, count=2)


def test_a_file_that_is_only_read_and_has_no_index_yet(full: World, full_database: Path) -> None:
    """Nothing can be attached to it, so the matrix in memory answers."""
    full.close()
    shutil.copy(full_database, full.path)
    with sqlite3.connect(full.path) as database:
        database.executescript(
            """DROP TRIGGER chunks_removed; DROP TRIGGER names_removed;
            DELETE FROM meta WHERE key = 'vector_index'"""
        )
    database.close()
    full.index = reopened(full.index)
    full.exact = SqliteStore(full.path)
    full.store = SqliteStore(full.path, read_only=True, vector_index=full.index)
    assert_same(full, count=2)
    assert rebuild(full) is None


# --- the file of sqlite-vec ---------------------------------------------------------------------


@pytest.fixture
def filled(full_database: Path, tmp_path: Path) -> Iterator[World]:
    """2,000 chunks and an index in a file that holds them."""
    shutil.copy(full_database, tmp_path / "index.sqlite")
    made = open_world(FACTORIES["sqlite-vec"], tmp_path)
    assert_same(made, count=1)
    assert held(made) == 2_250
    yield made
    made.close()


def garbage(path: Path, start: int, end: float) -> None:
    """Overwrite a part of a file, from a byte to a share of it."""
    content = bytearray(path.read_bytes())
    stop = int(len(content) * end)
    content[start:stop] = random.Random(1).randbytes(stop - start)
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "header": lambda path: garbage(path, 0, 0.01),
    "schema": lambda path: garbage(path, 100, 0.01),
    "body": lambda path: garbage(path, 8192, 1.0),
    "shortened": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "text": lambda path: path.write_text("nothing at all\n" * 100),
}


@pytest.mark.parametrize("damage", [*DAMAGES])
def test_a_damaged_file_is_built_again(filled: World, damage: str) -> None:
    """An index whose file is gone or damaged is filled again by the next searches."""
    filled.close()
    DAMAGES[damage](Path(filled.index.location))
    filled.open()
    for _ in range(3):
        assert_same(filled, count=2)
    assert held(filled) == 2_250


@pytest.mark.parametrize("damage", ["tables", "rows"])
def test_damage_inside_is_noticed(filled: World, damage: str) -> None:
    """Tables of vec0 that lack what they need are built again, while other connections are open."""
    with sqlite3.connect(filled.index.location) as database:
        if damage == "tables":
            database.execute("DROP TABLE text_1_chunks")
        else:
            database.execute("DELETE FROM text_1_vector_chunks00")
    database.close()
    for _ in range(3):
        assert_same(filled, count=2)
    assert held(filled) == 2_250


def test_a_file_that_is_deleted_in_use(filled: World) -> None:
    """A running process goes over to the new file."""
    path = Path(filled.index.location)
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    assert_same(filled, count=2)
    other = SqliteVecIndex(str(path))
    assert other.applied(INDEXED) is not None
    other.close()
    assert held(filled) == 2_250


def test_another_version_of_the_file(filled: World) -> None:
    """A file that another version of mdvec wrote is built again."""
    with sqlite3.connect(filled.index.location) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    assert_same(filled, count=2)
    assert held(filled) == 2_250


def test_other_files_are_not_touched(tmp_path: Path) -> None:
    """A place that is something else is refused."""
    notes, database = tmp_path / "notes.md", tmp_path / "index.sqlite"
    notes.write_text("# Notes\n")
    SqliteStore(database).close()
    link = tmp_path / "index.sqlite.sqlite-vec"
    link.symlink_to(notes)
    for path in (notes, database, tmp_path, link):
        with pytest.raises(StoreError, match="is not a vector index"):
            SqliteVecIndex(str(path))
    assert notes.read_text() == "# Notes\n"


def test_removed_rows_do_not_fill_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A space from which much was removed is built again."""
    monkeypatch.setattr("mdvec.stores.vectors.sqlite_vec._ALWAYS_ADDED", 100)
    index, vectors, since = SqliteVecIndex(str(tmp_path / "index")), queries(60), None
    for number in range(1, 6):
        added = [entry(100 * number + at, each) for at, each in enumerate(vectors)]
        removed = [100 * (number - 1) + at for at in range(60)]
        assert index.apply(INDEXED, step(since, str(number), added, removed))
        since = index.applied(INDEXED)
        if since is None:
            break
    assert number == 5
    index.close()


def test_a_locked_file(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches do not need an index that another process is writing for long."""
    monkeypatch.setattr("mdvec.stores.vectors.sqlite_vec._BUSY_TIMEOUT_S", 0.05)
    filled.close()
    filled.open()
    filled.put("7.md", ["changed"], collection=1)
    filled.embed()
    lock = sqlite3.connect(filled.index.location)
    lock.execute("BEGIN IMMEDIATE")
    assert_same(filled, count=2)
    lock.rollback()
    lock.close()
    assert_same(filled, count=2)
    assert held(filled) == 2_250 - CHUNKS_PER_DOCUMENT + 1


def test_problems_are_shown(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that cannot be used says so, and is no damage of the store."""
    filled.close()
    monkeypatch.setattr("sqlite_vec.loadable_path", lambda: "/nowhere/vec0")
    with pytest.raises(StoreError, match="cannot be used"):
        SqliteVecIndex(filled.index.location)
    monkeypatch.undo()
    filled.open()
    Path(filled.index.location).unlink()
    Path(filled.index.location).mkdir()
    with filled.store.vector_index() as index:
        assert index is not None
        assert "cannot be used" in index.problems()[0]
    assert filled.store.check() == []
    assert_same(filled, count=2)


def test_two_processes(filled: World) -> None:
    """Two stores that catch up with one file at once leave every entry once."""
    second = World(
        filled.path,
        SqliteVecIndex(filled.index.location),
        filled.exact,
        filled.store,
        filled.collections,
    )
    second.store = SqliteStore(filled.path, vector_index=second.index)
    problems: list[BaseException] = []
    stop = threading.Event()

    def search(world: World) -> None:
        try:
            while not stop.is_set():
                assert len(nearest(world.store, world, queries(1)[0])) == 10
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            problems.append(error)

    threads = [threading.Thread(target=search, args=(each,)) for each in (filled, second)]
    for each in threads:
        each.start()
    for number in range(0, 40, 2):
        filled.put(f"{number}.md", [f"new {number}"])
        filled.embed()
    stop.set()
    for each in threads:
        each.join()
    assert not problems
    assert_same(second, count=3)
    assert_same(filled, count=3)
    assert held(filled) == 2_250 - 20 * (CHUNKS_PER_DOCUMENT - 1)
    second.store.close()
