"""Reading a file of the user's folder without surprises: regular files alone, and never too much."""

from __future__ import annotations

import os
import stat

from mdvec.errors import UnreadableFileError

# A name that became a link since it was looked at is not followed, and a pipe does not block. Windows
# has neither, nor these flags; its files open as text without O_BINARY.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

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


def read_regular(path: str, max_bytes: int) -> bytes:
    """Read a regular file.

    Anything else is not opened: opening a pipe or a device can already have an effect.

    Args:
        path: Absolute, with all links resolved.
        max_bytes: Largest size to accept.

    Returns:
        All of its bytes.

    Raises:
        UnreadableFileError: If it is no regular file, or larger.
        OSError: If the system does not let it be read.
    """
    _refuse_irregular(os.lstat(path).st_mode)
    descriptor = os.open(path, _FLAGS)
    try:
        _refuse_irregular(os.fstat(descriptor).st_mode)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(max_bytes + 1)
            size = max(len(raw), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)
    if len(raw) > max_bytes:
        raise UnreadableFileError(too_large(size, max_bytes))
    return raw


def _refuse_irregular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise UnreadableFileError(irregular(mode))


def irregular(mode: int) -> str:
    """Say what something is that is no regular file, such as ``not a regular file (FIFO)``."""
    return f"not a regular file ({_KINDS.get(stat.S_IFMT(mode), 'unknown')})"


def too_large(size: int, max_bytes: int) -> str:
    """Say that a file is too large, such as ``larger than 10 MB (12.3 MB)``."""
    return f"larger than {_size(max_bytes)} ({_size(size)})"


def reason(error: OSError | UnreadableFileError) -> str:
    """Say why the system refused, without the path, such as ``Permission denied``."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _size(number: int) -> str:
    if number >= _MB:
        return f"{number / _MB:.1f}".removesuffix(".0") + " MB"
    if number >= _KB:
        return f"{number / _KB:.1f}".removesuffix(".0") + " kB"
    return f"{number} bytes"
