"""One file, many threads: snapshots to read from, one transaction at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mdvec.errors import (
    DamagedDatabaseError,
    ReadOnlyDatabaseError,
    StoreUnavailableError,
    WriterBusyError,
)
from mdvec.stores.pool import Pool, WritingThread
from mdvec.stores.sqlite.checksums import BODY, VECTOR
from mdvec.stores.sqlite.connection import (
    BUSY_TIMEOUT_S,
    Access,
    Connection,
    begin_writing,
    connect,
    translated,
)
from mdvec.stores.sqlite.opening import Opening, has_unread_log, open_first
from mdvec.stores.tables import Memo, Readable, Sql, Tables, storable

# With its checksum, since a later statement would write the text again.
_INSERT_CONTENTS = """INSERT INTO contents(document_id, frontmatter, body, comments, checksum)
    VALUES (?1, ?2, ?3, ?4, crc32(CAST(?3 AS BLOB)))"""


class SqliteTables(Tables):
    """One transaction of SQLite.

    Attributes:
        connection: Inside the transaction, for one thread.
    """

    def __init__(self, connection: Connection, memo: Memo | None, readable: Readable = None) -> None:
        self.connection = connection
        version, vector_epoch = connection.execute(
            """SELECT (SELECT value FROM meta WHERE key = 'generation'),
            (SELECT value FROM meta WHERE key = 'vector_epoch')"""
        ).get
        if version is None or vector_epoch is None:
            msg = "the database is damaged: it does not say which version of its contents it holds"
            raise DamagedDatabaseError(msg)
        super().__init__(version, vector_epoch, memo, readable)

    def rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(sql, arguments))

    def one_of(self, column: str, values: Iterable[int]) -> Sql:
        arguments = tuple(values)
        return Sql(f"{column} IN ({','.join('?' * len(arguments))})", arguments)

    def each_row(self, sql: str, *arguments: Any) -> Iterator[tuple[Any, ...]]:
        return iter(self.connection.execute(sql, arguments))

    def listed(self, column: str, values: Iterable[int] | Iterable[str]) -> Sql:
        arguments = (json.dumps(sorted(values)),)
        return Sql(f"{column} IN (SELECT value FROM json_each(?))", arguments)  # noqa: S608 - ours

    named = listed

    def unlisted(self, column: str, ids: Iterable[int]) -> Sql:
        return Sql(f"{column} NOT IN (SELECT value FROM json_each(?))", (self.ids(ids),))  # noqa: S608

    each_id = "json_each(?) j"
    body = BODY
    vector, vector_dtype = VECTOR, "<f2"

    def ids(self, ids: Iterable[int]) -> str:
        return json.dumps(list(ids))

    stored = staticmethod(storable)

    def change(self, sql: str, *arguments: Any) -> int:
        self.connection.execute(sql, arguments)
        return self.connection.changes()

    def change_each(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self.connection.executemany(sql, rows)

    def insert(self, table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows, by one statement that is compiled once."""
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our own names
        self.connection.executemany(_INSERT_CONTENTS if table == "contents" else sql, rows)

    def new_ids(self, table: str, count: int) -> Sequence[int]:
        """Return ids that were never used: a transaction has no other writer."""
        last = self.rows("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        first = last[0][0] + 1 if last else 1
        return range(first, first + count)


class SqliteDatabase:
    """The file.

    Attributes:
        path: Absolute path of the file.
        ignores_log: The latest changes are not seen: they are in a log that cannot be read here.

    Args:
        path: The file.
        how: How it is opened.
    """

    def __init__(self, path: Path, how: Opening = Opening()) -> None:  # noqa: B008
        self.path = path.absolute()
        self._follow_links = how.follow_links
        with translated(self.path):
            first, self._access = open_first(self.path, how)
        self.ignores_log = self._access is Access.IMMUTABLE and has_unread_log(self.path)
        self._file = _identity(self.path)
        self._pool = Pool(str(self.path), first)
        self._writer = WritingThread()

    @property
    def read_only(self) -> bool:
        """True if nothing can be written."""
        return self._access is not Access.WRITE

    def require_writable(self) -> None:
        """Raise if nothing can be written.

        Raises:
            ReadOnlyDatabaseError: If the database cannot be written.
        """
        if self.read_only:
            msg = f"{self.path} can only be read"
            raise ReadOnlyDatabaseError(msg)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read from one snapshot.

        Yields:
            A connection for this thread alone.
        """
        with self._borrowed() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")

    @contextmanager
    def writing(self, wait_s: float = BUSY_TIMEOUT_S) -> Iterator[Connection]:
        """Write all or nothing. Other threads wait for it.

        Args:
            wait_s: How long to wait for a transaction of another process, in seconds.

        Yields:
            A connection for this thread alone.

        Raises:
            ReadOnlyDatabaseError: If the database cannot be written.
            WriterBusyError: If another process has it locked for longer.
            RuntimeError: If this thread is writing already.
        """
        self.require_writable()
        with self._writer.alone(), self._borrowed() as connection:
            try:
                begin_writing(connection, wait_s)
                before = connection.total_changes()
                yield connection
                if connection.total_changes() != before:
                    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite itself has undone it when the disk is full
                    connection.execute("ROLLBACK")
                raise

    def compact(self) -> None:
        """Rewrite the file without free pages and deleted words, and empty the log.

        Raises:
            ReadOnlyDatabaseError: If the database cannot be written.
            WriterBusyError: If another process uses the log for too long.
            DatabaseFullError: If there is no space for a second copy; nothing is lost.
        """
        with self.writing() as connection:
            connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('optimize')")
        with self._writer.alone(), self._borrowed() as connection:
            # The second copy goes to a file: in memory it would take as much as the whole database.
            connection.execute("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            if busy:
                msg = f"{self.path} is compact, but its log is only emptied when no other process uses it"
                raise WriterBusyError(msg)

    def close(self) -> None:
        """Close the connections; those in use follow when they are given back."""
        self._pool.close()

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        connection = self._pool.take()
        if _identity(self.path) != self._file:  # what is written to a file that is gone is lost
            if connection is not None:
                connection.close()
            msg = "the database was moved, deleted or replaced while it was open"
            raise StoreUnavailableError(
                msg, hint="Put it back, or start mdvec again; end a daemon with 'mdvec daemon stop'."
            )
        if connection is None:
            with translated(self.path):
                connection = connect(self.path, self._access, follow_links=self._follow_links)
        try:
            with translated(self.path, connection):
                yield connection
        finally:
            if connection.in_transaction:  # to end it has failed
                connection.close()
            else:
                self._pool.give_back(connection)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one at the same path; None if there is none to be seen."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
