"""The parts of a published file: each named by its contents, compressed, and sent by several threads."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, Self

from mdvec import run
from mdvec.errors import DamagedDatabaseError, StoreError
from mdvec.stores.published.places import SEND_ALL, Place

PART_BYTES: Final = 1 << 20  # smaller parts cost more requests
PART_NAME: Final = r"[0-9]{10}/[0-9a-f]{64}"
"""The number of the version that sent it, and the SHA-256 of its bytes."""

THREADS: Final = 8

_LEVEL: Final = 1  # of zlib: texts become a third, vectors stay, and a core does 100 MB a second
_FOLDER: Final = "parts"
_HASH_CHARS: Final = 64
# What cannot be compressed grows: zlib adds 5 bytes to a block of 16 kB or more, and a frame.
_GROWTH: Final = 1000
_FRAME_BYTES: Final = 1000
_PART: Final = re.compile(f"{_FOLDER}/{PART_NAME}")


class Sender:
    """Sends parts in threads, a few at a time.

    Attributes:
        sent_bytes: How many bytes were sent, once the context has ended.
    """

    def __init__(self, place: Place, number: int) -> None:
        self._place = place
        self._number = number
        self._pool = ThreadPoolExecutor(THREADS)
        self._pending: list[Future[int]] = []
        self.sent_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self._pool.shutdown(cancel_futures=kind is not None)
        if kind is None:
            self._collect(0)

    def send(self, part: bytes) -> str:
        """Send a part, some time, and return its name."""
        run.current().check()
        name = f"{self._number:010}/{hashlib.sha256(part).hexdigest()}"
        self._collect(2 * THREADS)
        self._pending.append(self._pool.submit(_send, self._place, name, part))
        return name

    def _collect(self, most_left: int) -> None:
        while len(self._pending) > most_left:
            self.sent_bytes += self._pending.pop(0).result()


def receive(place: Place, name: str, most_bytes: int = PART_BYTES) -> bytes:
    """Return a part.

    Raises:
        DamagedDatabaseError: If it is not what its name says.
        StoreError: If it is gone, or the place cannot be used.
    """
    content = place.get(f"{_FOLDER}/{name}", most_bytes + most_bytes // _GROWTH + _FRAME_BYTES)
    if content is None:
        msg = f"part {name} of {place.location} is gone"
        raise StoreError(msg, hint=SEND_ALL)
    try:
        part = zlib.decompressobj().decompress(content, most_bytes)
    except zlib.error:
        part = b""
    if hashlib.sha256(part).hexdigest() != name[-_HASH_CHARS:]:
        msg = f"part {name} of {place.location} is damaged"
        raise DamagedDatabaseError(msg, hint=SEND_ALL)
    return part


def part_names(place: Place) -> Iterator[str]:
    """Yield the names of the parts that are there."""
    return (name.removeprefix(f"{_FOLDER}/") for name in place.names(_FOLDER) if _PART.fullmatch(name))


def delete_parts(place: Place, names: list[str]) -> None:
    """Remove parts."""
    place.delete([f"{_FOLDER}/{name}" for name in names])


def _send(place: Place, name: str, part: bytes) -> int:
    content = zlib.compress(part, _LEVEL)
    place.put(f"{_FOLDER}/{name}", content)
    return len(content)
