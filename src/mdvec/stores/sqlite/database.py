"""One file, many threads: a pool of connections, snapshots to read from, one transaction at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from mdvec.errors import ReadOnlyDatabaseError, StoreError
from mdvec.stores.sqlite.connection import Access, Connection, connect, translated
from mdvec.stores.sqlite.opening import open_first
from mdvec.stores.sqlite.schema import SCHEMA, Schema

_MOST_IDLE_CONNECTIONS = 8  # enough for a server's worker threads; others are closed after use
_MOST_MEMORIZED = 50_000

T = TypeVar("T")


class Memo:
    """Values computed from one version of the database, until there is another. Safe for several threads."""

    def __init__(self) -> None:
        self._of_version: tuple[int, dict[Hashable, object]] = (-1, {})

    def values(self, version: int) -> dict[Hashable, object]:
        """Return what is known of a version; to be added to."""
        known, values = self._of_version
        if known != version or len(values) > _MOST_MEMORIZED:
            values = {}
            if version >= known:  # a snapshot that began earlier does not push out what is newer
                self._of_version = version, values
        return values


class Reader:
    """A part of a snapshot; :class:`mdvec.stores.sqlite.store.Snapshot` is made of these.

    Attributes:
        connection: Inside a transaction of SQLite, for one thread.
        version: Grows with every commit that changed something.
        vector_epoch: Grows when vectors are removed; until then they are only appended.

    Args:
        connection: Inside a transaction.
        memo: What is known of versions; None where what is read may yet be undone.
    """

    def __init__(self, connection: Connection, memo: Memo | None) -> None:
        self.connection = connection
        self.version, self.vector_epoch = connection.execute(
            """SELECT (SELECT value FROM meta WHERE key = 'generation'),
            (SELECT value FROM meta WHERE key = 'vector_epoch')"""
        ).get
        self._known: dict[Hashable, object] | None = None if memo is None else memo.values(self.version)

    def memorized(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what was computed for this version, or compute it now."""
        if self._known is None:
            return compute()
        if key not in self._known:
            self._known[key] = compute()
        value: T = self._known[key]  # type: ignore[assignment] # keys are used with one type each
        return value


class Database:
    """The file.

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
        self._writing_thread: int | None = None
        self._closed = False

    @property
    def read_only(self) -> bool:
        """True if nothing can be written."""
        return self._access is not Access.WRITE

    @property
    def closed(self) -> bool:
        """True once :meth:`close` was called."""
        return self._closed

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
    def writing(self) -> Iterator[Connection]:
        """Write all or nothing. Other threads wait for it; other processes up to the busy timeout.

        Yields:
            A connection for this thread alone.

        Raises:
            ReadOnlyDatabaseError: If the database cannot be written.
            RuntimeError: If this thread is writing already.
        """
        if self.read_only:
            msg = f"{self.path} can only be read"
            raise ReadOnlyDatabaseError(msg)
        if self._writing_thread == threading.get_ident():
            msg = "transactions do not nest"
            raise RuntimeError(msg)
        with self._writer, self._borrowed() as connection:
            try:
                self._writing_thread = threading.get_ident()
                connection.execute("BEGIN IMMEDIATE")
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
                self._writing_thread = None

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
