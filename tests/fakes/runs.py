"""Runs that note their progress or are cancelled at a chosen moment, and claims as of another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from mdvec import Workspace
from mdvec.run import Run, Stage, bound
from mdvec.stores.claims import Claim
from mdvec.workspace.database import open_store


class NotingRun(Run):
    """A run that notes its progress.

    Attributes:
        reports: Stage, units done and units in all, in order.
        details: What people were shown besides, in the same order.

    Args:
        then: Called after each report is noted.
    """

    def __init__(self, then: Callable[[Stage, int], None] | None = None) -> None:
        super().__init__(self._listen)
        self.reports: list[tuple[Stage, int, int]] = []
        self.details: list[str] = []
        self._then = then

    @property
    def stages(self) -> list[Stage]:
        """The stages, in the order of the reports."""
        return [stage for stage, _, _ in self.reports]

    def _listen(self, stage: Stage, done: int, total: int, detail: str = "", /) -> None:
        self.reports.append((stage, done, total))
        self.details.append(detail)
        if self._then is not None:
            self._then(stage, done)


@contextmanager
def noting(then: Callable[[Stage, int], None] | None = None) -> Iterator[NotingRun]:
    """Bind a run that notes its progress, and calls ``then`` after each report."""
    made = NotingRun(then)
    with bound(made):
        yield made


@contextmanager
def cancelled_when(is_so_far: Callable[[Stage, int], bool]) -> Iterator[NotingRun]:
    """Bind a run that is cancelled by its first report for which ``is_so_far`` is true."""

    def look(stage: Stage, done: int) -> None:
        if is_so_far(stage, done):
            made.cancel()

    made = NotingRun(look)
    with bound(made):
        yield made


@contextmanager
def claimed(workspace: Workspace, name: str, purpose: str = "importing for long") -> Iterator[Claim]:
    """Claim a collection through a store of its own, as another process does."""
    collection = workspace.collection(name)
    with (
        closing(open_store(workspace.database)) as other,
        other.claim(collection, purpose, wait_s=0) as claim,
    ):
        yield claim
