"""One process at a time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_TICK_S = 0.2

if sys.platform == "win32":
    import msvcrt

    def _try_to_lock(file: BinaryIO) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_to_lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def locked(path: Path, on_tick: Callable[[], None]) -> Iterator[None]:
    """Hold a lock; it ends with the process, however that ends.

    Args:
        path: A file for this purpose alone; it is made and stays.
        on_tick: Called while another process holds it; what it raises ends the waiting.

    Raises:
        OSError: If the file cannot be made.
    """
    with path.open("ab") as file:  # closing it gives the lock back
        while not _try_to_lock(file):
            on_tick()
            time.sleep(_TICK_S)
        yield
