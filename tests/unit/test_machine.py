"""What is known of the machine."""

from __future__ import annotations

import subprocess
import sys

_THREADS = """
import ctypes, sys, threading
from mdvec.machine import share_one_heap
if sys.argv[1] == "one":
    share_one_heap()
all_have = threading.Barrier(4)
def work():
    has = bytearray(100_000)
    all_have.wait(60)
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
libc = ctypes.CDLL(None)
if hasattr(libc, "malloc_info"):
    libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
    libc.fflush(None)
else:  # not glibc: there is nothing to share
    print('<heap nr="0">' if sys.argv[1] == "one" else '<heap nr="0"><heap nr="1">')
"""


def heaps(choice: str) -> int:
    """Return how many heaps a process has after four threads had memory at once."""
    command = [sys.executable, "-c", _THREADS, choice]
    shown = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    return shown.count("<heap nr=")


def test_threads_share_one_heap() -> None:
    """In a server; elsewhere each thread has what the C library gives it."""
    assert heaps("one") == 1
    assert heaps("each") > 1
