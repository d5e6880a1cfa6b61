"""The next step of an error or warning, for clients that call tools or methods and no commands."""

from __future__ import annotations

import re
from functools import partial

from mdvec.errors import DocumentNotFoundError, SourceEmptyError, UsageError, WriterBusyError

# Steps on the command line, as a client can take them; {} stands before the name of each tool.
_STEPS = {
    UsageError.default_hint: "",
    DocumentNotFoundError.default_hint: "Find its path with `{}search`.",
    SourceEmptyError.default_hint: (
        "If the documents are really gone, the user can run 'mdvec import -m update --allow-empty'."
    ),
    WriterBusyError.default_hint: "Wait until it is done and call again; `{}search` answers meanwhile.",
}

# An update; what only a person may decide stays a command.
_IMPORT = re.compile(
    r"'mdvec import(?: -n [\w-]+| -m update| --(?:docs-dir|database) (?:'[^']*'|[^'\s]+))*'(?!\w)"
)
_NAMED = re.compile(r"-n ([\w-]+)")


def hint_for_client(hint: str, *, prefix: str = "") -> str:
    """Return the next step of an error as a client can take it; empty when it cannot.

    Args:
        hint: The step on the command line.
        prefix: What stands before the name of each tool.
    """
    step = _STEPS.get(hint)
    return text_for_client(hint, prefix=prefix) if step is None else step.format(prefix)


def text_for_client(text: str, *, prefix: str = "") -> str:
    """Return a hint or warning with the tool in place of the command that does the same.

    Args:
        text: The hint or warning.
        prefix: What stands before the name of each tool.
    """
    return _IMPORT.sub(partial(_as_tool, prefix), text)


def _as_tool(prefix: str, command: re.Match[str]) -> str:
    names = _NAMED.findall(command[0])
    tool = f"`{prefix}reindex`"
    return f'{tool} with collection="{names[0]}"' if len(names) == 1 else tool
