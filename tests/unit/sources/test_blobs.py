"""Contents that are taken out of an archive."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from mdvec.sources.blobs import FetchedBlobs, blob_id, take_wanted

_WANTED = b"# wanted\n"
_ID = blob_id(_WANTED, b"")


def _taken(*members: tuple[tarfile.TarInfo, bytes]) -> list[bytes]:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for member, content in members:
            file.write(member.tobuf(tarfile.PAX_FORMAT))
            file.write(content.ljust(-len(content) % 512 + len(content), b"\0"))
        file.write(b"\0" * 1024)
    packed.seek(0)
    blobs = FetchedBlobs()
    found: list[bytes] = []
    take_wanted(packed, {_ID: len(_WANTED)}, blobs, lambda: found.append(blobs.get(_ID) or b""))
    return found


def _member(name: str, size: int, pax: dict[str, str] | None = None) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.pax_headers = pax or {}
    return member


def test_what_is_wanted_is_found_by_its_hash() -> None:
    """Whatever it is called, and whatever else is there."""
    other = b"# other!\n"
    assert _taken((_member("x", len(other)), other), (_member("y", len(_WANTED)), _WANTED)) == [_WANTED]


@pytest.mark.parametrize("size", [str(10**30), "9" * 5_000, str(2**63), "-1", "x"])
def test_a_size_that_cannot_be_ends_the_archive(size: str) -> None:
    """What is missing is fetched by itself; what stood before is taken."""
    assert _taken((_member("a", len(_WANTED)), _WANTED), (_member("b", 1, {"size": size}), b"x")) == [_WANTED]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_is_not_read_that_fills_the_memory(kind: bytes) -> None:
    """It says that it has a terabyte."""
    header = _member("h", 8**11 - 1)
    header.type = kind
    assert _taken((_member("a", len(_WANTED)), _WANTED), (header, b"")) == [_WANTED]
