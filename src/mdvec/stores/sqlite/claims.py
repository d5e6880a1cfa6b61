"""Claims as rows: SQLite's own locks would last no longer than a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mdvec.errors import CollectionNotFoundError, WriterBusyError
from mdvec.stores.holders import HeldClaim, Holder, Releases, is_alive, new_holder, wait_for_claim
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Database, Reader
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId
from mdvec.types.report import Activity

_COLUMNS = """l.token, l.process_started, l.machine, l.heartbeat_ms,
    coalesce(k.name, ''), l.purpose, l.pid, l.host, l.since_ms, l.stage, l.done, l.total"""
_FROM = "FROM claims l LEFT JOIN collections k ON k.id = l.collection_id"

# Others see that the process has ended, or that it says nothing of the claim any more.
_RELEASE_WAIT_S = 1.0


class ClaimReader(Reader):
    """Reads claims."""

    def activities(self) -> list[Activity]:
        """Return what live processes are doing to collections now."""
        holders = [
            _holder(row) for row in self.connection.execute(f"SELECT {_COLUMNS} {_FROM} ORDER BY k.name")
        ]
        return [holder.activity for holder in holders if is_alive(holder)]


class Claims:
    """The claims of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[str, HeldClaim] = {}
        self._releases = Releases(self._remove)

    @contextmanager
    def hold(self, collection: Collection | None, purpose: str, *, wait_s: float) -> Iterator[HeldClaim]:
        """Claim a collection or the store; see :meth:`mdvec.stores.interface.Store.claim`."""
        claim = HeldClaim(new_holder(collection, purpose), wait_s)
        wait_for_claim(lambda: self._take(collection, claim), wait_s=wait_s)
        self._held[claim.holder.token] = claim
        try:
            yield claim
        finally:
            self._release(claim)

    def confirm(self, connection: Connection, claim: HeldClaim) -> None:
        """Check inside a transaction that a claim is still held, and show that it lives.

        Raises:
            WriterBusyError: If it was taken over.
        """
        token, purpose = claim.holder.token, claim.holder.activity.purpose
        if connection.execute("SELECT 1 FROM claims WHERE token = ?", (token,)).get is None:
            msg = f"the claim was lost while {purpose}"
            raise WriterBusyError(msg)
        due = claim.due()
        if due is not None:
            connection.execute(
                "UPDATE claims SET heartbeat_ms = ?, stage = ?, done = ?, total = ? WHERE token = ?",
                (due.heartbeat_ms, due.activity.stage, due.activity.done, due.activity.total, token),
            )

    def release_all(self) -> None:
        """Give all claims back."""
        for claim in list(self._held.values()):
            self._release(claim)
        self._releases.close()

    def _release(self, claim: HeldClaim) -> None:
        token = claim.holder.token
        if self._held.pop(token, None) is not None:
            self._releases.release(token)

    def _remove(self, token: str) -> None:
        with self._database.writing(_RELEASE_WAIT_S) as connection:
            connection.execute("DELETE FROM claims WHERE token = ?", (token,))

    def _take(self, collection: Collection | None, claim: HeldClaim) -> Holder | None:
        """Write a claim, unless a live process has one; return who has it then.

        Raises:
            CollectionNotFoundError: If the collection was deleted, say by the process that was waited for.
        """
        collection_id = None if collection is None else collection.id
        with self._database.reading() as connection:
            current = _find(connection, collection_id)
        if current is not None and is_alive(current):
            return current
        mine, activity = claim.holder, claim.holder.activity
        with self._database.writing(claim.wait_s) as connection:
            now = _find(connection, collection_id)
            if now is not None and (current is None or now.token != current.token):
                return now  # another process was faster
            if collection is not None and not _exists(connection, collection.id):
                msg = f"the collection {collection.name!r} was deleted"
                raise CollectionNotFoundError(msg)
            connection.execute("DELETE FROM claims WHERE collection_id IS ?", (collection_id,))
            connection.execute(
                "INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    mine.token,
                    collection_id,
                    activity.pid,
                    mine.process_started,
                    mine.machine,
                    activity.host,
                    activity.purpose,
                    activity.since_ms,
                    mine.heartbeat_ms,
                    activity.stage,
                    activity.done,
                    activity.total,
                ),
            )
        return None


def _exists(connection: Connection, collection_id: CollectionId) -> bool:
    return connection.execute("SELECT 1 FROM collections WHERE id = ?", (collection_id,)).get is not None


def _find(connection: Connection, collection_id: CollectionId | None) -> Holder | None:
    sql = f"SELECT {_COLUMNS} {_FROM} WHERE l.collection_id IS ?"
    row = connection.execute(sql, (collection_id,)).fetchone()
    return None if row is None else _holder(row)


def _holder(row: tuple[object, ...]) -> Holder:
    token, process_started, machine, heartbeat_ms, *activity = row
    return Holder(token, process_started, machine, heartbeat_ms, Activity(*activity))  # type: ignore[arg-type]
