"""One database, many threads: snapshots to read from, one writing transaction at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from msgspec import Struct
from psycopg.pq import TransactionStatus

from mdvec.errors import ConfigError
from mdvec.stores.conditions import Sql
from mdvec.stores.memo import Memo
from mdvec.stores.pool import Pool, closed_on_error
from mdvec.stores.postgres.connection import Connection, connect, translated
from mdvec.stores.postgres.opening import LOCK_TIMEOUT_S, Opened, identifier, lock_writers, open_first
from mdvec.stores.tables import TableReader
from mdvec.text.addresses import without_password

# The last statement of a transaction that changed something: other writers wait from here on anyway.
_NEW_VERSION = """WITH changed AS (
    UPDATE meta SET value = value + 1
    WHERE key = 'generation' AND pg_current_xact_id_if_assigned() IS NOT NULL RETURNING value
) SELECT pg_notify(%s, value::text) FROM changed"""


class Access(Struct, frozen=True):
    """The settings with which the database is used.

    Attributes:
        address: As libpq takes it.
        schema: Where our tables are.
        role: What transactions run as; None for the user who connects.
        prepared_statements: Whether the server may keep statements between transactions.
    """

    address: str
    schema: str
    role: str | None
    prepared_statements: bool


class Reader(TableReader):
    """A part of a snapshot; :class:`mdvec.stores.postgres.snapshots.Snapshot` is made of these.

    Attributes:
        connection: Inside a transaction, for one thread.
        version: Grows with every commit that changed something.
        vector_epoch: Grows when vectors are removed; until then they are only appended.

    Args:
        connection: Inside a transaction.
        memo: What is known of versions; None where what is read may yet be undone.
    """

    def __init__(self, connection: Connection, memo: Memo | None) -> None:
        self.connection = connection
        found: dict[str, int] = dict(connection.execute("SELECT key, value FROM meta").fetchall())
        self.version = found["generation"]
        self.vector_epoch = found["vector_epoch"]
        super().__init__(None if memo is None else memo.values(self.version))

    def rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """Run a statement that is written as for SQLite; return its rows, if any."""
        return fetch_rows(self.connection, sql, *arguments)

    def named(self, column: str, texts: Iterable[str]) -> Sql:
        """Return the condition that a column is one of some texts."""
        return Sql(f"{column} = ANY(?)", (list(texts),))


class Database:
    """The tables on the server.

    Nothing is set on a connection outside a transaction, so a pooler may give each transaction another one.

    Attributes:
        access: How it is used.
        opened: What was found there.
    """

    def __init__(self, access: Access) -> None:
        self.access = access
        first = connect(access.address, prepared_statements=access.prepared_statements)
        with closed_on_error(first), translated(access.address):
            self.opened: Opened = open_first(first, access.schema, access.address)
        self._pool = Pool("the store", first)
        self._writer = threading.Lock()
        self._writing_thread: int | None = None
        path = f"{identifier(access.schema)}, {identifier(self.opened.vector_schema)}"
        # They are set here, once, and by no statement of a search.
        self._settings = f"SET LOCAL search_path = {path}; {self.opened.settings}"
        if access.role is not None:
            self._settings += f"; SET LOCAL ROLE {identifier(access.role)}"

    @property
    def channel(self) -> str:
        """Where commits are announced."""
        return f"mdvec_{self.access.schema}"

    @property
    def closed(self) -> bool:
        """True once :meth:`close` was called."""
        return self._pool.closed

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read from one snapshot.

        Yields:
            A connection for this thread alone.
        """
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Write all or nothing. Other threads and processes wait for it, up to the timeout for locks.

        One writer at a time, as in SQLite: so ids grow in the order of commits, which is what everybody who
        follows the changes relies on, and counts need no care. Transactions are short.

        Yields:
            A connection for this thread alone.

        Raises:
            ReadOnlyDatabaseError: If the role may not write.
            RuntimeError: If this thread is writing already.
        """
        if self._writing_thread == threading.get_ident():
            msg = "transactions do not nest"
            raise RuntimeError(msg)
        # READ COMMITTED: every statement sees what was committed while this one waited for the lock.
        begin = f"BEGIN; SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'; SET LOCAL statement_timeout = 0"
        with self._writer, self._transaction(begin) as connection:
            self._writing_thread = threading.get_ident()
            try:
                lock_writers(connection, self.access.schema)
                yield connection
                connection.execute(_NEW_VERSION, (self.channel,))
            finally:
                self._writing_thread = None

    @contextmanager
    def outside_transactions(self) -> Iterator[Connection]:
        """Lend a connection for commands that run outside of transactions."""
        with translated(self.access.address):
            connection = self._pool.take() or self._connect()
            try:
                yield connection
            finally:
                self._pool.give_back(connection)

    @contextmanager
    def listening(self) -> Iterator[Callable[[float], bool]]:
        """Listen to commits on a connection of its own, which must not go through a transaction pooler.

        Yields:
            A function that waits at most a number of seconds for a commit of any process; it returns False if
            there was none.
        """
        with translated(self.access.address), self._connect() as connection:
            connection.execute(f"LISTEN {identifier(self.channel)}")

            def wait(timeout_s: float) -> bool:
                with translated(self.access.address):
                    return any(True for _ in connection.notifies(timeout=timeout_s, stop_after=1))

            yield wait

    def close(self) -> None:
        """Close the connections; those in use follow when they are given back."""
        self._pool.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        with translated(self.access.address):
            connection = self._begin(f"{begin}; {self._settings}")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if not connection.closed and connection.info.transaction_status != TransactionStatus.IDLE:
                    _roll_back(connection)
                if not connection.closed:
                    self._pool.give_back(connection)

    def _begin(self, begin: str) -> Connection:
        """Begin a transaction; connections that were lost while they were idle are left behind."""
        while True:
            idle = self._pool.take()
            connection = idle or self._connect()
            try:
                connection.execute(begin)
            except BaseException as error:
                connection.close()
                if isinstance(error, psycopg.errors.InvalidParameterValue) and self.access.role is not None:
                    msg = f"there is no role {self.access.role!r} in {without_password(self.access.address)}"
                    raise ConfigError(
                        msg, hint="Correct [store.postgres] role, or create the role."
                    ) from None
                if idle is None or not isinstance(error, psycopg.OperationalError):
                    raise
            else:
                return connection

    def _connect(self) -> Connection:
        return connect(self.access.address, prepared_statements=self.access.prepared_statements)


def fetch_rows(connection: Connection, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
    """Run a statement that is written as for SQLite; return its rows, if any."""
    cursor = connection.execute(own_dialect(sql), arguments, binary=True)
    return cursor.fetchall() if cursor.description else []


def own_dialect(sql: str) -> str:
    """Return a statement that is written as for SQLite as PostgreSQL takes it."""
    return sql.replace("CROSS JOIN", "JOIN").replace("?", "%s")


def _roll_back(connection: Connection) -> None:
    try:
        connection.execute("ROLLBACK")
    except psycopg.Error:  # the server has done so when the connection is lost
        connection.close()
