"""The run context: one object for the progress, waiting, cancellation and timing of a call.

A door makes a :class:`Run` and binds it with :func:`bound`; the code below finds it with :func:`current`.
Threads that are started by :func:`start_thread` see the same run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from enum import StrEnum
from typing import Any, Literal, Protocol

from mdvec.errors import ImportStoppedError, MdvecError, NotFoundError, UsageError

LogLevel = Literal["debug", "info", "warning", "error"]
"""How much a line of the log matters."""


class Stage(StrEnum):
    """The steps that take long enough to be shown, in their usual order."""

    WAIT = "wait"
    """Waiting for another process that works on the same collection."""
    LIMIT = "limit"
    """Waiting for a service that limits requests; may interrupt any other step."""
    SCAN = "scan"
    FETCH = "fetch"
    TEXT = "text"
    MODEL = "model"
    EMBED = "embed"
    INDEX = "index"
    PUBLISH = "publish"


class ProgressListener(Protocol):
    """Receives progress, from any thread. It is called often, so it must be quick, and it must not raise."""

    def __call__(self, stage: Stage, done: int, total: int, detail: str = "", /) -> None:
        """Receive the progress of a step.

        Args:
            stage: The current step.
            done: Units done: documents in ``fetch`` and ``text``, names and chunks in ``embed``, entries in
                ``index``, megabytes in ``publish``, per cent in ``model``; in ``limit`` the seconds left.
            total: Units in all; 0 when unknown.
            detail: More for people, such as which process is waited for.
        """


class StepListener(Protocol):
    """Receives the duration of each finished step."""

    def __call__(self, name: str, elapsed_ms: float, **details: object) -> None:
        """Receive a finished step, such as ``dense``, with numbers that explain it, such as ``hits=50``."""


class Run:
    """One call, as far as its caller watches it. Safe to use from several threads.

    Attributes:
        on_step: Receives the duration of each step; a run inside this one can share it.

    Args:
        on_progress: Receives progress.
        on_step: Receives the duration of each step.
        on_warning: Receives warnings that belong to no result, for people.
        on_question: Asks a person whether to do something; returns None when there is nobody to answer.
        deadline: When it counts as cancelled by itself, on the clock of ``time.monotonic``; None for never.
    """

    def __init__(
        self,
        on_progress: ProgressListener | None = None,
        on_step: StepListener | None = None,
        on_warning: Callable[[str], None] | None = None,
        *,
        on_question: Callable[[str], bool | None] | None = None,
        deadline: float | None = None,
    ) -> None:
        self._deadline = deadline
        self._on_progress = on_progress
        self.on_step = on_step
        self._on_warning = on_warning
        self._on_question = on_question
        self._cancelled = threading.Event()

    def until(self, deadline: float | None) -> Run:
        """Return a run with the same listeners that ends with this one, or at a deadline."""
        inner = Run(
            self._on_progress,
            self.on_step,
            self._on_warning,
            on_question=self._on_question,
            deadline=deadline,
        )
        inner._cancelled = self._cancelled
        return inner

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called, or the deadline has passed."""
        is_late = self._deadline is not None and time.monotonic() >= self._deadline
        return self._cancelled.is_set() or is_late

    def cancel(self) -> None:
        """Ask the call to stop. Committed work stays; it ends at its next :meth:`check`."""
        self._cancelled.set()

    def check(self) -> None:
        """Raise if the call should stop.

        Raises:
            ImportStoppedError: If :meth:`cancel` was called, or the deadline has passed.
        """
        if self.cancelled:
            raise ImportStoppedError

    def report(self, stage: Stage, done: int, total: int, detail: str = "") -> None:
        """Pass progress on; see :class:`ProgressListener`."""
        if self._on_progress is not None:
            self._on_progress(stage, done, total, detail)

    def warn(self, message: str) -> None:
        """Warn people of something that belongs to no result, such as a file that was renamed."""
        if self._on_warning is not None:
            self._on_warning(message)

    def ask(self, question: str) -> bool | None:
        """Return a person's answer to a question; None when there is nobody to ask."""
        return None if self._on_question is None else self._on_question(question)

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than until the call is cancelled.

        Raises:
            ImportStoppedError: If the call is cancelled, before or meanwhile.
        """
        self._cancelled.wait(seconds)
        self.check()

    @contextmanager
    def step(self, name: str, **details: object) -> Iterator[dict[str, object]]:
        """Measure a step, such as ``dense``; free when no listener is there.

        Yields:
            The details, to be added to while the step runs.
        """
        if self.on_step is None:
            yield details
            return
        started = time.perf_counter()
        try:
            yield details
        finally:
            self.on_step(name, (time.perf_counter() - started) * 1000, **details)


_NO_LISTENER = Run()
_current: ContextVar[Run | None] = ContextVar("mdvec_run", default=None)


def current() -> Run:
    """Return the run that is bound in this context; without one, a run that nothing listens to."""
    return _current.get() or _NO_LISTENER


@contextmanager
def bound(run: Run) -> Iterator[Run]:
    """Bind a run to this context.

    Yields:
        The run.
    """
    outer = _current.get()
    _current.set(run)
    try:
        yield run
    finally:
        # Not by its token: a generator may end in another context than it began in.
        _current.set(outer)


def start_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """Start a thread that sees the run of this context, and does not keep the process from ending."""
    thread = threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True)
    thread.start()
    return thread


def bound_run() -> Run | None:
    """Return the run that is bound in this context; None without one."""
    return _current.get()


def log(event: str, *, level: LogLevel = "info", **details: object) -> None:
    """Write a line to the log, if a door has set one up.

    Args:
        event: What happened, in a few words that are always the same.
        level: How much it matters.
        details: Numbers and names that explain it; never a key, nor the text of a document.
    """
    import logging

    logger = logging.getLogger("mdvec")
    if logger.hasHandlers():
        logger.log(getattr(logging, level.upper()), event, extra={"details": details})


def log_failure(error: Exception) -> None:
    """Write a line to the log about a request that failed, if no line says so yet."""
    if isinstance(error, MdvecError) and not error.is_logged:
        log("failed", **_about(error))


def _about(error: BaseException) -> dict[str, Any]:
    """Return the level and the details of a line about an error, which counts as logged from now on."""
    if not isinstance(error, MdvecError):
        return {"level": "error", "error": type(error).__name__}
    error.is_logged = True
    level = "debug" if isinstance(error, ImportStoppedError) else "warning"
    # The words of a user are not written down.
    reason = {} if isinstance(error, UsageError | NotFoundError) else {"reason": str(error)}
    return {"level": level, "error": error.code, **reason}


@contextmanager
def logged(event: str, **details: object) -> Iterator[dict[str, object]]:
    """Measure a call, and write a line to the log when it ends.

    Args:
        event: What it is.
        details: What is known beforehand.

    Yields:
        The details, to be added to while it runs; ``level`` among them is that of the line.

    Raises:
        Exception: What the call raises; the line is then about that.
    """
    started = time.perf_counter()
    try:
        yield details
    except BaseException as error:
        details.update({**_about(error), **details})
        raise
    finally:
        ms = round((time.perf_counter() - started) * 1000, 1)
        log(event, ms=ms, **details)  # type: ignore[arg-type] # a level is one of them
