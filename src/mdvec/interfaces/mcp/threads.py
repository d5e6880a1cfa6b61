"""Runs the workspace's calls in threads, and tells the client how far the long ones are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, from_thread, to_thread
from mcp.server.session import ServerSession

from mdvec.interfaces.steps import step_words
from mdvec.types.report import ImportStage

_Answer = TypeVar("_Answer")

# Searches take a few milliseconds each, those that wait for the first index take none of the cores.
_MOST_CALLS = 16
# Imports wait for the one writer anyway, and must leave the other calls their threads.
_MOST_IMPORTS = 2

_REPORT_EVERY_S = 0.25
_WHOLE = 100.0
# Where each step starts in a whole import, and how much of it it is: embedding takes longest by far.
_SHARES = {
    ImportStage.WAIT: (0, 0),
    ImportStage.LIMIT: (0, 0),
    ImportStage.SCAN: (0, 1),
    ImportStage.FETCH: (1, 9),
    ImportStage.TEXT: (10, 10),
    ImportStage.MODEL: (20, 5),
    ImportStage.EMBED: (25, 75),
}


class LongCall:
    """How far a call is; the calling thread sets it, a :class:`mdvec.types.report.Progress`.

    Attributes:
        parts: How many collections are worked on.
        part: Which one is, from 0.
        done: Never falls; ``parts`` times 100 at the end.
        words: What is being done.
    """

    def __init__(self, parts: int = 1) -> None:
        self.parts = parts
        self.part = 0
        self.done = 0.0
        self.words = ""

    def __call__(self, stage: ImportStage, done: int, total: int) -> None:
        """Take note.

        Ends the call, by raising the event loop's own exception, when the client has cancelled it.
        """
        from_thread.check_cancelled()
        start, span = _SHARES[stage]
        share = min(1.0, done / total) if total else 0.0
        self.done = max(self.done, self.part * _WHOLE + start + span * share)
        counted = f": {done} of {total}" if total else f": {done}" if stage is ImportStage.LIMIT else ""
        self.words = step_words(stage) + counted


class Threads:
    """The threads of one server."""

    def __init__(self) -> None:
        self._calls = CapacityLimiter(_MOST_CALLS)
        self._imports = CapacityLimiter(_MOST_IMPORTS)

    async def call(self, function: Callable[[], _Answer]) -> _Answer:
        """Call a function that is quick."""
        return await to_thread.run_sync(function, limiter=self._calls)

    async def call_telling(
        self,
        session: ServerSession,
        function: Callable[[LongCall], _Answer],
        *,
        parts: int = 1,
        imports: bool = False,
    ) -> _Answer:
        """Call a function that may take long.

        The client hears how far it is, if it asked to. When it cancels, the function ends where it
        reports next; this returns no sooner, so that nothing goes on behind its back.

        Args:
            session: The client's.
            function: Is given what to report to.
            parts: How many collections it works on.
            imports: Whether it is an import itself.
        """
        report = LongCall(parts)
        limiter = self._imports if imports else self._calls
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(_tell, session, report)
            try:
                answer = await to_thread.run_sync(lambda: function(report), limiter=limiter)
            except Exception as error:  # noqa: BLE001 - raised below: a group would wrap it
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return answer


async def _tell(session: ServerSession, report: LongCall) -> None:
    told = -1.0
    while True:
        await anyio.sleep(_REPORT_EVERY_S)
        if report.words and report.done > told:  # a client is to see it grow
            told = report.done
            await session.report_progress(told, report.parts * _WHOLE, report.words)
