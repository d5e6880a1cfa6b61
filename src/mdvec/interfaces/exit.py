"""The end of a process that serves: it does not wait for threads that cannot be interrupted."""

from __future__ import annotations

import os
import signal
import threading

EXIT_CODES = {signal.SIGTERM: 0, signal.SIGINT: 130}
"""The signals that end a server, and its exit code after each."""

# A thread that indexes cannot be interrupted inside a batch. What it has not committed by then is lost
# with the process, which is safe at any instant: the next import does it again.
_MOST_S = 1.5


def exit_soon(code: int) -> None:
    """End this process in a second and a half at the latest; until then it may end by itself."""
    timer = threading.Timer(_MOST_S, os._exit, (code,))
    timer.daemon = True
    timer.start()
