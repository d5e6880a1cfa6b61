"""Claims as locked files beside the database, which hold the work of the process that locked them."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

import msgspec

from mdvec import locks
from mdvec.errors import CollectionNotFoundError, DatabaseFullError, ReadOnlyDatabaseError, StoreError
from mdvec.stores.claims import Claim, wait_for_claim
from mdvec.stores.sqlite.connection import Connection
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId
from mdvec.types.report import Activity

_EXISTS = "SELECT 1 FROM collections WHERE id = ?"
_MAX_BYTES = 10_000
# Whoever asks whether a file is locked holds its lock for an instant.
_ATTEMPTS = 3
_NEXT_ATTEMPT_S = 0.005


class FileClaims:
    """The claims on a database.

    Each is a file beside it, ``NAME-claim`` for the lease and ``NAME-claim-ID`` for a collection, with a lock
    that the operating system ends with the process. The file stays until its collection is deleted: each
    removal would be an event to who watches its folder.

    Args:
        path: The database.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()  # a database that is opened by two names has one set of claims
        self._held: dict[Claim, tuple[FileIO, Activity | None]] = {}
        self._deleted: set[CollectionId] = set()

    @contextmanager
    def hold(self, claim: Claim, *, wait_s: float) -> Iterator[Claim]:
        """Hold a claim for as long as the context lasts; see :meth:`mdvec.stores.interface.Store.claim`."""
        wait_for_claim(lambda: self._take(claim), wait_s=wait_s)
        try:
            self._show(claim)
            yield claim
        finally:
            self._release(claim)

    def confirm(self, connection: Connection, claim: Claim) -> None:
        """Check inside a transaction that a claim holds, and show how far its work is.

        Raises:
            WriterBusyError: If it was released, its file or its collection deleted.
        """
        held = self._held.get(claim)
        if held is None or not locks.is_at(held[0], self._file(claim.collection)):
            raise claim.lost()
        if claim.collection is not None and connection.execute(_EXISTS, (claim.collection.id,)).get is None:
            raise claim.lost()
        self._show(claim)

    def activities(self, collections: Sequence[Collection]) -> list[Activity]:
        """Return the work of live processes, that of the lease first, then in order of the collections."""
        found = (self._activity(each) for each in (None, *collections))
        return [each for each in found if each is not None]

    def release_all(self) -> None:
        """Release all claims."""
        for claim in list(self._held):
            self._release(claim)

    def forget(self, collection_id: CollectionId) -> None:
        """Remove the file of a collection that is being deleted, with the claim on it."""
        self._deleted.add(collection_id)

    def _file(self, collection: Collection | None) -> Path:
        return self._path.with_name(
            f"{self._path.name}-claim" + ("" if collection is None else f"-{collection.id}")
        )

    def _take(self, claim: Claim) -> Activity | None:
        """Lock the file of a claim, unless a live process has; return its work then."""
        path = self._file(claim.collection)
        for _ in range(_ATTEMPTS):
            with _translated(path):
                file = locks.take(path)
            if file is not None:
                self._held[claim] = file, None
                return None
            time.sleep(_NEXT_ATTEMPT_S)
        return self._activity(claim.collection) or _unknown(claim.collection)

    def _release(self, claim: Claim) -> None:
        held = self._held.pop(claim, None)
        if held is None:
            return
        if claim.collection is not None and claim.collection.id in self._deleted:
            with suppress(OSError):
                self._file(claim.collection).unlink()
        locks.release(held[0])

    def _show(self, claim: Claim) -> None:
        file, shown = self._held[claim]
        if shown is not claim.activity:
            locks.write(file, msgspec.json.encode(claim.activity))
            self._held[claim] = file, claim.activity

    def _activity(self, collection: Collection | None) -> Activity | None:
        """Return what a live process does under a claim; None without one."""
        content = locks.read_if_held(self._file(collection), _MAX_BYTES)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=Activity)
        except msgspec.DecodeError:  # written right now, or the disk is full
            return _unknown(collection)


def require_collection(connection: Connection, collection: Collection) -> None:
    """Check that a collection is there.

    Raises:
        CollectionNotFoundError: If it was deleted, say by the process that was waited for.
    """
    if connection.execute(_EXISTS, (collection.id,)).get is None:
        msg = f"the collection {collection.name!r} was deleted"
        raise CollectionNotFoundError(msg)


def _unknown(collection: Collection | None) -> Activity:
    return Activity("" if collection is None else collection.name, "at work", 0, "", int(time.time() * 1000))


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
        hint = "Put the database on a file system with locks, such as a local disk."
        raise StoreError(msg, hint=hint) from error
