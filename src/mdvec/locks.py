"""Locks between processes and threads, on files: they end with the process that holds them."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO

_TICK_S = 0.02
_USUAL_BYTES = 512
_held: weakref.WeakSet[FileIO] = weakref.WeakSet()

if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE = 1 << 30  # behind all content, which another process could not read otherwise

    def try_to_lock(file: IO[bytes] | FileIO) -> bool:
        """Lock an open file for this process, until it is closed; return False if another one holds it."""
        file.seek(_LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _is_held(file: IO[bytes] | FileIO) -> bool:
        return not try_to_lock(file)

    def _unlock(file: IO[bytes] | FileIO) -> None:
        """Do nothing: closing the file unlocks it."""

    def lock_if_possible(file: IO[bytes] | FileIO) -> None:
        """Do nothing: here a lock would also keep this process from reading the file by another handle."""

else:
    import fcntl

    def try_to_lock(file: IO[bytes] | FileIO) -> bool:
        """Lock an open file for this process, until it is closed; return False if another one holds it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _is_held(file: IO[bytes] | FileIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    def _unlock(file: IO[bytes] | FileIO) -> None:
        """Unlock a file also for a process that is being started and has not closed it yet."""
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)

    def _close_inherited() -> None:
        """Close in a forked process the files that its parent holds: otherwise they outlive the parent."""
        for file in list(_held):
            file.close()

    os.register_at_fork(after_in_child=_close_inherited)

    def lock_if_possible(file: IO[bytes] | FileIO) -> None:
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

    Raises:
        ImportStoppedError: If the run is cancelled meanwhile.
    """
    with path.open("ab") as file:  # closing it gives the lock back
        deadline = time.monotonic() + wait_s
        while not (held := try_to_lock(file)) and time.monotonic() < deadline:
            from mdvec import run  # a command that asks a daemon does without

            run.current().sleep(_TICK_S)
        yield held


def take(path: Path, mode: int = 0o600) -> FileIO | None:
    """Lock a file for this purpose alone, made if it is not there; return None if it is held.

    Raises:
        OSError: If it cannot be made, is not a file of its own, or the file system has no locks.
    """
    flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        file = FileIO(os.open(path, flags, mode), "r+b")
        with ExitStack() as unless_taken:
            unless_taken.callback(file.close)
            _refuse_links(file)
            if not try_to_lock(file):
                return None
            if is_at(file, path):  # else it was removed meanwhile
                with suppress(OSError):  # of another user, who has set it
                    path.chmod(mode)
                _held.add(file)
                unless_taken.pop_all()
                return file


def _refuse_links(file: FileIO) -> None:
    """Raise if a file that is to be written may be dear to somebody: it may have come with a folder."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise OSError(errno.EPERM, "it is a link or no file")


def release(file: FileIO) -> None:
    """Empty and unlock a file of :func:`take`."""
    with suppress(OSError):
        file.truncate(0)
    _unlock(file)
    _held.discard(file)
    file.close()


def is_at(file: FileIO, path: Path) -> bool:
    """Return True if an open file is the one at a path."""
    try:
        return not file.closed and os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except OSError:
        return False


def write(file: FileIO, content: bytes) -> None:
    """Replace the content of a file of :func:`take`, which is only for people: a full disk is no error."""
    with suppress(OSError):
        file.seek(0)
        file.write(content.ljust(_USUAL_BYTES))  # at once, so that hardly anybody reads half of it
        file.truncate()


def read_if_held(path: Path, most: int) -> bytes | None:
    """Return the content of a file of :func:`take`; None if nobody holds it."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with FileIO(os.open(path, flags)) as file:
            content = file.read(most)
            return content if _is_held(file) else None
    except OSError:
        return None
