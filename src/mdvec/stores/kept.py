"""Spaces in files beside a store: a process maps them instead of reading every vector from the store.

A file holds nothing that the store does not hold, and can be removed at any time.
"""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mdvec.stores.blocks import Block, Codes, coded
from mdvec.stores.loaded import KeptSpace, Seen
from mdvec.stores.mapped import Arrays, map_arrays, write_arrays
from mdvec.stores.matrix import Owners
from mdvec.types.ids import SpaceId

_FORMAT = 1
_NAME = "-matrix-"


class _About(msgspec.Struct, frozen=True):
    """The description of a file, inside it; ``mark`` is that of its store, and secret."""

    format: int
    mark: int | None
    version: int
    epoch: int
    seen: Seen


class SpaceFiles:
    """The files of a store's spaces.

    Args:
        store: The file of the store.
    """

    def __init__(self, store: Path) -> None:
        self._store = store

    def read(self, space_id: SpaceId, mark: int | None) -> KeptSpace | None:
        """Return a space; None if there is no file of it that this store has written.

        Args:
            space_id: The space.
            mark: Of the store.
        """
        found = map_arrays(self._path(space_id), _About)
        if found is None or (found[0].format, found[0].mark) != (_FORMAT, mark):
            return None
        about, arrays = found
        rows, chunks, documents = (arrays[name] for name in ("rows", "chunk_rows", "name_rows"))
        if any(len(each) and int(each.max()) >= len(rows) for each in (chunks, documents)):
            return None
        codes = Codes(arrays["codes"], arrays["steps"], arrays["offsets"], arrays["mean"])
        return KeptSpace(
            about.version,
            about.epoch,
            about.seen,
            Block(arrays["keys"], rows, codes),
            Owners(arrays["chunks"], chunks),
            Owners(arrays["names"], documents),
        )

    def write(self, space_id: SpaceId, mark: int | None, space: KeptSpace) -> bool:
        """Write a space; return False if another process is at it, or nothing can be written."""
        codes = space.block.codes or coded(space.block.rows)
        about = _About(_FORMAT, mark, space.version, space.epoch, space.seen)
        arrays: Arrays = {
            "keys": space.block.keys,
            "codes": codes.bytes,
            "steps": codes.steps,
            "offsets": codes.offsets,
            "mean": codes.mean,
            "rows": space.block.rows,
            "chunks": space.chunks.ids,
            "chunk_rows": space.chunks.rows,
            "names": space.documents.ids,
            "name_rows": space.documents.rows,
        }
        return write_arrays(self._path(space_id), about, arrays)

    def spaces(self) -> Iterator[SpaceId]:
        """Yield the spaces that have a file."""
        for path in self._store.parent.glob(f"{glob.escape(self._store.name)}{_NAME}*"):
            number = path.name.rpartition("-")[2]
            if number.isdecimal():
                yield SpaceId(int(number))

    def remove(self, space_id: SpaceId) -> None:
        """Remove a file; a process that maps it keeps what it held."""
        with contextlib.suppress(OSError):
            self._path(space_id).unlink()

    def _path(self, space_id: SpaceId) -> Path:
        return self._store.with_name(f"{self._store.name}{_NAME}{space_id}")
