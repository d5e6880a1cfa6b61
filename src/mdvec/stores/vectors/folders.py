"""A place that belongs to a vector index alone: whether it is one, and what its errors say."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import count
from pathlib import Path

from mdvec.errors import StoreError

LOCK = "mdvec.lock"
"""The file by which a folder is recognized; the processes that use the folder lock it."""

_PLACE_IN_SOURCE = re.compile(r", \S+\.rs:\d+:\d+$")  # which Lance adds, of the machine that built it


def refuse_other_files(folder: Path | None) -> None:
    """Raise an error for a folder that holds anything but an index of ours; it is not touched.

    Raises:
        StoreError: If it does.
    """
    if folder is None or not folder.exists():
        return
    if not folder.is_dir() or (not (folder / LOCK).exists() and any(folder.iterdir())):
        raise not_ours(str(folder))


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
