"""Runs the workspace's calls in threads, and reports the progress of the long ones to the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import checkpoint
from mcp.server.session import ServerSession

from mdvec import run
from mdvec.errors import ImportStoppedError
from mdvec.interfaces.present import progress_line
from mdvec.run import Run, Stage
from mdvec.workspace import Workspace

_Answer = TypeVar("_Answer")

# Searches take a few milliseconds each, those that wait for the first index use no core.
_MAX_CALLS = 16
# Imports wait for each other anyway, and must leave the other calls their threads.
_MAX_IMPORTS = 2

_REPORT_EVERY_S = 0.25
_WHOLE = 100.0
# Progress must grow with each report, even while a call waits.
_WAITING_STEP = 0.001
# The start of each step in a whole import, and its share of it: embedding takes longest by far.
_SHARES = {
    Stage.SCAN: (0, 1),
    Stage.FETCH: (1, 9),
    Stage.TEXT: (10, 10),
    Stage.MODEL: (20, 5),
    Stage.EMBED: (25, 70),
    Stage.INDEX: (95, 5),
}


class CallProgress:
    """The progress of a call; a :class:`mdvec.run.ProgressListener`.

    Attributes:
        parts: Number of collections that are worked on.
        part: The current one, from 0.
        done: Never falls; ``parts`` times 100 at the end.
        line: The current step, for people.
        reported: Value of ``done`` that the client was told last; -1 before.
        ended: The call is over.
    """

    def __init__(self, parts: int = 1) -> None:
        self.parts = parts
        self.part = 0
        self.done = 0.0
        self.line = ""
        self.reported = -1.0
        self.ended = False

    def __call__(self, stage: Stage, done: int, total: int, detail: str = "", /) -> None:
        """Receive progress, from any thread."""
        line = progress_line(stage, done, total, detail)
        start, span = _SHARES.get(stage, (0, 0))  # waiting has none, and no agent publishes
        share = min(1.0, done / total) if total else 0.0
        waiting = _WAITING_STEP if stage in (Stage.WAIT, Stage.LIMIT) and line != self.line else 0.0
        now = max(self.done + waiting, self.part * _WHOLE + start + span * share)
        self.done = min(now, self.parts * _WHOLE)
        self.line = line

    async def report(self, session: ServerSession) -> None:
        """Send the client new progress."""
        if self.line and self.done > self.reported:
            self.reported = self.done
            await session.report_progress(self.done, self.parts * _WHOLE, self.line)


class Threads:
    """The threads of one server."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._calls = CapacityLimiter(_MAX_CALLS)
        self._imports = CapacityLimiter(_MAX_IMPORTS)
        self._waits = CapacityLimiter(1)

    async def call(self, function: Callable[[], _Answer]) -> _Answer:
        """Call a quick function."""
        return await to_thread.run_sync(lambda: self._work(function), limiter=self._calls)

    async def wait(self, function: Callable[[], object]) -> None:
        """Call a function that waits; cancelling this cancels its run, and does not wait for its end."""
        waiting = Run()

        def work() -> None:
            with run.bound(waiting):
                self._work(function)

        try:
            await to_thread.run_sync(work, limiter=self._waits, abandon_on_cancel=True)
        finally:
            waiting.cancel()

    def _work(self, function: Callable[[], _Answer]) -> _Answer:
        with self._workspace.explaining():
            return function()

    async def call_long(
        self,
        session: ServerSession,
        function: Callable[[CallProgress], _Answer],
        *,
        parts: int = 1,
        imports: bool = False,
    ) -> _Answer:
        """Call a function that may take long, in its own run.

        A client that requests it receives the progress. When it cancels, the run is cancelled; this
        returns only after the function has ended, so that no work continues unseen.

        Args:
            session: The client's.
            function: Receives the progress object, to set its ``part``.
            parts: Number of collections it works on.
            imports: Whether it is an import itself.
        """
        progress = CallProgress(parts)
        call = Run(progress, run.current().on_step)
        limiter = self._imports if imports else self._calls
        failure: Exception | None = None

        def work() -> _Answer:
            with run.bound(call):
                return self._work(lambda: function(progress))

        async with anyio.create_task_group() as group:
            group.start_soon(_report, session, progress, call)
            try:
                answer = await to_thread.run_sync(work, limiter=limiter)
            except Exception as error:  # noqa: BLE001 - raised below: a group would wrap it
                failure = error
            progress.ended = True
            group.cancel_scope.cancel()
        if isinstance(failure, ImportStoppedError):
            await checkpoint()  # a request that was cancelled gets no answer
        if failure is not None:
            raise failure
        await progress.report(session)  # work that was faster than the first report
        return answer


async def _report(session: ServerSession, progress: CallProgress, call: Run) -> None:
    """Report progress until the call has ended or is cancelled by the client."""
    try:
        while True:
            await anyio.sleep(_REPORT_EVERY_S)
            await progress.report(session)
    finally:
        if not progress.ended:  # or work that a search has left in the background would stop, too
            call.cancel()
