"""Writes results to stdout and everything else to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import click

from mdvec.interfaces.passage import cell_width, printable
from mdvec.text.undecodable import spelled

# Control characters that JSON allows and terminals obey.
_CONTROL_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def write(text: str) -> None:
    """Write a result to stdout, at once; a reader that went away ends the program quietly.

    Raises:
        Exit: With code 0, if nobody reads any more.
        OSError: If it cannot be written, such as on a full disk.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # What is still in the buffer must not fail once more when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise click.exceptions.Exit(0) from error
        raise


def write_json(value: object) -> None:
    """Write a value as :func:`json_text` gives it."""
    write(json_text(value))


def json_text(value: object) -> str:
    """Return a value as one line of JSON, with escapes for control characters alone."""
    import msgspec

    return msgspec.json.encode(_encodable(value)).decode().translate(_CONTROL_ESCAPES) + "\n"


def _encodable(value: object) -> object:
    match value:
        case str():
            return spelled(value)
        case Mapping():
            return {key: _encodable(each) for key, each in value.items()}
        case list() | tuple():
            return [_encodable(each) for each in value]
        case _:
            return value


def write_documents(text: str) -> None:
    """Write what documents say: as it is to a file or a program, without control characters to a terminal."""
    write(printable(text, keep_newlines=True) if sys.stdout.isatty() else text)


def write_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write rows for people: a table on a terminal, aligned columns elsewhere."""
    if sys.stdout.isatty():
        from mdvec.interfaces.cli.rich_output import table_text

        write(table_text(columns, [[printable(cell) for cell in row] for row in rows]))
    else:
        write(aligned_text(columns, rows))


def aligned_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out rows in aligned columns."""
    lines = [[column.upper() for column in columns], *([printable(cell) for cell in row] for row in rows)]
    widths = [max(cell_width(line[index]) for line in lines) for index in range(len(columns))]
    padded = (
        "  ".join(cell + " " * (width - cell_width(cell)) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)


def note(text: str) -> None:
    """Tell people something that is no part of the result."""
    click.echo(text, err=True)


def warn(text: str) -> None:
    """Warn people."""
    note(f"warning: {text}")


def print_failure(message: str, hint: str = "") -> None:
    """Say what went wrong, and what to do next."""
    note(f"error: {message}")
    if hint:
        note(f"hint: {hint}")


def print_step(name: str, elapsed_ms: float, **details: object) -> None:
    """Print how long a step took; a :class:`mdvec.trace.Listener`."""
    note(" ".join((f"[{name}] {elapsed_ms:.1f} ms", *(f"{key}={value}" for key, value in details.items()))))


def use_color(setting: str, env: Mapping[str, str]) -> bool:
    """Decide whether stdout is coloured.

    Args:
        setting: ``always``, ``never``, or ``auto``: on a terminal, unless ``NO_COLOR`` is set.
        env: Environment variables.
    """
    if setting == "auto":
        return sys.stdout.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"
    return setting == "always"
