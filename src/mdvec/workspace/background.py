"""Indexes a folder in a thread of its own, so that searches answer from what is there already."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable

from mdvec.errors import ImportStoppedError
from mdvec.types.report import ImportReport, ImportStage, Progress

_LOOK_EVERY_S = 0.1


class BackgroundImport:
    """An import that nobody has to wait for. It may be started again after it has ended.

    Attributes:
        error: What ended it too early; None while it runs, and when it ended well or was stopped.

    Args:
        run: Does the import; is given what to report to.
    """

    def __init__(self, run: Callable[[Progress], ImportReport]) -> None:
        self._run = run
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._latest: tuple[ImportStage, int, int] | None = None
        self._warnings: tuple[str, ...] = ()
        self.error: Exception | None = None

    @property
    def tried(self) -> bool:
        """Whether it was ever started."""
        return self._thread is not None

    @property
    def running(self) -> bool:
        """Whether it is at work."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> bool:
        """Begin, unless it is at work.

        Returns:
            Whether this call began it.
        """
        with self._guard:
            if self.running:
                return False
            self.error = self._latest = None
            # In the caller's context, so that whoever listens to the steps hears of these, too.
            context = contextvars.copy_context()
            self._thread = threading.Thread(
                target=context.run, args=(self._work,), name="mdvec-index", daemon=True
            )
            self._thread.start()
            return True

    def wait(self, is_enough: Callable[[], bool], *, most_s: float, progress: Progress) -> None:
        """Wait until enough is done, the import has ended, or time is up.

        Args:
            is_enough: Asked now and then, from this thread.
            most_s: How long to wait, in seconds.
            progress: Told from this thread how far the import is; what it raises ends the waiting
                alone.
        """
        deadline = time.monotonic() + most_s
        while not is_enough() and self.running and time.monotonic() < deadline:
            if self._latest is not None:
                progress(*self._latest)
            self.join(_LOOK_EVERY_S)

    def take_warnings(self) -> tuple[str, ...]:
        """Return what is to be told of an import that has ended, once."""
        warnings, self._warnings = self._warnings, ()
        return warnings

    def join(self, most_s: float) -> None:
        """Wait for the thread to end, for so many seconds at most."""
        if self._thread is not None:
            self._thread.join(most_s)

    def _work(self) -> None:
        try:
            self._warnings = self._run(self._note).warnings
        except ImportStoppedError:
            pass
        except Exception as error:  # noqa: BLE001 - told to whoever waits, or asks next
            self.error = error
            self._warnings = (f"indexing has ended early: {error}",)

    def _note(self, stage: ImportStage, done: int, total: int) -> None:
        self._latest = stage, done, total
