"""Paths as people write them, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """Return a path with the home directory for a leading ``~``; that of an unknown user stays as it is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def write_whole(path: Path, content: bytes, *, by_way_of: Path | None = None) -> None:
    """Write a file in one step, which only its owner can read; one that is there is replaced.

    Args:
        path: The file.
        content: All of it.
        by_way_of: A folder on the same file system to write it in first; the file's own when None.

    Raises:
        OSError: If it cannot be written; what was there is unchanged.
    """
    descriptor, name = tempfile.mkstemp(prefix="mdvec-", dir=by_way_of or path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
