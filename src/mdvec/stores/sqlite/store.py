"""The default store: everything in one file that can be copied, moved and deleted like any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from mdvec.errors import StoreError, WriterBusyError
from mdvec.stores.sqlite import integrity
from mdvec.stores.sqlite.catalog import SqliteCatalog
from mdvec.stores.sqlite.database import Database, generation
from mdvec.stores.sqlite.lease import WriterLease
from mdvec.stores.sqlite.lexical import SqliteLexicalIndex
from mdvec.stores.sqlite.vectors import SqliteVectorIndex


class SqliteStore:
    """A store in one SQLite file. Safe to use from several threads, and from several processes.

    Args:
        path: The file; made when it is not there, with its folders.
        read_only: Do not write even where it is possible. A file in a place that cannot be written
            is opened so by itself.

    Raises:
        NotADatabaseError: If the file is something else; it is not touched.
        NewerDatabaseError: If a newer version wrote it; it is not touched.
        ReadOnlyDatabaseError: If it would have to be made or upgraded, and cannot be written.
        StoreError: If it cannot be opened for another reason.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._database = Database(path, read_only=read_only)
        self._lease = WriterLease(self._database)
        self._catalog = SqliteCatalog(self._database)
        self._lexical = SqliteLexicalIndex(self._database)
        self._vectors = SqliteVectorIndex(self._database)

    @property
    def catalog(self) -> SqliteCatalog:
        """Collections, documents and chunks."""
        return self._catalog

    @property
    def lexical(self) -> SqliteLexicalIndex:
        """Words."""
        return self._lexical

    @property
    def vectors(self) -> SqliteVectorIndex:
        """Vectors."""
        return self._vectors

    @property
    def size_bytes(self) -> int:
        """Bytes of the file and its log."""
        path = self._database.path
        return sum(_size_bytes(each) for each in (path, path.with_name(f"{path.name}-wal")))

    @property
    def generation(self) -> int:
        """A number that grows with every commit that changed something, of any process."""
        with self._database.reading() as connection:
            return generation(connection)

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""
        return self._database.read_only

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all or nothing; transactions of one thread do not nest.

        Raises:
            ReadOnlyDatabaseError: If the database cannot be written.
            DatabaseFullError: If the disk is full; nothing of the transaction is kept.
            WriterBusyError: If this store's lease was taken over, or another process does not let
                go of the file.
        """
        with self._database.transaction() as connection:
            self._lease.confirm(connection)
            yield

    def writer(self, purpose: str, *, wait_s: float) -> AbstractContextManager[None]:
        """Hold the database's single writer lease; see :class:`mdvec.stores.interface.Store`."""
        return self._lease.hold(purpose, wait_s=wait_s)

    def check(self) -> list[str]:
        """Examine the whole file for damage; slow.

        Returns:
            What is wrong, for people; empty when all is well.
        """
        try:
            with self._database.reading() as connection:
                found = integrity.problems(connection)
            if not self.read_only:
                with self._database.transaction() as connection:
                    integrity.examine_words(connection)
        except WriterBusyError:
            raise
        except StoreError as error:
            return [str(error)]
        return found

    def close(self) -> None:
        """Give the lease back and close the file; a second call does nothing."""
        if not self._database.closed:
            self._lease.release()
            self._database.close()


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the last one to close the file removes the log
        return 0
