"""Standard input and output as a wire of lines, away from everything else in the process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longest line of a client; real ones are far shorter."""


@contextmanager
def private_streams() -> Iterator[tuple[int, int]]:
    """Take standard input and output away from everything else in this process.

    What Python or a library in C prints from now on goes to standard error, and standard input is empty.

    Yields:
        File descriptors to read from the client and to write to it.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        yield wire_in, wire_out
    finally:
        # The descriptors stay as they are: the buffer of a library is flushed when the process ends, and
        # must not reach the client even then. The SDK's transport restores them.
        sys.stdout = stdout


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


def decode_json(message: bytes, decode: Callable[[bytes], Any] = msgspec.json.decode) -> Any:
    r"""Return the value of JSON, with halves of characters such as ``\ud83d`` replaced.

    Clients in JavaScript send them when they cut a text inside an emoji. An error could not name the
    request, so the client would wait for ever.

    Raises:
        ValueError: If it is not JSON; names the place in the message.
        RecursionError: If it is nested too deeply.
    """
    try:
        return decode(message)
    except ValueError:
        message.decode()  # msgspec counts the bytes before a wrong one from the start of its string
        if rb"\ud" not in message.lower():
            raise
        return decode(json.dumps(json.loads(message), ensure_ascii=False).encode(errors="replace"))
