"""How a store follows up its vector index and answers through it; most of it with an index in memory."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.contract.attached_world import (
    CHUNKS_PER_DOCUMENT,
    DOCUMENTS,
    EVERY_INDEX,
    EVERY_INDEX_ONCE,
    FACTORIES,
    NAMES,
    OTHER,
    RARE,
    TEXTS,
    WORDS,
    MakeIndex,
    Place,
    SqlitePlace,
    World,
    assert_equal,
    assert_same,
    entry,
    held,
    nearest,
    new_place,
    open_world,
    queries,
    record,
    step,
)
from tests.fakes.vector_index import MemoryVectorIndex

from mdvec.errors import StoreError
from mdvec.stores.records import VectorKind, first_names
from mdvec.stores.vectors import follower
from mdvec.stores.vectors.follower import NearestQuery
from mdvec.stores.vectors.index import IndexedSpace, VectorChanges
from mdvec.stores.where_tables import WhereTables
from mdvec.text.hashing import text_hash
from mdvec.types.collection import Collection, SourceSpec
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import Filters, Where


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_kind(request: pytest.FixtureRequest) -> str:
    """Every store that an index may lie beside."""
    return str(request.param)


@pytest.fixture
def world(make: MakeIndex, store_kind: str, tmp_path: Path) -> Iterator[World]:
    """An empty database."""
    made = open_world(new_place(store_kind, tmp_path), make, tmp_path)
    yield made
    made.close()


@pytest.fixture
def full(
    full_databases: Callable[[str], Place], make: MakeIndex, store_kind: str, tmp_path: Path
) -> Iterator[World]:
    """A copy of it, with an empty index."""
    made = open_world(full_databases(store_kind).copy(tmp_path), make, tmp_path)
    yield made
    made.close()


@pytest.fixture
def no_scan(monkeypatch: pytest.MonkeyPatch, store_kind: str) -> None:
    """Fail when the vectors of the store are searched instead of the index."""
    if store_kind == "postgres":
        from mdvec.stores.postgres.vectors import PostgresVectors as Searched
    else:
        from mdvec.stores.sqlite.indexed import (  # type: ignore[assignment] # one name for both
            SqliteIndexedVectors as Searched,
        )
    real = Searched._nearest_of_all

    def fail(vectors: Searched, query: NearestQuery) -> list[tuple[int, float]]:
        if vectors.index is not None:
            pytest.fail("the index was not used")
        return real(vectors, query)

    monkeypatch.setattr(Searched, "_nearest_of_all", fail)


# --- the store with an index --------------------------------------------------------------------


@pytest.mark.parametrize(("store_kind", "make"), EVERY_INDEX_ONCE, indirect=True)
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
        monkeypatch.setattr(WhereTables, "few_inside", lambda *_: None)
    assert_same(full, filters=Filters(tags=("rare",)), count=5)
    assert_same(full, filters=Filters(tags=("often",)), count=5)
    assert_same(full, filters=Filters(tags=("often",)), limit=400, count=2)
    assert_same(full, filters=Filters(depths=(1,)), count=5)
    rare = nearest(full.store, full, queries(1)[0], filters=Filters(tags=("rare",)))
    assert len(rare) == RARE
    one = Where(tuple(full.collections[:1]))
    with full.store.read() as view, full.exact.read() as expected:
        arguments = full.space_id(), queries(1)[0], one, 30
        assert_equal(
            view.vectors.nearest(VectorKind.TEXT, *arguments),
            expected.vectors.nearest(VectorKind.TEXT, *arguments),
        )
        assert len(view.vectors.nearest(VectorKind.NAME, *arguments)) == 30


def test_similarities(full: World) -> None:
    """Similarities and samples are those of the exact matrix."""
    asked, space_id = queries(2), full.space_id()
    with full.store.read() as view, full.exact.read() as expected:
        ids = [ChunkId(each) for each in range(1, 60)] + [ChunkId(99_999)]
        documents = [DocumentId(each) for each in range(1, 60)] + [DocumentId(99_999)]
        chunks = view.vectors.similarities(VectorKind.TEXT, space_id, asked, ids)
        known = expected.vectors.similarities(VectorKind.TEXT, space_id, asked, ids)
        assert chunks == pytest.approx(known, abs=1e-5, nan_ok=True)
        names = view.vectors.similarities(VectorKind.NAME, space_id, asked, documents)
        known = expected.vectors.similarities(VectorKind.NAME, space_id, asked, documents)
        assert names == pytest.approx(known, abs=1e-5, nan_ok=True)
        assert view.vectors.sample(space_id, 512) == expected.vectors.sample(space_id, 512)


# --- catching up --------------------------------------------------------------------------------


@pytest.mark.parametrize(("store_kind", "make"), EVERY_INDEX_ONCE, indirect=True)
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
                writer.vectors.drop_unused()
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
        writer.vectors.drop_unused()
    assert_same(full, count=3)
    assert [(len(each.added), len(each.removed)) for each in applied] == [(1, CHUNKS_PER_DOCUMENT), (1, 1)]


def test_facts(tmp_path: Path) -> None:
    """Entries carry what an index with columns of its own shows."""
    world = open_world(SqlitePlace(tmp_path / "index.sqlite"), FACTORIES["memory"], tmp_path)
    world.put("notes/a.md", ["one", "two"])
    world.embed()
    assert_same(world, count=1)
    assert isinstance(world.index, MemoryVectorIndex)
    second = world.index.entries(TEXTS)[1]
    section = second.section
    assert (section.document_path, section.order, section.depth) == ("notes/a.md", 1, 1)
    assert (second.heading, section.heading) == ("Top > Part 1", "Part 1")
    assert second.collection_id == world.collections[0]
    (name,) = world.index.entries(NAMES)
    assert name.heading in first_names(record("notes/a.md", []).document.names)
    assert name.owner == 1


def test_a_second_model(full: World) -> None:
    """A space beside another is filled when it is searched; the dropped one leaves the index."""
    assert_same(full, count=1)
    full.embed(OTHER)
    query = queries(1, 16)[0]
    found = nearest(full.store, full, query, space=OTHER)
    assert_equal(found, nearest(full.exact, full, query, space=OTHER))
    with full.exact.write() as writer:
        writer.spaces.drop(full.space_id())
    assert_equal(nearest(full.store, full, query, space=OTHER), found)
    assert full.index.applied(TEXTS) is None
    assert nearest(full.store, full, queries(1)[0]) == []
    full.embed()
    assert_same(full, count=2)


def test_dropped_and_filled_again(full: World) -> None:
    """A space whose vectors were replaced is read anew, though no other space was searched meanwhile."""
    assert_same(full, count=1)
    with full.exact.write() as writer:
        space_id = full.space_id()
        writer.spaces.drop(space_id)
        hashes = [text_hash(f"{number}.md") for number in range(5)]
        writer.vectors.put(space_id, hashes, queries(5))
    assert_same(full, count=2)


@pytest.mark.usefixtures("no_scan")
def test_many_batches(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catching up in small steps gives the same."""
    monkeypatch.setattr("mdvec.stores.vectors.journal.BATCH", 97)
    assert_same(full, count=3)
    full.put("7.md", ["changed"], collection=1)
    for number in range(0, 60, 2):
        full.delete(f"{number}.md")
    full.embed()
    assert_same(full, count=3)


def test_a_search_does_a_part(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large backlog is shared out among searches, which all give exact answers."""
    monkeypatch.setattr("mdvec.stores.vectors.journal.BATCH", 100)
    monkeypatch.setattr(follower, "_MAX_PER_SEARCH", 300)
    counts = []
    for _ in range(10):
        assert_same(full, count=1, limit=20)
        counts.append(held(full))
    assert counts == sorted(counts)
    assert 300 <= counts[0] < 2_250
    assert counts[-1] == 2_250


@pytest.mark.parametrize("make", EVERY_INDEX, indirect=True)
@pytest.mark.parametrize("attempt", range(4))
def test_a_crash_repairs_itself(full: World, monkeypatch: pytest.MonkeyPatch, attempt: int) -> None:
    """Whatever ends an apply, before or after it took effect, the next search goes on from there."""
    monkeypatch.setattr("mdvec.stores.vectors.journal.BATCH", 500)
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
    store = full.place.open(second)
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
    full.delete("10.md")
    full.place.forget_removals()
    full.delete("12.md")
    assert_same(full, count=3)
    assert held(full) == 2_250 - 3 * (CHUNKS_PER_DOCUMENT + 1)


def test_a_backup_is_older_than_the_index(full: World, tmp_path: Path) -> None:
    """A store that is set back is noticed, and one of another history too."""
    full.close()
    (tmp_path / "backup").mkdir()
    backup = full.place.copy(tmp_path / "backup")
    full.open()
    for number in range(0, 40, 2):
        full.put(f"{number}.md", [f"later {number}"])
    full.embed()
    assert_same(full, count=1)
    newer = held(full)
    full.close()
    full.place.put_back(backup)
    full.open()
    assert_same(full, count=3)
    assert held(full) == 2_250 != newer


def test_an_older_snapshot_is_answered_as_it_is(full: World) -> None:
    """A snapshot shows what was there when it began, though the index has gone on."""
    query, space_id = queries(1)[0], full.space_id()
    with full.store.read() as before, full.exact.read() as expected:
        assert before.version == expected.version
        expected_hits = expected.vectors.nearest(VectorKind.TEXT, space_id, query, full.where(), 20)
        for number in range(0, DOCUMENTS, 2):
            full.delete(f"{number}.md")
        assert_same(full, count=1)
        assert_equal(
            before.vectors.nearest(VectorKind.TEXT, space_id, query, full.where(), 20), expected_hits
        )
    assert_same(full, count=1)
    assert held(full) == 1_125


@pytest.mark.parametrize(("store_kind", "make"), EVERY_INDEX_ONCE, indirect=True)
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
    with world.store.read() as view:
        index = view.vectors.index
        return None if index is None else index.rebuild()


def test_rebuild(full: World) -> None:
    """A rebuild empties the index, fills it, and counts the vectors."""
    assert rebuild(full) == held(full) == 2_250
    full.delete("8.md")
    assert rebuild(full) == held(full) == 2_250 - CHUNKS_PER_DOCUMENT - 1
    with full.exact.read() as view:
        assert view.vectors.index is None


def test_update(full: World) -> None:
    """An update applies all that was missed, however much that is."""
    with full.store.read() as view:
        index = view.vectors.index
        assert index is not None
        assert index.update() == held(full) == 2_250
        assert index.problem(compare=True) == ""


def test_vectors_that_differ_from_the_store_are_counted(full: World) -> None:
    """One of an index was altered, and one is gone: a comparison says so, and a rebuild mends it."""
    assert_same(full, count=1)
    mark, held_now = full.index.applied(TEXTS), next(iter(full.index.held(TEXTS)))
    assert mark is not None
    altered, gone = held_now.ids[:2]
    again = entry(altered, -held_now.vectors[0], owner=held_now.owners[0])
    assert full.index.apply(TEXTS, step(mark, mark, [again], removed=[altered, gone]))
    with full.store.read() as view:
        index = view.vectors.index
        assert index is not None
        assert index.problem() == ""
        assert index.problem(compare=True) == f"{index.location}: 2 vectors missing or damaged"
        index.rebuild()
        assert index.problem(compare=True) == ""


def test_a_rebuild_that_fails_says_so(full: World) -> None:
    """An index that takes nothing ends the rebuild."""
    full.index.apply = lambda *_: False  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="cannot be filled"):
        rebuild(full)
    assert_same(full, count=1)


@pytest.mark.parametrize("most", [0, 100])
def test_more_than_is_worth_proposing(full: World, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Where an index would have to propose too much, the vectors of the store are searched."""
    monkeypatch.setattr(WhereTables, "few_inside", lambda *_: None)
    monkeypatch.setattr(follower, "MAX_NEAREST", most)
    assert_same(full, filters=Filters(tags=("rare",)), count=2)
    assert_same(full, filters=Filters(tags=("often",)), limit=400, count=2)
    assert_same(full, count=2)


def test_a_store_without_an_index_writes_no_removals(store_kind: str, tmp_path: Path) -> None:
    """Removals are written from when an index was attached, by every process."""
    for name, expected in (("plain", 0), ("with", 3)):
        (tmp_path / name).mkdir()
        place = new_place(store_kind, tmp_path / name)
        index = MemoryVectorIndex(name) if expected else None
        store, plain = place.open(index), place.open()
        with plain.write() as writer:
            made = writer.collections.add(
                Collection(CollectionId(0), "notes", "", SourceSpec("folder", "/notes"))
            )
            writer.documents.put(made.id, [record("a.md", ["one", "two"])])
            writer.documents.delete(made.id, ["a.md"])
        assert place.count_removals() == expected
        for each in (store, plain):
            each.close()


@pytest.mark.parametrize("store_kind", ["sqlite"], indirect=True)
def test_a_file_that_is_only_read(full: World) -> None:
    """An index that was attached before is used for reading; else the matrix in memory answers."""
    assert_same(full, count=1)
    full.close()
    full.open(read_only=True)
    full.put("7.md", ["changed"], collection=1)
    full.embed()
    assert_same(full, count=2)


@pytest.mark.parametrize("store_kind", ["sqlite"], indirect=True)
def test_a_file_that_is_only_read_and_has_no_index_yet(full: World) -> None:
    """Nothing can be attached to it, so the matrix in memory answers."""
    assert isinstance(full.place, SqlitePlace)
    full.close()
    with sqlite3.connect(full.place.path) as database:
        database.executescript(
            """DROP TRIGGER chunks_removed; DROP TRIGGER names_removed;
            DELETE FROM meta WHERE key = 'vector_index'"""
        )
    database.close()
    full.open(read_only=True)
    assert_same(full, count=2)
    assert rebuild(full) is None
