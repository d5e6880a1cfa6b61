"""Decides when a server gives the memory of its models back."""

from __future__ import annotations

# When memory is short, a model that was not used for a minute is not needed by anybody at this moment.
_IDLE_WHEN_SHORT_S = 60.0


def memory_in_use() -> float:
    """Return what share of the machine's memory cannot be had without taking it from a program, 0..1."""
    import psutil

    return float(psutil.virtual_memory().percent) / 100


def idle_limit_s(auto_unload_minutes: float, memory_threshold: float, in_use: float) -> float | None:
    """Decide how long a model may stay in memory without being used.

    Args:
        auto_unload_minutes: The limit while there is memory; 0 for none.
        memory_threshold: Above which share memory is short, 0..1.
        in_use: The share that is in use, 0..1.

    Returns:
        Seconds; None when it may stay for good.
    """
    usual_s = auto_unload_minutes * 60 if auto_unload_minutes > 0 else None
    if in_use <= memory_threshold:
        return usual_s
    return _IDLE_WHEN_SHORT_S if usual_s is None else min(usual_s, _IDLE_WHEN_SHORT_S)
