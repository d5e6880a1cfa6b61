"""A vector index next to the file: removals are written down from when the first one is attached."""

from __future__ import annotations

import secrets

from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.vectors.journal import ATTACHED, KEPT_REMOVALS, TABLES

_TRIGGER = """CREATE TRIGGER IF NOT EXISTS {table}_removed AFTER DELETE ON {table} BEGIN
  INSERT INTO removed_owners(kind, owner_id) VALUES ('{kind}', old.id);
  DELETE FROM removed_owners WHERE id <= last_insert_rowid() - {kept};
END"""


def is_attached(connection: Connection) -> bool:
    """Return True if removals are written down."""
    return connection.execute(ATTACHED).get is not None


def attach(connection: Connection) -> None:
    """Write down removals from now on, inside a transaction."""
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('vector_index', ?)", (secrets.randbits(62),))
    for kind, table in TABLES.items():
        connection.execute(_TRIGGER.format(table=table, kind=kind.value, kept=KEPT_REMOVALS))
