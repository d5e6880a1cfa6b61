"""Claims on collections, between real processes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.contract.store_world import add_collection, read
from tests.waiting import HANG_S

from mdvec.errors import StoreError, WriterBusyError
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.types.collection import Collection

HOLDER = """
import sys, time
from pathlib import Path
from mdvec.stores.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
with store.read() as view:
    (notes,) = view.collections.all()
with store.claim(notes, "importing notes", wait_s=5):
    print("held", flush=True)
    sys.stdin.readline()
store.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is."""
    return tmp_path / "index.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """The database, opened."""
    store = SqliteStore(path)
    yield store
    store.close()


@pytest.fixture
def notes(store: SqliteStore) -> Collection:
    """An empty collection."""
    return add_collection(store)


@contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the claim until it is sent a line."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_living_holder_is_named(path: Path, store: SqliteStore, notes: Collection) -> None:
    """While another process works, the error says which one, what it does and since when."""
    with another_process(path) as holder:
        with pytest.raises(WriterBusyError) as caught, store.claim(notes, "again", wait_s=0.2):
            pass
        message = str(caught.value)
        assert f"process {holder.pid} " in message
        assert "importing notes" in message
        assert f"since {time.strftime('%Y-')}" in message
        assert caught.value.retry
        (activity,) = read(store, lambda view: view.collections.activities())
        assert (activity.pid, activity.collection) == (holder.pid, "notes")
        other = add_collection(store, "other")  # neither readers nor other collections are affected
        with store.claim(other, "again", wait_s=0):
            pass


@pytest.mark.parametrize("reaped", [True, False])
def test_a_killed_holder_is_taken_over(
    path: Path, store: SqliteStore, notes: Collection, *, reaped: bool
) -> None:
    """A process that was killed holds nothing, even before its parent has noticed."""
    with another_process(path) as holder:
        holder.kill()
        if reaped:
            holder.wait()
        with store.claim(notes, "again", wait_s=30) as claim, store.write(claim):
            pass


def claim_file(path: Path, collection: Collection) -> Path:
    """Return the file that is locked while a collection is claimed."""
    return path.with_name(f"{path.name}-claim-{collection.id}")


def test_the_file_of_a_claim_says_nothing_afterwards(
    path: Path, store: SqliteStore, notes: Collection
) -> None:
    """It is empty, and only its owner can read it meanwhile; it goes with its collection."""
    claimed = claim_file(path, notes)
    with store.claim(notes, "importing", wait_s=0):
        assert b"importing" in claimed.read_bytes()
        assert claimed.stat().st_mode & 0o077 == 0
    assert claimed.read_bytes() == b""
    with store.claim(notes, "deleting", wait_s=0) as claim, store.write(claim) as writer:
        writer.collections.delete(notes.id)
    assert not claimed.exists()


def test_a_database_with_two_names_has_one_set_of_claims(
    path: Path, store: SqliteStore, notes: Collection
) -> None:
    """A link to the file is as good as the file."""
    link = path.with_name("link.sqlite")
    link.symlink_to(path)
    other = SqliteStore(link)
    with (
        store.claim(notes, "importing", wait_s=0),
        pytest.raises(WriterBusyError),
        other.claim(notes, "again", wait_s=0),
    ):
        pass
    other.close()


@pytest.mark.parametrize("make", ["symlink_to", "hardlink_to"])
def test_a_link_in_place_of_a_claim_is_not_followed(
    path: Path, store: SqliteStore, notes: Collection, make: str
) -> None:
    """A folder from elsewhere may bring one; the file it leads to stays as it is."""
    dear = path.with_name("dear.txt")
    dear.write_text("dear")
    getattr(claim_file(path, notes), make)(dear)
    with pytest.raises(StoreError, match="cannot be locked"), store.claim(notes, "importing", wait_s=0):
        pass
    assert dear.read_text() == "dear"
    assert read(store, lambda view: view.collections.activities()) == []


def test_a_file_system_without_locks_is_named(
    store: SqliteStore, notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of work that two processes do at once."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(StoreError, match="No locks available") as caught, store.claim(notes, "x", wait_s=0):
        pass
    assert "local disk" in caught.value.hint


def test_a_claim_that_nobody_can_read_is_one_all_the_same(
    path: Path, store: SqliteStore, notes: Collection
) -> None:
    """The disk was full when its holder wanted to say what it does, for example."""
    with store.claim(notes, "importing", wait_s=0):
        claim_file(path, notes).write_bytes(b"")
        (activity,) = read(store, lambda view: view.collections.activities())
        assert (activity.collection, activity.pid) == ("notes", 0)
        with (
            pytest.raises(WriterBusyError, match="a process has been at work"),
            store.claim(notes, "x", wait_s=0),
        ):
            pass


def test_a_forked_process_does_not_prolong_a_claim(path: Path, store: SqliteStore, notes: Collection) -> None:
    """A program that uses mdvec may fork; its child goes on when the program is killed."""
    code = HOLDER.replace('print("held"', "child = os.fork()\n    child or time.sleep(600)\n    print(child")
    with subprocess.Popen(
        [sys.executable, "-c", f"import os{code}", str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        process.wait()
        try:
            with store.claim(notes, "again", wait_s=HANG_S):
                os.kill(child, 0)  # is still there
        finally:
            os.kill(child, signal.SIGKILL)


def test_looking_at_claims_takes_none(path: Path, store: SqliteStore, notes: Collection) -> None:
    """However often others ask who works on a collection whose process was killed, it can be claimed."""
    with another_process(path) as holder:
        holder.kill()
        holder.wait()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            read(store, lambda view: view.collections.activities())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(200):
            with store.claim(notes, "importing", wait_s=HANG_S):
                pass
    finally:
        stop.set()
        looking.join()
