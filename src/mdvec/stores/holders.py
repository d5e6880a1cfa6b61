"""Claims on a collection or a whole store: who holds one, and whether that process lives.

Shared by the stores; each stores its claims itself.
"""

from __future__ import annotations

import functools
import os
import platform
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.clock import now_ms
from mdvec.errors import StoreError, WriterBusyError
from mdvec.types.collection import Collection
from mdvec.types.report import Activity

HEARTBEAT_S = 5.0
"""The interval at which a claim in use is renewed."""

SILENCE_S = 60.0
"""A claim of another machine that was not renewed for this long counts as abandoned."""

_POLL_S = 0.1
_RETRY_S = 2.0  # a server that is away, a disk that is full
_MOMENT_S = 1.0  # the least wait for a transaction, which is short, even if no wait for a claim is wanted
_SAME_START_S = 2.0  # a process's start is computed from the boot time, which moves with the clock


class Holder(Struct, frozen=True):
    """A claim of a process, dead or alive.

    Attributes:
        token: Unique to one claim.
        process_started: When the process started, in seconds since 1970: pids are used again.
        machine: Equal where pids mean the same: host, boot and pid namespace.
        heartbeat_ms: Last sign of life, in milliseconds since 1970.
        activity: Its work, for people.
    """

    token: str
    process_started: float
    machine: str
    heartbeat_ms: int
    activity: Activity


class HeldClaim:
    """A claim of this process; a :class:`mdvec.stores.interface.Claim`.

    Attributes:
        holder: The claim as other processes see it.
        wait_s: How long to wait for transactions of other processes, in seconds.
    """

    def __init__(self, holder: Holder, wait_s: float = 0.0) -> None:
        self.holder = holder
        self.wait_s = max(wait_s, _MOMENT_S)
        self._changed = False
        self._shown_at = time.monotonic()

    def report(self, stage: str, done: int, total: int) -> None:
        """Set the progress of the work."""
        activity = replace(self.holder.activity, stage=stage, done=done, total=total)
        self._changed = self._changed or stage != self.holder.activity.stage
        self.holder = replace(self.holder, activity=activity)

    def due(self) -> Holder | None:
        """Return the claim to write now; None while the stored one is recent enough."""
        now = time.monotonic()
        if not self._changed and now - self._shown_at < HEARTBEAT_S:
            return None
        self._changed, self._shown_at = False, now
        self.holder = replace(self.holder, heartbeat_ms=now_ms())
        return self.holder


# Claims that this process has released, but whose rows could not be removed yet.
_given_back: set[str] = set()


class Releases:
    """The removal of claims from a store; retried in the background if the store cannot be written now.

    For this process a released claim is over at once, also in other stores that it has opened.

    Args:
        remove: Removes the claim with a token.
    """

    def __init__(self, remove: Callable[[str], None]) -> None:
        self._remove = remove
        self._left: set[str] = set()
        self._guard = threading.Lock()
        self._closed = threading.Event()

    def release(self, token: str) -> None:
        """Remove a claim. It raises nothing, so that an earlier error, such as a full disk, is not hidden."""
        _given_back.add(token)
        if self._try(token):
            return
        with self._guard:
            is_first = not self._left
            self._left.add(token)
        if is_first:
            threading.Thread(target=self._try_again, name="mdvec releases", daemon=True).start()

    def close(self) -> None:
        """Stop retrying after one last attempt. Claims that are left end with this process."""
        self._closed.set()
        for token in list(self._left):
            self._try(token)

    def _try_again(self) -> None:
        left = True
        while left and not self._closed.wait(_RETRY_S):
            for token in list(self._left):
                if self._try(token):
                    self._left.discard(token)
            with self._guard:
                left = bool(self._left)

    def _try(self, token: str) -> bool:
        try:
            with run.bound(run.Run()):  # the import may be cancelled, but not this
                self._remove(token)
        except StoreError:
            return False
        _given_back.discard(token)
        return True


def wait_for_claim(take: Callable[[], Holder | None], *, wait_s: float) -> None:
    """Wait until a collection can be claimed.

    Args:
        take: Claims it and returns None, or returns its holder.
        wait_s: How long to wait, in seconds.

    Raises:
        WriterBusyError: If it is still claimed then; the message names who, since when and how far.
        ImportStoppedError: If the run is cancelled meanwhile.
    """
    deadline = time.monotonic() + wait_s
    while (holder := take()) is not None:
        left_s = deadline - time.monotonic()
        message = str(holder.activity)
        if left_s <= 0:
            raise WriterBusyError(message)
        run.current().report(run.Stage.WAIT, 0, 0, message)
        run.current().sleep(min(_POLL_S, left_s))


def new_holder(collection: Collection | None, purpose: str) -> Holder:
    """Return a claim of this process on a collection, or on the whole store."""
    import psutil

    started_ms = now_ms()
    name = "" if collection is None else collection.name
    return Holder(
        token=uuid.uuid4().hex,
        process_started=psutil.Process().create_time(),
        machine=_machine(),
        heartbeat_ms=started_ms,
        activity=Activity(name, purpose, os.getpid(), platform.node(), started_ms),
    )


def is_alive(holder: Holder) -> bool:
    """Return True if a claim was not released and its process still runs.

    A process of another machine counts as running until its heartbeat is old.
    """
    if holder.token in _given_back:
        return False
    if holder.machine != _machine():
        return now_ms() - holder.heartbeat_ms < SILENCE_S * 1000
    import psutil

    try:
        process = psutil.Process(holder.activity.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process.create_time() - holder.process_started) < _SAME_START_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:  # it exists, and belongs to another user
        return True


@functools.cache
def _machine() -> str:
    """Return an identifier of the machine, its boot and its pid namespace, as far as they are known."""
    parts = [platform.node()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:  # not Linux: the host has to do
        pass
    return " ".join(parts)
