"""The cores and the memory of this machine."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress


def available_cores() -> int:
    """Return how many cores this process may use: fewer than there are, in a container for instance."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def give_memory_back() -> None:
    """Return freed memory to the system; glibc would keep most of it for later."""
    with suppress(OSError, AttributeError, TypeError):  # another C library, or none to be found
        ctypes.CDLL(None).malloc_trim(0)
