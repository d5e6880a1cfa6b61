"""Shared by the threads of a process: the idle connections to a database, and the right to write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from mdvec.errors import StoreError

_MAX_IDLE = 8  # enough for a server's worker threads; others are closed after use


class _Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=_Closable)


class Pool(Generic[C]):
    """Connections that no thread uses now.

    Args:
        database: Its name in messages.
        first: A connection that is open already.
    """

    def __init__(self, database: str, first: C | None = None) -> None:
        self._database = database
        self._idle = [] if first is None else [first]
        self._guard = threading.Lock()
        self._closed = False

    def take(self) -> C | None:
        """Return an idle connection; None if there is none, and the caller has to open one.

        Raises:
            StoreError: If the pool was closed.
        """
        with self._guard:
            if self._closed:
                msg = f"{self._database} has been closed"
                raise StoreError(msg)
            return self._idle.pop() if self._idle else None

    def give_back(self, connection: C) -> None:
        """Keep a connection that can be used again; close it if enough are idle, or the pool was closed."""
        with self._guard:
            keep = not self._closed and len(self._idle) < _MAX_IDLE
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def close(self) -> None:
        """Close the idle connections; those in use follow when they are given back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


class WritingThread:
    """Lets one thread of this process write at a time; others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Write as the only thread.

        Raises:
            RuntimeError: If this thread is writing already.
        """
        if self._thread == threading.get_ident():
            msg = "transactions do not nest"
            raise RuntimeError(msg)
        with self._lock:
            self._thread = threading.get_ident()
            try:
                yield
            finally:
                self._thread = None


@contextmanager
def closed_on_error(opened: _Closable) -> Iterator[None]:
    """Close what was opened if its preparation fails; an exception would keep it open as long as it lives."""
    try:
        yield
    except BaseException:
        opened.close()
        raise
