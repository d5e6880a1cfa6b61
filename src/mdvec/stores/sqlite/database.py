"""One file, many threads: a pool of connections, snapshots to read from, one transaction at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mdvec.errors import ReadOnlyDatabaseError, StoreError
from mdvec.stores.sqlite.connection import Access, Connection, connect, translated
from mdvec.stores.sqlite.opening import open_first
from mdvec.stores.sqlite.schema import SCHEMA, Schema

_MOST_IDLE_CONNECTIONS = 8  # enough for a server's worker threads; others are closed after use


class Database:
    """The file behind catalog, lexical index and vector index.

    Attributes:
        path: Absolute path of the file.
    """

    def __init__(self, path: Path, *, read_only: bool = False, schema: Schema = SCHEMA) -> None:
        self.path = path.absolute()
        with translated(self.path):
            first, self._access = open_first(self.path, schema, read_only=read_only)
        self._idle = [first]
        self._idle_guard = threading.Lock()
        self._writer = threading.Lock()
        self._thread = threading.local()
        self._closed = False

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""
        return self._access is not Access.WRITE

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside :meth:`transaction`, and so sees what may yet be undone."""
        return self._own is not None

    @property
    def _own(self) -> Connection | None:
        """This thread's connection while its transaction is open.

        SQLite's word counts: Ctrl-C may come before ours is taken back.
        """
        connection: Connection | None = getattr(self._thread, "connection", None)
        return connection if connection is not None and connection.in_transaction else None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read from one snapshot; inside a transaction, from that.

        Yields:
            A connection for this thread alone.
        """
        if self._own is not None:
            yield self._own
            return
        with self._borrowed() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Write as part of this thread's transaction, or else in one of its own.

        Yields:
            A connection for this thread alone.
        """
        if self._own is not None:
            yield self._own
            return
        with self.transaction() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write all or nothing. Other threads wait for it; other processes up to the busy timeout.

        Yields:
            A connection for this thread alone.

        Raises:
            ReadOnlyDatabaseError: If the database cannot be written.
            RuntimeError: If this thread is inside a transaction already.
        """
        if self.read_only:
            msg = f"{self.path} can only be read"
            raise ReadOnlyDatabaseError(msg)
        if self._own is not None:
            msg = "transactions do not nest"
            raise RuntimeError(msg)
        with self._writer, self._borrowed() as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._thread.connection = connection
                before = connection.total_changes()
                yield connection
                if connection.total_changes() != before:
                    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite itself has undone it when the disk is full
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._thread.connection = None

    def close(self) -> None:
        """Close the connections; those in use follow when they are given back."""
        with self._idle_guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        with self._idle_guard:
            if self._closed:
                msg = f"{self.path} has been closed"
                raise StoreError(msg)
            connection = self._idle.pop() if self._idle else None
        with translated(self.path):
            if connection is None:
                connection = connect(self.path, self._access)
        try:
            with translated(self.path, connection):
                yield connection
        finally:
            with self._idle_guard:
                keep = not self.closed and len(self._idle) < _MOST_IDLE_CONNECTIONS
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()


def generation(connection: Connection) -> int:
    """Return a number that grows with every commit that changed something."""
    value: int = connection.execute("SELECT value FROM meta WHERE key = 'generation'").get
    return value


def vector_epoch(connection: Connection) -> int:
    """Return a number that grows when vectors are removed; until then they are only appended."""
    value: int = connection.execute("SELECT value FROM meta WHERE key = 'vector_epoch'").get
    return value
