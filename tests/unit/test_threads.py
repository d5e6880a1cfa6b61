"""Several calls at once, as their caller sees them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextvars import ContextVar
from itertools import islice

import pytest
from tests.waiting import HANG_S

from mdvec import run
from mdvec.errors import ImportStoppedError
from mdvec.threads import map_concurrently

listener: ContextVar[str] = ContextVar("listener", default="nobody")


@pytest.mark.parametrize("at_once", [1, 3, 20])
def test_every_result_comes_once(at_once: int) -> None:
    """All results of all calls are handed out."""
    results = map_concurrently(range, range(8), at_once=at_once)
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

    assert list(map_concurrently(call, range(6), at_once=2)) == [1, 2, 3, 4, 5, 0]


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

    assert len(list(map_concurrently(count, range(12), at_once=3))) == 12
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

    results = map_concurrently(call, items(), at_once=3)
    assert next(results) == 0
    assert fourth.wait(HANG_S)
    assert taken == [0, 1, 2, 3]
    results.close()


@pytest.mark.parametrize("at_once", [1, 3])
def test_threads_see_the_callers_context(at_once: int) -> None:
    """What listens in the caller's context is found by each call, in whatever thread it runs."""
    token = listener.set("caller")
    try:
        assert (
            list(map_concurrently(lambda _item: [listener.get()], range(3), at_once=at_once))
            == ["caller"] * 3
        )
    finally:
        listener.reset(token)


def wait_until_not_needed() -> None:
    """Wait in short naps, as an HTTP client does.

    Raises:
        ImportStoppedError: When the results of the call are not needed any more.
    """
    for _ in range(int(HANG_S * 1000)):
        run.current().sleep(0.001)


def test_a_failure_ends_the_waits_of_others() -> None:
    """After a call has failed no other starts, and those that wait learn that they are not needed."""
    called: list[int] = []
    gave_up = threading.Event()

    def call(item: int) -> list[int]:
        called.append(item)
        if item == 1:
            raise InterruptedError
        with pytest.raises(ImportStoppedError):
            wait_until_not_needed()
        run.current().check()  # only waits end: the run goes on
        gave_up.set()
        return []

    with pytest.raises(InterruptedError):
        list(map_concurrently(call, range(9), at_once=2))
    assert gave_up.is_set()
    assert sorted(called) == [0, 1]


def test_a_cancelled_run_ends_all_calls() -> None:
    """The caller waits for none, whatever they do, and those that look learn of it."""
    held, learnt = threading.Event(), threading.Event()
    outer = run.Run()

    def call(item: int) -> list[int]:
        if item == 0:
            outer.cancel()
        assert held.wait(HANG_S)
        if run.current().cancelled:
            learnt.set()
        return [item]

    with run.bound(outer), pytest.raises(ImportStoppedError):
        list(map_concurrently(call, range(4), at_once=2))
    held.set()
    assert learnt.wait(HANG_S)


@pytest.mark.parametrize("at_once", [1, 3])
def test_calls_report_to_the_callers_run(at_once: int) -> None:
    """Progress and steps of every call arrive, in whatever thread it runs."""
    reports: list[int] = []
    steps: list[object] = []

    def note_step(name: str, elapsed_ms: float, **details: object) -> None:
        assert (name, elapsed_ms >= 0) == ("call", True)
        steps.append(details["item"])

    listener = run.Run(
        lambda _stage, done, _total, _detail="": reports.append(done),
        note_step,
    )

    def call(item: int) -> list[int]:
        run.current().report(run.Stage.EMBED, item, 6)
        with run.current().step("call", item=item):
            return [item]

    with run.bound(listener):
        assert sorted(map_concurrently(call, range(6), at_once=at_once)) == list(range(6))
    assert sorted(reports) == list(range(6))
    assert sorted(map(str, steps)) == [str(item) for item in range(6)]


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

    results = map_concurrently(call, range(4), at_once=4)
    assert sorted(islice(results, 7)) == sorted({*range(4), *range(10, 14)} - {failing + 10})
    with pytest.raises(InterruptedError):
        next(results)


def test_closing_waits_for_nothing() -> None:
    """A caller that needs no more results goes on at once; a call that waits learns of it."""
    held, learnt = threading.Event(), threading.Event()

    def call(item: int) -> list[int]:
        if item:
            assert held.wait(HANG_S)
            with pytest.raises(ImportStoppedError):
                wait_until_not_needed()
            learnt.set()
        return [item]

    results = map_concurrently(call, range(4), at_once=2)
    assert next(results) == 0
    results.close()
    held.set()
    assert learnt.wait(HANG_S)
