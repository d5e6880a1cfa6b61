"""What every store must do about snapshots and transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.contract.store_world import (
    SPACE,
    World,
    add_collection,
    make_document,
    make_entry,
    put,
    read,
    unit_vectors,
    vector_of,
)
from tests.waiting import HANG_S

from mdvec import run
from mdvec.errors import ImportStoppedError, StoreError
from mdvec.stores.commits import await_commit
from mdvec.stores.interface import Store, View
from mdvec.stores.records import VectorKind
from mdvec.text.hashing import text_hash
from mdvec.types.change import Exclusion, Unreadable
from mdvec.types.collection import Collection
from mdvec.types.document import Link, LinkKind
from mdvec.types.query import Filters, Where
from mdvec.types.space import Unrelated, UnrelatedTexts

QUERY = unit_vectors(1, seed=5)[0]


def in_thread(action: Callable[[], object]) -> None:
    """Run to the end in another thread."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def observed(world: World, view: View) -> dict[str, object]:
    """Return what every method of a view shows; ids of documents and chunks included."""
    first, second, where = world.first.id, world.second.id, world.where()
    found = {path: view.documents.find(first, path) for path in ("a.md", "b.md", "c.md")}
    documents = [each.id for each in found.values() if each is not None]
    chunks = [chunk for document in documents for chunk in view.chunks.of_document(document)]
    ids = [chunk.id for chunk in chunks]
    space = world.space_id
    hashes = [text_hash(text) for text in ("one", "two", "new", "a.md")]
    return {
        "version": view.version,
        "collections": view.collections.all(),
        "counts": [view.collections.counts(each, space) for each in (first, second)],
        "file_states": view.collections.file_states(first, space),
        "tags": view.documents.tags(where),
        "documents": view.documents.page(first, after="", prefix="", limit=9),
        "known_documents": view.documents.known(first),
        "find_document": found,
        "document_chunks": chunks,
        "chunks": view.chunks.get(ids),
        "places": view.chunks.places(ids),
        "places_in": view.chunks.places_in(documents, where, 9),
        "links_of": view.documents.links_of(documents),
        "links_to": view.documents.links_to(first, "b"),
        "versions": view.documents.versions(first),
        "files_named": view.documents.with_file_names(first, ["a", "b", "c"]),
        "documents_called": view.documents.called(["same"], where),
        "document_frequencies": view.words.frequencies(["one", "two", "new"]),
        "bm25": [view.words.bm25(["one", "two", "new"], each, 9) for each in (where, world.where(TAGGED))],
        "find_space": [view.spaces.find(each) for each in (SPACE, OTHER)],
        "unrelated": view.spaces.unrelated(space),
        "nearest_chunks": [
            view.vectors.nearest(VectorKind.TEXT, space, QUERY, each, 9)
            for each in (where, world.where(TAGGED))
        ],
        "nearest_documents": view.vectors.nearest(VectorKind.NAME, space, QUERY, where, 9),
        "chunk_similarities": view.vectors.similarities(
            VectorKind.TEXT, space, QUERY.reshape(1, -1), ids
        ).tobytes(),
        "chunk_vectors": view.vectors.of_chunks(space, ids).tobytes(),
        "name_similarities": view.vectors.similarities(
            VectorKind.NAME, space, QUERY.reshape(1, -1), documents
        ).tobytes(),
        "sampled_chunks": view.vectors.sample(space, 9),
        "cached": view.vectors.known(space, hashes),
        "pending": view.vectors.pending(VectorKind.TEXT, first, space, 9),
        "pending_names": view.vectors.pending(VectorKind.NAME, first, space, 9),
        "count_pending_names": view.vectors.count_pending_names(first, space),
    }


OTHER = replace(SPACE, model="other")
TAGGED = Filters(tags=("t",))


@pytest.fixture
def filled(world: World) -> World:
    """Two documents, some of their texts and names with vectors."""
    world.add("a.md", ["one", "two"], tags=("t",), aliases=("same",))
    world.add("b.md", ["two", "three"], tags=("u",))
    world.embed({text: vector_of(text) for text in ("one", "two", "a.md")})
    return world


def change_everything(world: World) -> None:
    """Change what each method of a view shows."""
    first = world.first.id
    document, chunks = make_document("c.md", ["new", "one"], tags=("t", "v"), aliases=("same",))
    links = (Link(LinkKind.WIKI, "b"), Link(LinkKind.PREVIOUS, "b.md"))
    with world.store.write() as writer:
        writer.collections.change(first, lambda now: replace(now, description="changed"))
        writer.collections.add(replace(world.first, name="third"))
        put(writer, first, replace(document, links=links), [replace(each, context="c") for each in chunks])
        put(writer, first, *make_document("a.md", ["new"]))
        writer.documents.delete(first, ["b.md"])
        writer.documents.touch(first, [make_entry("a.md", 7, 8)])
        outcome = [Exclusion("x", "r")], [Unreadable("y", "r")]
        writer.documents.finish(first, exclusions=outcome[0], failures=outcome[1])
        writer.spaces.open(OTHER)
        writer.spaces.open(SPACE, UnrelatedTexts(Unrelated(0.1, 0.2, b""), Unrelated(0.3, 0.4, b"")))
        writer.vectors.drop_unused()
        texts = ("new", "c\nnew", "same", "c.md")
        for text in texts:
            writer.vectors.put(world.space_id, [text_hash(text)], vector_of(text)[None])


def test_a_snapshot_shows_one_state_while_others_write(filled: World) -> None:
    """Every method shows what was there when it began, also when it is first called after the commit."""
    before = read(filled.store, lambda view: observed(filled, view))
    with filled.store.read() as untouched, filled.store.read() as view:
        version = untouched.version
        assert observed(filled, view) == before
        in_thread(lambda: change_everything(filled))
        assert observed(filled, view) == before
        after = read(filled.store, lambda newer: observed(filled, newer))
        assert observed(filled, untouched) == before
        assert observed(filled, view) == before
        assert untouched.version == version
    assert [key for key, value in before.items() if after[key] == value] == []
    assert read(filled.store, lambda newer: observed(filled, newer)) == after


def test_a_snapshot_that_is_older_than_removed_vectors_shows_them(filled: World) -> None:
    """Also when others have searched without them meanwhile."""
    before = read(filled.store, lambda view: observed(filled, view))
    with filled.store.read() as view:
        assert view.version

        def drop() -> None:
            with filled.store.write() as writer:
                assert writer.spaces.drop(filled.space_id) == 3
            assert (
                read(filled.store, lambda newer: newer.vectors.known(filled.space_id, [text_hash("one")]))
                == set()
            )
            where = filled.where()
            assert (
                read(
                    filled.store,
                    lambda newer: newer.vectors.nearest(VectorKind.TEXT, filled.space_id, QUERY, where, 9),
                )
                == []
            )

        in_thread(drop)
        assert observed(filled, view) == before


def test_a_failed_transaction_leaves_nothing(filled: World) -> None:
    """It sees its own changes in every method; after an exception everything is as before."""
    before = read(filled.store, lambda view: observed(filled, view))

    def change_and_fail() -> None:
        with filled.store.write() as writer:
            assert {**observed(filled, writer), "version": 0} == {**before, "version": 0}
            put(writer, filled.first.id, *make_document("c.md", ["new"], aliases=("same",)))
            writer.vectors.put(filled.space_id, [text_hash("new")], QUERY[None])
            assert (
                writer.vectors.nearest(VectorKind.TEXT, filled.space_id, QUERY, filled.where(), 1)[0][1]
                > 0.999
            )
            assert len(writer.words.bm25(["new"], filled.where(), 9)) == 1
            assert [
                each.text
                for each in writer.vectors.pending(VectorKind.TEXT, filled.first.id, filled.space_id, 9)
            ] == ["three"]
            assert len(writer.documents.called(["same"], filled.where())) == 2
            assert writer.collections.counts(filled.first.id, filled.space_id).pending_chunks == 1
            writer.collections.delete(filled.second.id)
            assert writer.vectors.drop_unused() == 0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_and_fail()
    assert read(filled.store, lambda view: observed(filled, view)) == before
    filled.add("c.md", ["other"])
    filled.embed({"other": QUERY})
    where = filled.where()
    found = read(
        filled.store, lambda view: view.vectors.nearest(VectorKind.TEXT, filled.space_id, QUERY, where, 1)
    )
    assert [each.path for each in filled.places(key for key, _ in found)] == ["c.md"]


def test_others_see_nothing_of_a_transaction_before_it_ends(filled: World) -> None:
    """A snapshot that is opened while another thread writes shows what was there before."""
    before = read(filled.store, lambda view: observed(filled, view))
    with filled.store.write() as writer:
        writer.documents.delete(filled.first.id, ["a.md"])
        writer.spaces.drop(filled.space_id)
        in_thread(lambda: check(filled, before))
    assert read(filled.store, lambda view: observed(filled, view)) != before


def test_a_deletion_blocks_no_reader(filled: World) -> None:
    """While a collection is deleted, searches answer from what was there; then it is gone as a whole."""
    before = read(filled.store, lambda view: observed(filled, view))
    with filled.store.write() as writer:
        writer.collections.delete(filled.first.id)
        in_thread(lambda: check(filled, before))
    with filled.store.read() as view:
        assert [each.name for each in view.collections.all()] == [filled.second.name]
        assert view.words.bm25(["one", "two"], filled.where(), 9) == []
        assert view.vectors.nearest(VectorKind.TEXT, filled.space_id, QUERY, filled.where(), 9) == []


def check(world: World, expected: dict[str, object]) -> None:
    """Assert what a new snapshot shows."""
    assert read(world.store, lambda view: observed(world, view)) == expected


def test_transactions_do_not_nest(store: Store) -> None:
    """A transaction inside a transaction is a mistake of the caller; the outer one is undone."""
    with pytest.raises(RuntimeError, match="nest"), store.write(), store.write():
        pass
    add_collection(store)


def test_writers_wait_for_each_other(store: Store) -> None:
    """Transactions of several threads come one after the other, and none is lost."""
    notes = add_collection(store)

    def count() -> None:
        for _ in range(20):
            with store.write() as writer:
                writer.collections.change(
                    notes.id, lambda now: replace(now, last_indexed_ms=(now.last_indexed_ms or 0) + 1)
                )

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(store, lambda view: view.collections.all())[0].last_indexed_ms == 80


def test_threads_read_while_another_writes(store: Store, notes: Collection) -> None:
    """No error, and never half a document: all methods of one snapshot agree."""
    where = Where((notes.id,))
    with store.write() as writer:
        space_id = writer.spaces.open(SPACE)
    errors: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                with store.read() as view:
                    chunks = view.collections.counts(notes.id, space_id).chunks
                    assert chunks % 3 == 0
                    assert len(view.words.bm25(["word"], where, 99)) == chunks
                    assert len(view.vectors.nearest(VectorKind.TEXT, space_id, QUERY, where, 99)) == chunks
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(30):
        texts = [f"word {number} {part}" for part in range(3)]
        with store.write() as writer:
            put(writer, notes.id, *make_document(f"{number % 7}.md", texts))
            writer.vectors.put(space_id, [text_hash(text) for text in texts], unit_vectors(3, seed=number))
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []


def test_every_change_is_a_new_version(store: Store, notes: Collection) -> None:
    """Reading, and writing what is there already, makes none."""
    document = make_document("a.md", ["text"])
    outcome = [Exclusion("x", "r")]
    versions = [read(store, lambda view: view.version)]
    with store.write() as writer:
        put(writer, notes.id, *document)
    versions.append(read(store, lambda view: view.version))
    with store.write() as writer:
        writer.documents.finish(notes.id, exclusions=outcome, failures=[])
    versions.append(read(store, lambda view: view.version))
    with store.write() as writer:
        space_id = writer.spaces.open(SPACE)
        writer.vectors.put(space_id, [text_hash("x")], vector_of("x")[None])
    versions.append(read(store, lambda view: view.version))
    with store.write() as writer:
        writer.vectors.drop_unused()
    versions.append(read(store, lambda view: view.version))
    assert versions == sorted(set(versions))
    with store.write() as writer:
        writer.collections.change(notes.id, lambda now: now)
        writer.documents.finish(notes.id, exclusions=outcome, failures=[])
        writer.spaces.open(SPACE)
        writer.documents.delete(notes.id, ["not-there.md"])
        writer.vectors.drop_unused()
    assert read(store, lambda view: view.version) == versions[-1]


def test_closing_twice(store: Store) -> None:
    """Closing a closed store does nothing; using it says that it is closed."""
    add_collection(store)
    assert store.check() == []
    assert store.size_bytes >= 0
    assert store.location
    store.close()
    store.close()
    for use in (lambda: read(store, lambda view: view.version), lambda: add_collection(store, "b")):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_a_commit_ends_the_wait_for_a_change(store: Store, notes: Collection) -> None:
    """Of another thread, or one before the wait; without a change the version is the same at the end."""
    version = read(store, lambda view: view.version)
    assert await_commit(store, version, timeout_s=0.01) == version

    def write() -> None:
        with store.write() as writer:
            put(writer, notes.id, *make_document("a.md", ["text"]))

    thread = threading.Timer(0.05, write)
    thread.start()
    later = await_commit(store, version, timeout_s=HANG_S)
    thread.join()
    assert later == read(store, lambda view: view.version) > version
    assert await_commit(store, version, timeout_s=HANG_S) == later


def test_cancelling_ends_the_wait_for_a_change(store: Store) -> None:
    """Soon, however long the wait may be."""
    running = run.Run()
    thread = threading.Timer(0.05, running.cancel)
    thread.start()
    with run.bound(running), pytest.raises(ImportStoppedError):
        await_commit(store, read(store, lambda view: view.version), timeout_s=HANG_S)
    thread.join()
