"""Paths as people write them, files that are read safely, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mdvec.errors import FileTooLargeError, UnreadableFileError

READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""Open a file to read it: a link that has taken its place is not followed, and a pipe does not block.

Windows has neither, nor these flags; without O_BINARY its files open as text.
"""

_KINDS = {
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}
_MB = 1_000_000
_KB = 1_000

_VERBATIM = "\\\\?\\"  # before a path that Windows takes as it is
_REPLACE_WAIT_S = 2.0
_LOOK_EVERY_S = 0.02


def expanded(path: str | Path) -> Path:
    """Return a path with the home directory for a leading ``~``; that of an unknown user stays as it is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def inside(path: str, folder: str, *, key: Callable[[str], str] = str) -> str | None:
    """Return where an absolute path is in a folder, with ``/`` on every system.

    Args:
        path: The path.
        folder: An absolute path.
        key: Two names of folders are equal if this returns the same for both.

    Returns:
        Empty for the folder itself, None outside.
    """
    names, above = Path(path).parts, Path(folder).parts
    is_inside = [key(name) for name in names[: len(above)]] == [key(name) for name in above]
    return "/".join(names[len(above) :]) if is_inside else None


def system_path(path: str) -> str:
    """Return the name of a file for calls of the system, of its absolute path.

    Without it, Windows refuses paths of more than 259 characters, opens a device for ``aux.md``, and drops
    dots and spaces at the end of a name.
    """
    if sys.platform == "win32" and not path.startswith(_VERBATIM):
        path = path.replace("/", "\\")
        path = f"{_VERBATIM}UNC{path[1:]}" if path.startswith("\\\\") else _VERBATIM + path
    return path


def resolved(path: str) -> str:
    """Return an absolute path with all links resolved.

    Raises:
        OSError: If there is no such file, or links lead in a circle.
    """
    found = os.path.realpath(system_path(path), strict=True)
    if not found.startswith(_VERBATIM):
        return found
    bare = found.removeprefix(_VERBATIM)
    return f"\\{bare.removeprefix('UNC')}" if bare.startswith("UNC\\") else bare


def read_regular(path: str, max_bytes: int) -> bytes:
    """Read a regular file.

    Anything else is not opened: opening a pipe or a device can already have an effect.

    Args:
        path: Absolute, with all links resolved.
        max_bytes: Largest size to accept.

    Returns:
        All of its bytes.

    Raises:
        UnreadableFileError: If it is not a regular file.
        FileTooLargeError: If it is larger.
        OSError: If the system refuses to read it.
    """
    path = system_path(path)
    _refuse_irregular(os.lstat(path).st_mode)
    descriptor = os.open(path, READ_FLAGS)
    try:
        _refuse_irregular(os.fstat(descriptor).st_mode)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(max_bytes + 1)
            size = max(len(raw), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)
    if len(raw) > max_bytes:
        raise FileTooLargeError(too_large(size, max_bytes))
    return raw


def _refuse_irregular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise UnreadableFileError(irregular(mode))


def irregular(mode: int) -> str:
    """Return the reason to refuse an irregular file, such as ``not a regular file (FIFO)``."""
    return f"not a regular file ({_KINDS.get(stat.S_IFMT(mode), 'unknown')})"


def too_large(size: int, max_bytes: int) -> str:
    """Return the reason to refuse a large file, such as ``larger than 10 MB (12.3 MB)``."""
    return f"larger than {_size(max_bytes)} ({_size(size)})"


def _size(number: int) -> str:
    if number >= _MB:
        return f"{number / _MB:.1f}".removesuffix(".0") + " MB"
    return f"{number / _KB:.1f}".removesuffix(".0") + " kB" if number >= _KB else f"{number} bytes"


def write_whole(path: Path, content: bytes, *, by_way_of: Path | None = None) -> None:
    """Write a file in one step, which only its owner can read; one that is there is replaced.

    It is written first in the folder ``by_way_of``, on the same file system; in the file's own when None.

    Raises:
        OSError: If it cannot be written; what was there is unchanged.
    """
    descriptor, name = tempfile.mkstemp(prefix="mdvec-", dir=by_way_of or path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        replace(Path(name), path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def replace(new: Path, path: Path) -> None:
    """Put a file in the place of another one; on Windows wait for programs that read that one.

    Raises:
        OSError: If that cannot be, or a program reads it for too long.
    """
    deadline = time.monotonic() + _REPLACE_WAIT_S
    while sys.platform == "win32" and time.monotonic() < deadline:
        with contextlib.suppress(PermissionError):
            new.replace(path)
            return
        time.sleep(_LOOK_EVERY_S)
    new.replace(path)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, also files that git has made read-only, which Windows protects.

    Raises:
        OSError: If something cannot be removed.
    """
    if sys.platform == "win32":
        for path in folder.rglob("*"):
            path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    shutil.rmtree(folder)
