"""Files of a folder: turns their names into paths, and reads regular files safely."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from mdvec.errors import FileTooLargeError, UnreadableFileError
from mdvec.files import READ_FLAGS, system_path
from mdvec.text.folding import nfc, spelled

_KINDS = {
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}
# The marks of files that are in the cloud only: SF_DATALESS of macOS, and of Windows
# FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS.
_DATALESS_FLAG = 0x40000000
_RECALL_ATTRIBUTE = 0x400000
_MB = 1_000_000
_KB = 1_000


def is_dataless(status: os.stat_result) -> bool:
    """Return True if opening a file would download it."""
    flags, attributes = getattr(status, "st_flags", 0), getattr(status, "st_file_attributes", 0)
    return bool(flags & _DATALESS_FLAG or attributes & _RECALL_ATTRIBUTE)


def path_names(names: Sequence[str]) -> dict[str, str]:
    r"""Return the name used in paths for each name of one folder.

    A path is valid UTF-8 in NFC. A byte that is not UTF-8 is written ``\xNN``. If that gives two files one
    name, the file that really has the name keeps it. The others keep their own spelling, or get a number if
    that is impossible or taken.

    Args:
        names: All names of the folder, as :func:`os.fsdecode` gives them.

    Returns:
        The chosen names by real name, without ASCII names, which never change. All names of the folder stay
        distinct; their order does not matter.
    """
    wanted = {name: spelled(nfc(name)) for name in names if not name.isascii()}
    if not wanted:
        return {}
    taken = {name for name in names if wanted.get(name, name) == name}
    chosen: dict[str, str] = {}
    for name in sorted(wanted):
        if wanted[name] == name:
            chosen[name] = name
            continue
        choice = next(candidate for candidate in _candidates(name, wanted[name]) if candidate not in taken)
        taken.add(choice)
        chosen[name] = choice
    return chosen


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


def reason(error: OSError | UnreadableFileError) -> str:
    """Return why the system refused, without the path, such as ``Permission denied``."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _size(number: int) -> str:
    if number >= _MB:
        return f"{number / _MB:.1f}".removesuffix(".0") + " MB"
    return f"{number / _KB:.1f}".removesuffix(".0") + " kB" if number >= _KB else f"{number} bytes"


def _candidates(name: str, wanted: str) -> Iterator[str]:
    yield wanted
    if spelled(name) == name:
        yield name
    stem, dot, extension = wanted.rpartition(".")
    number = 2
    while True:
        yield f"{stem}~{number}{dot}{extension}" if stem else f"{wanted}~{number}"
        number += 1
