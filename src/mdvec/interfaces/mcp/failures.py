"""Errors as a client receives them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from mdvec.errors import DocumentNotFoundError, SourceEmptyError, UsageError, WriterBusyError
from mdvec.interfaces.errors import Failure, OnBug, shortened, translate_logged
from mdvec.interfaces.passage import one_line

MOST_LINE_CHARS = 1_000
"""Longest line of an error: a sentence with a cut input or two."""

# Steps on the command line, as an agent can take them.
_STEPS = {
    UsageError.default_hint: "",
    DocumentNotFoundError.default_hint: "Find its path with `search`.",
    SourceEmptyError.default_hint: (
        "If the documents are really gone, the user can run 'mdvec import -m update --allow-empty'."
    ),
    WriterBusyError.default_hint: "Wait until it is done and call again; `search` answers meanwhile.",
}


# An update; what only a person may decide stays a command.
_IMPORT = re.compile(r"'mdvec import(?: -n [\w-]+)+(?: -m update)?(?: --database (?:'[^']*'|[^'\s]+))?'")
_NAMED = re.compile(r"-n ([\w-]+)")


def hint_for_client(hint: str) -> str:
    """Return the next step of an error as a client can take it; empty when it cannot."""
    return text_for_client(_STEPS.get(hint, hint))


def text_for_client(text: str) -> str:
    """Return a hint or warning with the tool in place of the command that does the same."""
    return _IMPORT.sub(_as_tool, text)


def _as_tool(command: re.Match[str]) -> str:
    names = _NAMED.findall(command[0])
    return f'`reindex` with collection="{names[0]}"' if len(names) == 1 else "`reindex`"


def failure_for_client(error: Exception, on_bug: OnBug, received: Iterable[object] = ()) -> Failure:
    """Return an exception as a client receives it.

    Args:
        error: Any exception.
        on_bug: Receives it when it is a bug: its message may hold more than a client is to see.
        received: What the client sent; long texts among it are not repeated in full.
    """
    failure = translate_logged(error)
    if failure.code == "internal":
        on_bug(error)
        return replace(failure, message=f"internal error ({type(error).__name__})")
    texts = [each for each in received if isinstance(each, str)]
    message = "\n".join(
        one_line(line, MOST_LINE_CHARS) for line in shortened(failure.message, texts).splitlines()
    )
    hint = one_line(shortened(hint_for_client(failure.hint), texts), MOST_LINE_CHARS)
    return replace(failure, message=message, hint=hint)
