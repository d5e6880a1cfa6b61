"""Progress on stderr: a bar on a terminal, a line now and then elsewhere; and the report after Ctrl-C."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from mdvec.interfaces.cli import EXIT_INTERRUPTED
from mdvec.interfaces.cli.terminal import note, transient
from mdvec.interfaces.printing import visible
from mdvec.run import ProgressListener, Stage
from mdvec.text.quantity import quantity

if TYPE_CHECKING:
    from rich.progress import Progress

    from mdvec.workspace import Workspace

SAME_COMMAND = "the same command again"
"""Resumes a command that brings an index up to date by itself."""

# Short imports print nothing in a log; long ones show that they are alive.
_SECONDS_BETWEEN_LINES = 10.0


class LineProgress:
    """Writes a line at most every ten seconds; a :class:`mdvec.run.ProgressListener`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._last_line_s = clock()
        self._last_line = ""

    def __call__(self, stage: Stage, done: int, total: int, detail: str = "", /) -> None:
        """Write a line every ten seconds; the same wait only once."""
        from mdvec.interfaces.present import progress_line

        with self._guard:
            now_s = self._clock()
            if now_s - self._last_line_s < _SECONDS_BETWEEN_LINES:
                return
            line = progress_line(stage, done, total, detail)
            if stage is Stage.WAIT and line == self._last_line:
                return
            self._last_line_s, self._last_line = now_s, line
            with suppress(OSError, ValueError):  # a log that is full or closed stops no import
                note(line)


class TerminalProgress:
    """Shows a bar while there is something to show; a :class:`mdvec.run.ProgressListener`."""

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._bar: Progress | None = None
        self._stage: Stage | None = None

    def __call__(self, stage: Stage, done: int, total: int, detail: str = "", /) -> None:
        """Move the bar; a new step replaces the one before. A wait is a line of text without a bar."""
        from mdvec.interfaces.present import STEP_WORDS, progress_line

        with self._guard, suppress(OSError, ValueError):  # a terminal that is closed stops no import
            if self._bar is None or stage is not self._stage:
                self.hide()
                self._bar, self._stage = _bar(stage), stage
                self._bar.start()
            text = progress_line(stage, done, total, detail) if stage is Stage.WAIT else STEP_WORDS[stage]
            self._bar.update(
                self._bar.task_ids[0],
                description=visible(text[:1].upper() + text[1:]),
                completed=done,
                total=total or None,
            )

    def hide(self) -> None:
        """Take the bar off the screen; the next progress shows it again."""
        with self._guard, suppress(OSError, ValueError):
            bar, self._bar = self._bar, None
            if bar is not None:
                bar.stop()


def _bar(stage: Stage) -> Progress:
    """Return a bar that is not shown yet; quick commands do not load rich."""
    from rich import progress
    from rich.console import Console
    from rich.table import Column
    from rich.text import Text

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="progress.data.speed")

    is_wait = stage is Stage.WAIT
    # A narrow terminal shows who is waited for on two lines; the end says how far that is.
    column = Column(no_wrap=not is_wait)
    columns: list[progress.ProgressColumn] = [
        progress.TextColumn("{task.description}", markup=False, table_column=column)
    ]
    if not is_wait:
        columns += (
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            Rate(),
            progress.TimeRemainingColumn(),
        )
    bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("", total=None)
    return bar


@contextmanager
def shown_progress() -> Iterator[ProgressListener]:
    """Show the progress of the work in this context.

    Yields:
        The listener of a run.
    """
    if not sys.stderr.isatty():
        yield LineProgress()
        return
    progress = TerminalProgress()
    with transient(progress.hide):
        yield progress


@contextmanager
def reporting_interruption(
    workspace: Workspace, names: Sequence[str], *, resume: str = SAME_COMMAND
) -> Iterator[None]:
    """Report the state of the index after Ctrl-C, and end the program.

    ``resume`` is the command that resumes the work.

    Raises:
        Exit: With code 130, on Ctrl-C.
    """
    try:
        yield
    except BaseException as error:
        if not _is_interruption(error):
            raise
        note("\ninterrupted: everything written so far stays")
        for each in workspace.status().collections:
            counts = each.counts
            if not names or each.collection.name in names:
                note(
                    f"{each.collection.name}: {quantity(counts.documents, 'document')} searchable, "
                    f"{counts.pending_chunks:,} of {quantity(counts.chunks, 'chunk')} pending"
                )
        note(f"hint: Run {resume} to resume.")
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from error


def _is_interruption(error: BaseException | None) -> bool:
    """Return True if Ctrl-C caused an error: it may come in the middle of a clean-up, which then fails."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
