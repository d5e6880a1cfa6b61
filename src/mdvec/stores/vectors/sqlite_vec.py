"""A vector index in a SQLite file of its own, by the extension sqlite-vec: exact and small in memory."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import apsw
import sqlite_vec

from mdvec.stores.pool import closed_on_error
from mdvec.stores.vectors.folders import not_ours, usable
from mdvec.stores.vectors.index import (
    HeldEntries,
    IndexedSpace,
    Inside,
    Mark,
    VectorChanges,
    VectorIndex,
)

if TYPE_CHECKING:
    from mdvec.stores.vectors.index import Vector

T = TypeVar("T")

SUFFIX = ".sqlite-vec"
"""The end of the name of an index next to its store: any content of such a file may be replaced."""

_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID = 0x6D647678  # mdvx; another layout of the tables needs another id
_APPLICATION_ID_AT = slice(68, 72)

_BUSY_TIMEOUT_S = 2.0  # a transaction takes a fraction of it, and searches can do without the index

# vec0 frees the room of removed rows only a whole block at a time (asg017/sqlite-vec#178): a space is built
# again when it has room for more than so many rows for each that is left, and for a small one.
_ROWS_A_BLOCK = 1024
_MAX_ROOM_PER_ROW = 4
_ALWAYS_ROOM = 20_000

_SPACES = """CREATE TABLE spaces(id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL, kind TEXT NOT NULL, mark TEXT, UNIQUE(key, kind)) STRICT"""
_TABLE = """CREATE VIRTUAL TABLE {table} USING vec0(id INTEGER PRIMARY KEY,
    vector float[{dimension}] distance_metric=cosine, collection INTEGER, +owner INTEGER)"""
_DELETE = "DELETE FROM {table} WHERE id = ?"
_INSERT = "INSERT INTO {table}(id, owner, collection, vector) VALUES (?, ?, ?, ?)"
_ROOM = "SELECT (SELECT count(*) FROM {table}_chunks), (SELECT count(*) FROM {table}_rowids)"
_NEAREST = "SELECT owner FROM {table} WHERE vector MATCH ?1 AND k = ?2 {inside}"
_HELD = "SELECT id, owner, vector FROM {table}"
_INSIDE = "AND collection IN (SELECT value FROM json_each(?3))"

_FAILURES = (apsw.Error, OSError)
# Errors of SQLite and vec0 that mean that the data are damaged.
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, apsw.MismatchError)


class SqliteVecIndex(VectorIndex):
    """Vectors as float32 in tables of vec0, one for each space.

    Each call opens the file, so that a deleted or replaced one is noticed.

    Args:
        place: The file; made when it is not there, with its folder.

    Raises:
        StoreError: If the file is something else, or the extension cannot be loaded.
    """

    def __init__(self, place: str) -> None:
        self._path = Path(place).absolute()
        self.location = str(self._path)
        with usable(self.location, _FAILURES):
            _refuse_other_files(self._path)
            with closing(apsw.Connection(":memory:")) as connection:
                _load_extension(connection)

    def applied(self, space: IndexedSpace) -> Mark | None:
        return self._run(lambda connection: _find(connection, space)[1], None)

    def apply(self, space: IndexedSpace, changes: VectorChanges) -> bool:
        """Apply changes in one transaction."""
        return self._run(lambda connection: _apply(connection, space, changes), damaged=False, write=True)

    def nearest(self, space: IndexedSpace, query: Vector, limit: int, inside: Inside) -> list[int]:
        """Return the owners of the nearest entries; exact."""
        some = () if inside is None else (json.dumps([*inside]),)
        arguments = (query.astype("<f4").tobytes(), limit, *some)

        def work(connection: apsw.Connection) -> list[int]:
            space_id, _ = _find(connection, space)
            if not space_id:
                return []
            sql = _NEAREST.format(table=_table(space, space_id), inside=_INSIDE if some else "")
            return [owner for (owner,) in connection.execute(sql, arguments)]

        return self._run(work, [])

    def held(self, space: IndexedSpace) -> Iterator[HeldEntries]:
        import numpy as np

        with usable(self.location, _FAILURES), closing(_open(self._path)) as connection:
            space_id, _ = _find(connection, space)
            rows = connection.execute(_HELD.format(table=_table(space, space_id))) if space_id else iter(())
            while batch := list(itertools.islice(rows, _ROWS_A_BLOCK)):
                ids, owners, vectors = zip(*batch, strict=True)
                yield HeldEntries(ids, owners, np.stack([np.frombuffer(each, "<f4") for each in vectors]))

    def drop(self, space: IndexedSpace) -> None:
        self._run(lambda connection: _drop(connection, space), None, write=True)

    def _run(self, work: Callable[[apsw.Connection], T], damaged: T, *, write: bool = False) -> T:
        """Run in a transaction; with damaged data empty the file and return ``damaged``."""
        with usable(self.location, _FAILURES), closing(_open(self._path)) as connection:
            try:
                _prepare(connection)
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")  # closing rolls back
                found = work(connection)
                connection.execute("COMMIT")
            except _DAMAGE:
                _empty(connection)
                return damaged
            return found


def _refuse_other_files(path: Path) -> None:
    header = b""
    if path.is_file():
        with path.open("rb") as file:
            header = file.read(_APPLICATION_ID_AT.stop)
    ours = header.startswith(_MAGIC) and int.from_bytes(header[_APPLICATION_ID_AT], "big") == _APPLICATION_ID
    # A link may have come with a folder, and point at a file that its user needs.
    replaceable = path.suffix == SUFFIX and not path.is_symlink()
    if path.is_dir() or (header and not ours and not replaceable):
        raise not_ours(str(path))


def _open(path: Path) -> apsw.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):  # its owner's alone, as the store is
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = apsw.Connection(str(path))
    with closed_on_error(connection):
        connection.set_busy_timeout(int(_BUSY_TIMEOUT_S * 1000))
        connection.pragma("secure_delete", value=True)
        connection.pragma("trusted_schema", value=False)  # the file may have come with a folder
        _load_extension(connection)
    return connection


def _load_extension(connection: apsw.Connection) -> None:
    connection.enable_load_extension(True)  # noqa: FBT003 - positional only
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)  # noqa: FBT003 - positional only


def _prepare(connection: apsw.Connection) -> None:
    """Make the tables; a file with other contents is emptied."""
    connection.pragma("synchronous", "normal")
    if connection.pragma("application_id") == _APPLICATION_ID:
        return
    if connection.pragma("schema_version"):
        _empty(connection)
    connection.pragma("journal_mode", "wal")
    connection.execute("BEGIN IMMEDIATE")
    if connection.pragma("application_id") != _APPLICATION_ID:  # no other process was faster
        connection.execute(_SPACES)
        connection.pragma("application_id", _APPLICATION_ID)
    connection.execute("COMMIT")


def _empty(connection: apsw.Connection) -> None:
    """Remove everything, also from a damaged file, without taking the file from other processes."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
    try:
        connection.execute("VACUUM")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)


def _find(connection: apsw.Connection, space: IndexedSpace) -> tuple[int, Mark | None]:
    """Return id and mark; 0 and None without the space."""
    found: tuple[int, Mark] | None = connection.execute(
        "SELECT id, mark FROM spaces WHERE key = ? AND kind = ?", (space.key, space.kind.value)
    ).get
    return found or (0, None)


def _table(space: IndexedSpace, space_id: int) -> str:
    return f"{space.kind.value}_{space_id}"


def _apply(connection: apsw.Connection, space: IndexedSpace, changes: VectorChanges) -> bool:
    space_id, mark = _find(connection, space)
    if mark != changes.since:
        return False
    if not space_id:
        connection.execute("INSERT INTO spaces(key, kind) VALUES (?, ?)", (space.key, space.kind.value))
        space_id = connection.last_insert_rowid()
        connection.execute(_TABLE.format(table=_table(space, space_id), dimension=space.dimension))
    table = _table(space, space_id)
    # A repaired vector comes with the id of the damaged one.
    old = (*changes.removed, *(each.id for each in changes.added))
    connection.executemany(_DELETE.format(table=table), ((each,) for each in old))
    rows = (
        (each.id, each.owner, each.collection_id, each.vector.astype("<f4").tobytes())
        for each in changes.added
    )
    connection.executemany(_INSERT.format(table=table), rows)
    connection.execute("UPDATE spaces SET mark = ? WHERE id = ?", (changes.until, space_id))
    if changes.removed:
        ((blocks, left),) = connection.execute(_ROOM.format(table=table))
        if blocks * _ROWS_A_BLOCK > _ALWAYS_ROOM + _MAX_ROOM_PER_ROW * left:
            _drop(connection, space)
    return True


def _drop(connection: apsw.Connection, space: IndexedSpace) -> None:
    space_id, _ = _find(connection, space)
    connection.execute(f"DROP TABLE IF EXISTS {_table(space, space_id)}")
    connection.execute("DELETE FROM spaces WHERE id = ?", (space_id,))
