"""Writes results to stdout and everything else to stderr. Nothing from outside can steer the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import click

from mdvec.interfaces.cli import screen
from mdvec.interfaces.printing import STEERING, printable, visible, wrap
from mdvec.text.cells import cell_width

_REGISTER = "Register a folder with 'mdvec tool add -n NAME -d DESCRIPTION -s DIR'."
_ENABLE = "'mdvec tool ls --all' lists them, and 'mdvec tool enable -n NAME' enables one."
_GAP = "  "
_INDENT = "  "
_BETWEEN = " · "
# A column that is narrower is hard to read.
_MIN_COLUMNS = 20
_USUAL_COLUMNS = 80
# Each clears the screen of something that is shown for a moment, such as a progress bar.
_hiders: list[Callable[[], None]] = []


@dataclass(slots=True)
class Capture:
    """The output of a command that runs for another process.

    Attributes:
        columns: As :func:`mdvec.interfaces.cli.screen.columns` says there.
        output: The number of a stream and a text, in order.
    """

    columns: int | None
    output: list[tuple[int, str]] = field(default_factory=list)


_capture: ContextVar[Capture | None] = ContextVar("mdvec_capture", default=None)


@contextmanager
def captured(columns: int | None) -> Iterator[Capture]:
    """Collect the output in this context instead of writing it.

    Yields:
        The collected output.
    """
    capture = Capture(columns)
    token = _capture.set(capture)
    try:
        yield capture
    finally:
        _capture.reset(token)


def terminal_columns() -> int | None:
    """Return the width of the terminal that results go to, 0 if it is not known; None without a terminal."""
    capture = _capture.get()
    return screen.columns() if capture is None else capture.columns


@contextmanager
def transient(hide: Callable[[], None]) -> Iterator[None]:
    """Call a function before each output in this context and at its end, such as to clear a progress bar."""
    _hiders.append(hide)
    try:
        yield
    finally:
        _hiders.remove(hide)
        hide()


def write(text: str) -> None:
    """Write a result for people to stdout, with visible escapes for control characters.

    Raises:
        Exit: With code 0, if the reader went away.
        OSError: If it cannot be written, such as on a full disk.
    """
    write_raw(visible(text, keep_newlines=True))


def write_raw(text: str) -> None:
    """Write a result to stdout as it is, at once; a reader that went away ends the program quietly.

    Raises:
        Exit: With code 0, if the reader went away.
        OSError: If it cannot be written, such as on a full disk.
    """
    try:
        _write(screen.RESULTS, text)
    except BrokenPipeError as error:
        raise click.exceptions.Exit(0) from error


def write_json(value: object) -> None:
    """Write a value as :func:`json_text` returns it."""
    write_raw(json_text(value))


def json_text(value: object) -> str:
    """Return a value as one line of JSON, with escapes for control and format characters."""
    import msgspec

    from mdvec.interfaces.answers import to_json

    return (
        STEERING.sub(
            lambda found: screen.json_escaped(found[0]), msgspec.json.encode(to_json(value)).decode()
        )
        + "\n"
    )


def write_documents(text: str) -> None:
    """Write text of documents: as it is to a file or a program, without control characters to a terminal."""
    write_raw(printable(text, keep_newlines=True) if terminal_columns() is not None else text)


def write_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write rows for people: a table that fits the terminal, aligned columns elsewhere."""
    write_raw(table_text(columns, rows, table_width()))


def table_width() -> int | None:
    """Return the width of tables, None for as wide as they are."""
    width = terminal_columns()
    return None if width is None else width or _USUAL_COLUMNS


def table_text(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Lay out rows in aligned columns, as wide as they are, or for a terminal of that many columns.

    There the widest column is wrapped where its words allow it. Where that is not enough, each row becomes a
    paragraph with the names of the columns.
    """
    lines = [[column.upper() for column in columns], *([visible(cell) for cell in row] for row in rows)]
    widths = [max(cell_width(line[index]) for line in lines) for index in range(len(columns))]
    if width is None:
        return "".join(_aligned(line, widths) for line in lines)
    excess = sum(widths) + len(_GAP) * (len(columns) - 1) - width
    if excess > 0:
        widest = widths.index(max(widths))
        words = (cell_width(word) for line in lines for word in line[widest].split())
        widths[widest] -= excess
        if widths[widest] < max(_MIN_COLUMNS, *words):
            return "".join(_paragraph(columns, line, width) for line in lines[1:])
    return "".join(_aligned(part, widths) for line in lines for part in _wrapped(line, widths))


def note(text: str) -> None:
    """Write something that is no part of the result to stderr."""
    _write(screen.ERRORS, visible(text, keep_newlines=True) + "\n")


def note_no_collections(next_step: str | None = None, *, are_disabled: bool = False) -> None:
    """Print that there is no collection, and the next step: how to add one, if no other is given.

    ``are_disabled`` is whether there are some that are disabled.
    """
    note("all collections are disabled" if are_disabled else "no collections")
    note(f"hint: {_ENABLE if are_disabled else next_step or _REGISTER}")


def warn(text: str) -> None:
    """Write a warning, on one line."""
    note(f"warning: {visible(text)}")


def ask(question: str) -> bool | None:
    """Ask a person; return None where nobody can answer."""
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return click.confirm(visible(question, keep_newlines=True), default=False, err=True)


def print_failure(message: str, hint: str = "") -> None:
    """Write the problem and the next step, each on one line, even if a name in it has a line break."""
    note(f"error: {message}")
    if hint:
        note(f"hint: {visible(hint)}")


def print_step(name: str, elapsed_ms: float, **details: object) -> None:
    """Print the duration of a step; a :class:`mdvec.run.StepListener`."""
    note(" ".join((f"[{name}] {elapsed_ms:.1f} ms", *(f"{key}={value}" for key, value in details.items()))))


def use_color(setting: str, env: Mapping[str, str]) -> bool:
    """Return True if stdout is to be coloured.

    ``auto`` is: on a terminal, unless ``NO_COLOR`` is set.
    """
    if setting == "auto":
        return terminal_columns() is not None and not env.get("NO_COLOR") and env.get("TERM") != "dumb"
    return setting == "always"


def _write(stream: int, text: str) -> None:
    capture = _capture.get()
    if capture is not None:
        capture.output.append((stream, text))
        return
    for hide in _hiders:
        hide()
    screen.write(stream, text)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_width(cell)) for cell, width in zip(cells, widths, strict=True))
    return f"{_GAP.join(padded).rstrip()}\n"


def _wrapped(cells: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """Return the lines of a row."""
    parts = [
        [cell[start:end].lstrip() for start, end in wrap(cell, width)]
        for cell, width in zip(cells, widths, strict=True)
    ]
    height = max(1, *map(len, parts))
    return [[part[index] if index < len(part) else "" for part in parts] for index in range(height)]


def _paragraph(columns: Sequence[str], cells: Sequence[str], width: int) -> str:
    room = max(_MIN_COLUMNS, width - len(_INDENT))
    lines: list[str] = []
    for name, cell in zip(columns[1:], cells[1:], strict=True):
        text = f"{name}: {cell}"
        if not cell:
            continue
        if lines and cell_width(lines[-1]) + cell_width(text) + len(_BETWEEN) <= room:
            lines[-1] += _BETWEEN + text
        else:
            lines += [text[start:end].strip() for start, end in wrap(text, room)]
    return "".join(f"{line}\n" for line in (cells[0], *(f"{_INDENT}{line}" for line in lines)))
