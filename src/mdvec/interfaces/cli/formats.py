"""Output formats of the commands, and their defaults."""

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
        formats: The choices; the first is the one for people.
    """
    return click.option(
        "--format",
        "format_name",
        type=click.Choice(formats),
        help=f"How to print the result.  [default: {formats[0]}]",
    )


def choice_of(kind: type[StrEnum]) -> click.Choice[str]:
    """Return the values of an enumeration as choices; click would offer the names of its members."""
    return click.Choice([member.value for member in kind])


def chosen_format(option: str | None, config: Config, formats: Sequence[str]) -> str:
    """Return the format to print in.

    Args:
        option: The value of ``--format``; None without it.
        config: Its ``display.default_format`` counts otherwise, if the command has that format.
        formats: The formats of the command; the first is the one for people.
    """
    if option is not None:
        return option
    configured = config.display.default_format.value
    if configured == "jsonl" and "jsonl" not in formats:
        configured = "json"
    return configured if configured in formats else formats[0]
