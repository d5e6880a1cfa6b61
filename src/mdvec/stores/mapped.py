"""Arrays in a file that is mapped into memory, so that all processes share them and none has to read them.

A file is complete or absent, its owner's alone, and not believed unless its checksum is right. It begins
with a header of fixed size: the checksum of the header's text, then the text, JSON.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]

_HEADER_BYTES: Final = 4096
_ALIGNED_TO: Final = 64  # as SIMD instructions like it
_BLOCK_BYTES: Final = 1 << 20
_FACTOR: Final = 0x9E3779B97F4A7C15  # odd, so that no block's sum is lost
_WORD: Final = (1 << 64) - 1
_UNFINISHED = ".new"
_LEFTOVER_AGE_S = 600.0  # writing takes seconds


class _Place(msgspec.Struct, frozen=True):
    """The position of an array in the file."""

    type: str
    shape: tuple[int, ...]
    offset: int


class _Header(msgspec.Struct, frozen=True):
    """The header of a file.

    Attributes:
        about: What its writer says.
        size: Bytes of the file.
        checksum: Of all behind the header.
        arrays: By name.
    """

    about: Any
    size: int
    checksum: int
    arrays: dict[str, _Place]


def write_arrays(path: Path, about: Any, arrays: Arrays) -> bool:
    """Write a file in one step; what was there before is replaced, and stays with processes that map it.

    Args:
        path: Where to write.
        about: What :func:`map_arrays` returns with the arrays; anything msgspec can encode.
        arrays: By name.

    Returns:
        False if another process is writing it, or nothing can be written there.
    """
    new = path.with_name(f"{path.name}{_UNFINISHED}")
    try:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - new.stat().st_mtime > _LEFTOVER_AGE_S:
                new.unlink()
        descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except OSError:
        return False
    try:
        with os.fdopen(descriptor, "w+b") as file:
            places = _write_body(file, arrays)
            file.flush()
            header = _Header(about, file.tell(), _checksum(file), places)
            text = msgspec.json.encode(header)
            file.seek(0)
            file.write(zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:  # no space, or a process on Windows that maps the old one
        with contextlib.suppress(OSError):
            new.unlink()
        return False
    return True


def map_arrays(path: Path, about: type[Any]) -> tuple[Any, dict[str, NDArray[Any]]] | None:
    """Map the arrays of a file; they cannot be changed.

    Args:
        path: The file; links are not followed.
        about: The type of what its writer said.

    Returns:
        What its writer said, and the arrays; None if there is no such file, or it is damaged.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            start = file.read(_HEADER_BYTES)
            text = start[8 : 8 + int.from_bytes(start[4:8], "little")]
            if zlib.crc32(text) != int.from_bytes(start[:4], "little"):
                return None
            header = msgspec.json.decode(text, type=_Header)
            said = msgspec.convert(header.about, about)
            if os.fstat(file.fileno()).st_size != header.size or _checksum(file) != header.checksum:
                return None
            mapped = mmap.mmap(file.fileno(), header.size, access=mmap.ACCESS_READ)
        return said, {name: _array(mapped, place) for name, place in header.arrays.items()}
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def _write_body(file: BinaryIO, arrays: Arrays) -> dict[str, _Place]:
    """Write arrays behind the header; the position is the end of the file then."""
    places = {}
    offset = _HEADER_BYTES
    for name, each in arrays.items():
        file.seek(offset)
        file.write(np.ascontiguousarray(each).data)
        places[name] = _Place(each.dtype.str, each.shape, offset)
        offset += -(-each.nbytes // _ALIGNED_TO) * _ALIGNED_TO
    file.truncate(offset)
    file.seek(offset)
    return places


def _checksum(file: BinaryIO) -> int:
    """Return the checksum of all behind the header; of words, so that it takes no longer than reading."""
    block = np.empty(_BLOCK_BYTES // 8, np.uint64)
    total = 0
    file.seek(_HEADER_BYTES)
    while count := file.readinto(block.data.cast("B")):  # type: ignore[attr-defined] # of all our files
        total = (total * _FACTOR + int(block[: count // 8].sum())) & _WORD
    return total


def _array(mapped: mmap.mmap, place: _Place) -> NDArray[Any]:
    count = int(np.prod(place.shape))
    return np.frombuffer(mapped, place.type, count, place.offset).reshape(place.shape)
