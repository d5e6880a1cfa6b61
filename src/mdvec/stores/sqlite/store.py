"""The default store: everything in one file that can be copied, moved and deleted like any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from mdvec.errors import DamagedDatabaseError, StoreError
from mdvec.stores.holders import HeldClaim
from mdvec.stores.interface import Claim
from mdvec.stores.sqlite.claims import Claims
from mdvec.stores.sqlite.connection import Connection, translated
from mdvec.stores.sqlite.database import Database, Memo
from mdvec.stores.sqlite.opening import Opening, read_mark
from mdvec.stores.sqlite.snapshots import Snapshot, Transaction
from mdvec.stores.sqlite.vectors import LoadedSpaces
from mdvec.stores.vectors.index import IndexedSpace, RebuiltIndex, VectorIndex
from mdvec.types.collection import Collection

if TYPE_CHECKING:  # loads numpy
    from mdvec.stores.sqlite.indexed import AttachedIndex

_MOST_PROBLEMS = 20
_LENGTH_TOLERANCE = 0.02  # of a squared length; float16 rounds by far less


class SqliteStore:
    """A store in one SQLite file. Safe to use from several threads, and from several processes.

    Attributes:
        path: Absolute path of the file.

    Args:
        path: The file; made when it is not there, with its folders.
        read_only: Do not write even where it is possible. A file in a place that cannot be written
            is opened so by itself.
        vector_index: Searched instead of a matrix in memory; closed with the store.
        follow_links: Whether the path may hold symbolic links.
        mark: What the database gets if it has no mark (see :meth:`mark_of`); None for none.

    Raises:
        NotADatabaseError: If the file is something else; it is not touched.
        NewerDatabaseError: If a newer version wrote it; it is not touched.
        ReadOnlyDatabaseError: If it would have to be made or upgraded, and cannot be written.
        StoreError: If it cannot be opened for another reason.
    """

    takes_vector_index: ClassVar[bool] = True

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        follow_links: bool = True,
        mark: int | None = None,
        vector_index: VectorIndex | None = None,
    ) -> None:
        self._database = Database(path, Opening(read_only, follow_links, mark))
        self.path = self._database.path
        self._claims = Claims(self._database)
        self._memo = Memo()
        self._spaces = LoadedSpaces()
        self._attached = None if vector_index is None else self._attach(vector_index)

    @staticmethod
    def mark_of(path: Path) -> int | None:
        """Return the number by which a database is recognized; None without a file or a mark.

        Raises:
            NotADatabaseError: If the file is something else.
        """
        with translated(path):
            return read_mark(path.absolute())

    @property
    def location(self) -> str:
        """Absolute path of the file."""
        return str(self.path)

    @property
    def size_bytes(self) -> int:
        """Bytes of the file and its log."""
        return sum(_size_bytes(each) for each in (self.path, self.path.with_name(f"{self.path.name}-wal")))

    @property
    def read_only(self) -> bool:
        """True if nothing can be written."""
        return self._database.read_only

    @property
    def warnings(self) -> tuple[str, ...]:
        """What keeps the answers from being right, for people."""
        if not self._database.ignores_log:
            return ()
        return (
            f"the latest changes of {self.path} are missing: they are in {self.path.name}-wal, which is not "
            "read where nothing can be written; copy both files to a folder that can be written",
        )

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """Open a snapshot."""
        with self._database.reading() as connection:
            if self._attached is None:
                yield Snapshot(connection, self._memo, self._spaces)
                return
            from mdvec.stores.sqlite.indexed import IndexedSnapshot

            yield IndexedSnapshot(connection, self._memo, self._spaces, self._attached)

    @contextmanager
    def write(self, claim: Claim | None = None) -> Iterator[Transaction]:
        """Open a transaction; see :meth:`mdvec.stores.interface.Store.write`."""
        with self._database.writing() as connection:
            if isinstance(claim, HeldClaim):
                self._claims.confirm(connection, claim)
            yield Transaction(connection, None, None)

    def claim(
        self, collection: Collection, purpose: str, *, wait_s: float
    ) -> AbstractContextManager[HeldClaim]:
        """Claim a collection; see :meth:`mdvec.stores.interface.Store.claim`."""
        return self._claims.hold(collection, purpose, wait_s=wait_s)

    def rebuild_vector_index(self) -> RebuiltIndex | None:
        """Empty the vector index and fill it from the vectors of the store; None without an index."""
        if self._attached is None:
            return None
        with self._database.reading() as connection:
            vectors = self._attached.rebuild(connection, Snapshot(connection, None, None).version)
        return RebuiltIndex(self._attached.index.location, vectors)

    def check(self) -> list[str]:
        """Examine the whole file for damage; slow.

        Returns:
            What is wrong, for people; empty when all is well.

        Raises:
            StoreError: If the file cannot be examined, such as when the disk is full: that is no damage.
        """
        try:
            with self._database.reading() as connection:
                found = [*_problems(connection), *_damaged_vectors(connection)]
            if not found and not self.read_only:
                with self._database.writing() as connection:
                    # An INSERT to SQLite, though it changes nothing.
                    connection.execute(
                        "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 0)"
                    )
        except DamagedDatabaseError as error:
            return [str(error)]
        return [*found, *self._index_problems()]

    def compact(self) -> None:
        """Rewrite the file without what was deleted; see :meth:`mdvec.stores.interface.Store.compact`."""
        self._database.compact()

    def close(self) -> None:
        """Give the claims back and close the file; a second call does nothing."""
        if not self._database.closed:
            self._claims.release_all()
            self._database.close()
            if self._attached is not None:
                self._attached.index.close()

    def _attach(self, index: VectorIndex) -> AttachedIndex | None:
        """Make the file write down removals; return None where that is needed and not possible."""
        from mdvec.stores.sqlite.changes import attach, is_attached
        from mdvec.stores.sqlite.indexed import AttachedIndex

        with self._database.reading() as connection:
            known = is_attached(connection)
        if not known and self.read_only:
            index.close()
            return None
        if not known:
            with self._database.writing() as connection:
                attach(connection)
        return AttachedIndex(index, self._version)

    def _index_problems(self) -> list[str]:
        """Return why the vector index cannot be used; searches then look at all vectors, without a word."""
        if self._attached is None:
            return []
        try:
            self._attached.index.applied(IndexedSpace("", 1))
        except StoreError as error:
            return [str(error)]
        return []

    def _version(self) -> int:
        with self._database.reading() as connection:
            version: int = Snapshot(connection, None, None).version
            return version


def _problems(connection: Connection) -> list[str]:
    """Return what is wrong with the file's structure, with references, and with the words of chunks.

    Documents without a fingerprint came from an older version, and get their words when they are imported.
    """
    found = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})")]
    found = [message for message in found if message != "ok"]
    found += [
        f"a row of {row[0]} refers to a missing row of {row[2]}"
        for row in connection.execute("PRAGMA foreign_key_check")
    ][:_MOST_PROBLEMS]
    wordless, ownerless = connection.execute(
        """SELECT (SELECT count(*) FROM chunks c CROSS JOIN documents d ON d.id = c.document_id
            WHERE c.id NOT IN (SELECT id FROM chunks_fts_docsize) AND d.fingerprint != ''),
        (SELECT count(*) FROM chunks_fts_docsize WHERE id NOT IN (SELECT id FROM chunks))"""
    ).get
    if wordless:
        found.append(f"{wordless} chunks are missing from the word index")
    if ownerless:
        found.append(f"{ownerless} entries of the word index belong to no chunk")
    return found


def _damaged_vectors(connection: Connection) -> Iterator[str]:
    """Yield how many vectors do not have the length of 1 that all are stored with, but for those of zeros."""
    import numpy as np

    from mdvec.stores.exact import STORED

    damaged = 0
    rows = "SELECT v.vector, s.dimension FROM vectors v JOIN spaces s ON s.id = v.space_id"
    for vector, dimension in connection.execute(rows):
        if len(vector) != STORED.itemsize * dimension:
            damaged += 1
        elif any(vector):
            values = np.frombuffer(vector, STORED).astype(np.float32)
            damaged += not abs(float(values @ values) - 1) <= _LENGTH_TOLERANCE  # also where it is no number
    if damaged:
        yield f"{damaged} vectors are damaged"


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the last one to close the file removes the log
        return 0
