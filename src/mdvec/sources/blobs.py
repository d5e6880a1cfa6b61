"""File contents as git names them: by their hash, which is verified."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
import weakref
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import IO, BinaryIO, cast

from mdvec import run
from mdvec.errors import UnreadableFileError

_SHA256_BYTES = 32
# The limit for an archive's headers, which contain names and times.
_MAX_HEADER_BYTES = 1_000_000

# An archive of some kilobytes may unpack to terabytes; this much takes a minute.
_MAX_UNPACKED_BYTES = 64 << 30


def blob_id(raw: bytes, like: bytes) -> bytes:
    """Return git's id of a content.

    Args:
        raw: The content.
        like: Another id of the same repository, whose length determines the hash function.

    Returns:
        20 bytes of SHA-1, or 32 of SHA-256.
    """
    header = b"blob %d\0" % len(raw)
    if len(like) == _SHA256_BYTES:
        return hashlib.sha256(header + raw).digest()
    return hashlib.sha1(header + raw, usedforsecurity=False).digest()


def verified(raw: bytes, wanted: bytes) -> bytes:
    """Return a content after checking it against its id.

    Raises:
        UnreadableFileError: If the hash does not match.
    """
    if blob_id(raw, wanted) != wanted:
        msg = "the downloaded data is damaged: its hash does not match"
        raise UnreadableFileError(msg)
    return raw


class FetchedBlobs:
    """Contents that were fetched but not read yet: on disk, removed with the process."""

    def __init__(self) -> None:
        self._places: dict[bytes, tuple[int, int]] = {}

    @cached_property
    def _file(self) -> IO[bytes]:
        """The file, made when there is something to keep."""
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the last reference to us
        weakref.finalize(self, file.close)
        return file

    def __contains__(self, wanted: bytes) -> bool:
        return wanted in self._places

    def put(self, wanted: bytes, raw: bytes) -> None:
        """Store a content under its id."""
        start = self._file.seek(0, 2)
        self._file.write(raw)
        self._places[wanted] = (start, len(raw))

    def get(self, wanted: bytes) -> bytes | None:
        """Return a content; None if it was not fetched."""
        if wanted not in self._places:
            return None
        start, size = self._places[wanted]
        self._file.seek(start)
        return self._file.read(size)


class _LimitedReads:
    """A file that refuses what is large: tarfile reads any header into memory, and unpacks any content."""

    def __init__(self, file: gzip.GzipFile, max_bytes: int) -> None:
        self._file = file
        self._max_bytes = max_bytes
        self.tell = file.tell

    def seek(self, offset: int) -> int:
        """Go to a place, which unpacks all before it.

        Raises:
            tarfile.ReadError: If too much would be unpacked.
            ImportStoppedError: If the run is cancelled.
        """
        run.current().check()
        if offset > _MAX_UNPACKED_BYTES:
            msg = "it is too large"
            raise tarfile.ReadError(msg)
        return self._file.seek(offset)

    def read(self, size: int) -> bytes:
        """Read as from any file.

        Raises:
            tarfile.ReadError: If ``size`` is above the limit.
        """
        if size > self._max_bytes + tarfile.BLOCKSIZE:
            msg = "a header is too large"
            raise tarfile.ReadError(msg)
        return self._file.read(size)


def take_wanted(
    archive: BinaryIO, wanted: Mapping[bytes, int], blobs: FetchedBlobs, on_found: Callable[[], None]
) -> None:
    """Store the contents of an archive that are wanted.

    They are found by their hash, regardless of their names in the archive. Some may be missing: attributes of
    the repository can exclude files from archives or change them, and an archive may be truncated.
    """
    left = {wanted_id for wanted_id in wanted if wanted_id not in blobs}
    sizes = {wanted[wanted_id] for wanted_id in left} | {0}
    like = next(iter(wanted), b"")
    try:
        unpacked = _LimitedReads(gzip.GzipFile(fileobj=archive), max(_MAX_HEADER_BYTES, *sizes))
        with tarfile.open(fileobj=cast("BinaryIO", unpacked), mode="r:") as members:
            while left and (member := members.next()) is not None:
                members.members.clear()  # type: ignore[attr-defined]  # tarfile would remember all members
                if not member.isreg() or member.size not in sizes:
                    continue
                file = members.extractfile(member)
                raw = b"" if file is None else file.read()
                found = blob_id(raw, like)
                if found in left:
                    left.remove(found)
                    blobs.put(found, raw)
                    on_found()
    except (tarfile.TarError, EOFError, OSError, zlib.error, OverflowError, ValueError):
        return  # missing contents are fetched one by one
