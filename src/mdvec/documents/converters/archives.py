"""Archives of XML files, as books and files of Office are: opened with limits, and without XML entities."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from xml.etree import ElementTree

from mdvec.documents.converters import NotConvertedError

_MAX_MEMBER_BYTES = 20_000_000
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)

# Errors of reading a file that is no archive, or an archive that is damaged, encrypted or lacks a part.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, ElementTree.ParseError),
    *(EOFError, RuntimeError, KeyError, AttributeError),
)


@contextmanager
def unpacked(raw: bytes, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive, and have its damage reported: that it is not of the kind that it should be.

    Raises:
        NotConvertedError: If it is no archive, or lacks what is looked for in it.
    """
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            yield archive
    except _DAMAGE as error:
        msg = f"is not {kind}, or damaged"
        raise NotConvertedError(msg) from error


def xml_of(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """Return the root of an XML file in an archive.

    Raises:
        NotConvertedError: If it defines entities, which nothing but an attack does.
    """
    raw = member(archive, name)
    refuse_entities(raw)
    return ElementTree.fromstring(raw)  # noqa: S314 - without entities, and in a process with limits


def refuse_entities(raw: bytes) -> None:
    """Raise an error if XML defines entities, which may expand to anything.

    Raises:
        NotConvertedError: If it does.
    """
    if _ENTITY.search(raw):
        msg = "defines XML entities"
        raise NotConvertedError(msg)


def member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a file in an archive.

    Raises:
        NotConvertedError: If it is too large when unpacked.
    """
    with archive.open(name) as opened:
        raw = opened.read(_MAX_MEMBER_BYTES + 1)
    if len(raw) > _MAX_MEMBER_BYTES:
        msg = f"has a part of more than {_MAX_MEMBER_BYTES // 1_000_000} MB"
        raise NotConvertedError(msg)
    return raw
