"""A vector index in a SQLite file of its own, by the extension sqlite-vec: exact and small in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

import apsw
import sqlite_vec
from msgspec import Struct

from mdvec.errors import StoreError
from mdvec.stores.pool import Pool, closed_on_error
from mdvec.stores.vectors.folders import cannot_be_used, not_ours
from mdvec.stores.vectors.index import IndexedSpace, Mark, VectorChanges, VectorKind
from mdvec.types.ids import CollectionId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

SUFFIX = ".sqlite-vec"
"""Ends the name of an index that lies beside its store: whatever is in such a file may be replaced."""

_HEADER_BYTES = 100
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID = 0x6D647678  # mdvx
_APPLICATION_ID_AT = slice(68, 72)
_VERSION = 1

_BUSY_TIMEOUT_S = 2.0  # a transaction takes a fraction of it, and searches can do without the index
_MAX_NEIGHBOURS = 4096  # a query by vec0 returns no more

# vec0 frees the room of removed rows only 1,024 neighbours at a time (asg017/sqlite-vec#178): a space is
# built again when more than so many rows were added for each that is left, and for a small one.
_MAX_ADDED_PER_ROW = 3
_ALWAYS_ADDED = 20_000

_SPACES = """CREATE TABLE IF NOT EXISTS spaces(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  mark TEXT NOT NULL,
  added INTEGER NOT NULL
) STRICT"""

# What SQLite and vec0 raise when the data are not what they wrote.
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, apsw.MismatchError)


class _Opened(Struct, frozen=True):
    """A connection, and the file it was opened for: another one may have taken its place."""

    connection: apsw.Connection
    inode: int

    def close(self) -> None:
        self.connection.close()


class SqliteVecIndex:
    """Vectors as float32 in tables of vec0, one for each space and kind.

    Args:
        place: The file; made when it is not there, with its folder.

    Raises:
        StoreError: If the file is something else, or the extension cannot be loaded.
    """

    keeps_texts: ClassVar[bool] = False

    def __init__(self, place: str) -> None:
        self._path = Path(place).absolute()
        self.location = str(self._path)
        self._pool: Pool[_Opened] = Pool(str(self._path))
        _refuse_other_files(self._path)
        with self._translated(), closing(apsw.Connection(":memory:")) as connection:
            _load_extension(connection)

    def applied(self, space: IndexedSpace) -> Mark | None:
        """Return the mark of the last applied changes."""
        return self._run(lambda connection: _mark(connection, space), None)

    def apply(self, space: IndexedSpace, changes: VectorChanges) -> bool:
        """Apply changes in one transaction."""
        return self._run(lambda connection: _apply(connection, space, changes), damaged=False, write=True)

    def nearest(
        self,
        space: IndexedSpace,
        query: NDArray[np.float32],
        kind: VectorKind,
        limit: int,
        collections: Sequence[CollectionId] | None,
    ) -> list[tuple[int, float]]:
        """Return the owners of the nearest entries; exact."""
        if limit <= 0 or (collections is not None and not collections):
            return []
        wanted = None if collections is None else json.dumps([*collections])
        return self._run(lambda connection: _nearest(connection, space, query, kind, limit, wanted), [])

    def drop(self, space: IndexedSpace) -> None:
        """Remove a space."""
        self._run(lambda connection: _drop(connection, space), None, write=True)

    def optimize(self) -> None:
        """Do nothing: :meth:`apply` keeps the file small."""

    def check(self) -> list[str]:
        """Return why it cannot be used."""
        self.applied(IndexedSpace("", 1))
        return []

    def close(self) -> None:
        """Close the connections; those in use follow when they are given back."""
        self._pool.close()

    def _run(self, work: Callable[[apsw.Connection], T], damaged: T, *, write: bool = False) -> T:
        """Run in a transaction; with damaged data empty the file and return ``damaged``."""
        with self._translated(), self._borrowed() as connection:
            try:
                _prepare(connection)
                with _transaction(connection, write=write):
                    return work(connection)
            except _DAMAGE:
                _empty(connection)
                return damaged

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (apsw.Error, OSError) as error:
            raise cannot_be_used(self.location, error) from error

    @contextmanager
    def _borrowed(self) -> Iterator[apsw.Connection]:
        opened = self._pool.take()
        if opened is not None and opened.inode != _inode(self._path):
            # The file was deleted: what belongs to the new one must not be removed with the old one.
            opened.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            opened.close()
            opened = None
        if opened is None:
            opened = _open(self._path)
        try:
            yield opened.connection
        finally:
            if opened.connection.in_transaction:  # to end it has failed
                opened.close()
            else:
                self._pool.give_back(opened)


def _refuse_other_files(path: Path) -> None:
    try:
        header = _header(path)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise StoreError(msg) from error
    ours = header.startswith(_MAGIC) and int.from_bytes(header[_APPLICATION_ID_AT], "big") == _APPLICATION_ID
    # A link may have come with a folder, and point at what is dear to its user.
    replaceable = path.suffix == SUFFIX and not path.is_symlink()
    if path.is_dir() or (header and not ours and not replaceable):
        raise not_ours(str(path))


def _header(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)


def _open(path: Path) -> _Opened:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):  # its owner's alone, as the store is
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = apsw.Connection(str(path))
    with closed_on_error(connection):
        connection.pragma("secure_delete", value=True)
        connection.set_busy_timeout(int(_BUSY_TIMEOUT_S * 1000))
        connection.pragma("trusted_schema", value=False)  # the file may have come with a folder
        _load_extension(connection)
    return _Opened(connection, _inode(path))


def _load_extension(connection: apsw.Connection) -> None:
    connection.enable_load_extension(True)  # noqa: FBT003 - positional only
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)  # noqa: FBT003 - positional only


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return -1


def _prepare(connection: apsw.Connection) -> None:
    """Make what has to be in the file; one of another version is emptied."""
    version = connection.pragma("user_version")
    if version == _VERSION:
        return
    if version:
        _empty(connection)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "normal")
    with _transaction(connection, write=True):
        connection.execute(_SPACES)
        connection.pragma("application_id", _APPLICATION_ID)
        connection.pragma("user_version", _VERSION)


def _empty(connection: apsw.Connection) -> None:
    """Remove everything, whatever state it is in, without taking the file from other processes."""
    connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
    try:
        connection.execute("VACUUM")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)


@contextmanager
def _transaction(connection: apsw.Connection, *, write: bool) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _find(connection: apsw.Connection, space: IndexedSpace) -> tuple[int, Mark, int] | None:
    """Return id, mark, and how many entries were added."""
    found: tuple[int, Mark, int] | None = connection.execute(
        "SELECT id, mark, added FROM spaces WHERE key = ?", (space.key,)
    ).get
    return found


def _mark(connection: apsw.Connection, space: IndexedSpace) -> Mark | None:
    found = _find(connection, space)
    return None if found is None else found[1]


def _table(space_id: int, kind: VectorKind) -> str:
    return f"{kind.value}_{space_id}"


def _apply(connection: apsw.Connection, space: IndexedSpace, changes: VectorChanges) -> bool:
    found = _find(connection, space)
    if (None if found is None else found[1]) != changes.since:
        return False
    if found is None:
        connection.execute("INSERT INTO spaces(key, mark, added) VALUES (?, '', 0)", (space.key,))
        space_id, added = connection.last_insert_rowid(), 0
        for kind in VectorKind:
            _make_table(connection, _table(space_id, kind), space.dimension)
    else:
        space_id, _, added = found
    for kind in VectorKind:
        table = _table(space_id, kind)
        connection.executemany(
            f"DELETE FROM {table} WHERE id = ?",  # noqa: S608 - a name of ours
            ((each,) for each in changes.removed_of(kind)),
        )
        connection.executemany(
            f"INSERT INTO {table}(id, owner, collection, vector) VALUES (?, ?, ?, ?)",  # noqa: S608
            (
                (each.id, each.owner, each.collection_id, each.vector.astype("<f4").tobytes())
                for each in changes.added_of(kind)
            ),
        )
    added += len(changes.added)
    connection.execute("UPDATE spaces SET mark = ?, added = ? WHERE id = ?", (changes.until, added, space_id))
    if changes.removed and added > _ALWAYS_ADDED + _MAX_ADDED_PER_ROW * _count(connection, space_id):
        _drop(connection, space)
    return True


def _make_table(connection: apsw.Connection, table: str, dimension: int) -> None:
    connection.execute(
        f"""CREATE VIRTUAL TABLE {table} USING vec0(id INTEGER PRIMARY KEY,
        vector float[{dimension}] distance_metric=cosine, collection INTEGER, +owner INTEGER)"""
    )


def _count(connection: apsw.Connection, space_id: int) -> int:
    counts = [
        connection.execute(f"SELECT count(*) FROM {_table(space_id, kind)}").get  # noqa: S608
        for kind in VectorKind
    ]
    return sum(counts)


def _nearest(
    connection: apsw.Connection,
    space: IndexedSpace,
    query: NDArray[np.float32],
    kind: VectorKind,
    limit: int,
    collections: str | None,
) -> list[tuple[int, float]]:
    found = _find(connection, space)
    if found is None:
        return []
    table, vector = _table(found[0], kind), query.astype("<f4").tobytes()
    inside = "" if collections is None else "AND collection IN (SELECT value FROM json_each(?3))"
    # A vector of zeros has no distance to any other.
    more = () if collections is None else (collections,)
    arguments: tuple[bytes | int | str, ...] = (vector, limit, *more)
    sql = f"SELECT owner, coalesce(distance, 2) FROM {table} WHERE vector MATCH ?1 AND k = ?2 {inside}"  # noqa: S608
    if limit > _MAX_NEIGHBOURS:
        sql = f"""SELECT owner, coalesce(vec_distance_cosine(vector, ?1), 2) AS distance FROM {table}
            WHERE 1 {inside} ORDER BY distance LIMIT ?2"""  # noqa: S608
    return [(owner, 1 - distance) for owner, distance in connection.execute(sql, arguments)]


def _drop(connection: apsw.Connection, space: IndexedSpace) -> None:
    found = _find(connection, space)
    if found is None:
        return
    for kind in VectorKind:
        connection.execute(f"DROP TABLE {_table(found[0], kind)}")
    connection.execute("DELETE FROM spaces WHERE id = ?", (found[0],))
