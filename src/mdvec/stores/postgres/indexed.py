"""A vector index of the database: removals are written down from when the first one is attached."""

from __future__ import annotations

import secrets

from mdvec.errors import ConfigError
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.vectors.journal import ATTACHED

_MAY_READ_ALL = """SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c
    WHERE c.oid = 'chunks'::regclass"""


def is_attached(connection: Connection) -> bool:
    """Return True if removals are written down.

    Raises:
        ConfigError: If the role may not read every collection: an index would lack the others, and show
            those that it may not read any more.
    """
    if not connection.execute(_MAY_READ_ALL).fetchall()[0][0]:
        msg = "a vector index beside the database needs a role that may read every collection"
        raise ConfigError(msg, hint="Leave out [store] vectors, or connect as the owner of the tables.")
    return connection.execute(ATTACHED).fetchone() is not None


def attach(connection: Connection) -> None:
    """Write down removals from now on, inside a transaction."""
    connection.execute(
        "INSERT INTO meta VALUES ('vector_index', %s) ON CONFLICT DO NOTHING", (secrets.randbits(62),)
    )
