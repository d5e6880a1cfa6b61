"""What every store must do about documents that are marked as changed."""

from __future__ import annotations

import pytest
from tests.contract.store_world import World, make_document, make_entry, put, read

from mdvec.stores.interface import Store
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState

PATHS = ("a.md", "b/c.md", "b/d/e.md", "b.md", "bb/f.md")


@pytest.fixture
def filled(store: Store, notes: Collection) -> Collection:
    """A collection of five documents in some folders."""
    with store.write() as writer:
        for path in PATHS:
            put(writer, notes.id, *make_document(path, [f"words of {path}"]))
    return notes


def dirty(store: Store, collection: Collection) -> list[str]:
    """Return the dirty documents, the oldest mark first, after checking that all that reports them agrees."""
    with store.read() as view:
        known = view.documents.known(collection.id)
        states = {each.path: each.state for each in view.collections.file_states(collection.id, None)}
        count = view.collections.counts(collection.id, None).dirty
    found = sorted((each.dirty_since_ms, path) for path, each in known.items() if each.dirty_since_ms)
    assert {path for path, state in states.items() if state is DocumentState.DIRTY} == {
        path for _, path in found
    }
    assert count == len(found)
    return [path for _, path in found]


def test_documents_are_marked_by_path_and_by_folder(store: Store, filled: Collection) -> None:
    """A folder stands for what is below it and nothing else; an unknown path is no error."""
    assert dirty(store, filled) == []
    with store.write() as writer:
        writer.documents.mark_dirty(filled.id, ["a.md", "not-there.md", "no-folder/"])
    assert dirty(store, filled) == ["a.md"]
    with store.write() as writer:
        writer.documents.mark_dirty(filled.id, ["b/"])
    assert sorted(dirty(store, filled)) == ["a.md", "b/c.md", "b/d/e.md"]


def test_the_oldest_mark_stays(store: Store, filled: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Marking again does not put a document behind others."""
    for moment, path in enumerate(("b.md", "bb/f.md", "a.md", "b.md")):
        monkeypatch.setattr("time.time_ns", lambda moment=moment: (1 + moment) * 10**9)
        with store.write() as writer:
            writer.documents.mark_dirty(filled.id, [path])
    assert dirty(store, filled) == ["b.md", "bb/f.md", "a.md"]
    assert read(store, lambda view: view.documents.known(filled.id)["b.md"].dirty_since_ms) == 1000


def test_marking_again_changes_nothing(store: Store, filled: Collection) -> None:
    """Other processes need not look."""
    with store.write() as writer:
        writer.documents.mark_dirty(filled.id, ["a.md"])
    version = read(store, lambda view: view.version)
    with store.write() as writer:
        writer.documents.mark_dirty(filled.id, ["a.md", "not-there.md"])
    assert read(store, lambda view: view.version) == version


def test_a_mark_goes_with_what_it_said(store: Store, filled: Collection) -> None:
    """When the document is written again, found to be the same, or deleted; others keep theirs."""
    with store.write() as writer:
        writer.documents.mark_dirty(filled.id, PATHS)
    with store.write() as writer:
        put(writer, filled.id, *make_document("a.md", ["new words"]))
        writer.documents.touch(filled.id, [make_entry("b.md", 2)])
        writer.documents.delete(filled.id, ["b/c.md"])
    assert dirty(store, filled) == ["b/d/e.md", "bb/f.md"]


def test_documents_say_that_they_are_dirty(store: Store, filled: Collection) -> None:
    """As they are read for an answer."""
    with store.write() as writer:
        writer.documents.mark_dirty(filled.id, ["a.md"])
    with store.read() as view:
        for path in ("a.md", "b.md"):
            document = view.documents.find(filled.id, path)
            assert document is not None
            assert document.dirty is (path == "a.md")
            assert view.documents.get([document.id]) == {document.id: document}


def test_collections_are_marked_apart(world: World) -> None:
    """The same path elsewhere stays clean."""
    world.add("a.md", ["one"])
    world.add("a.md", ["two"], collection=1)
    with world.store.write() as writer:
        writer.documents.mark_dirty(world.first.id, ["a.md"])
    assert dirty(world.store, world.first) == ["a.md"]
    assert dirty(world.store, world.second) == []
