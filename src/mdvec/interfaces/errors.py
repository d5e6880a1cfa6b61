"""Errors as each door needs them, and their next step for clients that call tools or methods."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from mdvec import run
from mdvec.errors import DocumentNotFoundError, MdvecError, UsageError, WriterBusyError

EXIT_FAILED = 1
"""Exit code when something failed, or a part of it."""
EXIT_USAGE = 2
"""Exit code when the call itself is wrong."""

TRACEBACKS = "mdvec.tracebacks"
"""The logger for tracebacks of bugs; it has a handler only where they may be shown."""

_NO_ACCESS = "Give yourself access to it, or choose another place."
_REMEDIES = {
    errno.EACCES: _NO_ACCESS,
    errno.EPERM: _NO_ACCESS,
    errno.EROFS: "Choose a place that can be written.",
    errno.ENOSPC: "Free some space on the disk, then try again.",
}
# Enough to recognise one's own input.
_MAX_ECHOED_CHARS = 200


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, translated.

    Attributes:
        code: Stable, for programs.
        message: The problem, for people.
        hint: The next step; empty when there is none.
        exit_code: For a process.
        retry: The same call may succeed later.
    """

    code: str
    message: str
    hint: str
    exit_code: int = EXIT_FAILED
    retry: bool = False


def translate(error: Exception) -> Failure:
    """Return an exception in the form that doors show."""
    match error:
        case MdvecError():
            exit_code = EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED
            return Failure(error.code, str(error), error.hint, exit_code, error.retry)
        case OSError() if error.strerror:
            if error.filename is None:  # it may be of a socket, or of a terminal
                return Failure("os", error.strerror, "")
            return Failure("os", f"{error.filename}: {error.strerror}", _REMEDIES.get(error.errno or 0, ""))
        case _:
            # A bug: the type says more than the message alone, which may be empty.
            return Failure("internal", f"{type(error).__name__}: {error}".rstrip(": "), "")


def translate_logged(error: Exception) -> Failure:
    """Return the error of a request in the form that doors show, after a line about it in the log."""
    run.log_failure(error)
    return translate(error)


def translate_for_client(error: Exception) -> Failure:
    """Return the error of a request as its client receives it, after a line about it in the log.

    Of a bug, the client sees only its kind: the message may hold secrets.
    """
    failure = translate_logged(error)
    if failure.code != "internal":
        return failure
    log_bug(error)
    return replace(failure, message=f"internal error ({type(error).__name__})")


def log_bug(error: Exception) -> None:
    """Write the kind of an unexpected exception to the log, and its traceback where one is wanted."""
    import logging  # commands do without

    run.log("bug", level="error", error=type(error).__name__)
    if (tracebacks := logging.getLogger(TRACEBACKS)).handlers:
        tracebacks.error("bug", exc_info=error)


def shortened(message: str, received: Iterable[str]) -> str:
    """Cut the input that a message repeats to its first 200 characters."""
    for text in received:
        if len(text) > _MAX_ECHOED_CHARS:
            short = text[:_MAX_ECHOED_CHARS]
            message = message.replace(text, f"{short}…").replace(repr(text)[1:-1], f"{repr(short)[1:-1]}…")
    return message


# Steps on the command line, as a client can take them; {} is before the name of each tool.
_STEPS = {
    UsageError.default_hint: "",
    DocumentNotFoundError.default_hint: "Find its path with `{}search`.",
    WriterBusyError.default_hint: "Wait until it is done and call again; `{}search` answers meanwhile.",
}

# An update. A decision that only a person may make stays a command.
_IMPORT = re.compile(
    r"'mdvec import(?: -n [\w-]+| -m update| --(?:docs-dir|database) (?:'[^']*'|[^'\s]+))*'(?!\w)"
)
_DECISION = re.compile(r"\brun (?='mdvec import [^']*--allow-empty)")
_NAMED = re.compile(r"-n ([\w-]+)")


def hint_for_client(text: str, *, prefix: str = "") -> str:
    """Return a hint or a warning with the tool in place of the command that does the same.

    A next step that a client cannot take is left out. ``prefix`` precedes the name of each tool.
    """
    if (step := _STEPS.get(text)) is not None:
        return step.format(prefix)
    return _DECISION.sub("the user can run ", _IMPORT.sub(partial(_as_tool, prefix), text))


def _as_tool(prefix: str, command: re.Match[str]) -> str:
    names = _NAMED.findall(command[0])
    tool = f"`{prefix}reindex`"
    return f'{tool} with collection="{names[0]}"' if len(names) == 1 else tool
