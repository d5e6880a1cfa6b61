"""Claims of the processes of several machines, which divide the collections that they watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdvec.stores.claims import Claims
from mdvec.stores.holders import HeldClaim, is_alive
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.database import PostgresDatabase, fetch_rows
from mdvec.stores.sharing import divide
from mdvec.types.ids import CollectionId

CLOCK = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
"""The time of the server, in milliseconds since 1970."""


class SharedClaims(Claims[Connection]):
    """The claims of a store; leases stand side by side."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(
            lambda: database.reading(),
            lambda _wait_s: database.writing(),
            fetch_rows,
            clock=CLOCK,
            shares_leases=True,
        )

    def share(
        self, lease: HeldClaim, here: Sequence[CollectionId], missing: Sequence[CollectionId]
    ) -> set[CollectionId]:
        """Return what the holder of a lease watches; see :class:`mdvec.stores.sharing.SharedWork`."""
        token = lease.holder.token
        with self._reading() as connection:
            offers = self._offers(connection)
        if offers.get(token) != _offer(token, offers, here, missing):
            with self._writing(lease.wait_s) as connection:
                self.confirm(connection, lease)
                offers = self._offers(connection)
                offers[token] = _offer(token, offers, here, missing)
                connection.execute("UPDATE claims SET offered = %s WHERE token = %s", (offers[token], token))
        return divide(offers)[token]

    def _offers(self, connection: Connection) -> dict[str, Sequence[CollectionId]]:
        """Return what the live holders of leases offer to watch, the oldest first."""
        sql = "SELECT token, offered FROM claims WHERE collection_id IS NULL"
        offered: dict[str, Sequence[CollectionId]] = dict(connection.execute(sql).fetchall())
        return {each.token: offered[each.token] for each in self.holders(connection, None) if is_alive(each)}


def _offer(
    token: str,
    offers: Mapping[str, Sequence[CollectionId]],
    here: Sequence[CollectionId],
    missing: Sequence[CollectionId],
) -> list[CollectionId]:
    """Return what a holder offers: what it has, and what no other process has."""
    others = {each for other, offered in offers.items() if other != token for each in offered}
    return sorted({*here, *missing} - ({*missing} & others))
