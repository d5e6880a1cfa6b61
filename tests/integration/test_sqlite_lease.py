"""The lease of the single writer, between real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from mdvec.stores.sqlite.lease import HEARTBEAT_S, SILENCE_S, WriterLease
from tests.waiting import HANG_S, wait_until

from mdvec.errors import WriterBusyError
from mdvec.stores.sqlite import connection
from mdvec.stores.sqlite.database import Database
from mdvec.stores.sqlite.store import SqliteStore

HOLDER = """
import sys, time
from pathlib import Path
from mdvec.stores.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
with store.writer("import notes", wait_s=5):
    print("held", flush=True)
    sys.stdin.readline()
store.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is."""
    return tmp_path / "index.sqlite"


@contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lease until it is sent a line."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_living_holder_is_named(path: Path) -> None:
    """While another process writes, the error says which one, what it does and since when."""
    store = SqliteStore(path)
    with another_process(path) as holder:
        with pytest.raises(WriterBusyError) as caught, store.writer("import", wait_s=0.2):
            pass
        message = str(caught.value)
        assert f"process {holder.pid} " in message
        assert "import notes" in message
        assert f"since {time.strftime('%Y-')}" in message
        assert caught.value.retry
        assert store.catalog.collections() == []  # readers are not concerned
    store.close()


def test_waiting_for_the_holder(path: Path) -> None:
    """The lease passes on as soon as its holder is done."""
    store = SqliteStore(path)
    with another_process(path) as holder:
        assert holder.stdin is not None
        threading.Timer(0.3, lambda: holder.communicate("go\n")).start()
        with store.writer("import", wait_s=HANG_S):
            assert holder.wait(HANG_S) == 0
    store.close()


@pytest.mark.parametrize("reaped", [True, False])
def test_a_killed_holder_is_taken_over_at_once(path: Path, *, reaped: bool) -> None:
    """A process that was killed holds nothing, even before its parent has noticed."""
    store = SqliteStore(path)
    with another_process(path) as holder:
        holder.kill()
        if reaped:
            holder.wait()
        else:
            wait_until(lambda: psutil.Process(holder.pid).status() == psutil.STATUS_ZOMBIE)
        with store.writer("import", wait_s=0), store.transaction():
            pass
    store.close()


def plant(path: Path, **changes: object) -> None:
    """Change the row that says who holds the lease."""
    database = Database(path)
    with database.transaction() as ours:
        for column, value in changes.items():
            ours.execute(f"UPDATE lease SET {column} = ?", (value,))
    database.close()


def test_a_pid_used_again_is_not_the_holder(path: Path) -> None:
    """A living process with the holder's pid, but another start time, is somebody else."""
    store, other = SqliteStore(path), SqliteStore(path)
    with store.writer("import", wait_s=0):
        plant(path, process_started=1.0)
        with other.writer("import", wait_s=0), pytest.raises(WriterBusyError), store.transaction():
            pass
    store.close()
    other.close()


def test_a_holder_elsewhere_lives_while_it_says_so(path: Path) -> None:
    """A process of another machine or container is judged by its heartbeat alone."""
    store, other = SqliteStore(path), SqliteStore(path)
    now_ms = time.time_ns() // 1_000_000
    with store.writer("import", wait_s=0):
        plant(path, machine="elsewhere", host="elsewhere", pid=1, heartbeat_ms=now_ms)
        with pytest.raises(WriterBusyError, match="process 1 on elsewhere"), other.writer("x", wait_s=0):
            pass
        plant(path, heartbeat_ms=now_ms - int(SILENCE_S * 1000) - 1)
        with other.writer("x", wait_s=0):
            pass
    store.close()
    other.close()


def test_a_lost_lease_stops_its_holder(path: Path) -> None:
    """A holder that was taken over (say, after the machine slept) writes no more."""
    store = SqliteStore(path)
    with store.writer("import notes", wait_s=0):
        plant(path, token="somebody else")
        with pytest.raises(WriterBusyError, match="lost while working on: import notes"), store.transaction():
            pass
    store.close()


def test_writing_gives_a_sign_of_life(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction renews the heartbeat, but not more often than every few seconds."""
    database = Database(path)
    lease = WriterLease(database)

    def heartbeat() -> int:
        with database.transaction() as ours:
            lease.confirm(ours)
            value: int = ours.execute("SELECT heartbeat_ms FROM lease").get
            return value

    with lease.hold("import", wait_s=0):
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now)
        first = heartbeat()
        time.sleep(0.01)
        assert heartbeat() == first
        monkeypatch.setattr(time, "monotonic", lambda: now + HEARTBEAT_S)
        assert heartbeat() > first
    database.close()


def test_the_lease_is_given_back_after_an_exception(path: Path) -> None:
    """An error inside gives the lease back, and so does closing the store."""
    store, other = SqliteStore(path), SqliteStore(path)
    with pytest.raises(ZeroDivisionError), store.writer("import", wait_s=0):
        raise ZeroDivisionError
    with other.writer("import", wait_s=0):
        pass
    held = store.writer("import", wait_s=0)
    held.__enter__()
    store.close()
    with other.writer("import", wait_s=0):
        pass
    other.close()


def test_a_lease_that_could_not_be_given_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong inside is what is said, and the same store may write again later."""
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_S", 0.1)
    store, other = SqliteStore(path), Database(path)
    blocker = other.transaction()

    def import_notes() -> None:
        with store.writer("import", wait_s=0):
            blocker.__enter__()  # from here on nobody else can write, not even to give the lease back
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        import_notes()
    with pytest.raises(WriterBusyError, match="locked by another process"), store.transaction():
        pass
    assert store.catalog.collections() == []  # readers are not concerned
    blocker.__exit__(None, None, None)
    with store.writer("import", wait_s=0), store.transaction():
        pass
    store.close()
    other.close()


def test_the_lease_is_not_held_twice(path: Path) -> None:
    """A second store of this process waits for the first, and so does a second thread with one store."""
    store, other = SqliteStore(path), SqliteStore(path)
    with store.writer("import", wait_s=0):
        for second in (other, store):
            with (
                pytest.raises(WriterBusyError, match=f"process {os.getpid()} "),
                second.writer("x", wait_s=0),
            ):
                pass
        with store.transaction():
            pass  # and has not lost it by that
    with store.writer("again", wait_s=0):
        pass
    store.close()
    other.close()
