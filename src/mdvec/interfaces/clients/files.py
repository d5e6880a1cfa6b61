"""Reads and replaces somebody else's text file, so that nothing in it is ever lost."""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from mdvec.errors import ClientFileBusyError, ClientFileError

BACKUP_SUFFIX = ".mdvec-backup"
"""Added to a file's name for its copy; further copies get ``.2``, ``.3`` and so on."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as it was read.

    Attributes:
        path: The file itself, behind symbolic links.
        data: Its bytes; None when there is no such file.
        text: Its characters, without a byte order mark, with its own line ends.
        mark: Its byte order mark; often empty.
        encoding: Python's name of its encoding.
    """

    path: Path
    data: bytes | None
    text: str = ""
    mark: bytes = b""
    encoding: str = "utf-8"

    def encoded(self, text: str) -> bytes:
        """Return other characters as bytes, in the encoding of this file."""
        return self.mark + text.encode(self.encoding)


def read_file(path: Path) -> TextFile:
    """Read a file that may not exist.

    Args:
        path: Absolute path; a link is followed, so that replacing the file leaves the link in place.

    Raises:
        ClientFileError: If it is no text.
        OSError: If it cannot be read.
    """
    target = Path(os.path.realpath(path))
    try:
        data = target.read_bytes()
    except FileNotFoundError:
        return TextFile(target, None)
    mark, encoding = next((each for each in _BYTE_ORDER_MARKS if data.startswith(each[0])), (b"", "utf-8"))
    try:
        # A character that is half of one cannot be written back as it was.
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, len(mark) + error.start) + 1
        msg = f"{target}:{line}: this is not text in {encoding.upper()}"
        raise ClientFileError(msg) from error
    return TextFile(target, data, text, mark, encoding)


def replace_file(file: TextFile, text: str | None) -> Path | None:
    """Replace a file at once, or remove it, after keeping what it was.

    Args:
        file: The file as it was read.
        text: Its new characters; None to remove it.

    Returns:
        Where the old content is kept; None when there was none.

    Raises:
        ClientFileError: If it is protected, which replacing it would get around.
        ClientFileBusyError: If it changed since it was read; nothing was written then.
        OSError: If it cannot be written; it is as it was then.
    """
    _check_writable(file)
    backup = None if file.data is None else _keep(file.path, file.data)
    if text is None:
        _check_unchanged(file)
        file.path.unlink(missing_ok=True)
        return backup
    file.path.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.path.with_name(f".{file.path.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write_new(fresh, file.encoded(text), like=file.path)
        _check_unchanged(file)
        fresh.replace(file.path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return backup


def backups_of(path: Path) -> list[Path]:
    """Return the copies that were kept of a file, oldest first."""
    found = itertools.takewhile(Path.exists, (_backup(path, number) for number in itertools.count(1)))
    return list(found)


def _check_writable(file: TextFile) -> None:
    # Replacing a file does not ask for the right to write it, and its owner took that away on purpose.
    with contextlib.suppress(FileNotFoundError):
        if not file.path.stat().st_mode & 0o222:
            msg = f"{file.path} is write-protected"
            raise ClientFileError(
                msg, hint="Nothing was written. Make it writable, or edit what it is made from."
            )


def _check_unchanged(file: TextFile) -> None:
    # What remains is the instant between this and the replacement; no lock is shared with the clients.
    if read_file(file.path).data != file.data:
        msg = f"{file.path} changed while it was edited"
        raise ClientFileBusyError(msg)


def _keep(path: Path, data: bytes) -> Path:
    """Copy a file beside it, unless a copy with this content is there; older copies are never touched."""
    for backup in backups_of(path):
        if backup.read_bytes() == data:
            return backup
    backup = _backup(path, len(backups_of(path)) + 1)
    _write_new(backup, data, like=path)
    return backup


def _backup(path: Path, number: int) -> Path:
    return path.with_name(path.name + BACKUP_SUFFIX + (f".{number}" if number > 1 else ""))


def _write_new(path: Path, data: bytes, *, like: Path) -> None:
    """Write a file that must not exist, with mode and owner of another one if that exists."""
    with contextlib.ExitStack() as stack:
        # The default mode honours the user's mask; a stricter one is set before there is any content.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        stream = stack.enter_context(os.fdopen(descriptor, "wb"))
        with contextlib.suppress(FileNotFoundError):
            state = like.stat()
            if hasattr(os, "fchown") and (state.st_uid, state.st_gid) != (os.getuid(), os.getgid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, state.st_uid, state.st_gid)
            path.chmod(state.st_mode & 0o7777)
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
