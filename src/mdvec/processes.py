"""Processes that work for another one, and end with it."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess


def end_with_parent() -> None:
    """Let this process end as soon as the one that started it does, and not at Ctrl-C, which both receive."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    """End this process when another one does, which may be killed before it can say so."""
    parent.join()
    os._exit(1)
