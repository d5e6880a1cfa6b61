"""The lease of the single writer: a row that says which process holds it, and since when."""

from __future__ import annotations

import functools
import os
import platform
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mdvec.errors import StoreError, WriterBusyError
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Database

HEARTBEAT_S = 5.0
"""How often a holder that writes says that it lives."""

SILENCE_S = 60.0
"""A holder on another machine that has not said so for this long is taken for dead."""

_POLL_S = 0.1
_SAME_START_S = 2.0  # a process's start is computed from the boot time, which moves with the clock


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that writes, or wrote.

    Attributes:
        token: Unique to one holding.
        pid: Process id, as its machine (or container) counts.
        process_started: When the process started, in seconds since 1970: pids are used again.
        machine: Equal where pids mean the same: host, boot and pid namespace.
        host: For people.
        purpose: For people.
        since_ms: Start of the holding, in milliseconds since 1970.
        heartbeat_ms: Last sign of life, in milliseconds since 1970.
    """

    token: str
    pid: int
    process_started: float
    machine: str
    host: str
    purpose: str
    since_ms: int
    heartbeat_ms: int


class WriterLease:
    """Held by one thread of one process; SQLite's own locks would last no longer than a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: Holder | None = None
        self._abandoned: set[str] = set()
        self._heartbeat_at = 0.0

    @contextmanager
    def hold(self, purpose: str, *, wait_s: float) -> Iterator[None]:
        """Hold the lease.

        Args:
            purpose: For people who are told that they have to wait.
            wait_s: How long to wait for another holder, in seconds.

        Yields:
            When the lease is held.

        Raises:
            WriterBusyError: If another process, or another thread of this one, still holds it then.
        """
        self._held = self._acquire(purpose, wait_s)
        self._heartbeat_at = time.monotonic()
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Give the lease back, if it is held."""
        held, self._held = self._held, None
        if held is None:
            return
        try:
            with self._database.writing() as connection:
                connection.execute("DELETE FROM lease WHERE token = ?", (held.token,))
        except StoreError:  # a full disk, most likely: what went wrong before it must not be hidden
            self._abandoned.add(held.token)

    def confirm(self, connection: Connection) -> None:
        """Make sure, inside a transaction, that nobody has taken the lease over; give a sign of life.

        Args:
            connection: The transaction's.

        Raises:
            WriterBusyError: If it was taken over, say while the machine slept.
        """
        if self._held is None:
            return
        current = _holder(connection)
        if current is None or current.token != self._held.token:
            msg = f"the writer lease was lost while working on: {self._held.purpose}"
            raise WriterBusyError(msg)
        now = time.monotonic()
        if now - self._heartbeat_at >= HEARTBEAT_S:
            connection.execute("UPDATE lease SET heartbeat_ms = ?", (_now_ms(),))
            self._heartbeat_at = now

    def _acquire(self, purpose: str, wait_s: float) -> Holder:
        deadline = time.monotonic() + wait_s
        while True:
            with self._database.reading() as connection:
                current = _holder(connection)
            if current is None or current.token in self._abandoned or not _alive(current):
                mine = _this_process(purpose)
                current = self._take(mine, over=current)
                if current.token == mine.token:
                    return mine
            left = deadline - time.monotonic()
            if left <= 0:
                raise WriterBusyError(_busy_message(current))
            time.sleep(min(_POLL_S, left))

    def _take(self, mine: Holder, *, over: Holder | None) -> Holder:
        """Write ourselves down, unless another process was faster.

        Returns:
            Who holds the lease now.
        """
        with self._database.transaction() as connection:
            current = _holder(connection)
            if current is not None and (over is None or current.token != over.token):
                return current
            connection.execute(
                "INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    mine.token,
                    mine.pid,
                    mine.process_started,
                    mine.machine,
                    mine.host,
                    mine.purpose,
                    mine.since_ms,
                    mine.heartbeat_ms,
                ),
            )
            return mine


def _holder(connection: Connection) -> Holder | None:
    row = connection.execute(
        """SELECT token, pid, process_started, machine, host, purpose, since_ms, heartbeat_ms
        FROM lease"""
    ).fetchone()
    return None if row is None else Holder(*row)


def _this_process(purpose: str) -> Holder:
    import psutil

    now = _now_ms()
    return Holder(
        token=uuid.uuid4().hex,
        pid=os.getpid(),
        process_started=psutil.Process().create_time(),
        machine=_machine(),
        host=platform.node(),
        purpose=purpose,
        since_ms=now,
        heartbeat_ms=now,
    )


def _alive(holder: Holder) -> bool:
    if holder.machine != _machine():
        return _now_ms() - holder.heartbeat_ms < SILENCE_S * 1000
    import psutil

    try:
        process = psutil.Process(holder.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process.create_time() - holder.process_started) < _SAME_START_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:  # it is there, and somebody else's
        return True


@functools.cache
def _machine() -> str:
    """Name the machine, its boot and its pid namespace, as far as the system tells."""
    parts = [platform.node()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:  # not Linux: the host has to do
        pass
    return " ".join(parts)


def _busy_message(holder: Holder) -> str:
    since = datetime.fromtimestamp(holder.since_ms / 1000, UTC).astimezone()
    return (
        f"process {holder.pid} on {holder.host} has been writing ({holder.purpose}) "
        f"since {since:%Y-%m-%d %H:%M:%S}"
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
