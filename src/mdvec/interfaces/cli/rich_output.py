"""Tables and progress bars on a terminal. Imported only when one is shown: rich takes its time."""

from __future__ import annotations

from collections.abc import Sequence

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
from rich.table import Column, Table
from rich.text import Text

from mdvec.interfaces.steps import step_words
from mdvec.types.report import ImportStage


def table_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table for the terminal at hand."""
    # A cell that is too long goes on below: half a path or a date is of no use.
    table = Table(
        *(Column(name, overflow="fold") for name in columns), box=None, header_style="bold", pad_edge=False
    )
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    with console.capture() as capture:
        console.print(table)
    return capture.get()


class ProgressBar:
    """Shows the steps of an import on stderr; a :class:`mdvec.types.report.Progress`."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _RateColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._stage: ImportStage | None = None
        self._bar.start()

    def __call__(self, stage: ImportStage, done: int, total: int) -> None:
        """Move the bar; a new step replaces the one before."""
        if stage != self._stage:
            for task_id in self._bar.task_ids:
                self._bar.remove_task(task_id)
            self._bar.add_task(step_words(stage).capitalize(), total=None)
            self._stage = stage
        self._bar.update(self._bar.task_ids[-1], completed=done, total=total or None)

    def close(self) -> None:
        """Take the bar off the screen."""
        self._bar.stop()


class _RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Say how fast it goes."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="progress.data.speed")
