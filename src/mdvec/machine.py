"""The cores and the memory of this machine."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import zlib
from contextlib import suppress
from pathlib import Path

# Linux's description of a processor, on x86 and on ARM, without values that change between cores or over
# time.
_PROCESSOR_LINES = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ")
_M_ARENA_MAX = -8  # of glibc's malloc.h
_MAX_CPUINFO_CHARS = 8192  # of its first core

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
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_kind() -> str:
    """Return a name that differs between processors on which programs may compute differently.

    On Linux, processors with the same instructions have the same name; elsewhere each machine has its own.
    """
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            first, _, _ = file.read(_MAX_CPUINFO_CHARS).partition("\n\n")
        described = "\n".join(line for line in first.splitlines() if line.startswith(_PROCESSOR_LINES))
    except OSError:
        described = platform.node()
    return f"{platform.machine()}-{zlib.crc32(described.encode()):08x}"


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
