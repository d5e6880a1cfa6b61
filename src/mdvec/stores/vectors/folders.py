"""Shared by the vector indexes: a folder that belongs to one alone, its lock, and errors of libraries."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

from mdvec.errors import StoreError
from mdvec.locks import locked

T = TypeVar("T")
Failures = tuple[type[Exception], ...]

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
        """Remove everything that can be removed, except the lock."""
        for each in self.path.iterdir() if self.path is not None else ():
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            elif each.name != LOCK:
                each.unlink(missing_ok=True)


def not_ours(place: str) -> StoreError:
    """Return the error for a place that holds something else."""
    msg = f"{place} is not a vector index of mdvec"
    return StoreError(msg, hint="Name another place in [store] vectors, or move it away.")


@contextmanager
def usable(place: str, failures: Failures, remove_damage: Callable[[], None] | None = None) -> Iterator[None]:
    """Raise the failures of a library as the error that the index at a place cannot be used now.

    Args:
        place: For people.
        failures: The exceptions of the library.
        remove_damage: Called after a failure; empties the index if its data cannot be read.

    Raises:
        StoreError: In place of a failure.
    """
    try:
        yield
    except failures as error:
        if remove_damage is not None:
            with suppress(OSError):
                remove_damage()
        reason = _PLACE_IN_SOURCE.sub("", next(iter(str(error).splitlines()), repr(error)))
        msg = f"the vector index {place} cannot be used: {reason}"
        raise StoreError(msg) from error


def parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in order, at most ``size`` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def free_name(base: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the base, or the base with a number."""
    names = (base if number == 1 else f"{base}_{number}" for number in count(1))
    return next(name for name in names if name not in taken)
