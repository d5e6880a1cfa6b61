"""A run in which time passes only when a call waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mdvec.net.client import Clock
from mdvec.run import Run, Stage, bound

START = 1_800_000_000.0


class FakeTime(Run):
    """Time that passes by sleeping.

    Attributes:
        now: Seconds since 1970.
        waits: The seconds left, as they were reported while waiting for a service.
        fetches: Files fetched, and of how many, as they were reported.
        cancels: Whether the first report of a wait cancels the run.
    """

    def __init__(self, start: float = START) -> None:
        super().__init__(self._listen)
        self.now = self._start = start
        self.waits: list[int] = []
        self.fetches: list[tuple[int, int]] = []
        self.cancels = False

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.check()
        self.now += seconds

    @property
    def slept(self) -> float:
        return self.now - self._start

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: 0.5)

    def waited_s(self) -> float:
        """Return how long it was since the last time."""
        waited, self._start = self.slept, self.now
        return waited

    def _listen(self, stage: Stage, done: int, total: int, _detail: str = "") -> None:
        if stage is Stage.LIMIT:
            assert total == 0
            self.waits.append(done)
            if self.cancels:
                self.cancel()
        elif stage is Stage.FETCH:
            self.fetches.append((done, total))


@contextmanager
def fake_time(start: float = START) -> Iterator[FakeTime]:
    """Bind a run with a time of its own."""
    time = FakeTime(start)
    with bound(time):
        yield time
