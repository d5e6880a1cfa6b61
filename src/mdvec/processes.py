"""Processes that work for another one, and end with it.

Each has one tool, such as an open index, which it makes when it starts, and which all its tasks use. A pool
takes any tasks (:func:`worker_pool`); :class:`SpareProcesses` take those that would keep this process busy.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mdvec import run
from mdvec.errors import MdvecError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Tool = TypeVar("Tool")
Task = TypeVar("Task")
Result = TypeVar("Result")

# Starting a process takes a second of a core, a search some 25 ms.
_OVERLAPS_PER_START = 20
# A search waits so long for a process to be free before it is answered here after all: what waits for a store
# on a server, and takes no core meanwhile, must not hold up too many others.
_MAX_WAIT_S = 0.5
_LOOK_AT_RUN_EVERY_S = 0.1
# A process that the system has stopped, or starves, answers late or never: then this one does.
_MAX_ANSWER_S = 10.0

_tools: list[Any] = []  # in a worker process: its one tool


def worker_pool(most: int, make: Callable[[], object]) -> ProcessPoolExecutor:
    """Return a pool of processes; one starts when a task comes and all others are at work.

    Args:
        most: How many there are at most.
        make: Makes the tool of a process in it; it can be pickled. If it fails, so do all tasks.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A fork would lack the threads of this process.
    return ProcessPoolExecutor(most, get_context("spawn"), _begin, (make,))


def submitted(pool: ProcessPoolExecutor, work: Callable[[Tool, Task], Result], task: Task) -> Future[Result]:
    """Have a process of a pool work on a task with its tool.

    Raises:
        BrokenExecutor: If a process has died, which ends the pool; then a task in work raises this, too.
        OSError: If no process can be started.
    """
    return pool.submit(_worked, work, task)


class SpareProcesses(Generic[Task, Result]):
    """Processes that answer calls for this one, so that calls at the same time use several cores.

    Python runs one thread of a process at a time. A call that is alone is answered here. Of calls that
    overlap, the others are handed over, each to a process that is free: this one then has its time to talk
    with clients. Processes start when calls have overlapped often enough to pay, and end when they were idle
    for long. Safe to use from several threads.

    Args:
        most: How many there are at most.
        make: Makes what answers there, or raises an MdvecError; it can be pickled.
    """

    def __init__(self, most: int, make: Callable[[], Callable[[Task], Result]]) -> None:
        self._most = most
        self._make = make
        self._changed = threading.Condition()
        self._pool: ProcessPoolExecutor | None = None
        self._starting = self._ready = self._busy = self._here = self._overlaps = 0
        self._used_at = 0.0

    def answer(self, task: Task, here: Callable[[], Result]) -> Result:
        """Answer a call, in another process if this one is busy with one.

        Args:
            task: The call.
            here: Answers it in this process: if it is alone, if no process is free soon, or if the process
                failed or was killed.

        Raises:
            MdvecError: If it has no answer.
            ImportStoppedError: If the run is cancelled.
        """
        pool = self._taken(task)
        if pool is not None:
            answer = self._asked(pool, task)
            if isinstance(answer, MdvecError):
                raise answer
            if answer is not None:
                return answer
            with self._changed:
                self._here += 1
        try:
            return here()
        finally:
            with self._changed:
                self._here -= 1

    def end_idle(self, idle_s: float) -> bool:
        """End the processes if none was used for that many seconds; return whether there were any."""
        with self._changed:
            if self._pool is None or self._busy or self._used_at > time.monotonic() - idle_s:
                return False
            pool = self._pool
            self._forget(pool)
        pool.shutdown(cancel_futures=True)
        return True

    def close(self) -> None:
        """End all processes, each after its current call."""
        with self._changed:
            self._most = 0
            pool, is_busy = self._pool, bool(self._busy)
            if pool is not None:
                self._forget(pool)
        if pool is not None:
            pool.shutdown(wait=not is_busy, cancel_futures=True)

    def _taken(self, task: Task) -> ProcessPoolExecutor | None:
        """Return the pool if a process was free; None to answer here, which is then counted."""
        with self._changed:
            if self._here or self._busy:
                if self._busy >= self._ready:
                    self._overlaps += 1
                    self._start_if_it_pays(task)
                if self._ready:
                    self._changed.wait_for(lambda: self._busy < self._ready, _MAX_WAIT_S)
                if self._busy < self._ready:
                    self._busy += 1
                    self._used_at = time.monotonic()
                    return self._pool
            self._here += 1
        return None

    def _start_if_it_pays(self, first: Task) -> None:
        """Start one more process; it answers a call first, so that all is loaded that calls need."""
        if self._ready + self._starting >= self._most or self._overlaps < _OVERLAPS_PER_START:
            return
        self._overlaps = 0
        self._pool = self._pool or worker_pool(self._most, self._make)
        with suppress(OSError, RuntimeError):  # such as when memory is short
            future = submitted(self._pool, _answered, first)
            self._starting += 1
            future.add_done_callback(partial(self._note_started, self._pool))

    def _note_started(self, pool: ProcessPoolExecutor, future: Future[Any]) -> None:
        with self._changed:
            if pool is not self._pool:
                return
            self._starting -= 1
            if future.exception() is None:
                self._ready += 1
                self._changed.notify_all()
            else:
                self._forget(pool)

    def _asked(self, pool: ProcessPoolExecutor, task: Task) -> Result | MdvecError | None:
        """Return the answer of a process, or the error; None when there is neither, or not in time.

        Raises:
            ImportStoppedError: If the run is cancelled; the process is busy until it has answered.
        """
        from concurrent.futures import CancelledError, wait

        try:
            future = submitted(pool, _answered, task)
            future.add_done_callback(partial(self._note_free, pool))
            ends_at = time.monotonic() + _MAX_ANSWER_S
            while not wait([future], _LOOK_AT_RUN_EVERY_S).done:
                run.current().check()
                if time.monotonic() > ends_at:
                    return None
            answer: Result | MdvecError | None = future.result()
        except (CancelledError, OSError, RuntimeError):  # it was killed, or all were ended
            with self._changed:
                self._forget(pool)
            return None
        return answer

    def _note_free(self, pool: ProcessPoolExecutor, _: Future[Any]) -> None:
        with self._changed:
            if pool is self._pool:
                self._busy -= 1
                self._changed.notify_all()

    def _forget(self, pool: ProcessPoolExecutor) -> None:
        """Use no process of a pool any more."""
        if pool is self._pool:
            self._pool = None
            self._starting = self._ready = self._busy = 0
            self._changed.notify_all()


def _answered(answering: Callable[[Any], Result], task: object) -> Result | MdvecError | None:
    """Return the answer or the error; None if the first process should answer and report the problem."""
    try:
        return answering(task)
    except MdvecError as error:
        return error
    except Exception:  # noqa: BLE001 - a bug, or damage of the database, which shows there again
        return None


def end_with_parent() -> None:
    """Let this process end as soon as the one that started it does, and not at Ctrl-C, which both receive."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    """End this process when another one does, which may be killed before it can say so."""
    parent.join()
    os._exit(1)


def _begin(make: Callable[[], object]) -> None:
    end_with_parent()
    _tools.append(make())


def _worked(work: Callable[[Any, Task], Result], task: Task) -> Result:
    [tool] = _tools
    return work(tool, task)
