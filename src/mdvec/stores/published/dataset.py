"""Versions of a database in a place: each a manifest that says where the pages of the file are.

``versions/NUMBER.json`` is the manifest. Once it is there, so is the version, whole; it is written last and
never changed. ``parts/NUMBER/SHA256`` holds pages that the version NUMBER was the first to have, compressed.
A version takes the pages that it shares with the one before from the parts of that one, so that only what
has changed is sent and fetched.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import msgspec
from msgspec import Struct

from mdvec import run
from mdvec.clock import now_ms
from mdvec.errors import DamagedDatabaseError, OtherVersionError, StoreError, WriterBusyError
from mdvec.stores.published.places import SEND_ALL, Place
from mdvec.threads import map_concurrently

_PART_BYTES: Final = 1 << 20  # smaller parts cost more requests
_PART_NAME: Final = r"[0-9]{10}/[0-9a-f]{64}"
"""The number of the version that sent it, and the SHA-256 of its bytes."""

_THREADS: Final = 8

_LEVEL: Final = 1  # of zlib: texts become a third, vectors stay, and a core does 100 MB a second
_FOLDER: Final = "parts"
_HASH_CHARS: Final = 64
# Bytes that cannot be compressed grow: zlib adds 5 bytes to a block of 16 kB or more, and a frame.
_GROWTH: Final = 1000
_FRAME_BYTES: Final = 1000
_PART: Final = re.compile(f"{_FOLDER}/{_PART_NAME}")

_FORMAT: Final = 1
_PAGE_BYTES: Final = 4096  # as SQLite's: what changes is a page
_DIGEST_BYTES: Final = 16
_MAX_MANIFEST_BYTES: Final = 64 * 1024 * 1024  # of a database of several hundred gigabytes
_MAX_REPEATED: Final = 16  # times as large as its parts: only empty pages are the same
_MAX_UNUSED: Final = 2  # times as many pages in all parts as in the file; then it is sent anew

_VERSIONS: Final = "versions"
FOLDERS: Final = frozenset({_VERSIONS, _FOLDER})
"""The folders of a place."""

Number = Annotated[int, msgspec.Meta(ge=1, lt=10**10)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Run = tuple[Count, Count, Count]
"""Pages that follow each other in a part and in the file: index of the part, first page there, how many."""

PartName = Annotated[str, msgspec.Meta(pattern=rf"\A{_PART_NAME}\Z")]


class Manifest(msgspec.Struct, frozen=True):
    """A version.

    Attributes:
        format: Of the manifest and the parts.
        number: Counts up from 1.
        published_ms: When, in milliseconds since 1970.
        collections: What it holds.
        size_bytes: Of the file.
        sha256: Of the file, in hexadecimal digits.
        parts: The version that sent it, and the SHA-256 of its bytes, for each.
        runs: Where the pages of the file are, in order.
        pages: The part that holds a digest of each page, for the next publisher.
        content: A digest of what the file holds, whenever it was written; empty in versions without one.
    """

    format: int
    number: Number
    published_ms: int
    collections: tuple[str, ...]
    size_bytes: Count
    sha256: str
    parts: tuple[PartName, ...]
    runs: tuple[Run, ...]
    pages: PartName
    content: str = ""


class LocalFile(Struct, frozen=True):
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

    Whoever can write there may have written it: what it says of the file is consistent, and no larger than
    its parts allow.

    Raises:
        DamagedDatabaseError: If it cannot be read, or contradicts itself.
        OtherVersionError: If a newer mdvec published it.
        StoreError: If the place cannot be used.
    """
    content = place.get(_manifest_name(number), _MAX_MANIFEST_BYTES)
    if content is None:
        return None
    try:
        if msgspec.json.decode(content, type=_Format).format > _FORMAT:
            msg = f"version {number} of {place.location} was published by a newer mdvec"
            raise OtherVersionError(msg, hint="Install a newer mdvec.")
        manifest = msgspec.json.decode(content, type=Manifest)
        if problem := _contradiction(manifest, number):
            raise msgspec.ValidationError(problem)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        msg = f"version {number} of {place.location} is damaged: {error}"
        raise DamagedDatabaseError(msg, hint=SEND_ALL) from error
    return manifest


def _contradiction(manifest: Manifest, number: int) -> str:
    """Return what cannot be true of a version; empty if all of it can."""
    if manifest.number != number:
        return f"it calls itself version {manifest.number}"
    if any(part >= len(manifest.parts) for part, _, _ in manifest.runs):
        return "it names a part that it does not have"
    if any(first + count > _PART_BYTES // _PAGE_BYTES for _, first, count in manifest.runs):
        return "it names pages that no part has"
    pages = sum(count for _, _, count in manifest.runs)
    if pages != -(-manifest.size_bytes // _PAGE_BYTES):
        return "its pages are not as many as those of its file"
    if manifest.size_bytes > _MAX_REPEATED * _PART_BYTES * len(manifest.parts):
        return "its file is too large for its parts"
    return ""


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
    place: Place,
    file: Path,
    number: int,
    collections: Sequence[str],
    previous: Manifest | None,
    content: str = "",
) -> tuple[Manifest, int]:
    """Write a version: the pages that the previous one has not, then the manifest. No reader sees it before.

    Args:
        place: Where.
        file: What is published; it does not change meanwhile.
        number: That of the newest one and 1.
        collections: What it holds.
        previous: The newest version, whose pages are not sent again; None to send all.
        content: A digest of what the file holds.

    Returns:
        The version, and how many bytes were sent for it.

    Raises:
        WriterBusyError: If another process has published this number; its version is untouched.
        ImportStoppedError: If the run is cancelled; what was sent does no harm.
        StoreError: If the place cannot be used.
    """
    size = file.stat().st_size
    # Only pages of the newest version are taken: parts of older ones may be on their way out.
    known = {} if previous is None else _known_pages(place, previous)
    parts = [] if previous is None else [*previous.parts]
    runs: list[Run] = []
    digests, total = bytearray(), hashlib.sha256()

    def packed(source: BinaryIO) -> Iterator[tuple[str, bytes]]:
        """Yield the parts to send, each with its name; the digests of the pages come last."""
        pack = bytearray()
        while page := source.read(_PAGE_BYTES):
            total.update(page)
            digest = hashlib.blake2b(page, digest_size=_DIGEST_BYTES).digest()
            digests.extend(digest)
            if digest not in known:
                known[digest] = len(parts), len(pack) // _PAGE_BYTES
                pack += page.ljust(_PAGE_BYTES, b"\0")
            _add(runs, *known[digest])
            if len(pack) == _PART_BYTES:
                yield named(pack)
                pack.clear()
                run.current().report(run.Stage.PUBLISH, source.tell() // _PART_BYTES, size // _PART_BYTES)
        if pack:
            yield named(pack)
        yield named(digests)

    def named(part: bytearray) -> tuple[str, bytes]:
        run.current().check()
        parts.append(f"{number:010}/{hashlib.sha256(part).hexdigest()}")
        return parts[-1], bytes(part)

    with file.open("rb") as source:
        sent = sum(map_concurrently(partial(_send, place), packed(source), at_once=_THREADS))
    pages = parts.pop()
    used = sorted({part for part, _, _ in runs})
    if previous is not None and len(used) * _PART_BYTES > max(_MAX_UNUSED * size, 2 * _PART_BYTES):
        return publish(place, file, number, collections, None, content)
    renumbered = {part: at for at, part in enumerate(used)}
    manifest = Manifest(
        format=_FORMAT,
        number=number,
        published_ms=now_ms(),
        collections=tuple(collections),
        size_bytes=size,
        sha256=total.hexdigest(),
        parts=tuple(parts[part] for part in used),
        runs=tuple((renumbered[part], first, count) for part, first, count in runs),
        pages=pages,
        content=content,
    )
    if not place.create(_manifest_name(number), msgspec.json.encode(manifest)):
        msg = f"another process published version {number} of {place.location} in the meantime"
        raise WriterBusyError(msg, hint="Run the command again to publish yours as the next one.")
    return manifest, sent


def prune(place: Place, newest: int, keep: int) -> int:
    """Remove old versions, and parts that no version needs; return how many versions were removed.

    ``keep`` stay, the newest among them. A version that another process is publishing now stays: its number
    is larger than the newest one.

    Raises:
        OtherVersionError: If a newer mdvec published a version that stays.
        StoreError: If the place cannot be used.
    """
    found = numbers(place)
    old = [number for number in found if number <= newest - keep]
    # A manifest goes before its parts do: who can read it can fetch it, or sees that a part is gone.
    place.delete([_manifest_name(number) for number in old])
    needed: set[str] = set()
    for number in found[len(old) :]:
        with suppress(DamagedDatabaseError):  # it cannot be fetched anyway
            if (manifest := read_manifest(place, number)) is not None:
                needed.update((*manifest.parts, manifest.pages))
    beyond = f"{_FOLDER}/{newest + 1:010}/"
    parts = (name for name in place.names(_FOLDER) if _PART.fullmatch(name) and name < beyond)
    place.delete([name for name in parts if name.removeprefix(f"{_FOLDER}/") not in needed])
    return len(old)


def fetch(place: Place, manifest: Manifest, target: Path, near: LocalFile | None) -> None:
    """Write the file of a version; pages that a file on this machine has are not fetched.

    Raises:
        DamagedDatabaseError: If a part, or the whole, is not what the manifest says.
        StoreError: If a part is gone, or the place cannot be used.
        OSError: If the file cannot be written.
    """
    own = {} if near is None else {place: at for at, place in enumerate(_places(near.manifest))}
    needed: dict[str, list[tuple[int, int]]] = {}

    def receive(name: str) -> list[tuple[str, bytes]]:
        return [(name, _receive(place, name))]

    with target.open("wb") as file, ExitStack() as stack:
        source = None
        if near is not None:
            with suppress(OSError):  # it is gone
                source = stack.enter_context(near.path.open("rb"))
        for at, (name, page) in enumerate(_places(manifest)):
            if source is not None and (name, page) in own:
                source.seek(own[name, page] * _PAGE_BYTES)
                file.seek(at * _PAGE_BYTES)
                file.write(source.read(_PAGE_BYTES))
            else:
                needed.setdefault(name, []).append((page, at))
        for name, part in map_concurrently(receive, needed, at_once=_THREADS):
            for page, at in needed[name]:
                file.seek(at * _PAGE_BYTES)
                file.write(part[page * _PAGE_BYTES : (page + 1) * _PAGE_BYTES])
        file.truncate(manifest.size_bytes)
    with target.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    if digest == manifest.sha256:
        return
    if near is not None:  # which is damaged
        fetch(place, manifest, target, None)
        return
    msg = f"version {manifest.number} of {place.location} is damaged"
    raise DamagedDatabaseError(msg, hint=SEND_ALL)


def _add(runs: list[Run], part: int, page: int) -> None:
    """Add a page to the last run, or begin a run with it."""
    if runs and runs[-1][0] == part and sum(runs[-1][1:]) == page:
        runs[-1] = part, runs[-1][1], runs[-1][2] + 1
    else:
        runs.append((part, page, 1))


def _places(manifest: Manifest) -> Iterator[tuple[str, int]]:
    """Yield the part of each page of a file, and which page of the part it is."""
    for part, first, count in manifest.runs:
        for page in range(first, first + count):
            yield manifest.parts[part], page


def _known_pages(place: Place, manifest: Manifest) -> dict[bytes, tuple[int, int]]:
    """Return where the pages of a version are, by their digests: index of the part, and page there."""
    count = -(-manifest.size_bytes // _PAGE_BYTES)
    digests = _receive(place, manifest.pages, count * _DIGEST_BYTES)
    index = {name: at for at, name in enumerate(manifest.parts)}
    return {
        digests[at * _DIGEST_BYTES : (at + 1) * _DIGEST_BYTES]: (index[name], page)
        for at, (name, page) in enumerate(_places(manifest))
    }


class _Format(msgspec.Struct):
    format: int


def _manifest_name(number: int) -> str:
    return f"{_VERSIONS}/{number:010}.json"


def _receive(place: Place, name: str, most_bytes: int = _PART_BYTES) -> bytes:
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


def _send(place: Place, named: tuple[str, bytes]) -> tuple[int]:
    """Send a part, and return how many bytes it took."""
    name, part = named
    content = zlib.compress(part, _LEVEL)
    place.put(f"{_FOLDER}/{name}", content)
    return (len(content),)
