"""Claims as rows of a table: locks of a database would last no longer than a transaction or a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, TypeVar

from mdvec.clock import now_ms
from mdvec.errors import CollectionNotFoundError, WriterBusyError
from mdvec.stores.holders import (
    HeldClaim,
    Holder,
    Releases,
    is_alive,
    new_holder,
    wait_for_claim,
)
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId
from mdvec.types.report import Activity

Connection = TypeVar("Connection")

# After that, others see that the process has ended, or that the claim is not renewed any more.
_RELEASE_WAIT_S = 1.0

# Machines whose clocks differ agree by the clock of the database.
_CLAIMS = """SELECT l.token, l.process_started, l.machine, ? + l.heartbeat_ms - {clock},
    coalesce(k.name, ''), l.purpose, l.pid, l.host, l.since_ms, l.stage, l.done, l.total
    FROM claims l LEFT JOIN collections k ON k.id = l.collection_id"""
_TAKE = """INSERT INTO claims(collection_id, token, pid, process_started, machine, host, purpose, since_ms,
        stage, done, total, heartbeat_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {clock})"""
_RENEW = "UPDATE claims SET heartbeat_ms = {clock}, stage = ?, done = ?, total = ? WHERE token = ?"


def live_holders(rows: Callable[..., list[tuple[Any, ...]]], clock: str) -> list[Holder]:
    """Return the claims of live processes in a snapshot, by name of the collection.

    Args:
        rows: Runs a statement that is written as for SQLite; returns its rows.
        clock: SQL for the time, in milliseconds since 1970.
    """
    found = rows(f"{_CLAIMS.format(clock=clock)} ORDER BY k.name NULLS FIRST", now_ms())
    return [holder for holder in map(_holder, found) if is_alive(holder)]


class Claims(Generic[Connection]):
    """The claims of a store.

    Args:
        reading: Opens a snapshot.
        writing: Opens a transaction; receives how long to wait for that of another process, in seconds.
        rows: Runs a statement on such a connection, written as for SQLite; returns its rows, if any.
        clock: SQL for the time, in milliseconds since 1970.
        shares_leases: Whether several processes may have the lease on the store.
    """

    def __init__(
        self,
        reading: Callable[[], AbstractContextManager[Connection]],
        writing: Callable[[float], AbstractContextManager[Connection]],
        rows: Callable[..., list[tuple[Any, ...]]],
        *,
        clock: str,
        shares_leases: bool = False,
    ) -> None:
        self._reading = reading
        self._writing = writing
        self._rows = rows
        self._clock = clock
        self._shares_leases = shares_leases
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
        if not self._rows(connection, "SELECT 1 FROM claims WHERE token = ?", token):
            msg = f"the claim was lost while {purpose}"
            raise WriterBusyError(msg)
        due = claim.due()
        if due is not None:
            stage, done, total = due.activity.stage, due.activity.done, due.activity.total
            self._rows(connection, _RENEW.format(clock=self._clock), stage, done, total, token)

    def holders(self, connection: Connection, collection_id: CollectionId | None) -> list[Holder]:
        """Return the claims on a collection, or the leases, the oldest first; dead ones, too."""
        sql = f"""{_CLAIMS.format(clock=self._clock)}
            WHERE l.collection_id IS NOT DISTINCT FROM ? ORDER BY l.since_ms, l.token"""
        return [_holder(row) for row in self._rows(connection, sql, now_ms(), collection_id)]

    def release_all(self) -> None:
        """Release all claims."""
        for claim in list(self._held.values()):
            self._release(claim)
        self._releases.close()

    def _release(self, claim: HeldClaim) -> None:
        token = claim.holder.token
        if self._held.pop(token, None) is not None:
            self._releases.release(token)

    def _remove(self, token: str) -> None:
        with self._writing(_RELEASE_WAIT_S) as connection:
            self._rows(connection, "DELETE FROM claims WHERE token = ?", token)

    def _take(self, collection: Collection | None, claim: HeldClaim) -> Holder | None:
        """Write a claim, unless a live process has one; return who has it then.

        Raises:
            CollectionNotFoundError: If the collection was deleted, say by the process that was waited for.
        """
        collection_id = None if collection is None else collection.id
        excludes_others = collection is not None or not self._shares_leases
        with self._reading() as connection:  # waiting must not write
            before = self.holders(connection, collection_id)
        alive = [each for each in before if is_alive(each)]
        if alive and excludes_others:
            return alive[0]
        mine, activity = claim.holder, claim.holder.activity
        with self._writing(claim.wait_s) as connection:
            if excludes_others:
                known = {each.token for each in before}
                now = self.holders(connection, collection_id)
                if faster := [each for each in now if each.token not in known]:
                    return faster[0]
            exists = "SELECT 1 FROM collections WHERE id = ?"
            if collection is not None and not self._rows(connection, exists, collection.id):
                msg = f"the collection {collection.name!r} was deleted"
                raise CollectionNotFoundError(msg)
            for each in before:
                if each not in alive:
                    self._rows(connection, "DELETE FROM claims WHERE token = ?", each.token)
            self._rows(
                connection,
                _TAKE.format(clock=self._clock),
                collection_id,
                mine.token,
                activity.pid,
                mine.process_started,
                mine.machine,
                activity.host,
                activity.purpose,
                activity.since_ms,
                activity.stage,
                activity.done,
                activity.total,
            )
        return None


def _holder(row: tuple[Any, ...]) -> Holder:
    token, process_started, machine, heartbeat_ms, *activity = row
    return Holder(token, process_started, machine, heartbeat_ms, Activity(*activity))
