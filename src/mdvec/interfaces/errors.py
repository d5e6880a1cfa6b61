"""What went wrong, in the words each door needs."""

from __future__ import annotations

from dataclasses import dataclass

from mdvec.errors import MdvecError, UsageError

EXIT_FAILED = 1
"""Exit code when something failed, or a part of it."""
EXIT_USAGE = 2
"""Exit code when the call itself is wrong."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, translated.

    Attributes:
        code: Stable, for programs.
        message: What went wrong, for people.
        hint: The next step; empty when there is none.
        exit_code: For a process.
        retry: Whether the same call may succeed later.
    """

    code: str
    message: str
    hint: str
    exit_code: int = EXIT_FAILED
    retry: bool = False


def translate(error: Exception) -> Failure:
    """Say what an exception means to the one who called.

    Args:
        error: One of ours, one of the operating system, or a bug.
    """
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
