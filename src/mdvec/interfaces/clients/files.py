"""Reading and replacing another program's file without losing anything in it."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import itertools
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from mdvec.errors import ClientFileBusyError, ClientFileError


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A file as it was read.

    Attributes:
        path: The file itself, behind symbolic links.
        data: Its bytes; None when there is no such file.
        text: Its characters, without a byte order mark, with its own line ends.
    """

    path: Path
    data: bytes | None
    text: str = ""


def read_file(path: Path) -> ClientFile:
    """Read a file that may not exist.

    Args:
        path: Absolute path; a link is followed, so that replacing the file leaves the link in place.

    Raises:
        ClientFileError: If it is not text in UTF-8.
        OSError: If it cannot be read.
    """
    target = Path(os.path.realpath(path))
    data = _bytes(target)
    try:
        return ClientFile(target, data, (data or b"").decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        msg = f"{target}: line {line} is not text in UTF-8"
        raise ClientFileError(msg) from error


def replace_file(file: ClientFile, text: str | None) -> Path | None:
    """Replace a file atomically, or remove it, after making a copy. A new one is its owner's alone.

    Args:
        file: The file as it was read.
        text: Its new characters; None to remove it.

    Returns:
        The copy of the old content; None when there was none.

    Raises:
        ClientFileError: If it is write-protected.
        ClientFileBusyError: If it changed since it was read; nothing was written then.
        OSError: If it cannot be written; it is as it was then.
    """
    _check_unchanged(file)
    # A rename needs no right to write the file, and its owner took that right away on purpose.
    if file.data is not None and not file.path.stat().st_mode & 0o222:
        msg = f"{file.path} is write-protected"
        raise ClientFileError(msg, hint="Nothing was written. Make it writable, or edit its origin.")
    backup = None if file.data is None else _back_up(file.path, file.data)
    fresh = file.path.with_name(f".{file.path.name}.{secrets.token_hex(4)}.tmp")
    try:
        if text is not None:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            mark = codecs.BOM_UTF8 if file.data and file.data.startswith(codecs.BOM_UTF8) else b""
            _write_new(fresh, mark + text.encode(), like=file.path)
        # No lock is shared with the clients: what remains is the instant before the next statement.
        _check_unchanged(file)
        if text is None:
            file.path.unlink(missing_ok=True)
        else:
            fresh.replace(file.path)
    finally:
        fresh.unlink(missing_ok=True)
    return backup


def backup_path(path: Path, number: int = 1) -> Path:
    """Return where the copies of a file go; the first one is the oldest."""
    return path.with_name(f"{path.name}.mdvec-backup" + (f".{number}" if number > 1 else ""))


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _check_unchanged(file: ClientFile) -> None:
    if _bytes(file.path) != file.data:
        msg = f"{file.path} changed while it was edited"
        raise ClientFileBusyError(msg)


def _back_up(path: Path, data: bytes) -> Path:
    """Copy a file beside it, unless there is a copy with this content; no copy is overwritten."""
    for number in itertools.count(1):
        backup = backup_path(path, number)
        existing = _bytes(backup)
        if existing is None:
            _write_new(backup, data, like=path)
        if existing is None or existing == data:
            break
    return backup


def _write_new(path: Path, data: bytes, *, like: Path) -> None:
    """Write a file that must not exist, with mode and owner of another one if that exists."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        if like.exists():
            state = like.stat()
            if hasattr(os, "fchown") and (state.st_uid, state.st_gid) != (os.getuid(), os.getgid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, state.st_uid, state.st_gid)
            path.chmod(state.st_mode & 0o7777)
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)


def difference(file: ClientFile, text: str | None) -> str:
    """Return how a file differs from a text in its place, None for no file, as a unified diff."""
    before = file.text.splitlines(keepends=True)
    after = (text or "").splitlines(keepends=True)
    old = "/dev/null" if file.data is None else str(file.path)
    new = "/dev/null" if text is None else str(file.path)
    lines = difflib.unified_diff(before, after, old, new)
    return "".join(
        each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines
    )
