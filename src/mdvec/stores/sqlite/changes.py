"""What a vector index beside the store has missed: removed owners, and owners with new vectors."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np

from mdvec.stores.exact import STORED
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.vectors.index import IndexedSpace, Mark, VectorChanges, VectorEntry, VectorKind
from mdvec.types.ids import CollectionId, SpaceId

BATCH = 4096
"""About so many entries are applied at a time."""

_KEPT_REMOVALS = 200_000
"""An index that missed more is built again. A few megabytes at most."""

_SPACE = "space"  # vectors.py writes it

_ATTACHED = "SELECT value FROM meta WHERE key = 'vector_index'"

_TRIGGER = """CREATE TRIGGER IF NOT EXISTS {table}_removed AFTER DELETE ON {table} BEGIN
  INSERT INTO removed_owners(kind, owner_id) VALUES ('{kind}', old.id);
  DELETE FROM removed_owners WHERE id <= last_insert_rowid() - {kept};
END"""
_TABLES = {VectorKind.TEXT: "chunks", VectorKind.NAME: "names"}

_STATE = """SELECT (SELECT value FROM meta WHERE key = 'vector_index'),
    (SELECT max(id) FROM vectors), (SELECT max(id) FROM chunks), (SELECT max(id) FROM names),
    (SELECT seq FROM sqlite_sequence WHERE name = 'removed_owners')"""

# The id at which a window of rows ends.
_END_OF_VECTORS = "SELECT id FROM vectors WHERE +space_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?"
_END = "SELECT id FROM {table} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"

_ENTRIES = {
    VectorKind.TEXT: "o.id, o.id, v.vector, d.collection_id, d.path, o.ordinal, o.depth, o.heading_path",
    VectorKind.NAME: "o.id, o.document_id, v.vector, d.collection_id, d.path, 0, 0, o.text",
}
# Owners that are new.
_NEW = """SELECT {entry} FROM {table} o CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash
    CROSS JOIN documents d ON d.id = o.document_id WHERE o.id > ? AND o.id <= ? ORDER BY o.id"""
# Owners that were there before their vectors.
_OLD = """SELECT {entry} FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    CROSS JOIN documents d ON d.id = o.document_id
    WHERE +v.space_id = ? AND v.id > ? AND v.id <= ? AND +o.id <= ? ORDER BY v.id"""


class Applied(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a mark says.

    Every vector up to ``vector`` of every owner up to ``text`` or ``name`` was applied, and every removal up
    to ``removed``. Ids are never used again.

    Attributes:
        store: A random number that the store got when an index was first attached.
        version: The version of the snapshot that was read.
        vector: The largest id of a vector, of whatever space.
        text: The largest id of a chunk.
        name: The largest id of a name.
        removed: The largest id of a removal.
    """

    store: int
    version: int
    vector: int = 0
    text: int = 0
    name: int = 0
    removed: int = 0

    def serves(self, now: Applied) -> bool:
        """Return True if an index with this mark holds all that a snapshot shows."""
        # After more removals, some that the snapshot still shows may be gone.
        return (
            self.store == now.store
            and self.removed == now.removed
            and self.vector >= now.vector
            and self.text >= now.text
            and self.name >= now.name
        )

    def encoded(self) -> Mark:
        """Return it as a mark."""
        return Mark(msgspec.json.encode(self).decode())


def decode(mark: Mark | None) -> Applied | None:
    """Return what a mark says; None if this version of mdvec did not write it."""
    try:
        return None if mark is None else msgspec.json.decode(mark, type=Applied)
    except msgspec.DecodeError:
        return None


def is_attached(connection: Connection) -> bool:
    """Return True if removals are written down."""
    return connection.execute(_ATTACHED).get is not None


def attach(connection: Connection) -> None:
    """Write down removals from now on, inside a transaction."""
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('vector_index', ?)", (secrets.randbits(62),))
    for kind, table in _TABLES.items():
        connection.execute(_TRIGGER.format(table=table, kind=kind.value, kept=_KEPT_REMOVALS))


def state(connection: Connection, version: int) -> Applied:
    """Return what an index has to have applied to serve a snapshot."""
    store, vector, text, name, removed = connection.execute(_STATE).get
    return Applied(store, version, vector or 0, text or 0, name or 0, removed or 0)


def indexed_space(connection: Connection, space_id: SpaceId) -> IndexedSpace:
    """Return a space as an index knows it."""
    return IndexedSpace(
        *connection.execute("SELECT key, dimension FROM spaces WHERE id = ?", (space_id,)).get
    )


def can_follow(connection: Connection, space_id: SpaceId, mark: Applied, now: Applied) -> bool:
    """Return True if all is known that an index has missed, and its space was not dropped meanwhile."""
    if mark.store != now.store or mark.removed > now.removed:
        return False
    kept, dropped = connection.execute(
        """SELECT count(*), coalesce(sum(kind = ? AND owner_id = ?), 0) FROM removed_owners
        WHERE id > ? AND id <= ?""",
        (_SPACE, space_id, mark.removed, now.removed),
    ).get
    return bool(kept == now.removed - mark.removed and not dropped)


def dropped_spaces(connection: Connection, since: Applied, now: Applied) -> list[IndexedSpace]:
    """Return the spaces that were dropped between two states."""
    rows = connection.execute(
        """SELECT DISTINCT s.key, s.dimension FROM removed_owners r CROSS JOIN spaces s ON s.id = r.owner_id
        WHERE r.id > ? AND r.id <= ? AND r.kind = ?""",
        (since.removed, now.removed, _SPACE),
    )
    return [IndexedSpace(*row) for row in rows]


def next_changes(
    connection: Connection, space_id: SpaceId, since: Applied | None, now: Applied
) -> VectorChanges:
    """Return the next step from a state to that of the snapshot: all, or about ``BATCH`` entries.

    Args:
        connection: The snapshot.
        space_id: The space.
        since: What was applied, which :func:`can_follow`; None to start from nothing.
        now: The state of the snapshot.
    """
    # From nothing there are no owners yet that wait for vectors.
    at = since or Applied(now.store, now.version, vector=now.vector, removed=now.removed)
    removed = list(_removed(connection, at, now))
    added: list[tuple[VectorKind, VectorEntry]] = []
    ends = {"version": now.version, "removed": max(at.removed, now.removed)}
    # First the owners that are known: what follows takes all vectors into account.
    if at.vector < now.vector:
        ends["vector"] = (
            connection.execute(_END_OF_VECTORS, (space_id, at.vector, BATCH - 1)).get or now.vector
        )
        for kind, known in ((VectorKind.TEXT, at.text), (VectorKind.NAME, at.name)):
            rows = connection.execute(_sql(_OLD, kind), (space_id, at.vector, ends["vector"], known))
            added += ((kind, each) for each in _entries(kind, rows))
    for kind in VectorKind:
        known, newest = getattr(at, kind.value), getattr(now, kind.value)
        if len(added) >= BATCH or ends.get("vector", now.vector) < now.vector or known >= newest:
            continue
        end = connection.execute(_sql(_END, kind), (known, BATCH - 1)).get or newest
        rows = connection.execute(_sql(_NEW, kind), (space_id, known, end))
        added += ((kind, each) for each in _entries(kind, rows))
        ends[kind.value] = end
    until = msgspec.structs.replace(at, **ends)
    return VectorChanges(None if since is None else since.encoded(), until.encoded(), removed, added)


def count_entries(connection: Connection, space_id: SpaceId) -> int:
    """Count the texts and names that have a vector in a space."""
    counts = [
        connection.execute(
            f"""SELECT count(*) FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
            WHERE v.space_id = ?""",  # noqa: S608 - a name of ours
            (space_id,),
        ).get
        for table in _TABLES.values()
    ]
    return sum(counts)


def _sql(template: str, kind: VectorKind) -> str:
    return template.format(entry=_ENTRIES[kind], table=_TABLES[kind])


def _removed(connection: Connection, since: Applied, now: Applied) -> Iterator[tuple[VectorKind, int]]:
    rows = connection.execute(
        "SELECT kind, owner_id FROM removed_owners WHERE id > ? AND id <= ? AND kind != ? ORDER BY id",
        (since.removed, now.removed, _SPACE),
    )
    for kind, owner in rows:
        yield VectorKind(kind), owner


def _entries(kind: VectorKind, rows: Iterable[Any]) -> Iterator[VectorEntry]:
    for entry_id, owner, vector, collection_id, path, ordinal, depth, heading in rows:
        yield VectorEntry(
            entry_id,
            owner,
            np.frombuffer(vector, STORED).astype(np.float32),
            CollectionId(collection_id),
            path,
            ordinal,
            depth,
            " > ".join(json.loads(heading)) if kind is VectorKind.TEXT else heading,
        )
