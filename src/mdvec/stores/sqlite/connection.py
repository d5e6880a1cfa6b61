"""A connection to the file, and SQLite's errors in our own words."""

from __future__ import annotations

import errno
import functools
import json
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path

import apsw
import msgspec

from mdvec import run
from mdvec.errors import (
    DamagedDatabaseError,
    DatabaseFullError,
    NotADatabaseError,
    ReadOnlyDatabaseError,
    StoreError,
    WriterBusyError,
)
from mdvec.stores.pool import closed_on_error
from mdvec.stores.sqlite.checksums import REPAIR_HINT, damaged_rows
from mdvec.text.globs import compile_glob

Connection = apsw.Connection
"""A connection to the file; to be used by one thread at a time."""

BUSY_TIMEOUT_S = 10.0
"""How long SQLite waits for a lock; transactions are short, so only a stuck process lasts longer."""

_LOCK_STEP_S = 0.25
_LOG_LIMIT_BYTES = 32 * 1024 * 1024  # a log grown by a large import is cut back to this
# Errors that a damaged text or column raises while it is decoded.
_UNDECODABLE = (UnicodeDecodeError, json.JSONDecodeError, msgspec.MsgspecError)
# Errors of a damaged number, key or page, or of a bug: the file decides which of them it is.
_SUSPICIOUS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, apsw.Error)
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Access(StrEnum):
    """The ways in which a connection uses the file."""

    MAKE = "mode=rwc"
    WRITE = "mode=rw"
    READ = "mode=ro"
    IMMUTABLE = "mode=ro&immutable=1"
    """For a folder in which a reader cannot even make its shared memory file."""


def connect(path: Path, access: Access, *, follow_links: bool = True) -> Connection:
    """Open a connection. It overwrites what it deletes with zeros.

    Args:
        path: The database, absolute.
        access: How to use it.
        follow_links: Whether the path may hold symbolic links.
    """
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    if not follow_links:
        flags |= apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(f"{path.as_uri()}?{access}", flags=flags)
    with closed_on_error(connection):
        connection.set_busy_timeout(int(BUSY_TIMEOUT_S * 1000))
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.execute(
            f"PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;"
            f"PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;"
            f"PRAGMA journal_size_limit = {_LOG_LIMIT_BYTES}"
        )
        add_functions(connection)
    return connection


def add_functions(connection: Connection) -> None:
    """Define the functions that our SQL calls."""
    connection.create_scalar_function("matches_glob", _matches_glob, 2, deterministic=True)
    connection.create_scalar_function("crc32", zlib.crc32, 1, deterministic=True)  # type: ignore[arg-type]
    connection.create_scalar_function("intact", _intact, 2, deterministic=True)  # type: ignore[arg-type]


def begin_writing(connection: Connection, wait_s: float) -> None:
    """Begin a transaction that writes; wait for that of another process unless the run is cancelled.

    Raises:
        ImportStoppedError: If the run is cancelled meanwhile.
    """
    deadline = time.monotonic() + wait_s
    connection.set_busy_timeout(int(_LOCK_STEP_S * 1000))
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except apsw.BusyError:
                if time.monotonic() >= deadline:
                    raise
                run.current().check()
            else:
                return
    finally:
        connection.set_busy_timeout(int(BUSY_TIMEOUT_S * 1000))


@contextmanager
def translated(path: Path, connection: Connection | None = None) -> Iterator[None]:
    """Turn SQLite's errors about the file into ours, and any error that damage explains.

    Errors in our SQL and other bugs pass unchanged.

    Args:
        path: The database, named in the messages.
        connection: Where the error arises, if there is one already.

    Raises:
        StoreError: In place of the error.
    """
    try:
        yield
    except _UNDECODABLE as error:
        raise _damaged(path, error, connection) from error
    except _SUSPICIOUS as error:
        translation = _translation(error, path, connection) if isinstance(error, apsw.Error) else None
        if translation is None and _is_damaged(path, connection):
            translation = _damaged(path, error, connection)
        if translation is None:
            raise
        raise translation from error


def _translation(error: apsw.Error, path: Path, connection: Connection | None) -> StoreError | None:
    match error:
        case apsw.NotADBError():
            return NotADatabaseError(f"{path} is not an mdvec database")
        case apsw.FullError():
            return DatabaseFullError(f"the disk is full: {path} cannot grow")
        case apsw.IOError():
            if connection is not None and connection.system_errno in _NO_SPACE:
                return DatabaseFullError(f"the disk is full: {path} cannot grow")
            return StoreError(f"the disk failed while {path} was used: {error}")
        case apsw.ReadOnlyError():
            return ReadOnlyDatabaseError(f"{path} cannot be written")
        case apsw.CantOpenError() | apsw.PermissionsError():
            return StoreError(f"{path} cannot be opened: {error}")
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return WriterBusyError(f"{path} has been locked by another process for too long")
        case apsw.CorruptError() | apsw.FormatError() | apsw.EmptyError():
            return _damaged(path, error)
        case _:
            return None


def _damaged(path: Path, error: Exception, connection: Connection | None = None) -> DamagedDatabaseError:
    """Return what damage has led to; where it struck rows alone, they can be made anew."""
    repairable = connection is not None and not _is_damaged(path, connection) and damaged_rows(connection)
    return DamagedDatabaseError(
        f"{path} is damaged: {str(error) or type(error).__name__}", hint=REPAIR_HINT if repairable else None
    )


def _is_damaged(path: Path, connection: Connection | None) -> bool:
    """Return True if SQLite's own check finds anything wrong."""
    try:
        if connection is None:
            with closing(connect(path, Access.READ)) as opened:
                return _is_damaged(path, opened)
        found: object = connection.execute("PRAGMA integrity_check(1)").get
    except apsw.Error as error:
        return isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.SQLError)
    return found != "ok"


_compiled_glob = functools.lru_cache(maxsize=64)(compile_glob)


def _matches_glob(*arguments: object) -> bool:
    pattern, path = arguments
    return _compiled_glob(str(pattern))(str(path))


def _intact(value: bytes, checksum: int) -> bytes:
    if zlib.crc32(value) != checksum:
        msg = "a stored text or vector is damaged"
        raise DamagedDatabaseError(msg, hint=REPAIR_HINT)
    return value
