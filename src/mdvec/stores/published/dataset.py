"""Versions of a database in a place: each a manifest that names parts by what they hold.

``versions/NUMBER.json`` is the manifest. Once it is there, so is the version, whole: it is written last and
never changed. ``parts/NUMBER/SHA256`` is a part of the file, compressed, which the version NUMBER sent
first. A version names the parts of the one before that it has in common, so only what has changed is sent
and fetched.
"""

from __future__ import annotations

import hashlib
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec

from mdvec import run
from mdvec.errors import DamagedDatabaseError, NewerDatabaseError, StoreError, WriterBusyError
from mdvec.stores.published.places import Place

_FORMAT: Final = 1
_PART_BYTES: Final = 1 << 20  # larger ones change more often, smaller ones cost more requests
_MOST_PART_BYTES: Final = 64 << 20
_THREADS: Final = 8
_LEVEL: Final = 1  # of zlib: texts become a third, vectors stay, and a core does 100 MB a second

_VERSIONS: Final = "versions"
_PARTS: Final = "parts"
_HASH_CHARS: Final = 64

_PART_NAME: Final = r"[0-9]{10}/[0-9a-f]{64}"
_PART: Final = re.compile(f"{_PARTS}/{_PART_NAME}")

Number = Annotated[int, msgspec.Meta(ge=1, lt=10**10)]
PartName = Annotated[str, msgspec.Meta(pattern=f"^{_PART_NAME}$")]


class Manifest(msgspec.Struct, frozen=True):
    """A version.

    Attributes:
        format: Of the manifest and the parts.
        number: Counts up from 1.
        published_ms: When, in milliseconds since 1970.
        collections: What it holds.
        size_bytes: Of the file.
        part_bytes: Of every part but the last.
        parts: Their names, in order: the version that sent it, and the SHA-256 of its bytes.
    """

    format: int
    number: Number
    published_ms: int
    collections: tuple[str, ...]
    size_bytes: Annotated[int, msgspec.Meta(ge=0)]
    part_bytes: Annotated[int, msgspec.Meta(ge=1, le=_MOST_PART_BYTES)]
    parts: tuple[PartName, ...]


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file that a version was fetched into; its parts need not be fetched again."""

    path: Path
    manifest: Manifest


def numbers(place: Place) -> list[int]:
    """Return the versions that are there, in order.

    Raises:
        StoreError: If the place cannot be used.
    """
    found = (Path(name) for name in place.names(_VERSIONS))
    return sorted(int(each.stem) for each in found if each.suffix == ".json" and each.stem.isdecimal())


def read_manifest(place: Place, number: int) -> Manifest | None:
    """Return a version; None if it is not there any more.

    Raises:
        DamagedDatabaseError: If it cannot be read.
        NewerDatabaseError: If a newer mdvec published it.
        StoreError: If the place cannot be used.
    """
    content = place.get(_manifest_name(number))
    if content is None:
        return None
    try:
        if msgspec.json.decode(content, type=_Format).format > _FORMAT:
            msg = f"version {number} of {place.location} was published by a newer mdvec"
            raise NewerDatabaseError(msg, hint="Upgrade with 'pip install -U mdvec'.")
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        msg = f"version {number} of {place.location} is damaged: {error}"
        raise DamagedDatabaseError(msg, hint="Publish again.") from error


def latest(place: Place) -> Manifest | None:
    """Return the newest version; None where nothing is published.

    Raises:
        StoreError: If the place cannot be used, or the version cannot be read.
    """
    for number in reversed(numbers(place)):
        if (manifest := read_manifest(place, number)) is not None:  # not removed since it was listed
            return manifest
    return None


def publish(
    place: Place, file: Path, number: int, collections: Sequence[str], previous: Manifest | None
) -> tuple[Manifest, int]:
    """Write a version: what the previous one has not, then the manifest. Until then nobody sees it.

    Args:
        place: Where.
        file: What is published; it does not change meanwhile.
        number: That of the previous one and 1.
        collections: What it holds.
        previous: The newest version that is there.

    Returns:
        The version, and how many bytes were sent for it.

    Raises:
        WriterBusyError: If another process has published this number; its version is untouched.
        ImportStoppedError: If the run is cancelled; what was sent does no harm.
        StoreError: If the place cannot be used.
    """
    # Only parts of the newest version are named again: those of older ones may be on their way out.
    there = {} if previous is None else {each[-_HASH_CHARS:]: each for each in previous.parts}
    names: list[str] = []
    size = file.stat().st_size
    sent = 0
    with file.open("rb") as content, ThreadPoolExecutor(_THREADS) as pool:
        while batch := [part for _ in range(_THREADS) if (part := content.read(_PART_BYTES))]:
            run.current().check()
            new: dict[str, bytes] = {}
            for part in batch:
                digest = hashlib.sha256(part).hexdigest()
                if digest not in there:
                    there[digest] = f"{number:010}/{digest}"
                    new[there[digest]] = part
                names.append(there[digest])
            sent += sum(pool.map(lambda name, parts=new: _send(place, name, parts[name]), new))
            run.current().report(run.Stage.PUBLISH, len(names), -(-size // _PART_BYTES))
    manifest = Manifest(
        _FORMAT, number, time.time_ns() // 1_000_000, tuple(collections), size, _PART_BYTES, tuple(names)
    )
    if not place.create(_manifest_name(number), msgspec.json.encode(manifest)):
        msg = f"another process has published version {number} of {place.location} meanwhile"
        raise WriterBusyError(msg, hint="Run it again to publish yours after that one.")
    return manifest, sent


def prune(place: Place, newest: int, keep: int) -> int:
    """Remove old versions, and parts that no version needs; return how many versions were removed.

    What a process sends that is publishing now stays: its number is larger than the newest one.

    Args:
        place: Where.
        newest: A version that is there.
        keep: How many versions stay, the newest among them.

    Raises:
        StoreError: If the place cannot be used, or a version that stays cannot be read.
    """
    found = numbers(place)
    old = [number for number in found if number <= newest - keep]
    # A manifest goes before its parts do: who can read it can fetch it, or sees that a part is gone.
    place.delete([_manifest_name(number) for number in old])
    kept = [read_manifest(place, number) for number in found if number not in old]
    needed = {f"{_PARTS}/{name}" for manifest in kept if manifest is not None for name in manifest.parts}
    ours = (name for name in place.names(_PARTS) if _PART.fullmatch(name))
    beyond = f"{_PARTS}/{newest + 1:010}/"
    place.delete([name for name in ours if name < beyond and name not in needed])
    return len(old)


def fetch(place: Place, manifest: Manifest, target: Path, near: LocalFile | None) -> int:
    """Write the file of a version; what a file on this machine has is not fetched.

    Returns:
        How many parts were fetched.

    Raises:
        DamagedDatabaseError: If a part is not what its name says.
        StoreError: If a part is gone, or the place or the file cannot be used.
    """
    own = {} if near is None else {name[-_HASH_CHARS:]: at for at, name in enumerate(near.manifest.parts)}
    fetched = 0

    def bring(name: str) -> tuple[bytes, bool]:
        digest = name[-_HASH_CHARS:]
        if near is not None and digest in own:
            part = _read(near.path, own[digest] * near.manifest.part_bytes, near.manifest.part_bytes)
            if hashlib.sha256(part).hexdigest() == digest:
                return part, False
        return _receive(place, name, manifest.part_bytes), True

    with target.open("wb") as file, ThreadPoolExecutor(_THREADS) as pool:
        for batch in _batches(manifest.parts):
            for part, was_fetched in pool.map(bring, batch):
                file.write(part)
                fetched += was_fetched
    if target.stat().st_size != manifest.size_bytes:
        msg = f"version {manifest.number} of {place.location} is damaged: its size is wrong"
        raise DamagedDatabaseError(msg, hint="Publish again.")
    return fetched


class _Format(msgspec.Struct):
    format: int


def _manifest_name(number: int) -> str:
    return f"{_VERSIONS}/{number:010}.json"


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[at : at + _THREADS] for at in range(0, len(names), _THREADS))


def _send(place: Place, name: str, part: bytes) -> int:
    content = zlib.compress(part, _LEVEL)
    place.put(f"{_PARTS}/{name}", content)
    return len(content)


def _receive(place: Place, name: str, most_bytes: int) -> bytes:
    content = place.get(f"{_PARTS}/{name}")
    if content is None:
        msg = f"part {name} of {place.location} is gone"
        raise StoreError(msg, hint="A newer version is there, or is needed: publish again.")
    try:
        part = zlib.decompressobj().decompress(content, most_bytes)
    except zlib.error:
        part = b""
    if hashlib.sha256(part).hexdigest() != name[-_HASH_CHARS:]:
        msg = f"part {name} of {place.location} is damaged"
        raise DamagedDatabaseError(msg, hint="Publish again.")
    return part


def _read(path: Path, offset: int, count: int) -> bytes:
    """Return a stretch of a file; nothing if it is gone."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(count)
    except OSError:
        return b""
