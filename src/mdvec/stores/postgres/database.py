"""One database, many threads: snapshots to read from, one writing transaction at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from mdvec.errors import ConfigError
from mdvec.settings import Count, Name, SettingsSection
from mdvec.stores.pool import Pool, WritingThread, closed_on_error
from mdvec.stores.postgres.connection import Connection, connect, ids_text, stored_text, translated
from mdvec.stores.postgres.opening import LOCK_TIMEOUT_S, Opened, identifier, open_first
from mdvec.stores.tables import Memo, Readable, Sql, Tables
from mdvec.text.addresses import without_password

# The last statement of a transaction that changed something: other writers wait from here on anyway.
_NEW_VERSION = """UPDATE meta SET value = value + 1
    WHERE key = 'generation' AND pg_current_xact_id_if_assigned() IS NOT NULL"""


class PostgresSettings(SettingsSection, frozen=True, kw_only=True):
    """``[store.postgres]``.

    Attributes:
        schema: Where the tables are; made when it is not there.
        role: What transactions run as; None for the user who connects.
        prepared_statements: Whether the server may keep statements between transactions. Poolers that give
            each transaction another connection may not allow it.
        exact_up_to: How many vectors of a model are searched in memory, exactly. More are searched by an
            index on the server, which finds nearly all of the nearest.
    """

    schema: Name = "mdvec"
    role: Name | None = None
    prepared_statements: bool = False
    # Vectors of 384 numbers take 40 MB, and a tenth of a second to load from near by.
    exact_up_to: Count = 50_000


class PostgresTables(Tables):
    """One transaction of PostgreSQL.

    Attributes:
        connection: Inside the transaction, for one thread.
        exact_up_to: The most vectors of a space that are searched in memory.
    """

    def __init__(
        self, connection: Connection, exact_up_to: int, memo: Memo | None, readable: Readable = None
    ) -> None:
        self.connection = connection
        self.exact_up_to = exact_up_to
        found: dict[str, int] = dict(connection.execute("SELECT key, value FROM meta").fetchall())
        version = found["generation"]
        super().__init__(version, found["vector_epoch"], memo, readable)

    def rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(own_dialect(sql), arguments, binary=True)
        return cursor.fetchall() if cursor.description else []

    def named(self, column: str, values: Iterable[str]) -> Sql:
        return Sql(f"{column} = ANY(?)", (list(values),))

    def one_of(self, column: str, values: Iterable[int]) -> Sql:
        return Sql(f"{column} = ANY(?::bigint[])", (ids_text(values),))

    listed = one_of

    def unlisted(self, column: str, ids: Iterable[int]) -> Sql:
        # Not as a text: a planner that reads the numbers chooses joins that take minutes.
        return Sql(f"NOT {column} = ANY(?::bigint[])", (list(ids),))

    each_id = "unnest(?::bigint[]) WITH ORDINALITY j(value, key)"
    body = "t.body"
    vector, vector_dtype = "substring(halfvec_send(v.vector) FROM 5)", ">f2"
    ids = staticmethod(ids_text)
    stored = staticmethod(stored_text)

    def change(self, sql: str, *arguments: Any) -> int:
        return self.connection.execute(own_dialect(sql), arguments).rowcount

    def change_each(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement with the arguments of each row, in one round trip."""
        with self.connection.cursor() as cursor:
            cursor.executemany(own_dialect(sql), rows)

    def insert(self, table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows by one statement, each column as an array: as fast as COPY, which RLS refuses."""
        values = [list(column) for column in zip(*rows, strict=True)]
        if values:
            arrays = ", ".join(f"%s::{kind}[]" for kind in columns.values())
            sql = f"INSERT INTO {table}({', '.join(columns)}) SELECT * FROM unnest({arrays})"  # noqa: S608
            self.connection.execute(sql, values)

    def new_ids(self, table: str, count: int) -> list[int]:
        rows = self.connection.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", (table, count)
        )
        return [row[0] for row in rows]


class PostgresDatabase:
    """The tables on the server.

    Nothing is set on a connection outside a transaction, so a pooler may give each transaction another one.

    Attributes:
        address: As libpq takes it.
        settings: How it is used.
        opened: What was found there.
    """

    def __init__(self, address: str, settings: PostgresSettings) -> None:
        self.address = address
        self.settings = settings
        first = self.connect()
        with closed_on_error(first), translated(address):
            self.opened: Opened = open_first(first, settings.schema, address)
        self._pool = Pool("the store", first)
        self._writer = WritingThread()
        path = f"{identifier(settings.schema)}, {identifier(self.opened.vector_schema)}"
        # They are set here, once, and by no statement of a search.
        self._set_local = f"SET LOCAL search_path = {path}; {self.opened.settings}"
        if settings.role is not None:
            self._set_local += f"; SET LOCAL ROLE {identifier(settings.role)}"

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
        # READ COMMITTED: every statement sees what was committed while this one waited for the lock.
        begin = f"BEGIN; SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'; SET LOCAL statement_timeout = 0"
        with self._writer.alone(), self._transaction(begin) as connection:
            # Other writers wait, and readers go on. An advisory lock, every role could take and keep.
            connection.execute(f"LOCK TABLE {identifier(self.settings.schema)}.meta IN EXCLUSIVE MODE")
            yield connection
            connection.execute(_NEW_VERSION)

    @contextmanager
    def outside_transactions(self) -> Iterator[Connection]:
        """Lend a connection for commands that run outside of transactions."""
        with translated(self.address):
            connection = self._pool.take() or self.connect()
            try:
                yield connection
            finally:
                self._pool.give_back(connection)

    def close(self) -> None:
        """Close the connections; those in use follow when they are given back."""
        self._pool.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        with translated(self.address):
            connection = self._begin(f"{begin}; {self._set_local}")
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
            connection = idle or self.connect()
            try:
                connection.execute(begin)
            except BaseException as error:
                connection.close()
                if isinstance(error, psycopg.errors.InvalidParameterValue) and self.settings.role is not None:
                    msg = f"there is no role {self.settings.role!r} in {without_password(self.address)}"
                    raise ConfigError(
                        msg, hint="Correct [store.postgres] role, or create the role."
                    ) from None
                if idle is None or not isinstance(error, psycopg.OperationalError):
                    raise
            else:
                return connection

    def connect(self) -> Connection:
        """Open a connection of its own."""
        return connect(self.address, prepared_statements=self.settings.prepared_statements)


def own_dialect(sql: str) -> str:
    """Return a statement that is written as for SQLite as PostgreSQL takes it."""
    return sql.replace("CROSS JOIN", "JOIN").replace("?", "%s")


def _roll_back(connection: Connection) -> None:
    try:
        connection.execute("ROLLBACK")
    except psycopg.Error:  # the server has done so when the connection is lost
        connection.close()
