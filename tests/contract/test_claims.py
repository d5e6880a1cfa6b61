"""What every store must do about who works on a collection."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack

import pytest
from tests.contract.store_world import add_collection, make_document, put, read
from tests.postgres_server import open_postgres
from tests.waiting import HANG_S, wait_until

from mdvec import run
from mdvec.errors import (
    CollectionNotFoundError,
    ImportStoppedError,
    StoreUnavailableError,
    WriterBusyError,
)
from mdvec.run import Run, Stage
from mdvec.stores.interface import Store
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.types.collection import Collection
from mdvec.types.report import Activity


def opened_again(store: Store) -> Store:
    """Open the store of a test a second time."""
    if isinstance(store, SqliteStore):
        return SqliteStore(store.path)
    return open_postgres(schema=store._database.settings.schema)  # type: ignore[attr-defined]


def end_lock(store: Store) -> None:
    """End the locks of all claims behind the back of their holders."""
    if isinstance(store, SqliteStore):
        for each in store.path.parent.glob("*-claim*"):
            each.unlink()
    else:
        for held in store._claims._held.values():  # type: ignore[attr-defined]
            held.connection.close()
        wait_until(lambda: not read(store, lambda view: view.collections.activities()))


def test_a_claim_is_exclusive_to_its_collection(store: Store, notes: Collection) -> None:
    """A second one has to wait, by the same store or another; other collections are not affected."""
    other, elsewhere = add_collection(store, "other"), opened_again(store)
    with store.claim(notes, "importing notes", wait_s=0) as claim:
        for each in (store, elsewhere):
            with pytest.raises(WriterBusyError), each.claim(notes, "again", wait_s=0):
                pass
        with store.claim(other, "importing other", wait_s=0) as second, store.write(second) as writer:
            put(writer, other.id, *make_document("a.md", ["text"]))
        with store.write(claim) as writer:  # and it was not lost by that
            put(writer, notes.id, *make_document("a.md", ["text"]))
        with store.write() as writer:  # what needs no claim is written all the time
            writer.documents.finish(notes.id, exclusions=[], failures=[])
    with elsewhere.claim(notes, "again", wait_s=0):
        pass
    elsewhere.close()


def test_the_message_names_who_and_since_when_and_how_far(store: Store, notes: Collection) -> None:
    """It is for people who wait: process, purpose, start, and the progress that was last written."""
    with store.claim(notes, "importing notes", wait_s=0) as claim:
        claim.report(Stage.EMBED, 12, 3456)
        with store.write(claim):
            pass
        with pytest.raises(WriterBusyError) as caught, store.claim(notes, "again", wait_s=0):
            pass
    message = str(caught.value)
    assert f"process {os.getpid()} on " in message
    assert "importing notes" in message
    assert f"since {time.strftime('%Y-%m-')}" in message
    assert "12 of 3,456 texts embedded" in message
    assert caught.value.retry


def test_activities_are_the_claims(store: Store, notes: Collection) -> None:
    """By name of collection, with their progress as it is written with the next batch; none afterwards."""
    other = add_collection(store, "aaa")
    assert read(store, lambda view: view.collections.activities()) == []
    with store.claim(notes, "importing", wait_s=0) as claim, store.claim(other, "changing", wait_s=0):
        before = read(store, lambda view: view.collections.activities())
        assert [(each.collection, each.purpose, each.pid) for each in before] == [
            ("aaa", "changing", os.getpid()),
            ("notes", "importing", os.getpid()),
        ]
        assert [(each.stage, each.done, each.total) for each in before] == [("", 0, 0)] * 2
        claim.report(Stage.TEXT, 3, 9)
        assert read(store, lambda view: view.collections.activities()) == before
        with store.write(claim):
            pass
        shown: list[Activity] = read(store, lambda view: view.collections.activities())
        assert (shown[1].stage, shown[1].done, shown[1].total) == (Stage.TEXT, 3, 9)
    assert read(store, lambda view: view.collections.activities()) == []


def test_the_lease_on_a_store_is_a_claim_of_its_own(store: Store, notes: Collection) -> None:
    """One process has it, and claims of collections and their deletion go on meanwhile; it is shown first."""
    with store.claim(None, "watching", wait_s=0) as lease:
        if store.team is not None:  # its processes divide the collections
            with store.claim(None, "again", wait_s=0):
                assert len(read(store, lambda view: view.collections.activities())) == 2
        else:
            with pytest.raises(WriterBusyError, match="watching"), store.claim(None, "again", wait_s=0):
                pass
        with store.claim(notes, "importing", wait_s=0) as claim, store.write(claim):
            found = read(store, lambda view: view.collections.activities())
            assert [(each.collection, each.purpose) for each in found] == [
                ("", "watching"),
                ("notes", "importing"),
            ]
        with store.write() as writer:
            writer.collections.delete(notes.id)
        with store.write(lease):
            pass
    with store.claim(None, "again", wait_s=0):
        pass
    assert read(store, lambda view: view.collections.activities()) == []


def test_a_claim_ends_with_an_exception(store: Store, notes: Collection) -> None:
    """What went wrong inside is raised, and the next one need not wait."""
    with pytest.raises(ZeroDivisionError), store.claim(notes, "importing", wait_s=0):
        raise ZeroDivisionError
    with store.claim(notes, "again", wait_s=0):
        pass


def test_a_claim_whose_lock_has_ended_is_taken_over(store: Store, notes: Collection) -> None:
    """At once; it is no activity, who held it writes nothing any more, and its end leaves the new one."""
    with ExitStack() as stack:
        with store.claim(notes, "losing", wait_s=0) as old:
            end_lock(store)
            assert read(store, lambda view: view.collections.activities()) == []
            new = stack.enter_context(store.claim(notes, "again", wait_s=0))
            with pytest.raises(WriterBusyError, match="lost while losing"), store.write(old) as writer:
                put(writer, notes.id, *make_document("a.md", ["text"]))
        with store.write(new) as writer:
            assert writer.documents.known(notes.id) == {}
        assert [each.purpose for each in read(store, lambda view: view.collections.activities())] == ["again"]


def test_a_claim_ends_with_its_collection(store: Store, notes: Collection) -> None:
    """Whoever deletes it stops the work on it."""
    with store.claim(notes, "importing", wait_s=0) as claim:
        with store.write() as writer:
            writer.collections.delete(notes.id)
        with pytest.raises(WriterBusyError, match="lost"), store.write(claim):
            pass


def test_waiting_is_reported(store: Store, notes: Collection) -> None:
    """As a stage, with who is waited for; the claim passes on as soon as its holder is done."""
    seen: list[tuple[Stage, str]] = []
    released = threading.Event()
    held = store.claim(notes, "importing notes", wait_s=0)
    held.__enter__()

    def listen(stage: Stage, _done: int, _total: int, detail: str = "") -> None:
        seen.append((stage, detail))
        if not released.is_set():
            released.set()
            held.__exit__(None, None, None)

    with run.bound(Run(on_progress=listen)), store.claim(notes, "again", wait_s=60) as claim:
        assert released.is_set()
        with store.write(claim):
            pass
    assert {stage for stage, _ in seen} == {Stage.WAIT}
    assert "importing notes" in seen[0][1]
    assert f"process {os.getpid()} " in seen[0][1]


def test_waiting_ends_when_the_run_is_cancelled(store: Store, notes: Collection) -> None:
    """However long it would have waited; the holder keeps its claim."""
    waiting: Run = Run(on_progress=lambda *_: waiting.cancel())
    with store.claim(notes, "importing", wait_s=0) as claim:
        with run.bound(waiting), pytest.raises(ImportStoppedError), store.claim(notes, "x", wait_s=3600):
            pass
        with store.write(claim):
            pass


def test_two_threads_write_two_collections_side_by_side(store: Store, notes: Collection) -> None:
    """Each under its claim, both at the same time; neither waits for the other's claim."""
    both = [notes, add_collection(store, "other")]
    meeting = threading.Barrier(2, timeout=60)
    errors: list[BaseException] = []

    def work(collection: Collection) -> None:
        try:
            with store.claim(collection, "importing", wait_s=0) as claim:
                meeting.wait()
                for number in range(10):
                    with store.write(claim) as writer:
                        put(writer, collection.id, *make_document(f"{number}.md", ["text"]))
                    claim.report(Stage.TEXT, number, 10)
                meeting.wait()
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(collection,)) for collection in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with store.read() as view:
        assert [view.collections.counts(each.id, None).documents for each in both] == [10, 10]


def test_a_deleted_collection_cannot_be_claimed(store: Store, notes: Collection) -> None:
    """Not even by a process that knew it, or waited while it was deleted."""
    with store.write() as writer:
        writer.collections.delete(notes.id)
    with pytest.raises(CollectionNotFoundError, match="notes"), store.claim(notes, "importing", wait_s=0):
        pass


def test_a_released_claim_writes_nothing(store: Store, notes: Collection) -> None:
    """Whoever keeps it longer than its context finds out."""
    with store.claim(notes, "importing", wait_s=0) as claim:
        pass
    with pytest.raises(WriterBusyError, match="lost"), store.write(claim):
        pass


def test_a_claim_ends_although_the_store_is_away(
    store: Store, notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may be away, or a run cancelled, when work ends: nobody has to wait for it afterwards."""
    database = store._database  # type: ignore[attr-defined]

    def fail(*_: object) -> None:
        run.current().check()
        msg = "it is away"
        raise StoreUnavailableError(msg)

    with run.bound(run.Run()) as working, store.claim(notes, "importing", wait_s=0):
        working.cancel()
        monkeypatch.setattr(database, "writing", fail)
    monkeypatch.undo()
    with store.claim(notes, "again", wait_s=HANG_S) as claim, store.write(claim):
        pass


def test_a_closed_store_holds_no_claim(store: Store, notes: Collection) -> None:
    """A thread may still be in the context of one."""
    other = opened_again(store)
    held = other.claim(notes, "importing", wait_s=0)
    held.__enter__()
    other.close()
    with store.claim(notes, "again", wait_s=0):
        pass
    held.__exit__(None, None, None)
