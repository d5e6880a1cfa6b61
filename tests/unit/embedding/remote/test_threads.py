"""Several calls at once, as seen by the one who makes them."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar

import pytest

from mdvec.embedding.remote.threads import in_order, is_ending

listener: ContextVar[str] = ContextVar("listener", default="nobody")


def test_results_keep_their_order() -> None:
    """Results come in the order of the items, whoever finishes first."""
    ready = [threading.Event() for _ in range(4)]
    ready[3].set()

    def last_first(item: int) -> int:
        ready[item].wait(5)
        if item:
            ready[item - 1].set()
        return item * 10

    assert in_order(last_first, range(4), at_once=4) == [0, 10, 20, 30]


def test_no_more_at_once_than_allowed() -> None:
    """The number of calls under way is bounded."""
    guard = threading.Lock()
    counts = [0, 0]

    def count(_item: int) -> None:
        with guard:
            counts[0] += 1
            counts[1] = max(counts)
        time.sleep(0.002)
        with guard:
            counts[0] -= 1

    in_order(count, range(12), at_once=3)
    assert 1 < counts[1] <= 3


@pytest.mark.parametrize("at_once", [1, 3])
def test_threads_see_the_callers_context(at_once: int) -> None:
    """What listens in the caller's context is found by each call, in whatever thread it runs."""
    token = listener.set("caller")
    try:
        assert in_order(lambda _item: listener.get(), range(3), at_once=at_once) == ["caller"] * 3
    finally:
        listener.reset(token)


def test_a_failure_ends_the_others() -> None:
    """The first call that fails is told at once; those that wait learn that nobody waits for them."""
    gave_up = threading.Event()

    def call(item: int) -> None:
        if item == 1:
            raise InterruptedError
        deadline = time.monotonic() + 5
        while not is_ending() and time.monotonic() < deadline:
            time.sleep(0.001)
        if is_ending():
            gave_up.set()

    with pytest.raises(InterruptedError):
        in_order(call, range(2), at_once=2)
    assert gave_up.is_set()
    assert not is_ending()
