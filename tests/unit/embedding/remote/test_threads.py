"""Several calls at once, as seen by the one who makes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from itertools import islice

import pytest
from tests.waiting import HANG_S

from mdvec.embedding.remote.threads import as_they_come, do_in_callers_thread, is_ending

listener: ContextVar[str] = ContextVar("listener", default="nobody")


@pytest.mark.parametrize("at_once", [1, 3, 20])
def test_every_result_comes_once(at_once: int) -> None:
    """All results of all calls are handed out."""
    results = as_they_come(range, range(8), at_once=at_once)
    assert sorted(results) == sorted(number for item in range(8) for number in range(item))


def test_who_is_done_first_comes_first() -> None:
    """A call that takes long holds up nobody, however many come after it."""
    last = threading.Event()

    def call(item: int) -> list[int]:
        if item == 0:
            assert last.wait(HANG_S)
        if item == 5:
            last.set()
        return [item]

    assert list(as_they_come(call, range(6), at_once=2)) == [1, 2, 3, 4, 5, 0]


def test_as_many_at_once_as_allowed() -> None:
    """So many calls are under way, and never more."""
    guard = threading.Lock()
    together = threading.Barrier(3)
    counts = [0, 0]

    def count(_item: int) -> list[None]:
        with guard:
            counts[0] += 1
            counts[1] = max(counts)
        together.wait(HANG_S)
        with guard:
            counts[0] -= 1
        return [None]

    assert len(list(as_they_come(count, range(12), at_once=3))) == 12
    assert counts[1] == 3


def test_what_is_done_with_a_result_costs_no_time() -> None:
    """The next call is under way when a result is handed out, and no item was taken before it was needed."""
    taken: list[int] = []
    fourth = threading.Event()

    def items() -> Iterator[int]:
        for item in range(9):
            taken.append(item)
            yield item

    def call(item: int) -> list[int]:
        if item == 3:
            fourth.set()
        return [item] if item in {0, 3} or fourth.wait(HANG_S) else []

    results = as_they_come(call, items(), at_once=3)
    assert next(results) == 0
    assert fourth.wait(HANG_S)
    assert taken == [0, 1, 2, 3]
    results.close()


@pytest.mark.parametrize("at_once", [1, 3])
def test_threads_see_the_callers_context(at_once: int) -> None:
    """What listens in the caller's context is found by each call, in whatever thread it runs."""
    token = listener.set("caller")
    try:
        assert list(as_they_come(lambda _item: [listener.get()], range(3), at_once=at_once)) == ["caller"] * 3
    finally:
        listener.reset(token)


def test_a_failure_ends_the_others() -> None:
    """After a call has failed no other is made, and those that wait learn that nobody wants them to."""
    called: list[int] = []
    gave_up = threading.Event()

    def call(item: int) -> list[int]:
        called.append(item)
        if item == 1:
            raise InterruptedError
        deadline = time.monotonic() + HANG_S
        while not is_ending() and time.monotonic() < deadline:
            time.sleep(0.001)
        if is_ending():
            gave_up.set()
        return []

    with pytest.raises(InterruptedError):
        list(as_they_come(call, range(9), at_once=2))
    assert gave_up.is_set()
    assert sorted(called) == [0, 1]
    assert not is_ending()


@pytest.mark.parametrize("failing", range(4))
def test_what_is_under_way_outlives_a_failure(failing: int) -> None:
    """Whichever call fails: what the others give, and what it gave itself before, comes before its error."""
    together = threading.Barrier(4)

    def call(item: int) -> Iterator[int]:
        yield item
        together.wait(HANG_S)
        if item == failing:
            raise InterruptedError
        yield item + 10

    results = as_they_come(call, range(4), at_once=4)
    assert sorted(islice(results, 7)) == sorted({*range(4), *range(10, 14)} - {failing + 10})
    with pytest.raises(InterruptedError):
        next(results)


def test_closing_waits_for_nobody() -> None:
    """Who has heard enough goes on at once; a call that is under way learns of it."""
    held, learnt = threading.Event(), threading.Event()

    def call(item: int) -> list[int]:
        if item:
            assert held.wait(HANG_S)
            if is_ending():
                learnt.set()
        return [item]

    results = as_they_come(call, range(4), at_once=2)
    assert next(results) == 0
    results.close()
    held.set()
    assert learnt.wait(HANG_S)


@pytest.mark.parametrize("at_once", [1, 3])
def test_what_is_bound_to_the_callers_thread_is_done_there(at_once: int) -> None:
    """Whichever thread a call is made in, and before the result of that call is handed out."""
    done: list[tuple[int, int]] = []

    def call(item: int) -> list[int]:
        do_in_callers_thread(lambda: done.append((item, threading.get_ident())))
        return [item]

    for item in as_they_come(call, range(6), at_once=at_once):
        assert (item, threading.get_ident()) in done
    assert len(done) == 6


def test_an_error_in_the_callers_thread_ends_all_at_once() -> None:
    """Nobody is waited for, and those under way learn of it."""
    held, learnt = threading.Event(), threading.Event()

    def stop() -> None:
        raise InterruptedError

    def call(item: int) -> list[int]:
        if item == 0:
            do_in_callers_thread(stop)
        assert held.wait(HANG_S)
        if is_ending():
            learnt.set()
        return [item]

    with pytest.raises(InterruptedError):
        next(as_they_come(call, range(4), at_once=2))
    held.set()
    assert learnt.wait(HANG_S)
