"""Says how far an import is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mdvec.interfaces.cli.terminal import note
from mdvec.interfaces.steps import step_words
from mdvec.types.report import ImportStage, Progress

if TYPE_CHECKING:
    from mdvec.interfaces.cli.rich_output import ProgressBar

# Short imports say nothing in a log; long ones show that they live.
_SECONDS_BETWEEN_LINES = 10.0


class LineProgress:
    """Writes a line to stderr at most every ten seconds; a :class:`mdvec.types.report.Progress`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_line_s = clock()

    def __call__(self, stage: ImportStage, done: int, total: int) -> None:
        """Write a line when it is time."""
        now_s = self._clock()
        if now_s - self._last_line_s >= _SECONDS_BETWEEN_LINES:
            self._last_line_s = now_s
            words = step_words(stage)
            note(f"{words}: {done:,} of {total:,}" if total else f"{words}: {done:,}")


class _TerminalProgress:
    """Starts the bar when there is something to show, so that quick commands do not load rich."""

    def __init__(self) -> None:
        self._bar: ProgressBar | None = None

    def __call__(self, stage: ImportStage, done: int, total: int) -> None:
        if self._bar is None:
            from mdvec.interfaces.cli.rich_output import ProgressBar

            self._bar = ProgressBar()
        self._bar(stage, done, total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show progress while an import runs.

    Yields:
        What the import is to call.
    """
    if not sys.stderr.isatty():
        yield LineProgress()
        return
    progress = _TerminalProgress()
    try:
        yield progress
    finally:
        progress.close()
