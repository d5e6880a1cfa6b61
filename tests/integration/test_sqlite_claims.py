"""Claims on collections, between real processes."""

from __future__ import annotations

import os
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

from mdvec.errors import WriterBusyError
from mdvec.stores.holders import HEARTBEAT_S, SILENCE_S
from mdvec.stores.sqlite import connection
from mdvec.stores.sqlite.database import SqliteDatabase
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


def test_waiting_for_the_holder(path: Path, store: SqliteStore, notes: Collection) -> None:
    """The claim passes on as soon as its holder is done."""
    with another_process(path) as holder:
        assert holder.stdin is not None
        threading.Timer(0.3, lambda: holder.communicate("go\n")).start()
        with store.claim(notes, "again", wait_s=60):
            assert holder.wait(5) == 0


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


def plant(path: Path, **changes: object) -> None:
    """Change the row that says who holds the claim."""
    database = SqliteDatabase(path)
    with database.writing() as ours:
        for column, value in changes.items():
            ours.execute(f"UPDATE claims SET {column} = ?", (value,))
    database.close()


def test_a_pid_used_again_is_not_the_holder(path: Path, store: SqliteStore, notes: Collection) -> None:
    """A living process with the holder's pid, but another start time, is another one."""
    other = SqliteStore(path)
    with store.claim(notes, "importing", wait_s=0) as first:
        plant(path, process_started=1.0)
        with other.claim(notes, "again", wait_s=0), pytest.raises(WriterBusyError), store.write(first):
            pass
    other.close()


def test_a_holder_elsewhere_lives_while_it_says_so(path: Path, store: SqliteStore, notes: Collection) -> None:
    """A process of another machine or container is judged by its heartbeat alone."""
    other = SqliteStore(path)
    now_ms = time.time_ns() // 1_000_000
    with store.claim(notes, "importing", wait_s=0):
        plant(path, machine="elsewhere", host="elsewhere", pid=1, heartbeat_ms=now_ms)
        with (
            pytest.raises(WriterBusyError, match="process 1 on elsewhere"),
            other.claim(notes, "x", wait_s=0),
        ):
            pass
        plant(path, heartbeat_ms=now_ms - int(SILENCE_S * 1000) - 1)
        with other.claim(notes, "x", wait_s=0):
            pass
    other.close()


def test_a_lost_claim_stops_its_holder(path: Path, store: SqliteStore, notes: Collection) -> None:
    """A holder that was taken over (say, after the machine slept) writes no more."""
    with store.claim(notes, "importing notes", wait_s=0) as claim:
        plant(path, token="of another process")
        with pytest.raises(WriterBusyError, match="lost while importing notes"), store.write(claim):
            pass


def test_writing_gives_a_sign_of_life(
    store: SqliteStore, notes: Collection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction under a claim renews the heartbeat, but not more often than every few seconds."""
    database = SqliteDatabase(path)

    def heartbeat() -> int:
        with store.write(claim):
            pass
        with database.reading() as ours:
            value: int = ours.execute("SELECT heartbeat_ms FROM claims").get
            return value

    with store.claim(notes, "importing", wait_s=0) as claim:
        first = heartbeat()
        time.sleep(0.01)
        assert heartbeat() == first
        later = time.monotonic() + HEARTBEAT_S
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert heartbeat() > first
    database.close()


def test_claims_are_given_back_when_the_store_closes(
    path: Path, store: SqliteStore, notes: Collection
) -> None:
    """Those that are still held."""
    other = SqliteStore(path)
    held = other.claim(notes, "importing", wait_s=0)
    held.__enter__()
    other.close()
    with store.claim(notes, "again", wait_s=0):
        pass


def test_a_claim_that_could_not_be_given_back(
    path: Path, notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error inside is the one that is raised, and the same store may claim the collection later."""
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_S", 0.1)
    store, other = SqliteStore(path), SqliteDatabase(path)
    blocker = other.writing()

    def import_notes() -> None:
        with store.claim(notes, "importing", wait_s=0):
            blocker.__enter__()  # from here on no other can write, not even to give the claim back
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        import_notes()
    with pytest.raises(WriterBusyError, match="locked by another process"), store.write():
        pass
    assert read(store, lambda view: view.collections.all()) == [notes]  # readers are not affected
    blocker.__exit__(None, None, None)
    with store.claim(notes, "importing", wait_s=HANG_S) as claim, store.write(claim):
        pass
    store.close()
    other.close()


def test_a_claim_is_not_held_twice(path: Path, store: SqliteStore, notes: Collection) -> None:
    """A second store of this process waits for the first, and so does a second thread with one store."""
    other = SqliteStore(path)
    with store.claim(notes, "importing", wait_s=0) as claim:
        for second in (other, store):
            with (
                pytest.raises(WriterBusyError, match=f"process {os.getpid()} "),
                second.claim(notes, "x", wait_s=0),
            ):
                pass
        with store.write(claim):
            pass  # and has not lost it by that
    with store.claim(notes, "again", wait_s=0):
        pass
    other.close()
