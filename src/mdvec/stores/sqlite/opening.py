"""The first look at the file: is it ours, can it be written, does it have the tables of this version."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from pathlib import Path

import apsw
from msgspec import Struct

from mdvec import run
from mdvec.errors import (
    DamagedDatabaseError,
    NotADatabaseError,
    OtherVersionError,
    ReadOnlyDatabaseError,
    StoreError,
)
from mdvec.stores.pool import closed_on_error
from mdvec.stores.sqlite.connection import BUSY_TIMEOUT_S, Access, Connection, connect, translated
from mdvec.stores.sqlite.rebuild import rebuild
from mdvec.stores.sqlite.schema import APPLICATION_ID, TABLES, UNRELEASED, VERSION

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_APPLICATION_ID_AT = slice(68, 72)
_RETRY_S = 0.02
_MARK = "mark"
_READ_MARK = f"SELECT value FROM meta WHERE key = '{_MARK}'"  # noqa: S608 - a constant
_READ_SPACES = "SELECT key FROM spaces s WHERE EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = s.id)"
# On a full disk, SQLite cannot make the file that readers and writers share.
_NOT_WRITABLE = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError)
_COMPANIONS = ("-wal", "-shm", "-journal")  # made next to the database by SQLite, with its permissions


class Opening(Struct, frozen=True):
    """The options with which a database is opened.

    Attributes:
        read_only: Do not write even where it is possible.
        follow_links: Whether its path may hold symbolic links.
        mark: What a database without a mark gets, so that it is recognized later; None for none.
    """

    read_only: bool = False
    follow_links: bool = True
    mark: int | None = None


def open_first(path: Path, how: Opening) -> tuple[Connection, Access]:
    """Open the file, making or rebuilding it where that is needed and possible.

    A database in a place that cannot be written is opened for reading. Other users cannot read what is made.

    Args:
        path: The database, absolute; made when it is not there, with its folders.
        how: How it is opened.

    Returns:
        A connection, and how further ones are to be opened.

    Raises:
        OtherVersionError: If another version wrote it, and it cannot be rebuilt.
        ReadOnlyDatabaseError: If it would have to be made, and cannot be written.
    """
    exists = _refuse_other_files(path)
    if not how.read_only:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make_private(path)
            if _prepare(path, how):
                return connect(path, Access.WRITE, follow_links=how.follow_links), Access.WRITE
        except (*_NOT_WRITABLE, OSError):
            pass  # perhaps it can be read; if not, that error says why
    if not exists:
        msg = f"there is no database at {path}" if how.read_only else f"no database can be made at {path}"
        raise ReadOnlyDatabaseError(msg)
    try:
        return _connect_for_reading(path, Access.READ), Access.READ
    except _NOT_WRITABLE:
        return _connect_for_reading(path, Access.IMMUTABLE), Access.IMMUTABLE


def read_mark(path: Path) -> int | None:
    """Return the number by which a database is recognized; it is not changed, and nothing else is believed.

    Returns:
        None when there is no such file, it has none, or it is damaged.

    Raises:
        NotADatabaseError: If the file is something else.
    """
    return next((mark for (mark,) in _look(path, _READ_MARK) if isinstance(mark, int)), None)


def read_spaces(path: Path) -> tuple[str, ...]:
    """Return the keys of the spaces in which a database has vectors; it is read as by :func:`read_mark`."""
    return tuple(key for (key,) in _look(path, _READ_SPACES) if isinstance(key, str))


def _look(path: Path, sql: str) -> list[tuple[object, ...]]:
    """Return rows of a database that may be anybody's; none if there is no such file, or it is damaged."""
    path = path.absolute()

    def rows(access: Access) -> list[tuple[object, ...]]:
        with contextlib.closing(connect(path, access)) as connection:
            return [*connection.execute(sql)]

    with (
        translated(path),
        contextlib.suppress(apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.FormatError),
    ):
        if not _refuse_other_files(path):
            return []
        try:
            return rows(Access.READ)
        except _NOT_WRITABLE:
            return rows(Access.IMMUTABLE)
    return []


def has_unread_log(path: Path) -> bool:
    """Return True if a database has a log that a reader that must not write at all does not see."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except OSError:
        return False


def _make_private(path: Path) -> None:
    """Make an empty file that is its owner's alone, or take a database of ours away from all other users.

    A file that the owner shares with a group alone stays so: that is never by default.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return
    if sys.platform == "win32":  # folders of a user are private there
        return
    for each in (path, *(path.with_name(path.name + end) for end in _COMPANIONS)):
        with contextlib.suppress(OSError):
            state = each.lstat()
            if stat.S_ISREG(state.st_mode) and state.st_mode & stat.S_IRWXO and state.st_uid == os.geteuid():
                each.chmod(0o600)


def _refuse_other_files(path: Path) -> bool:
    """Look at the header before SQLite does, so that a foreign file is not touched at all.

    Returns:
        Whether there is a file.
    """
    try:
        if not path.exists():
            return False
        if not path.is_file():
            msg = f"{path} is not a file"
            raise NotADatabaseError(msg)
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise StoreError(msg) from error
    application_id = int.from_bytes(header[_APPLICATION_ID_AT], "big")
    # A file that is being made right now has no bytes or no id yet: SQLite's locks decide then.
    if (header and not header.startswith(_MAGIC)) or application_id not in (0, APPLICATION_ID):
        msg = f"{path} is not an mdvec database"
        raise NotADatabaseError(msg)
    return True


def _prepare(path: Path, how: Opening) -> bool:
    """Make the tables where they are not those of this version.

    Returns:
        Whether the file can be written.
    """
    with contextlib.closing(connect(path, Access.MAKE, follow_links=how.follow_links)) as connection:
        # A foreign file is left as it is, its log included.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        version = _version(connection, path)
        if connection.readonly("main"):
            return False
        if version != VERSION:
            _make_tables(connection, path, how)
        if how.mark is not None and connection.execute(_READ_MARK).get is None:
            _set_mark(connection, how.mark)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        _switch_to_log(connection)
        return True


def _version(connection: Connection, path: Path) -> int:
    """Return the version of the tables, 0 for an empty file."""
    with connection:  # one snapshot: another process may be making the tables
        application_id = connection.pragma("application_id")
        version = int(connection.pragma("user_version"))
        is_empty = not connection.execute("SELECT count(*) FROM sqlite_schema").get
    if application_id != APPLICATION_ID:
        if application_id or not is_empty:
            msg = f"{path} is the database of another program"
            raise NotADatabaseError(msg)
        return 0
    return version


def _make_tables(connection: Connection, path: Path, how: Opening) -> None:
    """Make the tables in an empty file, or rebuild those of another version, in one transaction."""
    # Tables that are referred to can only be dropped while references are not enforced.
    connection.pragma("foreign_keys", value=False)
    connection.execute("BEGIN IMMEDIATE")
    backup: Path | None = None
    try:
        version = _version(connection, path)  # another process may have been faster
        if version == 0:
            connection.execute(TABLES)
            connection.pragma("application_id", APPLICATION_ID)
            _set_mark(connection, how.mark)
        elif version == UNRELEASED:
            backup = rebuild(connection, path, version, follow_links=how.follow_links)
        elif version != VERSION:
            raise _other_version(path, version)
        connection.pragma("user_version", VERSION)
        connection.execute("COMMIT")
        if backup is not None:
            run.log("rebuilt an index of another version", level="warning", backup=str(backup))
    except apsw.SQLError as error:  # such as a table that should not be there yet
        msg = f"{path} is damaged: it does not hold what its format says ({error})"
        raise DamagedDatabaseError(msg) from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
            if backup is not None:
                backup.unlink(missing_ok=True)


def _set_mark(connection: Connection, mark: int | None) -> None:
    if mark is not None:
        connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (_MARK, mark))


def _switch_to_log(connection: Connection) -> None:
    """Turn on the write-ahead log, with which readers and the writer do not wait for each other."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:  # SQLite does not wait by itself for this one
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _connect_for_reading(path: Path, access: Access) -> Connection:
    connection = connect(path, access)
    with closed_on_error(connection):
        version = _version(connection, path)
        if version == 0:
            msg = f"{path} holds nothing yet, and cannot be written"
            raise ReadOnlyDatabaseError(msg)
        if version != VERSION:
            raise _other_version(path, version)
    return connection


def _other_version(path: Path, version: int) -> OtherVersionError:
    """Return what to do about a database of a version that is neither read nor rebuilt here."""
    msg = f"{path} has format {version}, and this mdvec uses format {VERSION}"
    if version == UNRELEASED:
        return OtherVersionError(msg, hint="Run 'mdvec import' where it can be written, which rebuilds it.")
    return OtherVersionError(msg)
