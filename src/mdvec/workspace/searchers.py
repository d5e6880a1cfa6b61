"""Processes that answer searches for this one, so that searches at the same time use several cores.

Python runs one thread of a process at a time. A search that is alone is answered here. Of searches that
overlap, the others are handed over, each to a process that is free: this one then has its time to talk with
clients. Processes start when searches have overlapped often enough to pay, and end when they were idle for
long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from mdvec import run
from mdvec.errors import ImportStoppedError, MdvecError
from mdvec.processes import end_with_parent
from mdvec.search.search import Search
from mdvec.types.hit import SearchResult

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Starting a process takes a second of a core, a search some 25 ms.
_OVERLAPS_PER_START = 20
# A search waits so long for a process to be free before it is answered here after all: what waits for a store
# on a server, and takes no core meanwhile, must not hold up too many others.
_MAX_WAIT_S = 0.5
_LOOK_AT_RUN_EVERY_S = 0.1
_END_WAIT_S = 1.0

Answering = Callable[[Search], SearchResult]
"""Answers a search, or raises an MdvecError."""

MakeAnswering = Callable[[], AbstractContextManager[Answering]]
"""Opens what answers searches in another process; it can be pickled."""


class Searchers:
    """The processes that search for one workspace. Safe to use from several threads.

    Args:
        most: How many there are at most.
        make: Opens what answers there.
    """

    def __init__(self, most: int, make: MakeAnswering) -> None:
        self._most = most
        self._make = make
        self._changed = threading.Condition()
        self._all: list[_Searcher] = []
        self._here = 0
        self._overlaps = 0

    def answer(self, search: Search, here: Callable[[], SearchResult]) -> SearchResult:
        """Answer a search, in another process if this one is busy with a search.

        Args:
            search: The search.
            here: Answers it in this process: if no other search is running, if no process is free soon, or if
                the process failed or was killed.

        Raises:
            MdvecError: If it has no answer.
            ImportStoppedError: If the run is cancelled.
        """
        searcher = self._taken(search)
        if searcher is not None:
            try:
                answer = searcher.ask(search)
            finally:
                self._give_back(searcher)
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
        """End processes that were not used for that many seconds; return whether there were any."""
        latest = time.monotonic() - idle_s
        with self._changed:
            idle = [each for each in self._all if not each.is_busy and each.used_at <= latest]
            self._all = [each for each in self._all if each not in idle]
        for each in idle:
            each.close()
        return bool(idle)

    def close(self) -> None:
        """End all processes, each after its current search."""
        self._most = 0
        self.end_idle(0)
        with self._changed:
            self._all = []

    def _taken(self, search: Search) -> _Searcher | None:
        """Return a process that was free; None to search here, which is then counted."""
        with self._changed:
            if self._here or any(each.is_busy for each in self._all):
                if self._free() is None:
                    self._overlaps += 1
                    self._start_if_it_pays(search)
                if any(each.is_ready for each in self._all):
                    self._changed.wait_for(self._free, _MAX_WAIT_S)
                found = self._free()
                if found is not None:
                    found.is_busy = True
                    return found
            self._here += 1
        return None

    def _free(self) -> _Searcher | None:
        return next((each for each in self._all if each.is_ready and not each.is_busy), None)

    def _start_if_it_pays(self, first: Search) -> None:
        if len(self._all) < self._most and self._overlaps >= _OVERLAPS_PER_START:
            self._overlaps = 0
            with suppress(OSError):  # such as when memory is short
                self._all.append(_Searcher(self._make, first))

    def _give_back(self, searcher: _Searcher) -> None:
        with self._changed:
            searcher.is_busy = False
            if searcher.has_ended and searcher in self._all:
                self._all.remove(searcher)
            stays = searcher in self._all
            self._changed.notify_all()
        if not stays:
            searcher.close()


class _Searcher:
    """A process that answers one search after the other.

    Args:
        make: Opens what answers there.
        first: What it answers before anything else, so that all is loaded that a search needs.

    Attributes:
        is_busy: Whether it is answering a search.
        used_at: When it was last asked, on the clock of ``time.monotonic``.
        has_ended: Whether it can answer no more.

    Raises:
        OSError: If it cannot be started.
    """

    def __init__(self, make: MakeAnswering, first: Search) -> None:
        from multiprocessing import get_context

        spawning = get_context("spawn")  # threads are at work here, which a copy of the process would lack
        self._connection, there = spawning.Pipe()
        with there:  # its one copy is there then, and its end is seen here
            self._process = spawning.Process(target=search_for, args=(there, make), daemon=True)
            self._process.start()
        self.is_busy = self.has_ended = False
        self.used_at = time.monotonic()
        self._is_starting = True
        self._connection.send(first)

    @property
    def is_ready(self) -> bool:
        """Whether it has loaded what a search needs."""
        if self._is_starting and self._connection.poll():
            self._is_starting = False
            with suppress(EOFError, OSError):  # the next search finds that out
                self._connection.recv()
        return not self._is_starting

    def ask(self, search: Search) -> SearchResult | MdvecError | None:
        """Return the answer, or the error; None when there is neither.

        Raises:
            ImportStoppedError: If the run is cancelled; the process ends then.
        """
        self.used_at = time.monotonic()
        try:
            self._connection.send(search)
            while not self._connection.poll(_LOOK_AT_RUN_EVERY_S):
                run.current().check()
            answer: SearchResult | MdvecError | None = self._connection.recv()
        except (EOFError, OSError):  # it was killed
            self.has_ended = True
            return None
        except ImportStoppedError:
            self.has_ended = True
            raise
        return answer

    def close(self) -> None:
        """Close its pipe, which ends it, and wait a moment for that."""
        self._connection.close()
        self._process.join(_END_WAIT_S)


def search_for(connection: Connection, make: MakeAnswering) -> None:
    """Answer searches in this process, until the other end of a connection is closed."""
    end_with_parent()
    with make() as answering, suppress(EOFError, OSError):
        while True:
            connection.send(_answer(connection.recv(), answering))


def _answer(search: Search, answering: Answering) -> SearchResult | MdvecError | None:
    """Return the answer or the error; None if the first process should search and report the problem."""
    try:
        return answering(search)
    except MdvecError as error:
        return error
    except Exception:  # noqa: BLE001 - a bug, or damage of the database, which shows there again
        return None
