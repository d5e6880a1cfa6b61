"""Waits for the commits of other processes, the same for every store."""

from __future__ import annotations

import time
from collections.abc import Callable

from mdvec import run

_LOOK_EVERY_S = 0.5  # a row is read each time
_NOTICE_CANCELLING_S = 0.25


def await_commit(
    current: Callable[[], int],
    version: int,
    *,
    timeout_s: float,
    heard: Callable[[float], bool] | None = None,
) -> int:
    """Return the version of a store as soon as it changes, or after the timeout.

    Args:
        current: Reads the version.
        version: The known version.
        timeout_s: How long to wait.
        heard: Waits for at most a number of seconds; returns True if a commit was announced meanwhile. None
            to poll the version instead.

    Raises:
        ImportStoppedError: If the run is cancelled.
    """
    deadline = time.monotonic() + timeout_s
    while (now := current()) == version and (left_s := deadline - time.monotonic()) > 0:
        if heard is None:
            run.current().sleep(min(_LOOK_EVERY_S, left_s))
            continue
        while left_s > 0 and not heard(min(_NOTICE_CANCELLING_S, left_s)):
            run.current().check()
            left_s = deadline - time.monotonic()
    return now
