"""Waiting for what must happen. No test fails because a machine is slow: these guards only end what hangs."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

HANG_S = 120.0
"""What takes longer than this, in seconds of wall time, has hung."""

_POLL_S = 0.02


def wait_until(condition: Callable[[], object], *, poll_s: float = _POLL_S) -> None:
    """Wait until a condition holds.

    Args:
        condition: Asked again and again.
        poll_s: Seconds between two times; more where asking takes the processor from what is awaited.

    Raises:
        TimeoutError: If it never does.
    """
    deadline = time.monotonic() + HANG_S
    while not condition():
        if time.monotonic() > deadline:
            msg = f"nothing happened in {HANG_S:.0f} s"
            raise TimeoutError(msg)
        time.sleep(poll_s)


def cpu_s(pid: int) -> float:
    """Return the processor time that a running process has used, in seconds."""
    spent = psutil.Process(pid).cpu_times()
    return spent.user + spent.system
