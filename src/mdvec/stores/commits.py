"""The version of a store, and waiting for the commits of other processes, the same for every store."""

from __future__ import annotations

import time

from mdvec import run
from mdvec.stores.interface import Store

_LOOK_EVERY_S = 0.5  # a row is read each time


def current_version(store: Store) -> int:
    """Return the version that a store has now."""
    with store.read() as view:
        return view.version


def await_commit(store: Store, version: int, *, timeout_s: float) -> int:
    """Return the version of a store as soon as it differs from a known one, or after the timeout.

    Raises:
        ImportStoppedError: If the run is cancelled meanwhile.
    """
    deadline = time.monotonic() + timeout_s
    while (now := current_version(store)) == version and (left_s := deadline - time.monotonic()) > 0:
        run.current().sleep(min(_LOOK_EVERY_S, left_s))
    return now
