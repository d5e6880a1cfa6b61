"""Folders that are built once and then shared: complete or absent, even if several processes build."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_MANIFEST = "manifest.txt"
_STAGING = ".partial"
_LEFTOVER_AGE_S = 3600  # a build takes seconds: older leftovers are of killed processes
_ATTEMPTS = 5
_BLOCK_BYTES = 1 << 18


def ready_directory(target: Path, build: Callable[[Path], None]) -> Path:
    """Return a folder, built if it is missing or damaged.

    It is built under a temporary name and then renamed, so other processes see all of it or nothing. When
    two processes build at once, one result remains.

    Args:
        target: The folder; its parents are created.
        build: Fills an empty folder, with files only.

    Returns:
        ``target``, with every byte as it was built.

    Raises:
        OSError: If the folder cannot be written.
    """
    if _is_intact(target):
        return target
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_leftovers(target)
    staging = Path(tempfile.mkdtemp(prefix=f"{target.name}.", suffix=_STAGING, dir=target.parent))
    try:
        build(staging)
        (staging / _MANIFEST).write_text(_describe(staging), encoding="utf-8")
        for path in staging.iterdir():
            _flush(path)
        _publish(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _describe(directory: Path) -> str:
    """List every file with its checksum and size."""
    lines = []
    for path in sorted(directory.iterdir()):
        if path.name != _MANIFEST:
            with path.open("rb") as file:
                checksum, size = _checksum(file)
            lines.append(f"{checksum:08x} {size} {path.name}\n")
    return "".join(lines)


def _checksum(file: BinaryIO) -> tuple[int, int]:
    """Return the CRC-32 and the size of a file, which detect damage in half the time of a digest."""
    checksum = 0
    while block := file.read(_BLOCK_BYTES):
        checksum = zlib.crc32(block, checksum)
    return checksum, file.tell()


def _is_intact(directory: Path) -> bool:
    try:
        return (directory / _MANIFEST).read_text(encoding="utf-8") == _describe(directory)
    except (OSError, UnicodeDecodeError):
        return False


def _flush(path: Path) -> None:
    """Flush a file to the disk, before its folder gets its final name."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _publish(staging: Path, target: Path) -> None:
    """Rename a finished folder into place, unless another process was quicker."""
    for attempt in range(_ATTEMPTS):
        try:
            staging.rename(target)
        except OSError:  # there is a folder already
            if _is_intact(target):
                return
            if attempt == _ATTEMPTS - 1:
                raise
            _discard(target)
        else:
            return


def _discard(target: Path) -> None:
    """Move a damaged folder out of the way in one step, then delete it."""
    grave = Path(tempfile.mkdtemp(prefix=f"{target.name}.", suffix=_STAGING, dir=target.parent))
    try:
        target.rename(grave / target.name)
    except FileNotFoundError:
        pass  # another process was quicker
    finally:
        shutil.rmtree(grave, ignore_errors=True)


def _remove_leftovers(target: Path) -> None:
    for path in target.parent.glob(f"{target.name}.*{_STAGING}"):
        try:
            if time.time() - path.stat().st_mtime > _LEFTOVER_AGE_S:
                shutil.rmtree(path, ignore_errors=True)
        except FileNotFoundError:
            continue
