"""Files of a folder: turns their names into paths, and says why one is not read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from mdvec.errors import UnreadableFileError
from mdvec.text.folding import nfc, spelled

# The marks of files that are in the cloud only: SF_DATALESS of macOS, and of Windows
# FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS.
_DATALESS_FLAG = 0x40000000
_RECALL_ATTRIBUTE = 0x400000


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


def reason(error: OSError | UnreadableFileError) -> str:
    """Return why the system refused, without the path, such as ``Permission denied``."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _candidates(name: str, wanted: str) -> Iterator[str]:
    yield wanted
    if spelled(name) == name:
        yield name
    stem, dot, extension = wanted.rpartition(".")
    number = 2
    while True:
        yield f"{stem}~{number}{dot}{extension}" if stem else f"{wanted}~{number}"
        number += 1
