"""Starts and ends the daemon of a database, and finds out whether it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import psutil

from mdvec.config.trust import make_private_folder
from mdvec.interfaces.daemon.place import DaemonError, DaemonInfo, DaemonPlace
from mdvec.locks import locked

_START_WAIT_S = 60.0
_STOP_WAIT_S = 10.0
_LOOK_EVERY_S = 0.05
# The end of a terminal does not end it.
_DETACHED = 0x8 if sys.platform == "win32" else 0  # subprocess.DETACHED_PROCESS, which only Windows has

_Found = TypeVar("_Found")


def running(place: DaemonPlace) -> DaemonInfo | None:
    """Return what the daemon says that holds the lock; None when none does."""
    if not place.lock.exists():
        return None
    with locked(place.lock, wait_s=0) as free:
        return None if free else place.read()


@contextmanager
def one_at_a_time(place: DaemonPlace) -> Iterator[None]:
    """Let no other command start this daemon meanwhile: the second one would report a failure.

    After a minute it goes on regardless.
    """
    make_private_folder(place.folder)
    with locked(place.start_lock, wait_s=_START_WAIT_S):
        yield


def start(
    place: DaemonPlace, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]
) -> DaemonInfo | None:
    """Start a daemon, and wait until it is ready.

    Args:
        place: Its place; the folder exists.
        command: Runs it in the foreground.
        cwd: The working directory.
        env: The environment.

    Returns:
        What it says about itself; None if it ended. What it printed is in ``place.output``.

    Raises:
        DaemonError: If it was not ready in time.
    """
    with os.fdopen(os.open(place.output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as output:
        process = subprocess.Popen(  # noqa: S603 - this program itself
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            creationflags=_DETACHED,
        )
    info = _wait_for(lambda: _answering(place, process.pid), process)
    if info is None and process.poll() is None:
        msg = f"the daemon is not ready after {_START_WAIT_S:.0f} seconds: process {process.pid}"
        raise DaemonError(msg, hint=f"It may still become ready. What it does is in {place.log}.")
    return info


def stop(place: DaemonPlace, info: DaemonInfo) -> None:
    """End a daemon, by force if it does not end by itself.

    Raises:
        DaemonError: If it runs on.
    """
    for end in (psutil.Process.terminate, psutil.Process.kill):
        with suppress(psutil.NoSuchProcess):
            end(psutil.Process(info.pid))
        if _wait_for(lambda: running(place) is None, None, most_s=_STOP_WAIT_S):
            return
    msg = f"the daemon did not stop: process {info.pid}"
    raise DaemonError(msg, hint="It may wait for a disk; end the process yourself.")


def _answering(place: DaemonPlace, pid: int) -> DaemonInfo | None:
    info = place.read()
    return info if info is not None and info.pid == pid else None


def _wait_for(
    find: Callable[[], _Found | None],
    process: subprocess.Popen[bytes] | None,
    *,
    most_s: float = _START_WAIT_S,
) -> _Found | None:
    """Wait until something is found, a process has ended, or time is up."""
    deadline = time.monotonic() + most_s
    while not (found := find()) and time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            return None
        time.sleep(_LOOK_EVERY_S)
    return found or None
