"""Output formats: what a command can print, and what it prints when it is not told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from mdvec.config import Config

_AnyFunction = TypeVar("_AnyFunction", bound=Callable[..., Any])


def format_option(*formats: str) -> Callable[[_AnyFunction], _AnyFunction]:
    """Add ``--format``.

    Args:
        formats: What can be chosen; the first is the one for people.
    """
    return click.option(
        "--format",
        "format_name",
        type=click.Choice(formats),
        help=f"How to print the result.  [default: {formats[0]}]",
    )


def choice_of(kind: type[StrEnum]) -> click.Choice[str]:
    """Let an option take the values of an enumeration; click would offer the names of its members."""
    return click.Choice([member.value for member in kind])


def chosen_format(given: str | None, config: Config, formats: Sequence[str]) -> str:
    """Return the format to print in.

    Args:
        given: What ``--format`` says, if anything.
        config: Whose ``display.default_format`` counts otherwise, as far as the command has it.
        formats: What the command can print; the first is the one for people.
    """
    if given is not None:
        return given
    configured = config.display.default_format.value
    if configured == "jsonl" and "jsonl" not in formats:
        configured = "json"
    return configured if configured in formats else formats[0]
