"""Errors as each door needs them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from mdvec import run
from mdvec.errors import MdvecError, UsageError

EXIT_FAILED = 1
"""Exit code when something failed, or a part of it."""
EXIT_USAGE = 2
"""Exit code when the call itself is wrong."""

OnBug = Callable[[Exception], None]
"""Receives unexpected exceptions."""

# Enough to recognise what one has written.
_MAX_ECHOED_CHARS = 200


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, translated.

    Attributes:
        code: Stable, for programs.
        message: What went wrong, for people.
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
        case UsageError():
            return Failure(error.code, str(error), error.hint, EXIT_USAGE, error.retry)
        case MdvecError():
            return Failure(error.code, str(error), error.hint, EXIT_FAILED, error.retry)
        case OSError() if error.strerror:
            place = f"{error.filename}: " if error.filename is not None else ""
            return Failure("os", f"{place}{error.strerror}", "")
        case _:
            # A bug: the type says more than the message alone, which may be empty.
            return Failure("internal", f"{type(error).__name__}: {error}".rstrip(": "), "")


def translate_logged(error: Exception) -> Failure:
    """Return the error of a request in the form that doors show, after a line about it in the log."""
    run.log_failure(error)
    return translate(error)


def translate_for_client(error: Exception, on_bug: OnBug) -> Failure:
    """Return the error of a request as its client receives it, of a bug its kind alone; the log has a line.

    Args:
        error: Any exception.
        on_bug: Receives it when it is a bug: its message may hold more than a client is to see.
    """
    failure = translate_logged(error)
    if failure.code != "internal":
        return failure
    on_bug(error)
    return replace(failure, message=f"internal error ({type(error).__name__})")


def bug_listener(*, verbose: bool) -> OnBug:
    """Return what receives bugs, and writes their kind to the log."""

    def listen(error: Exception) -> None:
        run.log("bug", level="error", error=type(error).__name__)
        if verbose:
            traceback.print_exception(error)

    return listen


def shortened(message: str, received: Iterable[str]) -> str:
    """Cut the input that a message repeats to its first 200 characters."""
    for text in received:
        if len(text) > _MAX_ECHOED_CHARS:
            short = text[:_MAX_ECHOED_CHARS]
            message = message.replace(text, f"{short}…").replace(repr(text)[1:-1], f"{repr(short)[1:-1]}…")
    return message
