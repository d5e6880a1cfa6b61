"""What a client is told of an exception, and what it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mdvec.errors import DocumentNotFoundError, SourceEmptyError, UsageError, WriterBusyError
from mdvec.interfaces.errors import Failure, translate

OnBug = Callable[[Exception], None]
"""Is told of exceptions that nobody expected."""

# Steps on the command line, as an agent can take them.
_STEPS = {
    UsageError.default_hint: "",
    DocumentNotFoundError.default_hint: "Find its path with `search`.",
    SourceEmptyError.default_hint: (
        "If the documents are really gone, the user can run 'mdvec import -m update --allow-empty'."
    ),
    WriterBusyError.default_hint: "Wait until it is done and call again; `search` answers meanwhile.",
}


def hint_for_client(hint: str) -> str:
    """Return the next step of an error as a client can take it; empty when it cannot."""
    return _STEPS.get(hint, hint)


def failure_for_client(error: Exception, on_bug: OnBug) -> Failure:
    """Say what an exception means to a client.

    Args:
        error: Any exception.
        on_bug: Told when it is a bug: its words may hold more than a client is to see.
    """
    failure = translate(error)
    if failure.code != "internal":
        return replace(failure, hint=hint_for_client(failure.hint))
    on_bug(error)
    return replace(failure, message=f"internal error ({type(error).__name__})")
