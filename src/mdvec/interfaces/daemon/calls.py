"""A command line sent to a daemon, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct


class CommandLine(Struct, frozen=True):
    """A command line of another process of the same user.

    Attributes:
        args: Its arguments, without the program's name.
        cwd: Absolute path of its working directory.
        env: Its environment variables that commands look at.
        shared: See :func:`mdvec.interfaces.daemon.client.shared_environment`.
        columns: Width of the terminal that results go to, 0 if it is not known; None if it is none.
    """

    args: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    shared: list[str]
    columns: int | None


class CallOutcome(Struct, frozen=True):
    """The outcome of a command line.

    Attributes:
        code: Its exit code; None if this daemon did not run it.
        output: What it writes: the number of a stream and a text, in order.
        place: The name of the place of the daemon that is to run it, if another one is.
    """

    code: int | None = None
    output: list[tuple[int, str]] = []
    place: str = ""


Methods = dict[str, tuple[type[Struct], Callable[[Any], object]]]
"""The methods for commands, by name: their parameters, and what answers them."""
