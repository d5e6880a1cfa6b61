"""Contents of files as git names them: by their hash, which is checked."""

from __future__ import annotations

import hashlib
import tempfile
import weakref
from collections.abc import Callable

from mdvec.errors import UnreadableFileError

OnFetch = Callable[[int, int], None]
"""Told how many files are fetched, and of how many."""

_SHA256_BYTES = 32


def tell_nobody(_done: int, _total: int) -> None:
    """Take note of nothing; an :data:`OnFetch`."""


def blob_id(raw: bytes, like: bytes) -> bytes:
    """Return what git calls a content.

    Args:
        raw: The content.
        like: Another id of the same repository; its length says which hash is used.

    Returns:
        20 bytes of SHA-1, or 32 of SHA-256.
    """
    header = b"blob %d\0" % len(raw)
    if len(like) == _SHA256_BYTES:
        return hashlib.sha256(header + raw).digest()
    return hashlib.sha1(header + raw, usedforsecurity=False).digest()


def verified(raw: bytes, wanted: bytes) -> bytes:
    """Return a content that is what was asked for.

    Raises:
        UnreadableFileError: If it is another one.
    """
    if blob_id(raw, wanted) != wanted:
        msg = "what came over the network is damaged: its hash is another one"
        raise UnreadableFileError(msg)
    return raw


class FetchedBlobs:
    """Contents that were fetched and not read yet: on disk, gone with the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the last reference to us
        self._places: dict[bytes, tuple[int, int]] = {}
        weakref.finalize(self, self._file.close)

    def __contains__(self, wanted: bytes) -> bool:
        return wanted in self._places

    def put(self, wanted: bytes, raw: bytes) -> None:
        """Keep a content under its id."""
        start = self._file.seek(0, 2)
        self._file.write(raw)
        self._places[wanted] = (start, len(raw))

    def get(self, wanted: bytes) -> bytes | None:
        """Return a content; None when it was not fetched."""
        if wanted not in self._places:
            return None
        start, size = self._places[wanted]
        self._file.seek(start)
        return self._file.read(size)
