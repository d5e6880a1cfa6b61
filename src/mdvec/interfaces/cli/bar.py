"""The progress bar on a terminal. Imported only when one is shown: rich takes its time."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from mdvec.interfaces.passage import visible
from mdvec.interfaces.present import progress_line, step_words
from mdvec.run import Stage


class ProgressBar:
    """Shows the current step on stderr."""

    def __init__(self) -> None:
        self._shown: Progress | None = None
        self._stage: Stage | None = None

    def show(self, stage: Stage, done: int, total: int, detail: str) -> None:
        """Move the bar; a new step replaces the one before. A wait is a line of text without a bar."""
        if stage is not self._stage or self._shown is None:
            self.close()
            self._stage, self._shown = stage, _bar(stage)
            self._shown.add_task("", total=None)
            self._shown.start()
        text = progress_line(stage, done, total, detail) if stage is Stage.WAIT else step_words(stage)
        self._shown.update(
            self._shown.task_ids[0],
            description=visible(text[:1].upper() + text[1:]),
            completed=done,
            total=total or None,
        )

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._shown is not None:
            self._shown.stop()


def _bar(stage: Stage) -> Progress:
    columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False)]
    if stage is not Stage.WAIT:
        columns += [BarColumn(), MofNCompleteColumn(), _RateColumn(), TimeRemainingColumn()]
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Return the speed."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="progress.data.speed")
