"""Sets up the log: where its lines go, which are written, and how.

A line holds an event and its details, never a key, the text of a document, or a query as it was typed
(unless ``[log] queries`` allows that).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from mdvec import run
from mdvec.interfaces.errors import TRACEBACKS
from mdvec.interfaces.printing import visible

if TYPE_CHECKING:
    from mdvec.config.schema import LogSettings

_MAX_BYTES = 5_000_000
_OLD_FILES = 3
_LOGGER = logging.getLogger("mdvec")
_TRACEBACKS = logging.getLogger(TRACEBACKS)
_TRACEBACKS.propagate = False  # a message may hold secrets


def configure(
    settings: LogSettings, *, serves: bool, file: Path | None = None, verbose: bool = False
) -> None:
    """Write the log as configured, instead of as before.

    A server writes a log by default. ``file`` is where the lines go if no file is configured; None for
    standard error. With ``verbose``, tracebacks of bugs go to standard error, too.

    Raises:
        OSError: If the file cannot be written.
    """
    reset()
    if verbose:
        _TRACEBACKS.addHandler(logging.StreamHandler(sys.stderr))
    level = settings.level or ("info" if serves else None)
    if level is None:
        return
    logging.raiseExceptions = False  # a full disk stops no search
    path = settings.file or file
    handler = logging.StreamHandler(sys.stderr) if path is None else _private_file(path)
    handler.setFormatter(_JsonLine() if settings.format == "json" else _TextLine())
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(level.upper())
    _LOGGER.propagate = False


def reset() -> None:
    """Write no log."""
    for logger in (_LOGGER, _TRACEBACKS):
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
            handler.close()


def wants_steps() -> bool:
    """Return True if the duration of each step is worth a line."""
    return bool(_LOGGER.handlers) and _LOGGER.isEnabledFor(logging.DEBUG)


def log_step(name: str, elapsed_ms: float, **details: object) -> None:
    """Write the duration of a step; a :class:`mdvec.run.StepListener`."""
    shown = {key: value for key, value in details.items() if key != "query"}
    run.log(name, level="debug", ms=round(elapsed_ms, 1), **shown)


def _private_file(path: Path) -> logging.Handler:
    from logging.handlers import RotatingFileHandler  # loads a dozen modules

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    class PrivateFile(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            return os.fdopen(descriptor, "a", encoding="utf-8")

    return PrivateFile(path, maxBytes=_MAX_BYTES, backupCount=_OLD_FILES, encoding="utf-8")


class _TextLine(logging.Formatter):
    """One line for people: time, level, event, and ``key=value``."""

    def format(self, record: logging.LogRecord) -> str:
        details = getattr(record, "details", {})
        words = (f"{key}={_word(value)}" for key, value in details.items())
        return visible(" ".join((_time(record), record.levelname, record.getMessage(), *words)))


class _JsonLine(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        details = getattr(record, "details", {})
        line = {"time": _time(record), "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps({**line, **details}, default=str)


def _word(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or " " in text or '"' in text else text


def _time(record: logging.LogRecord) -> str:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{moment}.{int(record.msecs):03d}Z"
