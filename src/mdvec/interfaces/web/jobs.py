"""Imports that the page has started, and how fast imports of all processes go."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from mdvec.errors import ImportStoppedError
from mdvec.run import Run, Stage, bound
from mdvec.types.report import ImportReport

# Long enough to even out batches, short enough to follow a change.
_WINDOW_S = 20.0
_LEAST_S = 1.0


@dataclass(slots=True)
class Job:
    """An import that this process runs or has run.

    Attributes:
        collection: Its collection.
        stage: The current step.
        done: Units done of it.
        total: Units in all; 0 when unknown.
        running: It is at work.
        cancelled: It was asked to stop.
        report: Its outcome.
        error: What ended it.
    """

    collection: str
    stage: Stage = Stage.SCAN
    done: int = 0
    total: int = 0
    running: bool = True
    cancelled: bool = False
    report: ImportReport | None = None
    error: Exception | None = None
    run: Run = field(default_factory=Run)


class Jobs:
    """Imports in threads of their own, at most one of each collection."""

    def __init__(self, work: Callable[[str], ImportReport]) -> None:
        self._work = work
        self._guard = threading.Lock()
        self._jobs: dict[str, Job] = {}

    def start(self, collection: str) -> None:
        """Start an import, unless this process is at it."""
        with self._guard:
            known = self._jobs.get(collection)
            if known is not None and known.running:
                return
            job = self._jobs[collection] = Job(collection)

            def note(stage: Stage, done: int, total: int, detail: str = "", /) -> None:  # noqa: ARG001
                job.stage, job.done, job.total = stage, done, total

            job.run = Run(note)
            threading.Thread(target=self._import, args=(job,), name="mdvec-page-import", daemon=True).start()

    def cancel(self, collection: str) -> None:
        """Ask an import of this process to stop; what it has committed stays."""
        job = self._jobs.get(collection)
        if job is not None:
            job.cancelled = True
            job.run.cancel()

    def cancel_all(self) -> None:
        """Ask all of them to stop."""
        for collection in list(self._jobs):
            self.cancel(collection)

    def of(self, collection: str) -> Job | None:
        """Return the last import of a collection that this process has started."""
        return self._jobs.get(collection)

    @property
    def any_running(self) -> bool:
        """Whether any is at work."""
        return any(job.running for job in list(self._jobs.values()))

    def _import(self, job: Job) -> None:
        try:
            with bound(job.run):
                job.report = self._work(job.collection)
        except ImportStoppedError:
            job.cancelled = True
        except Exception as error:  # noqa: BLE001 - shown on the page
            job.error = error
        finally:
            job.running = False


class Speeds:
    """How fast steps go, measured from what is seen of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str], deque[tuple[float, int]]] = {}

    def of(self, key: tuple[str, str], done: int) -> float | None:
        """Return the units a second of a step, after adding how far it is; None when that is not known."""
        seen = self._seen.setdefault(key, deque())
        now = self._clock()
        if seen and done < seen[-1][1]:  # it has begun anew
            seen.clear()
        seen.append((now, done))
        while now - seen[0][0] > _WINDOW_S:
            seen.popleft()
        elapsed_s = now - seen[0][0]
        return (done - seen[0][1]) / elapsed_s if elapsed_s >= _LEAST_S and done > seen[0][1] else None

    def forget(self, kept: Iterable[tuple[str, str]]) -> None:
        """Forget all steps but some."""
        current = set(kept)
        self._seen = {key: value for key, value in self._seen.items() if key in current}
