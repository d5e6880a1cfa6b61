"""Claims as rows that count while a connection holds their lock; and how machines divide what they watch."""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress

from mdvec import run
from mdvec.errors import StoreError
from mdvec.stores.claims import Claim, Claims
from mdvec.stores.pool import closed_on_error
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.database import PostgresDatabase
from mdvec.types.ids import CollectionId
from mdvec.types.report import Activity

# The backend is compared, too: any role may take a lock, but none in the name of another connection. The
# server says in two halves which number is locked.
IS_ALIVE = """EXISTS(SELECT 1 FROM pg_locks k
    WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.pid = l.backend
    AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (k.classid::bigint << 32) | k.objid::bigint = l.token)"""
"""The condition that the process of a claim ``l`` lives."""

_ACTIVITY = "coalesce(c.name, ''), l.purpose, l.pid, l.host, l.since_ms, l.stage, l.done, l.total"
ACTIVITIES = f"""SELECT {_ACTIVITY} FROM claims l LEFT JOIN collections c ON c.id = l.collection_id
    WHERE {IS_ALIVE} ORDER BY c.name NULLS FIRST, l.since_ms, l.token"""
"""The work of live processes, as rows of :class:`mdvec.types.report.Activity`."""

_TAKE = """INSERT INTO claims(token, backend, collection_id, pid, host, purpose, since_ms)
    VALUES (%s, %s, %s, %s, %s, %s, %s)"""
_OF_COLLECTION = f"""SELECT {_ACTIVITY} FROM claims l JOIN collections c ON c.id = l.collection_id
    WHERE l.collection_id = %s AND {IS_ALIVE}"""
_OFFERS = f"""SELECT token, offered FROM claims l WHERE collection_id IS NULL AND {IS_ALIVE}
    ORDER BY since_ms, token"""

# A transaction of its own, which a pooler keeps on one connection; without a snapshot it hinders no VACUUM.
# It may last as long as the work does. A machine that is gone without a word is noticed after a minute.
_BEGIN = """BEGIN; SELECT set_config(name, '0', true) FROM pg_settings
    WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout');
SELECT set_config('tcp_keepalives_idle', '30', true), set_config('tcp_keepalives_interval', '10', true),
    set_config('tcp_keepalives_count', '3', true)"""
_LOCK = "SELECT pg_backend_pid() WHERE pg_try_advisory_xact_lock(%s)"


class _Held:
    """The lock of a claim.

    Attributes:
        token: The number that is locked, unique to the claim.
        connection: Holds the lock in an open transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self.token = secrets.randbits(62)
        self.connection = connection

    def lock(self) -> int | None:
        """Lock the number; return the connection's process on the server, None if another one has it."""
        self.connection.execute(_BEGIN)
        row = self.connection.execute(_LOCK, (self.token,)).fetchone()
        return None if row is None else int(row[0])


class RowClaims(Claims[_Held]):
    """The claims on a store; those on the store itself, leases, exist side by side.

    Rows are written by one transaction at a time, and exclude each other. Each has a connection of its own
    that holds a lock; when that ends with its process, the row counts no more. A process that lost only the
    connection locks again, unless its row was replaced meanwhile.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self._database = database

    def confirm(self, connection: Connection, claim: Claim) -> None:
        """Check inside a transaction that a claim holds, and show how far its work is.

        Raises:
            WriterBusyError: If it was released, another process has replaced it, or its collection is gone.
        """
        held = self._held.get(claim)
        if held is None:
            raise claim.lost()
        row = connection.execute(
            f"SELECT {IS_ALIVE} FROM claims l WHERE token = %s", (held.token,)
        ).fetchone()
        if row is None:
            raise claim.lost()
        if not row[0]:
            held.connection.close()
            held.connection = self._database.connect()
            if (backend := held.lock()) is None:
                raise claim.lost()
            connection.execute("UPDATE claims SET backend = %s WHERE token = %s", (backend, held.token))
        if (shown := claim.due()) is not None:
            connection.execute(
                "UPDATE claims SET stage = %s, done = %s, total = %s WHERE token = %s",
                (shown.stage, shown.done, shown.total, held.token),
            )

    def token(self, claim: Claim) -> int:
        """Return the number of a claim in its row; 0 without one."""
        return self._held[claim].token if claim in self._held else 0

    def share(
        self, lease: Claim, here: Sequence[CollectionId], missing: Sequence[CollectionId]
    ) -> set[CollectionId]:
        """Return the collections that the holder of a lease watches; see ``Team.share``."""
        token = self.token(lease)
        with self._database.reading() as connection:
            offers = _offers(connection)
        if offers.get(token) != _offer(token, offers, here, missing):
            with self._database.writing() as connection:
                self.confirm(connection, lease)
                offers = _offers(connection)
                offers[token] = _offer(token, offers, here, missing)
                connection.execute("UPDATE claims SET offered = %s WHERE token = %s", (offers[token], token))
        return divide(offers)[token]

    def _take(self, claim: Claim) -> Activity | None:
        """Write the row of a claim, unless a live process has one; return its work then.

        Raises:
            CollectionNotFoundError: If the collection was deleted, say by the process that was waited for.
        """
        with self._database.reading() as connection:  # waiting must not write
            if (busy := _holder(connection, claim)) is not None:
                return busy
        held = _Held(self._database.connect())
        with closed_on_error(held.connection), self._database.writing() as connection:
            busy = _holder(connection, claim)
            if busy is None:
                _write(connection, claim, held.token, held.lock())
        if busy is None:
            self._held[claim] = held
        else:
            held.connection.close()
        return busy

    def _release(self, claim: Claim) -> None:
        """Remove the row of a claim; if the store is away, the next claim does."""
        held = self._held.pop(claim, None)
        if held is None:
            return
        # The import may be cancelled, but not this.
        with (
            closing(held.connection),
            suppress(StoreError),
            run.bound(run.Run()),
            self._database.writing() as connection,
        ):
            connection.execute("DELETE FROM claims WHERE token = %s", (held.token,))


def _holder(connection: Connection, claim: Claim) -> Activity | None:
    """Return the work of a live process that excludes a claim."""
    row = connection.execute(_OF_COLLECTION, (claim.collection_id,)).fetchone()
    return None if row is None else Activity(*row)


def _write(connection: Connection, claim: Claim, token: int, backend: int | None) -> None:
    """Write the row of a claim instead of those of dead processes."""
    key, activity = claim.collection_id, claim.activity
    exists = "SELECT 1 FROM collections WHERE id = %s"
    if key is not None and not connection.execute(exists, (key,)).rowcount:
        raise claim.deleted()
    connection.execute(
        f"DELETE FROM claims l WHERE collection_id IS NOT DISTINCT FROM %s::bigint AND NOT {IS_ALIVE}", (key,)
    )
    claim.due()
    about = (activity.pid, activity.host, activity.purpose, activity.since_ms)
    connection.execute(_TAKE, (token, backend, key, *about))


def _offers(connection: Connection) -> dict[int, Sequence[CollectionId]]:
    """Return the offers of the live holders of leases, the oldest first."""
    return dict(connection.execute(_OFFERS).fetchall())


def _offer(
    token: int,
    offers: Mapping[int, Sequence[CollectionId]],
    here: Sequence[CollectionId],
    missing: Sequence[CollectionId],
) -> list[CollectionId]:
    """Return what a holder offers: what it has, and what no other process has."""
    others = {each for other, offered in offers.items() if other != token for each in offered}
    return sorted({*here, *missing} - ({*missing} & others))


def divide(offers: Mapping[int, Sequence[CollectionId]]) -> dict[int, set[CollectionId]]:
    """Assign each collection to one of the processes that offer to watch it, evenly.

    The result depends on the offers alone, so every process computes the same.

    Args:
        offers: By token of the lease, the oldest first.

    Returns:
        The collections to watch, by token.
    """
    shares: dict[int, set[CollectionId]] = {token: set() for token in offers}
    takers: dict[CollectionId, list[int]] = {}
    for token, offered in offers.items():
        for each in offered:
            takers.setdefault(each, []).append(token)
    for each in sorted(takers, key=lambda each: (len(takers[each]), each)):
        shares[min(takers[each], key=lambda token: len(shares[token]))].add(each)
    return shares
