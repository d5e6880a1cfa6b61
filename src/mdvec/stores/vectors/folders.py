"""A place that belongs to a vector index alone: whether it is one, its lock, and what its errors say."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from mdvec.errors import StoreError
from mdvec.locks import locked

LOCK = "mdvec.lock"
"""The file by which a folder is recognized; the processes that use the folder lock it."""

_PLACE_IN_SOURCE = re.compile(r", \S+\.rs:\d+:\d+$")  # which Lance adds, of the machine that built it


class IndexFolder:
    """The folder of an index. An address can be one too: nothing is locked or checked there.

    Args:
        place: A path or an address.

    Attributes:
        path: The folder; None for an address.
        location: Where it is, for people.

    Raises:
        StoreError: If the folder holds anything but an index of ours.
    """

    def __init__(self, place: str) -> None:
        self.path = None if "://" in place else Path(place).absolute()
        self.location = place if self.path is None else str(self.path)
        self.refuse_other_files()

    def refuse_other_files(self) -> None:
        """Raise an error for a folder that holds anything but an index of ours; it is not touched.

        Raises:
            StoreError: If it does.
        """
        if self.path is None or not self.path.exists():
            return
        if not self.path.is_dir() or (not (self.path / LOCK).exists() and any(self.path.iterdir())):
            raise not_ours(self.location)

    @contextmanager
    def locked(self, wait_s: float) -> Iterator[bool]:
        """Keep other processes from the folder, which is made; yield whether that worked.

        Args:
            wait_s: How long to wait for another process, in seconds.
        """
        if self.path is None:
            yield True
            return
        self.refuse_other_files()
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self.path / LOCK, wait_s=wait_s) as held:
            yield held

    def empty(self) -> None:
        """Remove all but the lock, as far as that is possible."""
        for each in self.path.iterdir() if self.path is not None else ():
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            elif each.name != LOCK:
                each.unlink(missing_ok=True)


def not_ours(place: str) -> StoreError:
    """Return the error for a place that holds something else."""
    msg = f"{place} is not a vector index of mdvec"
    return StoreError(msg, hint="Name another place in [store] vectors, or move it away.")


def cannot_be_used(place: str, error: Exception) -> StoreError:
    """Return the error for an index whose library has failed."""
    reason = next(iter(str(error).splitlines()), repr(error))
    reason = _PLACE_IN_SOURCE.sub("", reason)
    return StoreError(f"the vector index {place} cannot be used: {reason}")


def free_name(base: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the base, or the base with a number."""
    names = (base if number == 1 else f"{base}_{number}" for number in count(1))
    return next(name for name in names if name not in taken)
