"""The end of a process: it does not wait for threads that cannot be interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import NoReturn

EXIT_CODES = {signal.SIGTERM: 0, signal.SIGINT: 130}
"""The signals that end a server, and its exit code after each."""

# A thread that indexes cannot be interrupted inside a batch. What it has not committed by then is lost
# with the process, which is safe at any instant: the next import does it again.
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
            with contextlib.suppress(OSError, ValueError):  # its reader is gone, or it is closed
                stream.flush()
    os._exit(code)
