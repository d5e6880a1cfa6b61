"""Asks for several things at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[R]):
    """What a call came to.

    Attributes:
        results: What it gave, also when it failed after that.
        error: Why it failed; None when it did not.
    """

    results: list[R]
    error: BaseException | None


_Events: TypeAlias = "SimpleQueue[_Outcome[R] | Callable[[], None]]"
"""What calls have come to, and what they want the caller's thread to do."""


@dataclass(frozen=True, slots=True)
class _Caller:
    """Who waits for a call that is made in another thread.

    Attributes:
        ending: Set when nobody wants the call to wait any more.
        do: Has something done in the caller's thread.
    """

    ending: threading.Event
    do: Callable[[Callable[[], None]], None]


_caller: ContextVar[_Caller | None] = ContextVar("mdvec_caller", default=None)


def as_they_come(
    function: Callable[[T], Iterable[R]], items: Iterable[T], *, at_once: int
) -> Generator[R, None, None]:
    """Call a function for each item, a few at a time, and hand out the results of whoever is done.

    Each call sees the context variables of the caller, so that what listens in its thread hears of all.
    The next item is taken when a call has ended, and its call is under way before the results of that one are
    handed out: what is done with them costs no time. Closing the generator waits for nobody.

    Args:
        function: Gives any number of results; may be called in another thread. Where it waits for long, it
            should ask :func:`is_ending`; what is bound to the caller's thread it leaves to
            :func:`do_in_callers_thread`.
        items: What it is called with; gone through in the thread of the caller.
        at_once: Most calls at the same time; a single one is made in the thread of the caller.

    Yields:
        The results. The first call that fails ends the others: no more are made, those that have gone on to
        the network are waited for, and its error is raised after all results were handed out. Only an error
        of what was left to the caller's thread is raised at once.
    """
    if at_once < 2:
        for item in items:
            yield from function(item)
        return
    events: _Events[R] = SimpleQueue()
    caller = _Caller(threading.Event(), events.put)
    waiting = iter(items)
    error: BaseException | None = None
    results: list[R] = []
    under_way = 0
    try:
        while True:
            for item in islice(waiting, at_once - under_way if error is None else 0):
                _start(function, item, caller, events)
                under_way += 1
            yield from results
            if not under_way:
                break
            outcome = _next_outcome(events)
            under_way -= 1
            results = outcome.results
            if error is None and outcome.error is not None:
                error = outcome.error
                caller.ending.set()
    finally:
        caller.ending.set()
    if error is not None:
        raise error


def is_ending() -> bool:
    """Tell a function that :func:`as_they_come` called that nobody wants it to wait any more."""
    caller = _caller.get()
    return caller is not None and caller.ending.is_set()


def do_in_callers_thread(function: Callable[[], None]) -> None:
    """Have something done in the thread that takes the results of :func:`as_they_come`, when it comes to it.

    Progress is told so: who listens may know one thread alone, and raises there to end an import.

    Args:
        function: Is called at once where no other thread waits for this one.
    """
    caller = _caller.get()
    if caller is None:
        function()
    else:
        caller.do(function)


def _next_outcome(events: _Events[R]) -> _Outcome[R]:
    while not isinstance(event := events.get(), _Outcome):
        event()
    return event


def _start(function: Callable[[T], Iterable[R]], item: T, caller: _Caller, events: _Events[R]) -> None:
    # A daemon: when the user stops the program, it does not stay for an answer that nobody reads.
    threading.Thread(
        target=copy_context().run, args=(_call, function, item, caller, events), name="mdvec-ask", daemon=True
    ).start()


def _call(function: Callable[[T], Iterable[R]], item: T, caller: _Caller, events: _Events[R]) -> None:
    _caller.set(caller)
    results: list[R] = []
    error: BaseException | None = None
    try:
        for result in function(item):
            results.append(result)  # noqa: PERF402 - what came before a failure is kept
    except BaseException as failure:  # noqa: BLE001 - raised again in the thread that waits
        error = failure
    events.put(_Outcome(results, error))
