"""Standard input and output as a wire of lines; the end of a process does not wait for its threads."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import NoReturn

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longest line of a client; real ones are far shorter."""


@contextmanager
def private_streams() -> Iterator[tuple[int, int]]:
    """Take standard input and output away from everything else in this process.

    From now on, Python and libraries in C print to standard error, and standard input is empty.

    Yields:
        File descriptors to read from the client and to write to it.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # They stay so: the buffer of a library is flushed when the process ends, and must not reach the client
    # even then. The SDK's transport restores them.
    os.dup2(2, 1)
    with redirect_stdout(sys.stderr):
        yield wire_in, wire_out


def read_lines(source: int) -> Iterator[bytes]:
    """Yield the lines that are not blank; of a line that is too long, only the first part.

    Yields:
        Lines with their end; a longer one than :data:`MAX_LINE_BYTES` is one byte longer than that.
    """
    with os.fdopen(source, "rb", closefd=False) as wire, suppress(OSError):
        while line := wire.readline(MAX_LINE_BYTES + 1):
            if line.strip():
                yield line
            while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
                line = wire.readline(MAX_LINE_BYTES + 1)


def write_all(target: int, line: bytes) -> None:
    """Write bytes to a file descriptor, however many calls that takes.

    Raises:
        OSError: If the other end has gone.
    """
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(target, rest) :]


# --- the end ---------------------------------------------------------------------------------------------

EXIT_CODES = {signal.SIGTERM: 0, signal.SIGINT: 130}
"""The signals that end a server, and its exit code after each."""

# A thread that indexes cannot be interrupted inside a batch. Work that is not committed by then is lost with
# the process, which is safe at any instant: the next import does it again.
_MAX_S = 1.5


def exit_soon(code: int) -> None:
    """End this process in a second and a half at the latest; until then it may end by itself."""
    timer = threading.Timer(_MAX_S, os._exit, (code,))
    timer.daemon = True
    timer.start()


def end_process(code: int) -> NoReturn:
    """End this process, even while a thread of it is inside a native library.

    When Python ends by itself, it ends such a thread as soon as that comes back from the library. In a
    library written in C++, onnxruntime for one, this aborts the process: "terminate called without an active
    exception".
    """
    if not any(thread.daemon for thread in threading.enumerate()):
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):  # its reader is gone, or it is closed
                stream.flush()
    os._exit(code)
