"""Standard output and error of this process: their encodings and width, and writing to them."""

from __future__ import annotations

import codecs
import io
import os
import sys

RESULTS = 1
"""The stream of results, standard output."""
ERRORS = 2
"""The stream of everything else, standard error."""


def set_encodings() -> None:
    """Give pipes and files UTF-8 on every platform, and terminals the characters that they can show.

    A file's name that is not UTF-8 goes to a pipe as its bytes, so that the program there finds the file.
    """
    codecs.register_error("json-escapes", _json_escapes)
    codecs.register_error("bytes-or-escapes", _bytes_or_escapes)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.isatty():
            stream.reconfigure(errors="json-escapes")
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="bytes-or-escapes")


def _json_escapes(error: UnicodeError) -> tuple[str, int]:
    """Escape the characters that a terminal cannot show as JSON does, so that JSON stays JSON there."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json_escaped(error.object[error.start : error.end]), error.end


def _bytes_or_escapes(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def json_escaped(text: str) -> str:
    """Return each character as JSON escapes it."""
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def columns() -> int | None:
    """Return the width of the terminal that results go to, 0 if it is not known; None without a terminal.

    As :func:`shutil.get_terminal_size`, whose module takes long to import.
    """
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    configured = os.environ.get("COLUMNS", "")
    if configured.isdecimal() and int(configured):
        return int(configured)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0


def write(stream: int, text: str) -> None:
    """Write text to one of the streams, at once.

    Raises:
        OSError: If it cannot be written, such as on a full disk; the rest is then discarded.
    """
    file = sys.stdout if stream == RESULTS else sys.stderr
    if file is None:
        return
    try:
        file.write(text)
        file.flush()
    except OSError:
        if stream == RESULTS:
            # The rest of the buffer must not fail once more when Python exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
        raise
