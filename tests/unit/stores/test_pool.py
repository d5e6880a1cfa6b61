"""Idle connections, and what is closed when something fails."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mdvec.errors import StoreError
from mdvec.stores.pool import Pool, closed_on_error
from mdvec.stores.sqlite.database import SqliteDatabase


class Connection:
    """Counts how often it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        """Count."""
        self.closed += 1


def test_a_few_connections_are_kept() -> None:
    """One that is given back is used again; those beyond eight are closed."""
    first, others = Connection(), [Connection() for _ in range(8)]
    pool = Pool("a database", first)
    assert pool.take() is first
    assert pool.take() is None
    for each in (*others, first):
        pool.give_back(each)
    assert first.closed == 1
    assert [each.closed for each in others] == [0] * 8
    assert pool.take() is others[-1]


def test_a_closed_pool_keeps_nothing() -> None:
    """Idle connections are closed at once, those in use when they are given back; a second call is fine."""
    idle, used = Connection(), Connection()
    pool = Pool("a database", used)
    assert pool.take() is used
    pool.give_back(idle)
    pool.close()
    pool.close()
    assert (idle.closed, used.closed) == (1, 0)
    pool.give_back(used)
    assert used.closed == 1
    with pytest.raises(StoreError, match="a database has been closed"):
        pool.take()


def test_what_cannot_be_prepared_is_closed() -> None:
    """A failure, or Ctrl-C, closes what was just opened; without one it stays open."""
    connection = Connection()
    with closed_on_error(connection):
        pass
    assert connection.closed == 0
    with pytest.raises(KeyboardInterrupt), closed_on_error(connection):
        raise KeyboardInterrupt
    assert connection.closed == 1


def test_a_connection_whose_transaction_cannot_be_ended_is_not_used_again(tmp_path: Path) -> None:
    """The next reader gets another one, and can begin a transaction of its own."""
    database = SqliteDatabase(tmp_path / "index.sqlite")
    try:
        with pytest.raises(apsw.ExecTraceAbort), database.reading() as connection:  # noqa: PT012
            connection.execute("SELECT 1 FROM meta").fetchall()
            connection.exec_trace = lambda _cursor, sql, _bindings: sql != "COMMIT"
        with database.reading() as connection:
            assert connection.execute("SELECT count(*) FROM meta").get
    finally:
        database.close()
