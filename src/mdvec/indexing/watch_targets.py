"""The state of a watched collection: when it is due, which folders raise events, and what went wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, field

from mdvec import run
from mdvec.sources.events import why_no_events
from mdvec.sources.interface import Source, WatchedSource
from mdvec.types.collection import Collection

_MAX_RETRY_S = 60.0
_POLLING_SHARE = 0.02  # of the time of one core, however large a folder is


class WatchTimes(Struct, frozen=True):
    """The intervals at which collections are checked.

    Attributes:
        poll_s: At a folder in which changes raise no events, and again after a failure, in seconds.
        repository_s: At a source elsewhere.
        sweep_s: At a folder whose changes raise events.
        concurrency: Most collections that are brought up to date at the same time.
    """

    poll_s: float = 5.0
    repository_s: float = 300.0
    sweep_s: float = 300.0
    concurrency: int = 3


class Target(Struct):
    """A collection that is watched.

    Attributes:
        collection: As it is registered.
        source: What it is made from.
        times: How often it is looked at.
        due_at: When it is looked at next, on the clock of ``time.monotonic``.
        changed: Whether an event came since it was last looked at.
        restructured: Whether folders may have come or gone since then.
        folders: What to watch, and what identifies it; empty where events do not work.
        no_events: Why they do not; empty while they do.
        dirty: The documents that were dirty at the last look.
        problem: What was wrong the last time; empty when nothing was.
        failures: How often in a row.
        at_work: The run that looks at it now.
        embedding_at: When that one began to embed; 0 before.
    """

    collection: Collection
    source: Source
    times: WatchTimes
    due_at: float = 0.0
    changed: bool = False
    restructured: bool = True
    folders: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    no_events: str = ""
    dirty: list[str] = field(default_factory=list)
    problem: str = ""
    failures: int = 0
    at_work: run.Run | None = None
    embedding_at: float = 0.0

    def begin(self) -> run.Run:
        """Return the run of a new look; newer changes stop its embedding, since words come first."""
        self.restructured |= not self.changed  # a sweep also checks what is watched
        self.changed = False
        self.embedding_at = 0.0
        self.at_work = run.Run(self._note_progress, run.current().on_step)
        return self.at_work

    def cancel(self) -> None:
        """Stop the look that is under way."""
        if self.at_work is not None:
            self.at_work.cancel()

    def find_folders(self) -> None:
        """Find out what is to be watched; where nothing can be, it is polled."""
        if not isinstance(self.source, WatchedSource) or self.no_events:
            return
        self.restructured = False
        folders = self.source.folders()
        reason = why_no_events(folders[0]) if folders else ""
        if reason:
            self.poll(reason)
        else:
            self.folders = _identities(folders)

    def is_replaced(self) -> bool:
        """Return True if the folder is not the one that is watched: an unmounted disk raises no event."""
        root = next(iter(self.folders), None)
        return root is not None and _identities([root]) != {root: self.folders[root]}

    def forget_folders(self) -> None:
        """Forget what is watched; the next look reads it from the source again."""
        self.folders, self.restructured = {}, True

    def poll(self, reason: str) -> None:
        """Look at the folder every few seconds from now on, and say so once."""
        self.no_events = reason
        name = self.collection.name
        run.log("no file events, so it is polled", level="warning", collection=name, reason=reason)

    def succeeded(self, cost_s: float) -> float:
        """Return how long to wait after a look that took so many seconds."""
        if self.problem:
            self.problem, self.failures = "", 0
            run.log("up to date again", collection=self.collection.name)
        if not isinstance(self.source, WatchedSource):
            return self.times.repository_s
        return max(self.times.poll_s if self.no_events else self.times.sweep_s, cost_s / _POLLING_SHARE)

    def failed(self, problem: str) -> float:
        """Report a problem once; return how long to wait before the next try."""
        if problem != self.problem:
            self.problem = problem
            run.log("cannot update", collection=self.collection.name, level="warning", reason=problem)
        self.failures += 1
        return min(self.times.poll_s * 2.0 ** min(self.failures - 1, 6), _MAX_RETRY_S)

    def _note_progress(self, stage: run.Stage, done: int, total: int, detail: str = "", /) -> None:  # noqa: ARG002
        if stage is not run.Stage.EMBED:
            return
        if not self.embedding_at:
            self.embedding_at = time.monotonic()
        if 0 < done < total and self.changed:
            self.cancel()


def _identities(folders: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return what identifies each of some folders that are there: one of the same name may take its place."""
    found: dict[str, tuple[int, int]] = {}
    for folder in folders:
        with suppress(OSError):
            status = os.stat(folder)  # noqa: PTH116 - of a name that is a string
            found[folder] = status.st_dev, status.st_ino
    return found
