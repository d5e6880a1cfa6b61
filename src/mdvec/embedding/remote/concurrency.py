"""Runs several calls concurrently."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TypeVar

from mdvec import run
from mdvec.errors import ImportStoppedError

T = TypeVar("T")
R = TypeVar("R")

_CHECK_S = 1.0  # between two looks whether the run is cancelled


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
    waiting = iter(items)
    under_way: set[Future[tuple[list[R], BaseException | None]]] = set()
    error: BaseException | None = None
    results: list[R] = []
    try:
        while True:
            for item in islice(waiting, at_once - len(under_way) if error is None else 0):
                # When the user stops the program, it does not stay for a response that is not read any more.
                under_way.add(run.in_thread(partial(_call, function, item, workers), "mdvec-embed"))
            yield from results
            if not under_way:
                break
            while not (done := wait(under_way, _CHECK_S, FIRST_COMPLETED).done):
                run.current().check()
            ended = done.pop()
            under_way.remove(ended)
            results, failure = ended.result()
            if error is None and failure is not None:
                error = failure
                workers.stop()
    finally:
        workers.stop()
    if error is not None:
        raise error


def _call(
    function: Callable[[T], Iterable[R]], item: T, workers: _WorkerRun
) -> tuple[list[R], BaseException | None]:
    """Return the results of a call, and the error that ended it."""
    results: list[R] = []
    try:
        with run.bound(workers):
            for result in function(item):
                results.append(result)  # noqa: PERF402 - what came before a failure counts
    except BaseException as failure:  # noqa: BLE001 - raised again in the caller's thread
        return results, failure
    return results, None
