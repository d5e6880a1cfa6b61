"""Matrices in files next to a SQLite database: a process maps them instead of reading every vector.

All processes share the pages of a file. It contains nothing that the database does not contain, and can be
removed at any time. It is complete or absent, its owner's alone, and not believed unless its checksum is
right and it agrees with the database. It begins with a header of fixed size: the checksum of the header's
text, the length of the text, and the text, JSON.
"""

from __future__ import annotations

import contextlib
import glob
import json
import mmap
import os
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mdvec.files import READ_FLAGS
from mdvec.stores.matrix import Codes, Matrix, Owners, VectorBlock
from mdvec.stores.records import VectorKind
from mdvec.types.ids import SpaceId

Rows = Callable[..., list[tuple[Any, ...]]]
"""Runs a query in a snapshot of the database; see :meth:`mdvec.stores.tables.Tables.rows`."""

_NAME = "-matrix-"
_FORMAT: Final = 2
_HEADER_BYTES: Final = 4096
_ALIGNED_TO: Final = 64  # as SIMD instructions like it
_BLOCK_BYTES: Final = 1 << 20
_FACTOR: Final = 0x9E3779B97F4A7C15  # odd, so that no block's sum is lost
_WORD: Final = (1 << 64) - 1
_UNFINISHED = ".new"
_LEFTOVER_AGE_S = 600.0  # writing takes seconds

_MARK = "SELECT value FROM meta WHERE key = 'mark'"
_USED_IDS = "SELECT name, seq FROM sqlite_sequence"
_CHECKSUMS = "SELECT v.id, crc32(v.vector) FROM json_each(?) j CROSS JOIN vectors v ON v.id = j.value"
_VECTORS_OF = """SELECT c.id, v.id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash"""
_ANY_VECTOR = "SELECT 1 FROM vectors WHERE space_id = ? LIMIT 1"

# How many vectors and chunks of a file are compared: half of them the latest, half spread over all.
_COMPARED = 64


class SpaceMatrix(msgspec.Struct, frozen=True):
    """The matrix of a space, with what of its store was read.

    Attributes:
        version: The newest version that was read.
        epoch: Its vector epoch.
        last_ids: The largest ids that were read, of whatever space, by table; ids are never reused.
        matrix: The vectors.
        versions: The versions of the store whose owners are all in the matrix.
    """

    version: int
    epoch: int
    last_ids: Mapping[str, int]
    matrix: Matrix
    versions: tuple[int, ...] = ()


class _ArrayPlace(msgspec.Struct, frozen=True):
    """The position of an array in the file."""

    type: str
    shape: tuple[int, ...]
    offset: int


class _Header(msgspec.Struct, frozen=True):
    """The header of a file; ``mark`` is the number of its database, and secret."""

    format: int
    mark: int | None
    version: int
    epoch: int
    last_ids: dict[str, int]
    size: int
    checksum: int
    arrays: dict[str, _ArrayPlace]


class MatrixFile:
    """The file of a space.

    Args:
        database: The database.
        space_id: The space.
        rows: Runs a query in a snapshot of the database.
    """

    def __init__(self, database: Path, space_id: SpaceId, rows: Rows) -> None:
        self.path = database.with_name(f"{database.name}{_NAME}{space_id}")
        self._database = database
        self._space_id = space_id
        self._rows = rows

    def read(self, version: int, epoch: int) -> SpaceMatrix | None:
        """Map the matrix, if it is of this version or an earlier one in the same epoch.

        Returns:
            None if there is no such file, or it is damaged, or of another state than one that the snapshot
            came from.
        """
        found = map_matrix(self.path, self._mark())
        if found is None or found.epoch != epoch or found.version > version:
            return None
        return found if self._agrees(found) else None

    def write(self, space: SpaceMatrix) -> SpaceMatrix | None:
        """Write a matrix for later processes, unless another one has just done so.

        Returns:
            The matrix as they will read it; None if it cannot be written.
        """
        known = self.read(space.version, space.epoch)
        if known is not None and known.last_ids == space.last_ids:
            chunks, written = (each.matrix.owners[VectorKind.TEXT].ids for each in (space, known))
            if len(written) <= len(chunks):
                return known
        for other, path in matrix_files(self._database).items():
            if not self._rows(_ANY_VECTOR, other):
                remove_file(path)
        if not write_matrix(self.path, self._mark(), space):
            return None
        return self.read(space.version, space.epoch)

    def _mark(self) -> int | None:
        found = self._rows(_MARK)
        return found[0][0] if found else None

    def _agrees(self, space: SpaceMatrix) -> bool:
        """Return True if the snapshot is a later state of a matrix, and not of a backup put back."""
        used: dict[str, int] = dict(self._rows(_USED_IDS))
        if any(used.get(table, 0) < last for table, last in space.last_ids.items()):
            return False
        (block,), chunks = space.matrix.blocks, space.matrix.owners[VectorKind.TEXT]
        at = _compared(len(block.ids))
        ids = block.ids[at].tolist()
        checksums = [zlib.crc32(row.tobytes()) for row in block.rows[at]]
        if dict(self._rows(_CHECKSUMS, json.dumps(ids))) != dict(zip(ids, checksums, strict=True)):
            return False
        at = _compared(len(chunks.ids))
        vector_of = dict(zip(chunks.ids[at].tolist(), block.ids[chunks.rows[at]].tolist(), strict=True))
        found = self._rows(_VECTORS_OF, json.dumps([*vector_of]), self._space_id)
        return all(vector_of[chunk] == vector for chunk, vector in found)


def matrix_files(database: Path) -> dict[SpaceId, Path]:
    """Return the files of a database, by space."""
    paths = database.parent.glob(f"{glob.escape(database.name)}{_NAME}*")
    numbers = ((path.name.rpartition("-")[2], path) for path in paths)
    return {SpaceId(int(number)): path for number, path in numbers if number.isdecimal()}


def remove_file(path: Path) -> None:
    """Remove a file, if that can be; a process that maps it goes on with its contents."""
    with contextlib.suppress(OSError):
        path.unlink()


def write_matrix(path: Path, mark: int | None, space: SpaceMatrix) -> bool:
    """Write a matrix of one row at least in one step.

    The file before is replaced, and stays with processes that map it.

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
            places = _write_arrays(file, _arrays_of(space.matrix))
            file.flush()
            state = mark, space.version, space.epoch, dict(space.last_ids)
            text = msgspec.json.encode(_Header(_FORMAT, *state, file.tell(), _checksum(file), places))
            file.seek(0)
            file.write(zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:  # no space, or a process on Windows that maps the old one
        remove_file(new)
        return False
    return True


def map_matrix(path: Path, mark: int | None) -> SpaceMatrix | None:
    """Map a file, no links followed; the arrays cannot be changed.

    Returns:
        None if there is no such file, or it is damaged, or of another database.
    """
    try:
        descriptor = os.open(path, READ_FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            start = file.read(_HEADER_BYTES)
            text = start[8 : 8 + int.from_bytes(start[4:8], "little")]
            if zlib.crc32(text) != int.from_bytes(start[:4], "little"):
                return None
            header = msgspec.json.decode(text, type=_Header)
            if (header.format, header.mark) != (_FORMAT, mark):
                return None
            if os.fstat(file.fileno()).st_size != header.size or _checksum(file) != header.checksum:
                return None
            mapped = mmap.mmap(file.fileno(), header.size, access=mmap.ACCESS_READ)
        arrays = {name: _array(mapped, place) for name, place in header.arrays.items()}
        matrix = _matrix_of(arrays)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return SpaceMatrix(header.version, header.epoch, header.last_ids, matrix, (header.version,))


def _arrays_of(matrix: Matrix) -> dict[str, NDArray[Any]]:
    block = matrix.whole()
    codes = block.codes or Codes.of(block.rows)
    arrays: dict[str, NDArray[Any]] = {"ids": block.ids, "rows": block.rows}
    arrays |= {name: getattr(codes, name) for name in Codes.__struct_fields__}
    for kind, owners in matrix.owners.items():
        arrays |= {f"{kind}_owners": owners.ids, f"{kind}_rows": owners.rows}
    return arrays


def _matrix_of(arrays: Mapping[str, NDArray[Any]]) -> Matrix:
    """Return the matrix of :func:`_arrays_of`.

    Raises:
        ValueError: If an owner has a row that is not there.
    """
    codes = Codes(*(arrays[name] for name in Codes.__struct_fields__))
    owners = {kind: Owners(arrays[f"{kind}_owners"], arrays[f"{kind}_rows"]) for kind in VectorKind}
    if any(len(each.rows) and int(each.rows.max()) >= len(arrays["rows"]) for each in owners.values()):
        msg = "an owner without a row"
        raise ValueError(msg)
    return Matrix((VectorBlock(arrays["ids"], arrays["rows"], codes),), owners)


def _write_arrays(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> dict[str, _ArrayPlace]:
    """Write arrays behind the header; the position is the end of the file then."""
    places = {}
    offset = _HEADER_BYTES
    for name, each in arrays.items():
        file.seek(offset)
        file.write(np.ascontiguousarray(each).data)
        places[name] = _ArrayPlace(each.dtype.str, each.shape, offset)
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


def _array(mapped: mmap.mmap, place: _ArrayPlace) -> NDArray[Any]:
    count = int(np.prod(place.shape))
    return np.frombuffer(mapped, place.type, count, place.offset).reshape(place.shape)


def _compared(count: int) -> NDArray[np.int64]:
    """Return which of ``count`` rows are compared, ascending, each once."""
    spread = np.linspace(0, max(count - 1, 0), _COMPARED // 2).astype(np.int64)
    latest = np.arange(max(0, count - _COMPARED // 2), count)
    # numpy.union1d would import numpy.ma, which takes longer than all the rest here.
    return np.array(sorted({*spread[:count].tolist(), *latest.tolist()}), np.int64)
