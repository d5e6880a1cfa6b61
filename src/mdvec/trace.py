"""How long each step took: collected when somebody asks (``--verbose``), free otherwise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from mdvec import run


class Listener(Protocol):
    """Is told of each finished step."""

    def __call__(self, name: str, elapsed_ms: float, **details: object) -> None:
        """Take note of a step.

        Args:
            name: Such as ``dense``.
            elapsed_ms: Wall time, in milliseconds.
            details: Numbers that explain it, such as ``hits=50``.
        """
        ...


_listener: ContextVar[Listener | None] = ContextVar("mdvec_trace", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the steps of this context to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def step(name: str, **details: object) -> Iterator[dict[str, object]]:
    """Measure a step.

    Args:
        name: Such as ``dense``.
        details: What is known beforehand.

    Yields:
        The details, to be added to while the step runs.
    """
    listener = _listener.get()
    if listener is None:  # a temporary bridge to the run context
        with run.current().step(name, **details) as found:
            yield found
        return
    started = time.perf_counter()
    try:
        yield details
    finally:
        listener(name, (time.perf_counter() - started) * 1000, **details)
