"""Claims as rows: a lock of the server would end with its connection, and a pooler shares those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mdvec.errors import CollectionNotFoundError, WriterBusyError
from mdvec.stores.holders import (
    HeldClaim,
    Holder,
    Releases,
    divide,
    is_alive,
    new_holder,
    now_ms,
    wait_for_claim,
)
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.database import Database, Reader
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId
from mdvec.types.report import Activity

# Machines whose clocks differ agree by the clock of the server.
_SERVER_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_CLAIMS = f"""SELECT l.token, l.process_started, l.machine, %s + l.heartbeat_ms - {_SERVER_MS},
    coalesce(k.name, ''), l.purpose, l.pid, l.host, l.since_ms, l.stage, l.done, l.total
    FROM claims l LEFT JOIN collections k ON k.id = l.collection_id"""  # noqa: S608 - constants
_TAKE = f"""INSERT INTO claims(collection_id, token, pid, process_started, machine, host, purpose, since_ms,
        stage, done, total, heartbeat_ms)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {_SERVER_MS})"""  # noqa: S608 - constants


class ClaimReader(Reader):
    """Reads claims."""

    def activities(self) -> list[Activity]:
        """Return what live processes are doing now."""
        return [holder.activity for holder in self._live_holders()]

    def live_tokens(self) -> list[str]:
        """Return the tokens of the claims of live processes."""
        return [holder.token for holder in self._live_holders()]

    def _live_holders(self) -> list[Holder]:
        rows = self.connection.execute(f"{_CLAIMS} ORDER BY k.name NULLS FIRST", (now_ms(),))
        return [holder for holder in map(_holder, rows) if is_alive(holder)]


class Claims:
    """The claims of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[str, HeldClaim] = {}
        self._releases = Releases(self._remove)

    @contextmanager
    def hold(self, collection: Collection | None, purpose: str, *, wait_s: float) -> Iterator[HeldClaim]:
        """Claim a collection or the store; see :meth:`mdvec.stores.interface.Store.claim`."""
        claim = HeldClaim(new_holder(collection, purpose))
        wait_for_claim(lambda: self._take(collection, claim.holder), wait_s=wait_s)
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
        if connection.execute("SELECT 1 FROM claims WHERE token = %s", (token,)).fetchone() is None:
            msg = f"the claim was lost while {purpose}"
            raise WriterBusyError(msg)
        due = claim.due()
        if due is not None:
            connection.execute(
                f"""UPDATE claims SET heartbeat_ms = {_SERVER_MS}, stage = %s, done = %s, total = %s
                WHERE token = %s""",  # noqa: S608 - constants
                (due.activity.stage, due.activity.done, due.activity.total, token),
            )

    def share(
        self, lease: HeldClaim, here: Sequence[CollectionId], missing: Sequence[CollectionId]
    ) -> set[CollectionId]:
        """Return what the holder of a lease watches; see :class:`mdvec.stores.sharing.SharedWork`."""
        token = lease.holder.token
        with self._database.reading() as connection:
            offers = _offers(connection)
        if offers.get(token) != _offer(token, offers, here, missing):
            with self._database.writing() as connection:
                self.confirm(connection, lease)
                offers = _offers(connection)
                offers[token] = _offer(token, offers, here, missing)
                connection.execute("UPDATE claims SET offered = %s WHERE token = %s", (offers[token], token))
        return divide(offers)[token]

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
        with self._database.writing() as connection:
            connection.execute("DELETE FROM claims WHERE token = %s", (token,))

    def _take(self, collection: Collection | None, mine: Holder) -> Holder | None:
        """Write a claim, unless a live process has one; return who has it then. Leases stand side by side.

        Raises:
            CollectionNotFoundError: If the collection was deleted, say by the process that was waited for.
        """
        collection_id = None if collection is None else collection.id
        with self._database.reading() as connection:  # waiting must not write
            before = _holders(connection, collection_id)
        alive = [each for each in before if is_alive(each)]
        if alive and collection is not None:
            return alive[0]
        with self._database.writing() as connection:
            if collection is not None:
                known = {each.token for each in before}
                faster = [each for each in _holders(connection, collection_id) if each.token not in known]
                if faster:
                    return faster[0]
                if not _exists(connection, collection.id):
                    msg = f"the collection {collection.name!r} was deleted"
                    raise CollectionNotFoundError(msg)
            dead = [each.token for each in before if each not in alive]
            connection.execute("DELETE FROM claims WHERE token = ANY(%s)", (dead,))
            activity = mine.activity
            connection.execute(
                _TAKE,
                (
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
                ),
            )
        return None


def _exists(connection: Connection, collection_id: CollectionId) -> bool:
    found = connection.execute("SELECT 1 FROM collections WHERE id = %s", (collection_id,))
    return found.fetchone() is not None


def _holders(connection: Connection, collection_id: CollectionId | None) -> list[Holder]:
    """Return the claims on a collection, or the leases, the oldest first; dead ones, too."""
    sql = f"{_CLAIMS} WHERE l.collection_id IS NOT DISTINCT FROM %s ORDER BY l.since_ms, l.token"
    return [_holder(row) for row in connection.execute(sql, (now_ms(), collection_id))]


def _offers(connection: Connection) -> dict[str, Sequence[CollectionId]]:
    """Return what the live holders of leases offer to watch, the oldest first."""
    sql = "SELECT token, offered FROM claims WHERE collection_id IS NULL"
    offered: dict[str, Sequence[CollectionId]] = dict(connection.execute(sql).fetchall())
    return {each.token: offered[each.token] for each in _holders(connection, None) if is_alive(each)}


def _offer(
    token: str,
    offers: Mapping[str, Sequence[CollectionId]],
    here: Sequence[CollectionId],
    missing: Sequence[CollectionId],
) -> list[CollectionId]:
    """Return what a holder offers: what it has, and what no other process has."""
    others = {each for other, offered in offers.items() if other != token for each in offered}
    return sorted({*here, *missing} - ({*missing} & others))


def _holder(row: tuple[Any, ...]) -> Holder:
    token, process_started, machine, heartbeat_ms, *activity = row
    return Holder(token, process_started, machine, heartbeat_ms, Activity(*activity))
