"""Claims as locked files next to the database, which hold the work of the process that locked them."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

import msgspec

from mdvec import locks
from mdvec.clock import now_ms
from mdvec.errors import DatabaseFullError, ReadOnlyDatabaseError, StoreError
from mdvec.stores.claims import Claim, Claims
from mdvec.stores.sqlite.connection import Connection
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId
from mdvec.types.report import Activity

_MAX_BYTES = 10_000
# Whoever asks whether a file is locked holds its lock for an instant.
_ATTEMPTS = 3
_NEXT_ATTEMPT_S = 0.005


class FileClaims(Claims[FileIO]):
    """The claims on a database.

    Each is a file, ``NAME-claim`` for the lease and ``NAME-claim-ID`` for a collection, with a lock
    that the operating system ends with the process. The file stays until its collection is deleted: each
    removal would be an event to who watches its folder.

    Args:
        path: The database.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path.resolve()  # a database that is opened by two names has one set of claims

    def confirm(self, connection: Connection, claim: Claim) -> None:
        """Check inside a transaction that a claim holds, and show how far its work is.

        Raises:
            WriterBusyError: If it was released, its file or its collection deleted.
        """
        file = self._held.get(claim)
        if (
            file is None
            or not locks.is_at(file, self._file(claim.collection_id))
            or is_gone(connection, claim)
        ):
            raise claim.lost()
        _show(file, claim)

    def activities(self, collections: Sequence[Collection]) -> list[Activity]:
        """Return the work of live processes, that of the lease first, then in order of the collections."""
        places: list[tuple[CollectionId | None, str]] = [(each.id, each.name) for each in collections]
        found = (self._activity(key, name) for key, name in [(None, ""), *places])
        return [each for each in found if each is not None]

    def remove(self, collection_id: CollectionId) -> None:
        """Remove the file of a collection that is deleted."""
        with suppress(OSError):
            self._file(collection_id).unlink()

    def _file(self, collection_id: CollectionId | None) -> Path:
        return self._path.with_name(
            f"{self._path.name}-claim" + ("" if collection_id is None else f"-{collection_id}")
        )

    def _take(self, claim: Claim) -> Activity | None:
        """Lock the file of a claim, unless a live process has; return its work then."""
        path = self._file(claim.collection_id)
        for _ in range(_ATTEMPTS):
            with _translated(path):
                file = locks.take(path, self._path.stat().st_mode & 0o666)  # whoever may write the database
            if file is not None:
                self._held[claim] = file
                _show(file, claim)
                return None
            time.sleep(_NEXT_ATTEMPT_S)
        name = claim.activity.collection
        return self._activity(claim.collection_id, name) or _unknown(name)

    def _release(self, claim: Claim) -> None:
        file = self._held.pop(claim, None)
        if file is not None:
            locks.release(file)

    def _activity(self, collection_id: CollectionId | None, name: str) -> Activity | None:
        """Return the work of a live process under a claim; None without one."""
        content = locks.read_if_held(self._file(collection_id), _MAX_BYTES)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=Activity)
        except msgspec.DecodeError:  # written right now, or the disk is full
            return _unknown(name)


def is_gone(connection: Connection, claim: Claim) -> bool:
    """Return True if the collection of a claim was deleted."""
    exists = "SELECT ? IS NULL OR EXISTS(SELECT 1 FROM collections WHERE id = ?)"
    return not connection.execute(exists, (claim.collection_id, claim.collection_id)).get


def _show(file: FileIO, claim: Claim) -> None:
    if (activity := claim.due()) is not None:
        locks.write(file, msgspec.json.encode(activity))


def _unknown(name: str) -> Activity:
    return Activity(name, "at work", 0, "", now_ms())


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        msg = f"{path} cannot be locked: {error.strerror}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DatabaseFullError(msg) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise ReadOnlyDatabaseError(msg) from error
        hint = "Remove it if it is a link; put the database on a disk with locks, such as a local disk."
        raise StoreError(msg, hint=hint) from error
