"""Locks between processes, on files that stay: they end with the process that holds them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

_TICK_S = 0.02

if sys.platform == "win32":
    import msvcrt

    def try_to_lock(file: BinaryIO) -> bool:
        """Lock an open file for this process, until it is closed; return False if another one holds it."""
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def lock_if_possible(file: IO[bytes]) -> None:
        """Do nothing: here a lock would also keep this process from reading the file by another handle."""

else:
    import fcntl

    def try_to_lock(file: BinaryIO) -> bool:
        """Lock an open file for this process, until it is closed; return False if another one holds it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def lock_if_possible(file: IO[bytes]) -> None:
        """Wait for the lock of an open file, until it is closed; do without on file systems without locks."""
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


@contextmanager
def locked(path: Path, *, wait_s: float) -> Iterator[bool]:
    """Hold the lock of a file for as long as the context lasts.

    Args:
        path: A file for this purpose alone; it is made and stays.
        wait_s: How long to wait for another process, in seconds.

    Yields:
        Whether it is held.
    """
    with path.open("ab") as file:
        deadline = time.monotonic() + wait_s
        while not (held := try_to_lock(file)) and time.monotonic() < deadline:
            time.sleep(_TICK_S)
        yield held
