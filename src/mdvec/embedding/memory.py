"""Gives freed memory back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_memory_back() -> None:
    """Have the C library return what was freed; glibc would keep most of it for later."""
    with suppress(OSError, AttributeError, TypeError):  # another C library, or none to be found
        ctypes.CDLL(None).malloc_trim(0)
