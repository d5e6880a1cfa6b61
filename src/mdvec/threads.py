"""Runs several calls at once, each in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from msgspec import Struct

from mdvec import run
from mdvec.errors import ImportStoppedError

T = TypeVar("T")
R = TypeVar("R")

_CHECK_S = 1.0  # between two looks whether the run is cancelled


class _Outcome(Struct, Generic[R], frozen=True):
    """The results of a call, and the error that ended it."""

    results: list[R]
    error: BaseException | None


class _WorkerRun(run.Run):
    """The run of the workers: the caller's, except that waits end when their results are no longer needed."""

    def __init__(self, callers: run.Run) -> None:
        super().__init__(callers.report)
        self._callers = callers
        self._stopped = threading.Event()

    @property
    def cancelled(self) -> bool:
        return self._callers.cancelled

    def stop(self) -> None:
        """End waits and the calls that would follow; responses in flight are still needed."""
        self._stopped.set()

    def sleep(self, seconds: float) -> None:
        if not self._stopped.is_set():
            self._callers.sleep(seconds)
        if self._stopped.is_set():
            raise ImportStoppedError

    @contextmanager
    def step(self, name: str, **details: object) -> Iterator[dict[str, object]]:
        with self._callers.step(name, **details) as measured:
            yield measured


def map_concurrently(
    function: Callable[[T], Iterable[R]], items: Iterable[T], *, at_once: int
) -> Generator[R, None, None]:
    """Call a function for each item, a few at a time, and yield the results in the order of completion.

    When a call has ended, the next one starts before its results are yielded, so that the caller's work on
    them delays nothing. Closing the generator waits for nothing.

    Args:
        function: Returns any number of results. It is called in a copy of the caller's context, and its
            ``run.current().sleep`` raises when its results are not needed any more.
        items: Its arguments; taken in the caller's thread.
        at_once: Most calls at the same time; a single one is made in the caller's thread.

    Yields:
        The results, in the caller's thread. After the first call that fails no other starts; its error is
        raised when the running calls have ended and all their results were yielded.
    """
    if at_once < 2:
        for item in items:
            yield from function(item)
        return
    workers = _WorkerRun(run.current())
    outcomes: SimpleQueue[_Outcome[R]] = SimpleQueue()
    waiting = iter(items)
    error: BaseException | None = None
    results: list[R] = []
    under_way = 0
    try:
        while True:
            for item in islice(waiting, at_once - under_way if error is None else 0):
                _start(function, item, workers, outcomes)
                under_way += 1
            yield from results
            if not under_way:
                break
            outcome = _next(outcomes)
            under_way -= 1
            results = outcome.results
            if error is None and outcome.error is not None:
                error = outcome.error
                workers.stop()
    finally:
        workers.stop()
    if error is not None:
        raise error


def _next(outcomes: SimpleQueue[_Outcome[R]]) -> _Outcome[R]:
    while True:
        try:
            return outcomes.get(timeout=_CHECK_S)
        except Empty:
            run.current().check()


def _start(
    function: Callable[[T], Iterable[R]], item: T, workers: _WorkerRun, outcomes: SimpleQueue[_Outcome[R]]
) -> None:
    def work() -> None:
        results: list[R] = []
        error: BaseException | None = None
        try:
            with run.bound(workers):
                for result in function(item):
                    results.append(result)  # noqa: PERF402 - what came before a failure counts
        except BaseException as failure:  # noqa: BLE001 - raised again in the caller's thread
            error = failure
        outcomes.put(_Outcome(results, error))

    # When the user stops the program, it does not stay for a response that is not read any more.
    run.start_thread(work, "mdvec-call")
