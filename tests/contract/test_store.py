"""What every catalog and store must do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mdvec.stores.names import MAX_NAME_CHARS, MAX_NAMES
from tests.contract.store_world import FOLDER, SPACE, make_document, make_entry, put, unit_vectors

from mdvec.errors import CollectionExistsError, CollectionNotFoundError, StoreError
from mdvec.stores.interface import Store
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.folding import fold_name
from mdvec.text.hashing import content_hash, text_hash
from mdvec.text.paths import file_key
from mdvec.types.change import Exclusion, KnownDocument, SourceEntry, Unreadable
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.document import Comment, DocumentState, Link, LinkKind
from mdvec.types.ids import ChunkId
from mdvec.types.links import Versions
from mdvec.types.query import Filters, Scope
from mdvec.types.report import CollectionCounts, FileStatus, ListedDocument, TagCount


@pytest.fixture(params=["sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    store = SqliteStore(tmp_path / "store")
    yield store
    store.close()


@pytest.fixture
def notes(store: Store) -> Collection:
    """An empty collection."""
    with store.transaction():
        return store.catalog.add_collection("notes", "My notes", FOLDER, ChunkingSpec())


def test_collections_keep_every_field(store: Store) -> None:
    """What is added and saved comes back equal, by name."""
    source = SourceSpec("folder", "/caf\udce9/メモ", ("*.md",), ("drafts/**", "a"))
    with store.transaction():
        second = store.catalog.add_collection("b", "説明", source, ChunkingSpec("sections", 100, 10))
        first = store.catalog.add_collection("a", "", FOLDER, ChunkingSpec())
    assert store.catalog.collections() == [first, second]
    changed = replace(first, name="c", description="x", enabled=False, last_indexed_ms=5, source=source)
    with store.transaction():
        assert store.catalog.change_collection(first.id, lambda _: changed) == changed
    assert store.catalog.collections() == [second, changed]


def test_a_change_is_made_to_the_collection_as_it_is(store: Store, notes: Collection) -> None:
    """Changes of different fields all last, whoever read the collection before; a deleted one is told."""
    with store.transaction():
        store.catalog.change_collection(notes.id, lambda now: replace(now, description="new"))
    with store.transaction():
        store.catalog.change_collection(notes.id, lambda now: replace(now, last_indexed_ms=7))
    assert store.catalog.collections() == [replace(notes, description="new", last_indexed_ms=7)]
    with store.transaction():
        store.catalog.delete_collection(notes.id)
    with pytest.raises(CollectionNotFoundError), store.transaction():
        store.catalog.change_collection(notes.id, lambda now: now)


def test_names_of_collections_are_unique(store: Store, notes: Collection) -> None:
    """Adding a name twice is refused, and nothing is written."""
    with pytest.raises(CollectionExistsError, match="notes"), store.transaction():
        store.catalog.add_collection("notes", "", FOLDER, ChunkingSpec())
    assert store.catalog.collections() == [notes]


def test_documents_keep_every_field(store: Store, notes: Collection) -> None:
    """A document comes back as it was written, odd characters included."""
    document, chunks = make_document("メモ/猫.md", ["# 猫 👩\u200d💻", "か\u3099 x"], tags=("Tag", "a/b"))
    document = replace(
        document,
        aliases=("Neko", "猫"),
        frontmatter={"z": [1, None, {"é": True}], "a": "x"},
        content_start=2,
        links=(Link(LinkKind.WIKI, "犬", "^x", "dog", 3),),
    )
    entry = SourceEntry(document.path, "メモ/\udcffneko.md", 1_700_000_000_123_456_789, 42)
    with store.transaction():
        store.catalog.put_document(
            notes.id, document, chunks, entry=entry, content_hash=b"h" * 32, fingerprint="f/1"
        )
    found = store.catalog.find_document(notes.id, "メモ/猫.md")
    assert found is not None
    assert (found.collection, found.collection_id, found.path) == ("notes", notes.id, document.path)
    assert (found.title, found.body, found.content_start) == (document.title, document.body, 2)
    assert (found.tags, found.aliases) == (("Tag", "a/b"), ("Neko", "猫"))
    assert dict(found.frontmatter) == document.frontmatter
    assert (found.locator, found.mtime_ns, found.size) == (entry.locator, entry.mtime_ns, entry.size)
    assert found.content_hash == b"h" * 32
    assert store.catalog.find_document(notes.id, "other.md") is None
    assert store.catalog.known_documents(notes.id) == {
        document.path: KnownDocument(document.path, entry.locator, entry.mtime_ns, 42, b"h" * 32, "f/1")
    }


def test_lone_surrogates_do_not_stop_an_import(store: Store, notes: Collection) -> None:
    """A title or tag that UTF-8 cannot hold is written with a replacement character."""
    document, chunks = make_document("a.md", ["text"], tags=("t\ud800",), aliases=("n\udcff",))
    document = replace(document, title="x\ud800y", frontmatter={"k": "\udfff"})
    with store.transaction():
        put(store, notes.id, document, chunks)
    found = store.catalog.find_document(notes.id, "a.md")
    assert found is not None
    assert (found.title, found.tags, found.frontmatter) == ("x\ufffdy", ("t\ufffd",), {"k": "\ufffd"})
    pending = store.catalog.pending_names(notes.id, store.vectors.open_space(SPACE), 9)
    assert [(each.text, each.text_hash) for each in pending] == [
        (name, text_hash(name)) for name in ("x\ufffdy", "n\ufffd")
    ]


def test_chunks_keep_every_field(store: Store, notes: Collection) -> None:
    """Chunks come back in order, with their text and with what is shown of their document."""
    document, chunks = make_document("a.md", ["一つ目", "second"], depths=(1, 2))
    with store.transaction():
        ids = put(store, notes.id, document, chunks)
    found = store.catalog.find_document(notes.id, "a.md")
    assert found is not None
    stored = store.catalog.document_chunks(found.id)
    assert [each.id for each in stored] == ids
    assert store.catalog.load_chunks([*reversed(ids), ids[0]]) == dict(zip(ids, stored, strict=True))
    assert store.catalog.documents_of([*ids, ChunkId(max(ids) + 1)]) == dict.fromkeys(ids, found.id)
    second = stored[1]
    assert (second.text, second.start, second.end, second.ordinal) == ("second", 5, 11, 1)
    assert (second.parent, second.depth, second.heading_path) == (0, 2, ("Top", "Part 1"))
    assert (second.start_line, second.end_line, second.token_count) == (3, 3, 1)
    assert (second.collection, second.collection_id, second.document_id) == ("notes", notes.id, found.id)
    assert (second.path, second.locator, second.title) == ("a.md", "a.md", "a.md")
    assert (second.mtime_ns, second.size, second.content_hash) == (1, 1, found.content_hash)


def test_putting_a_document_replaces_the_old_one(store: Store, notes: Collection) -> None:
    """The old chunks, words and labels are gone; the new chunks have new ids."""
    everything = Scope((notes.id,))
    with store.transaction():
        old = put(store, notes.id, *make_document("a.md", ["cat", "dog"], tags=("old",)))
    with store.transaction():
        new = put(store, notes.id, *make_document("a.md", ["bird"], tags=("new",)))
    assert not set(old) & set(new)
    assert store.catalog.load_chunks(old) == {}
    assert store.lexical.search(["cat", "dog"], 5, everything) == []
    assert [found for found, _ in store.lexical.search(["bird"], 5, everything)] == new
    assert store.catalog.tags(everything) == [TagCount("new", 1)]


def test_touching_writes_time_size_and_spelling(store: Store, notes: Collection) -> None:
    """Touching changes what the file system says, and no chunk."""
    with store.transaction():
        ids = put(store, notes.id, *make_document("a.md", ["text"]))
        store.catalog.touch_document(notes.id, SourceEntry("a.md", "A.md", 77, 88))
    stored = store.catalog.load_chunks(ids)[ids[0]]
    assert (stored.mtime_ns, stored.size, stored.locator) == (77, 88, "A.md")


def test_deleting(store: Store, notes: Collection) -> None:
    """Deleting a document or a collection leaves nothing behind but vectors."""
    everything = Scope((notes.id,))
    space_id = store.vectors.open_space(SPACE)
    with store.transaction():
        for path in ("a.md", "b.md", "c.md"):
            put(store, notes.id, *make_document(path, [f"word {path}"], tags=("t",)))
        store.catalog.set_outcome(notes.id, exclusions=[Exclusion("x", "r")], failures=[Unreadable("y", "r")])
        store.vectors.add(space_id, [text_hash("word a.md")], unit_vectors(1))
    with store.transaction():
        store.catalog.delete_document(notes.id, "a.md")
        store.catalog.delete_document(notes.id, "not-there.md")
    assert [tag.documents for tag in store.catalog.tags(everything)] == [2]
    assert len(store.lexical.search(["word"], 5, everything)) == 2
    with store.transaction():
        store.catalog.delete_collection(notes.id)
    assert store.catalog.collections() == []
    assert store.catalog.counts(notes.id, None) == CollectionCounts(0, 0, 0, 0, 0)
    assert store.lexical.search(["word"], 5, everything) == []
    assert store.vectors.cached(space_id, [text_hash("word a.md")]) == {text_hash("word a.md")}


def test_every_file_is_in_one_state(store: Store, notes: Collection) -> None:
    """Ready, pending, failed or excluded: once each, the failed one also while it can be found."""
    space_id = store.vectors.open_space(SPACE)
    with store.transaction():
        put(store, notes.id, *make_document("empty.md", []))
        put(store, notes.id, *make_document("ready.md", ["one"]))
        put(store, notes.id, *make_document("half.md", ["one", "two"]))
        put(store, notes.id, *make_document("broken.md", ["one"]))
        store.vectors.add(space_id, [text_hash("one")], unit_vectors(1))
        store.catalog.set_outcome(
            notes.id,
            exclusions=[Exclusion("build/", "folder"), Exclusion("x.png", "extension")],
            failures=[Unreadable("broken.md", "no permission"), Unreadable("new.md", "not text")],
        )
    assert store.catalog.file_states(notes.id, space_id) == [
        FileStatus("broken.md", DocumentState.FAILED, "no permission", 1, 0),
        FileStatus("build/", DocumentState.EXCLUDED, "folder"),
        FileStatus("empty.md", DocumentState.READY),
        FileStatus("half.md", DocumentState.PENDING, "", 2, 1),
        FileStatus("new.md", DocumentState.FAILED, "not text"),
        FileStatus("ready.md", DocumentState.READY, "", 1, 0),
        FileStatus("x.png", DocumentState.EXCLUDED, "extension"),
    ]
    assert store.catalog.counts(notes.id, space_id) == CollectionCounts(4, 2, 2, 4, 1)
    without = {each.path: each.pending_chunks for each in store.catalog.file_states(notes.id, None)}
    assert without == {"broken.md": 1, "half.md": 2, "ready.md": 1} | dict.fromkeys(
        ("build/", "empty.md", "new.md", "x.png"), 0
    )
    assert store.catalog.counts(notes.id, None).pending_chunks == 4


def test_outcomes_are_replaced(store: Store, notes: Collection) -> None:
    """What is no longer excluded or failed is forgotten, and new reasons replace old ones."""
    with store.transaction():
        store.catalog.set_outcome(
            notes.id,
            exclusions=[Exclusion("a", "old"), Exclusion("b", "old")],
            failures=[Unreadable("c", "r")],
        )
    with store.transaction():
        store.catalog.set_outcome(notes.id, exclusions=[Exclusion("b", "new")], failures=[])
    assert store.catalog.file_states(notes.id, None) == [FileStatus("b", DocumentState.EXCLUDED, "new")]


def test_counts_follow_every_commit(store: Store, notes: Collection) -> None:
    """Counting again after a write counts what is there now, inside and outside of transactions."""
    space_id = store.vectors.open_space(SPACE)
    assert store.catalog.counts(notes.id, space_id).chunks == 0
    with store.transaction():
        put(store, notes.id, *make_document("a.md", ["one", "two", "two"]))
        assert store.catalog.counts(notes.id, space_id).pending_chunks == 3
    assert store.catalog.counts(notes.id, space_id) == CollectionCounts(1, 0, 0, 3, 3)
    with store.transaction():
        store.vectors.add(space_id, [text_hash("two")], unit_vectors(1))
    assert store.catalog.counts(notes.id, space_id) == CollectionCounts(1, 0, 0, 3, 1)


def test_tags_are_counted_by_document(store: Store, notes: Collection) -> None:
    """Most used first, then by name, however often a document has chunks; shown as first written."""
    with store.transaction():
        put(store, notes.id, *make_document("a.md", ["x", "y"], tags=("Python", "zoo")))
        put(store, notes.id, *make_document("b.md", ["x"], tags=("python", "猫/子猫")))
        put(store, notes.id, *make_document("c.md", [], tags=("ant",)))
    scope = Scope((notes.id,))
    assert store.catalog.tags(scope) == [
        TagCount("Python", 2),
        TagCount("ant", 1),
        TagCount("zoo", 1),
        TagCount("猫/子猫", 1),
    ]
    assert store.catalog.tags(Scope((notes.id,), Filters(tags=("猫",)))) == [
        TagCount("python", 1),
        TagCount("猫/子猫", 1),
    ]
    assert store.catalog.tags(Scope(())) == []


def test_pending_texts(store: Store, notes: Collection) -> None:
    """Each text once, oldest first, under its context, until it has a vector in that very space."""
    space_id = store.vectors.open_space(SPACE)
    document, chunks = make_document("a.md", ["one", "two", "one", "three"])
    with store.transaction():
        other = store.catalog.add_collection("other", "", FOLDER, ChunkingSpec())
        put(store, other.id, *make_document("x.md", ["elsewhere"]))
        put(store, notes.id, document, [replace(chunk, context="a › b") for chunk in chunks])
    first = store.catalog.pending(notes.id, space_id, 2)
    assert [each.text for each in first] == ["a › b\none", "a › b\ntwo"]
    assert [each.text_hash for each in first] == [text_hash(each.text) for each in first]
    with store.transaction():
        store.vectors.add(space_id, [first[0].text_hash], unit_vectors(1))
    left = store.catalog.pending(notes.id, space_id, 9)
    assert [each.text for each in left] == ["a › b\ntwo", "a › b\nthree"]
    with store.transaction():
        store.vectors.add(space_id, [each.text_hash for each in left], unit_vectors(2))
    assert store.catalog.pending(notes.id, space_id, 9) == []
    next_space = store.vectors.open_space(replace(SPACE, revision="2"))
    assert len(store.catalog.pending(notes.id, next_space, 9)) == 3


def test_pending_names(store: Store, notes: Collection) -> None:
    """Title and aliases, each once and oldest first, until they have a vector; a text may have it already."""
    space_id = store.vectors.open_space(SPACE)
    with store.transaction():
        other = store.catalog.add_collection("other", "", FOLDER, ChunkingSpec())
        put(store, other.id, *make_document("x.md", ["one"]))
        put(store, notes.id, *make_document("a.md", ["one", "cat"], aliases=("cat", "猫")))
        put(store, notes.id, *make_document("deep/a.md", [], aliases=("dog",)))
    first = store.catalog.pending_names(notes.id, space_id, 2)
    assert [each.text for each in first] == ["a.md", "cat"]
    assert [each.text_hash for each in first] == [text_hash(each.text) for each in first]
    assert store.catalog.count_pending_names(notes.id, space_id) == 4
    with store.transaction():
        store.vectors.add(space_id, [text_hash("cat"), text_hash("a.md")], unit_vectors(2))
    assert [each.text for each in store.catalog.pending(notes.id, space_id, 9)] == ["one"]
    left = store.catalog.pending_names(notes.id, space_id, 9)
    assert [each.text for each in left] == ["猫", "dog"]
    with store.transaction():
        store.vectors.add(space_id, [each.text_hash for each in left], unit_vectors(2))
    for _ in range(2):
        assert store.catalog.pending_names(notes.id, space_id, 9) == []
    assert store.catalog.count_pending_names(notes.id, space_id) == 0
    assert store.catalog.counts(notes.id, space_id).pending_chunks == 1
    assert [each.text for each in store.catalog.pending_names(other.id, space_id, 9)] == ["x.md"]
    with store.transaction():
        put(store, notes.id, *make_document("b.md", ["one"]))
    assert [each.text for each in store.catalog.pending_names(notes.id, space_id, 9)] == ["b.md"]
    next_space = store.vectors.open_space(replace(SPACE, revision="2"))
    assert store.catalog.count_pending_names(notes.id, next_space) == 5


def test_dropped_names_are_pending_again(store: Store, notes: Collection) -> None:
    """A name whose unused vector was dropped is pending when a document is called so again."""
    space_id = store.vectors.open_space(SPACE)
    with store.transaction():
        put(store, notes.id, *make_document("a.md", []))
        store.vectors.add(space_id, [text_hash("a.md")], unit_vectors(1))
    assert store.catalog.pending_names(notes.id, space_id, 9) == []
    with store.transaction():
        store.catalog.delete_document(notes.id, "a.md")
        assert store.vectors.drop_unused() == 1
        put(store, notes.id, *make_document("a.md", []))
    assert [each.text for each in store.catalog.pending_names(notes.id, space_id, 9)] == ["a.md"]


def test_names_have_an_end(store: Store, notes: Collection) -> None:
    """Of a long name the start is embedded and compared, of a long list of names the first ones."""
    space_id = store.vectors.open_space(SPACE)
    aliases = (*(f"alias {number}" for number in range(40)),)
    title = "あ" * 500
    document, chunks = make_document("a.md", ["text"], aliases=aliases)
    with store.transaction():
        ids = put(store, notes.id, replace(document, title=title), chunks)
    pending = [each.text for each in store.catalog.pending_names(notes.id, space_id, 99)]
    assert pending == [title[:MAX_NAME_CHARS], *aliases[: MAX_NAMES - 1]]
    scope = Scope((notes.id,))
    assert store.catalog.chunks_named(title[:MAX_NAME_CHARS], scope, 9) == ids
    assert store.catalog.chunks_named("alias 39", scope, 9) == []


def test_chunks_are_found_by_the_name_of_their_document(store: Store, notes: Collection) -> None:
    """Every chunk of all documents that are called so, by path and ordinal, however the name is written."""
    with store.transaction():
        other = store.catalog.add_collection("other", "", FOLDER, ChunkingSpec())
        second = put(
            store, notes.id, *make_document("b.md", ["1", "2"], aliases=("Daily-Note", "daily note"))
        )
        first = put(store, notes.id, *make_document("a.md", ["1", "2"], aliases=("ＤＡＩＬＹ　note",)))
        theirs = put(store, other.id, *make_document("a.md", ["3"], aliases=("daily note",)))
        put(store, notes.id, *make_document("c.md", ["daily note"], aliases=("daily", "notes")))
        put(store, notes.id, *make_document("d.md", [], aliases=("daily note",)))
    scope = Scope((notes.id,))
    assert store.catalog.chunks_named(fold_name("daily note"), scope, 9) == first + second
    assert store.catalog.chunks_named("daily note", Scope((notes.id, other.id)), 9) == [
        *first,
        *theirs,
        *second,
    ]
    assert store.catalog.chunks_named("daily note", scope, 3) == (first + second)[:3]
    assert store.catalog.chunks_named("b md", scope, 9) == second
    for nothing in ("", "note", "x\udcff"):
        assert store.catalog.chunks_named(nothing, scope, 9) == []
    assert store.catalog.chunks_named("daily note", Scope(()), 9) == []
    with store.transaction():
        store.catalog.delete_document(notes.id, "a.md")
        put(store, notes.id, *make_document("b.md", ["1"]))
    assert store.catalog.chunks_named("daily note", scope, 9) == []


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(tags=("x",)), ["b/one.md", "b/one.md"]),
        (Filters(path="a/**"), ["a/one.md", "a/one.md"]),
        (Filters(depths=(2,)), ["a/one.md", "b/one.md"]),
        (Filters(tags=("x",), depths=(1,)), ["b/one.md"]),
        (Filters(alias_prefix="same"), ["a/one.md", "a/one.md", "b/one.md", "b/one.md"]),
        (Filters(updated_since_ns=2), []),
    ],
)
def test_chunks_found_by_name_are_inside_the_scope(
    store: Store, notes: Collection, filters: Filters, expected: list[str]
) -> None:
    """Every filter is honoured."""
    with store.transaction():
        for path, tags in (("a/one.md", ()), ("b/one.md", ("x/y",))):
            put(
                store, notes.id, *make_document(path, ["1", "2"], tags=tags, aliases=("same",), depths=(1, 2))
            )
    found = store.catalog.chunks_named("same", Scope((notes.id,), filters), 9)
    chunks = store.catalog.load_chunks(found)
    assert [chunks[each].path for each in found] == expected


def test_dropped_vectors_are_pending_again(store: Store, notes: Collection) -> None:
    """A text whose unused vector was dropped is pending when it comes back."""
    space_id = store.vectors.open_space(SPACE)
    with store.transaction():
        put(store, notes.id, *make_document("a.md", ["one"]))
        store.vectors.add(space_id, [text_hash("one")], unit_vectors(1))
    assert store.catalog.pending(notes.id, space_id, 9) == []
    with store.transaction():
        store.catalog.delete_document(notes.id, "a.md")
        assert store.vectors.drop_unused() == 1
        put(store, notes.id, *make_document("a.md", ["one"]))
    assert [each.text for each in store.catalog.pending(notes.id, space_id, 9)] == ["one"]


def test_writing_the_same_again_embeds_nothing(store: Store, notes: Collection) -> None:
    """Vectors belong to texts: an identical document, moved or imported again, has them already."""
    space_id = store.vectors.open_space(SPACE)
    with store.transaction():
        put(store, notes.id, *make_document("a.md", ["one", "two"]))
        store.vectors.add(space_id, [text_hash("one"), text_hash("two")], unit_vectors(2))
    with store.transaction():
        put(store, notes.id, *make_document("a.md", ["two", "one"]))
        put(store, notes.id, *make_document("copy.md", ["one"]))
    assert store.catalog.pending(notes.id, space_id, 9) == []


def test_a_failed_transaction_leaves_nothing(store: Store, notes: Collection) -> None:
    """After an exception everything is as before, vectors seen meanwhile included."""
    space_id = store.vectors.open_space(SPACE)
    scope = Scope((notes.id,))
    vectors = unit_vectors(2)

    def write_and_fail() -> None:
        with store.transaction():
            put(store, notes.id, *make_document("a.md", ["one"]))
            store.vectors.add(space_id, [text_hash("one")], vectors[:1])
            assert len(store.vectors.search(space_id, vectors[0], 5, scope).ids) == 1
            assert store.catalog.pending(notes.id, space_id, 5) == []
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert store.catalog.known_documents(notes.id) == {}
    assert store.lexical.search(["one"], 5, scope) == []
    with store.transaction():
        put(store, notes.id, *make_document("b.md", ["two"]))
        assert [each.text for each in store.catalog.pending(notes.id, space_id, 5)] == ["two"]
        store.vectors.add(space_id, [text_hash("two")], vectors[1:])
    found = store.vectors.search(space_id, vectors[1], 5, scope)
    assert found.similarities == pytest.approx([1.0], abs=1e-3)


def test_transactions_do_not_nest(store: Store) -> None:
    """A transaction inside a transaction is a mistake of the caller, and said so."""
    with pytest.raises(RuntimeError, match="nest"), store.transaction(), store.transaction():
        pass


def test_threads(store: Store, notes: Collection) -> None:
    """Threads search while another writes: no error, and never half a document."""
    space_id = store.vectors.open_space(SPACE)
    scope = Scope((notes.id,))
    query = unit_vectors(1)[0]
    errors: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                assert len(store.lexical.search(["word"], 99, scope)) % 3 == 0
                assert len(store.vectors.search(space_id, query, 99, scope).ids) % 3 == 0
                assert store.catalog.counts(notes.id, space_id).chunks % 3 == 0
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(30):
        texts = [f"word {number} {part}" for part in range(3)]
        with store.transaction():
            put(store, notes.id, *make_document(f"{number % 7}.md", texts))
            store.vectors.add(space_id, [text_hash(text) for text in texts], unit_vectors(3, seed=number))
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []


def test_closing_twice(store: Store) -> None:
    """Closing a closed store does nothing; using it says that it is closed."""
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.catalog.collections()


def test_known_hash_is_the_files(store: Store, notes: Collection) -> None:
    """The hash that is remembered is the one that was given."""
    with store.transaction():
        put(store, notes.id, *make_document("a.md", ["text"]))
        store.catalog.touch_document(notes.id, make_entry("a.md", 5, 6))
    known = store.catalog.known_documents(notes.id)["a.md"]
    assert (known.content_hash, known.mtime_ns, known.size) == (content_hash(b"text"), 5, 6)


def test_documents_are_listed_by_path_a_page_at_a_time(store: Store, notes: Collection) -> None:
    """Pages of any size together are all documents, in the order of their characters."""
    paths = ["B.md", "a.md", "a/b.md", "メモ/猫.md", "メモ.md", "\U0001f408.md"]
    with store.transaction():
        other = store.catalog.add_collection("other", "", FOLDER, ChunkingSpec())
        put(store, other.id, *make_document("other.md", ["text"]))
        for path in paths:
            put(store, notes.id, *make_document(path, ["text"]))
        store.catalog.touch_document(notes.id, make_entry("a.md", 5, 6))
    everything = store.catalog.documents(notes.id, after="", prefix="", limit=100)
    assert [each.path for each in everything] == sorted(paths)
    title = everything[1].title
    assert everything[1] == ListedDocument("notes", "a.md", title, size=6, modified_ns=5)
    for size in (1, 2, 4):
        after, listed = "", []
        while page := store.catalog.documents(notes.id, after=after, prefix="", limit=size):
            assert len(page) <= size
            listed += page
            after = page[-1].path
        assert listed == everything


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("a", ["a.md", "a/b.md"]),
        ("a/", ["a/b.md"]),
        ("メモ", ["メモ.md", "メモ/猫.md"]),
        ("%", []),
        ("A", []),
    ],
)
def test_documents_are_listed_by_the_start_of_their_path(
    store: Store, notes: Collection, prefix: str, expected: list[str]
) -> None:
    """It is compared as it is: case counts, and no character is a wildcard."""
    with store.transaction():
        for path in ("a.md", "a/b.md", "メモ/猫.md", "メモ.md"):
            put(store, notes.id, *make_document(path, ["text"]))
    listed = store.catalog.documents(notes.id, after="", prefix=prefix, limit=10)
    assert [each.path for each in listed] == expected


def test_every_change_is_a_new_generation(store: Store, notes: Collection) -> None:
    """Reading, and writing what is there already, makes none."""
    before = store.generation
    with store.transaction():
        put(store, notes.id, *make_document("a.md", ["text"]))
    after = store.generation
    assert after > before
    with store.transaction():
        store.catalog.change_collection(notes.id, lambda now: now)
    store.catalog.collections()
    assert store.generation == after


# --- links and versions ------------------------------------------------------------------------


def put_linked(store: Store, notes: Collection, path: str, *links: Link) -> None:
    """Write a document with links."""
    document, chunks = make_document(path, ["text"])
    with store.transaction():
        put(store, notes.id, replace(document, links=links), chunks)


def version_paths(store: Store, notes: Collection, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a document supersedes, and what supersedes it."""
    found = store.catalog.find_document(notes.id, path)
    assert found is not None
    versions = store.catalog.versions(notes.id)
    assert (found.id in versions.superseded) == bool(versions.newer.get(found.id))
    return versions.older.get(found.id, ()), versions.newer.get(found.id, ())


def previous(target: str) -> Link:
    """Return a link to an older version."""
    return Link(LinkKind.PREVIOUS, target)


def test_comments_come_back(store: Store, notes: Collection) -> None:
    """What is hidden in a document is kept beside it."""
    document, chunks = make_document("a.md", ["a       b"])
    comments = (Comment(2, "%%猫\n%%"), Comment(8, "\ud800"))
    with store.transaction():
        put(store, notes.id, replace(document, comments=comments), chunks)
    found = store.catalog.find_document(notes.id, "a.md")
    assert found is not None
    assert found.comments == (comments[0], Comment(8, "\ufffd"))


def test_links_come_back_and_are_found_by_the_file_they_name(store: Store, notes: Collection) -> None:
    """A document has its links in order; those to a file are found by its folded name, percent-decoded."""
    links = (
        Link(LinkKind.WIKI, "dir/Café", "x", "shown", 3),
        Link(LinkKind.MARKDOWN, "../CAF%C3%89.md", "", "here", 9),
        Link(LinkKind.WIKI, "", "Here", "", 10),
        Link(LinkKind.MARKDOWN, "https://x.example/cafe\u0301", "", "", 11),
    )
    put_linked(store, notes, "b.md", *links)
    put_linked(store, notes, "a.md", Link(LinkKind.EMBED, "cafe\u0301.md"))
    found = store.catalog.find_document(notes.id, "b.md")
    assert found is not None
    assert store.catalog.links_of(found.id) == list(links)
    named = store.catalog.links_named(notes.id, file_key("x/CAFÉ.md"))
    assert [(each.path, each.link.line) for each in named] == [("a.md", 1), ("b.md", 3), ("b.md", 9)]
    assert named[1].document_id == found.id
    with store.transaction():
        other = store.catalog.add_collection("other", "", FOLDER, ChunkingSpec())
    assert store.catalog.links_named(other.id, file_key("café")) == []
    put_linked(store, notes, "b.md")
    assert len(store.catalog.links_named(notes.id, file_key("café"))) == 1


def test_documents_are_found_by_the_names_of_their_files(store: Store, notes: Collection) -> None:
    """Every folder, spelling and suffix of a name is found; names of no file are left out."""
    for path in ("Note.md", "a/NOTE.md", "a/note.txt", "other.md"):
        put_linked(store, notes, path)
    found = store.catalog.documents_named(notes.id, ["note", "other", "none", "note"])
    assert {key: sorted(paths) for key, paths in found.items()} == {
        "note": ["Note.md", "a/NOTE.md", "a/note.txt"],
        "other": ["other.md"],
    }
    document = store.catalog.find_document(notes.id, "a/note.txt")
    assert document is not None
    assert found["note"]["a/note.txt"] == document.id
    assert store.catalog.documents_named(notes.id, []) == {}


def test_versions_follow_every_change(store: Store, notes: Collection) -> None:
    """Who replaces whom is as the documents say now: added, rewritten and deleted ones count at once."""
    put_linked(store, notes, "v1.md")
    assert store.catalog.versions(notes.id) == Versions()
    put_linked(store, notes, "v2.md", previous("v1.md"))
    put_linked(store, notes, "v3.md", previous("v2"), previous("v0.md"))
    assert version_paths(store, notes, "v1.md") == ((), ("v2.md",))
    assert version_paths(store, notes, "v2.md") == (("v1.md",), ("v3.md",))
    assert version_paths(store, notes, "v3.md") == (("v2.md",), ())
    dangling = store.catalog.versions(notes.id).dangling
    assert [(each.path, each.link.target) for each in dangling] == [("v3.md", "v0.md")]
    put_linked(store, notes, "v0.md")
    assert store.catalog.versions(notes.id).dangling == ()
    with store.transaction():
        store.catalog.delete_document(notes.id, "v2.md")
        assert version_paths(store, notes, "v1.md") == ((), ())
    assert version_paths(store, notes, "v1.md") == ((), ())


def test_documents_that_replace_each_other_in_a_circle_hide_none(store: Store, notes: Collection) -> None:
    """The circle is named, and only a link from outside of it hides one of its documents."""
    put_linked(store, notes, "b.md", previous("a.md"))
    put_linked(store, notes, "a.md", previous("c.md"))
    put_linked(store, notes, "c.md", previous("b.md"))
    put_linked(store, notes, "self.md", previous("self"))
    versions = store.catalog.versions(notes.id)
    assert sorted(versions.cycles) == [("a.md", "c.md", "b.md"), ("self.md",)]
    assert versions.superseded == frozenset()
    put_linked(store, notes, "new.md", previous("b.md"))
    assert version_paths(store, notes, "b.md") == ((), ("new.md",))
    assert len(store.catalog.versions(notes.id).superseded) == 1


def test_chunks_know_their_collection(store: Store, notes: Collection) -> None:
    """Those that exist are told; the same text in two collections is two chunks."""
    document, chunks = make_document("a.md", ["text"])
    with store.transaction():
        other = store.catalog.add_collection("other", "", FOLDER, ChunkingSpec())
        (first,) = put(store, notes.id, document, chunks)
        (second,) = put(store, other.id, document, chunks)
    found = store.catalog.collections_of([first, second, ChunkId(99)])
    assert found == {first: notes.id, second: other.id}
