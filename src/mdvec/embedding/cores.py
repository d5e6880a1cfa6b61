"""Says how many processor cores there are to work with."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Return how many cores this process may use: fewer than there are, in a container for instance."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
