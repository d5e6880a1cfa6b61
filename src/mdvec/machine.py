"""The cores and the memory of this machine."""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress

_M_ARENA_MAX = -8  # of glibc's malloc.h

_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})


def is_out_of_files(error: BaseException | None) -> bool:
    """Return True if an error, or one that led to it, says that no more files can be opened."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _OUT_OF_FILES:
            return True
        error = error.__cause__ or error.__context__
    return False


def can_open_files() -> bool:
    """Return False if this process, or the system, has too many files and connections open."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return not is_out_of_files(error)
    return True


def available_cores() -> int:
    """Return the number of cores this process may use, which a container may limit."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_one_heap() -> None:
    """Make all threads of this process allocate from one heap from now on.

    glibc gives each thread its own heap, which keeps freed memory: 30 MB in a server whose threads take turns
    anyway because of Python's lock.
    """
    with suppress(OSError, AttributeError, TypeError):  # another C library, or none to be found
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_memory_back() -> None:
    """Return freed memory to the system; glibc would keep most of it."""
    with suppress(OSError, AttributeError, TypeError):  # another C library, or none to be found
        ctypes.CDLL(None).malloc_trim(0)
