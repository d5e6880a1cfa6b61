"""The end of a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import threading, time
from mdvec.interfaces.streams import end_process

ended = threading.Event()
threading.Thread(target=ended.wait, daemon={daemon}).start()
print("written", end="")
threading.Timer(0.2, ended.set).start()
import atexit
atexit.register(lambda: print(" and cleaned up", end=""))
end_process(3)
"""


@pytest.mark.parametrize(("daemon", "written"), [(True, "written"), (False, "written and cleaned up")])
def test_what_was_written_arrives(daemon: bool, written: str) -> None:
    """Whether a daemon thread is at work, or Python can end as it does."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(daemon=daemon)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, written, "")
