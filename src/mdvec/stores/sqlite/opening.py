"""The first look at the file: is it ours, can it be written, are its tables up to date."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from mdvec.errors import NewerDatabaseError, NotADatabaseError, ReadOnlyDatabaseError, StoreError
from mdvec.stores.sqlite.connection import BUSY_TIMEOUT_S, Access, Connection, connect
from mdvec.stores.sqlite.schema import APPLICATION_ID, Schema

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_APPLICATION_ID_AT = slice(68, 72)
_RETRY_S = 0.02


def open_first(path: Path, schema: Schema, *, read_only: bool) -> tuple[Connection, Access]:
    """Open the file, making or upgrading it where that is needed and possible.

    A database in a place that cannot be written is opened for reading.

    Args:
        path: The database, absolute; made when it is not there, with its folders.
        schema: What it has to hold.
        read_only: Do not write even where it is possible.

    Returns:
        A connection, and how further ones are to be opened.

    Raises:
        ReadOnlyDatabaseError: If it would have to be made or upgraded, and cannot be written.
    """
    exists = _refuse_other_files(path)
    if not read_only:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if _prepare(path, schema):
                return connect(path, Access.WRITE), Access.WRITE
        except (apsw.CantOpenError, apsw.ReadOnlyError, OSError):
            pass  # perhaps it can be read; if not, that error says why
    if not exists:
        msg = f"there is no database at {path}" if read_only else f"no database can be made at {path}"
        raise ReadOnlyDatabaseError(msg)
    try:
        return _connect_for_reading(path, schema, Access.READ), Access.READ
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        return _connect_for_reading(path, schema, Access.IMMUTABLE), Access.IMMUTABLE


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


def _prepare(path: Path, schema: Schema) -> bool:
    """Bring the tables up to date.

    Returns:
        Whether the file can be written.
    """
    connection = connect(path, Access.MAKE)
    try:
        # A foreign file is left as it is, its log included.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        version = _version(connection, path, schema)
        if connection.readonly("main"):
            return False
        if version < schema.version:
            _upgrade(connection, path, schema)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        _switch_to_log(connection)
        return True
    finally:
        connection.close()


def _version(connection: Connection, path: Path, schema: Schema) -> int:
    """Return the version of the tables, 0 for an empty file."""
    application_id = connection.pragma("application_id")
    if application_id != APPLICATION_ID:
        if application_id or connection.execute("SELECT count(*) FROM sqlite_schema").get:
            msg = f"{path} is the database of another program"
            raise NotADatabaseError(msg)
        return 0
    version = int(connection.pragma("user_version"))
    if version > schema.version:
        msg = f"{path} was written by a newer mdvec (format {version}, this one knows {schema.version})"
        raise NewerDatabaseError(msg)
    return version


def _upgrade(connection: Connection, path: Path, schema: Schema) -> None:
    # Tables that are referred to can only be rebuilt while references are not enforced.
    connection.pragma("foreign_keys", value=False)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path, schema)  # another process may have been faster
        if version == 0:
            connection.execute(schema.tables)
            connection.pragma("application_id", APPLICATION_ID)
        else:
            for migration in schema.migrations[version - 1 :]:
                connection.execute(migration)
        connection.pragma("user_version", schema.version)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


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


def _connect_for_reading(path: Path, schema: Schema, access: Access) -> Connection:
    connection = connect(path, access)
    try:
        version = _version(connection, path, schema)
    except BaseException:
        connection.close()
        raise
    if version < schema.version:
        connection.close()
        msg = f"{path} must be made or upgraded first, and cannot be written"
        raise ReadOnlyDatabaseError(msg)
    return connection
