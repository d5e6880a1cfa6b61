"""What every store must do about what has no vector yet."""

from __future__ import annotations

from msgspec.structs import replace
from tests.contract.store_world import (
    FOLDER,
    SPACE,
    called,
    make_document,
    open_space,
    put,
    read,
    unit_vectors,
)

from mdvec.stores.interface import Store
from mdvec.stores.records import MAX_NAME_CHARS, MAX_NAMES, PendingText, VectorKind
from mdvec.text.hashing import text_hash
from mdvec.types.change import Exclusion, Unreadable
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState, Link, LinkKind
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.query import Where
from mdvec.types.report import CollectionCounts, FileStatus


def counted(store: Store, notes: Collection, space_id: SpaceId) -> CollectionCounts:
    return read(store, lambda view: view.collections.counts(notes.id, space_id))


def pending(
    store: Store, notes: Collection, space_id: SpaceId, kind: VectorKind = VectorKind.TEXT
) -> list[PendingText]:
    """Return what has no vector."""
    return read(store, lambda view: view.vectors.pending(kind, notes.id, space_id, 99))


def test_every_file_is_in_one_state(store: Store, notes: Collection) -> None:
    """Ready, pending, failed or excluded: once each, the failed one also while it can be found."""
    space_id = open_space(store, SPACE)
    with store.write() as writer:
        put(writer, notes.id, *make_document("empty.md", []))
        put(writer, notes.id, *make_document("ready.md", ["one"]))
        put(writer, notes.id, *make_document("half.md", ["one", "two"]))
        put(writer, notes.id, *make_document("broken.md", ["one"]))
        writer.vectors.put(space_id, [text_hash("one")], unit_vectors(1))
        writer.documents.finish(
            notes.id,
            exclusions=[Exclusion("build/", "folder"), Exclusion("x.png", "extension")],
            failures=[Unreadable("broken.md", "no permission"), Unreadable("new.md", "not text")],
        )
    states = read(store, lambda view: view.collections.file_states(notes.id, space_id))
    in_index = {"broken.md", "empty.md", "half.md", "ready.md"}
    assert {each.path for each in states if each.indexed_ms is not None} == in_index
    assert [replace(each, indexed_ms=None) for each in states] == [
        FileStatus("broken.md", DocumentState.FAILED, "no permission", 1, 0),
        FileStatus("build/", DocumentState.EXCLUDED, "folder"),
        FileStatus("empty.md", DocumentState.READY),
        FileStatus("half.md", DocumentState.PENDING, "", 2, 1),
        FileStatus("new.md", DocumentState.FAILED, "not text"),
        FileStatus("ready.md", DocumentState.READY, "", 1, 0),
        FileStatus("x.png", DocumentState.EXCLUDED, "extension"),
    ]
    assert counted(store, notes, space_id) == CollectionCounts(4, 2, 2, 4, 1)
    without = {
        each.path: each.pending_chunks
        for each in read(store, lambda view: view.collections.file_states(notes.id, None))
    }
    assert without == {"broken.md": 1, "half.md": 2, "ready.md": 1} | dict.fromkeys(
        ("build/", "empty.md", "new.md", "x.png"), 0
    )
    assert read(store, lambda view: view.collections.counts(notes.id, None)).pending_chunks == 4


def test_pending_texts(store: Store, notes: Collection) -> None:
    """Each text once, oldest first, under its context, until it has a vector in that very space."""
    space_id = open_space(store, SPACE)
    document, chunks = make_document("a.md", ["one", "two", "one", "three"])
    with store.write() as writer:
        other = writer.collections.add(Collection(CollectionId(0), "other", "", FOLDER))
        put(writer, other.id, *make_document("x.md", ["elsewhere"]))
        put(writer, notes.id, document, [replace(chunk, context="a › b") for chunk in chunks])
    first = read(store, lambda view: view.vectors.pending(VectorKind.TEXT, notes.id, space_id, 2))
    assert [each.text for each in first] == ["a › b\none", "a › b\ntwo"]
    assert [each.text[each.start :] for each in first] == ["one", "two"]
    assert [each.text_hash for each in first] == [text_hash(each.text) for each in first]
    with store.write() as writer:
        writer.vectors.put(space_id, [first[0].text_hash], unit_vectors(1))
    left = pending(store, notes, space_id)
    assert [each.text for each in left] == ["a › b\ntwo", "a › b\nthree"]
    with store.write() as writer:
        writer.vectors.put(space_id, [each.text_hash for each in left], unit_vectors(2))
    assert pending(store, notes, space_id) == []
    assert len(pending(store, notes, open_space(store, replace(SPACE, revision="2")))) == 3


def test_names_have_an_end(store: Store, notes: Collection) -> None:
    """Of a long name the start is embedded and compared, of a long list of names the first ones."""
    space_id = open_space(store, SPACE)
    aliases = (*(f"alias {number}" for number in range(40)),)
    title = "あ" * 500
    document, chunks = make_document("a.md", ["text"], aliases=aliases)
    with store.write() as writer:
        put(writer, notes.id, replace(document, title=title), chunks)
    names = [each.text for each in pending(store, notes, space_id, VectorKind.NAME)]
    assert names == [title[:MAX_NAME_CHARS], *aliases[: MAX_NAMES - 1]]
    assert called(store, title[:MAX_NAME_CHARS], Where((notes.id,))) == ["a.md"]
    assert called(store, "alias 39", Where((notes.id,))) == []


def test_superseded_documents_are_not_pending(store: Store, notes: Collection) -> None:
    """Neither their texts nor their names are to be embedded, until nothing replaces them any more."""
    space_id = open_space(store, SPACE)
    document, chunks = make_document("new.md", ["two", "shared"])
    with store.write() as writer:
        put(writer, notes.id, *make_document("old.md", ["one", "shared"]))
        put(writer, notes.id, replace(document, links=(Link(LinkKind.PREVIOUS, "old"),)), chunks)
        writer.documents.finish(notes.id, exclusions=[], failures=[])

    def left() -> tuple[list[str], list[str], int, int]:
        texts, names = ([each.text for each in pending(store, notes, space_id, kind)] for kind in VectorKind)
        count = read(store, lambda view: view.vectors.count_pending_names(notes.id, space_id))
        return texts, names, count, counted(store, notes, space_id).pending_chunks

    assert left() == (["two", "shared"], ["new.md"], 1, 2)
    with store.write() as writer:
        hashes = [text_hash(each) for each in ("two", "shared", "new.md")]
        writer.vectors.put(space_id, hashes, unit_vectors(3))
    assert left() == ([], [], 0, 0)
    states = {
        each.path: each for each in read(store, lambda view: view.collections.file_states(notes.id, space_id))
    }
    assert replace(states["old.md"], indexed_ms=None) == FileStatus(
        "old.md", DocumentState.SUPERSEDED, "", 2, 0
    )
    assert counted(store, notes, space_id).superseded == 1
    with store.write() as writer:
        put(writer, notes.id, document, chunks)
        writer.documents.finish(notes.id, exclusions=[], failures=[])
    assert left() == (["one"], ["old.md"], 1, 1)
    assert counted(store, notes, space_id).superseded == 0


def test_what_was_odd_in_a_document_stays_visible(store: Store, notes: Collection) -> None:
    """Its warnings are the reason of its state."""
    document, chunks = make_document("odd.md", [])
    with store.write() as writer:
        put(writer, notes.id, replace(document, warnings=("one", "two")), chunks)
        put(writer, notes.id, *make_document("plain.md", []))
    (state,) = read(store, lambda view: view.collections.file_states(notes.id, None, only_odd=True))
    assert replace(state, indexed_ms=None) == FileStatus("odd.md", DocumentState.READY, "one; two")
