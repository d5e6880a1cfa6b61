"""The unexpected exceptions that doors report."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mdvec.interfaces.errors import TRACEBACKS


class _Bugs(logging.Handler):
    """Collects the exceptions of which a traceback may be shown."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[BaseException | None] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.found.append(record.exc_info[1])


@contextmanager
def reported_bugs() -> Iterator[list[BaseException | None]]:
    """Collect what any door reports in this context.

    Yields:
        The exceptions, which more may join.
    """
    handler, logger = _Bugs(), logging.getLogger(TRACEBACKS)
    logger.addHandler(handler)
    try:
        yield handler.found
    finally:
        logger.removeHandler(handler)
