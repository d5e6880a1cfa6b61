"""Who waits for another process waits as long as was asked for, whatever the other one holds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import apsw
import pytest
from tests.security.conftest import Mdvec

from mdvec.errors import ImportStoppedError
from mdvec.run import Run, bound
from mdvec.stores.sqlite import connection, database
from mdvec.stores.sqlite.store import SqliteStore

# Holds SQLite's own lock until its standard input ends.
_LOCKS = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locked(index: Path) -> Iterator[Path]:
    """A database while another process is in a transaction that does not end."""
    with subprocess.Popen([sys.executable, "-c", _LOCKS, index], stdin=PIPE, stdout=PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        yield index
        other.stdin.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each transaction was ready to wait; none really does."""
    found: list[float] = []

    def begin(used: apsw.Connection, wait_s: float) -> None:
        found.append(wait_s)
        connection.begin_writing(used, 0)

    monkeypatch.setattr(database, "begin_writing", begin)
    return found


@pytest.mark.parametrize(("asked", "waited"), [("2", 2.0), ("30", 30.0), ("0", 1.0)])
def test_a_locked_file_is_waited_for_once(
    mdvec: Mdvec, locked: Path, waits: list[float], asked: str, waited: float
) -> None:
    """``--wait 2`` waits two seconds for SQLite's own lock, and says what to do then; 0 means a moment."""
    outcome = mdvec("import", "-n", "notes", "-m", "update", "--wait", asked, "--database", locked)
    assert outcome.code == 1
    assert "locked by another process" in outcome.err
    assert "--wait" in outcome.err
    assert waits == [waited]


def test_a_transaction_is_waited_for_in_steps(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins when the other one has ended, and a cancelled run waits no longer."""
    other = apsw.Connection(str(index))
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(index)
    monkeypatch.setattr(connection, "_LOCK_STEP_S", 0.0)
    steps = 0

    class Waiting(Run):
        """Ends the other transaction at the third step."""

        def check(self) -> None:
            nonlocal steps
            steps += 1
            if steps == 3:
                other.execute("COMMIT")
            super().check()

    with bound(Waiting()), store.write():
        assert steps == 3
    other.execute("BEGIN IMMEDIATE")
    cancelled = Run()
    cancelled.cancel()
    with pytest.raises(ImportStoppedError), bound(cancelled), store.write():
        pass
    store.close()
    other.close()
