"""The changes that a vector index beside a store has missed: removed owners, and owners with new vectors.

The queries are the same for every store with tables; ids only grow, and are never reused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from mdvec.stores.vectors.index import IndexedSpace, Mark, VectorChanges, VectorEntry, VectorKind
from mdvec.types.ids import SpaceId

BATCH = 2048
"""About how many entries are applied at a time."""

KEPT_REMOVALS = 200_000
"""An index that missed more is built again. A few megabytes at most."""

SPACE = "space"
"""The kind of a removal that is a whole space; a store writes it when it drops one."""

ATTACHED = "SELECT value FROM meta WHERE key = 'vector_index'"
"""Whether removals are written down: a random number from when an index was first attached."""

TABLES = {VectorKind.TEXT: "chunks", VectorKind.NAME: "names"}
"""Whose removals are written down, by the kind of their rows."""

# As SQLite reads them: CROSS JOIN keeps the order of the tables, a plus keeps an index from being used.
_STATE = """SELECT (SELECT value FROM meta WHERE key = 'vector_index'),
    (SELECT max(id) FROM vectors), (SELECT max(id) FROM chunks), (SELECT max(id) FROM names),
    (SELECT max(id) FROM removed_owners)"""

# The id at which a window of rows ends.
_END_OF_VECTORS = "SELECT id FROM vectors WHERE +space_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?"
_END = "SELECT id FROM {table} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"

# The fields of VectorEntry, in order; the heading path as JSON.
_ENTRIES = {
    VectorKind.TEXT: """o.id, o.id, {vector}, d.collection_id, d.path, o.ordinal, o.depth, o.heading_path,
        (SELECT p.id FROM chunks p WHERE p.document_id = o.document_id AND p.ordinal = o.parent),
        o.token_count, d.sha256, {text}""",
    VectorKind.NAME: """o.id, o.document_id, {vector}, d.collection_id, d.path, 0, 0, o.text,
        NULL, 0, d.sha256, ''""",
}
_TEXT = """(SELECT substr(b.body, o.start + 1, o.stop - o.start) FROM contents b
    WHERE b.document_id = o.document_id)"""
_COUNT = """SELECT count(*) FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    WHERE v.space_id = ?"""
# Owners that are new.
_NEW = """SELECT {entry} FROM {table} o CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash
    CROSS JOIN documents d ON d.id = o.document_id WHERE o.id > ? AND o.id <= ? ORDER BY o.id"""
# Owners that were there before their vectors.
_OLD = """SELECT {entry} FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    CROSS JOIN documents d ON d.id = o.document_id
    WHERE +v.space_id = ? AND v.id > ? AND v.id <= ? AND +o.id <= ? ORDER BY v.id"""


class Standing(Enum):
    """The state of an index, compared with a snapshot of its store."""

    CURRENT = auto()
    """It holds all that the snapshot shows."""
    BEHIND = auto()
    """It missed changes, and they are known."""
    AHEAD = auto()
    """It has followed a later snapshot, and may lack what this one still shows."""
    LOST = auto()
    """What it missed is not known any more, or it followed another store: it has to start from nothing."""


class Applied(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The content of a mark.

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


class Dialect(Struct, frozen=True):
    """The differences between stores.

    Attributes:
        vector: SQL for the bytes of the vector of a row ``v``.
        dtype: What they are to numpy.
    """

    vector: str
    dtype: str


class ChangeFeed(Struct, frozen=True, dict=True):
    """The changes of a store up to a snapshot.

    Attributes:
        rows: Runs a query in the snapshot (:meth:`mdvec.stores.tables.TableReader.rows`).
        dialect: What differs from store to store.
        version: The version of the snapshot.
        current_version: Reads the version that the store has now.
    """

    rows: Callable[..., list[tuple[Any, ...]]]
    dialect: Dialect
    version: int
    current_version: Callable[[], int]

    @cached_property
    def _now(self) -> Applied:
        """What an index has to have applied to serve the snapshot."""
        store, vector, text, name, removed = self._row(_STATE)
        return Applied(store, self.version, vector or 0, text or 0, name or 0, removed or 0)

    @cached_property
    def _indexed_spaces(self) -> dict[SpaceId, IndexedSpace]:
        rows = self.rows("SELECT id, key, dimension FROM spaces ORDER BY id")
        return {SpaceId(space_id): IndexedSpace(*space) for space_id, *space in rows}

    def spaces(self) -> list[SpaceId]:
        """Return the spaces of the store."""
        return list(self._indexed_spaces)

    def indexed_space(self, space_id: SpaceId) -> IndexedSpace:
        """Return a space as an index knows it."""
        return self._indexed_spaces[space_id]

    def standing(self, space_id: SpaceId, mark: Mark) -> Standing:
        """Return how an index with this mark stands to the snapshot."""
        applied = _decode(mark)
        # A backup was put back when the mark is of a later version than the store has.
        if applied is None or (
            applied.version > self._now.version and applied.version > self.current_version()
        ):
            return Standing.LOST
        if applied.serves(self._now):
            return Standing.CURRENT
        if applied.version > self._now.version and applied.store == self._now.store:
            return Standing.AHEAD
        return Standing.BEHIND if self._can_follow(space_id, applied) else Standing.LOST

    def changes(self, space_id: SpaceId, since: Mark | None, *, texts: bool) -> VectorChanges:
        """Return the next step toward the snapshot: everything, or about ``BATCH`` entries.

        Args:
            space_id: The space.
            since: A mark that is behind; None to start from nothing.
            texts: Whether entries carry the texts of chunks.
        """
        now = self._now
        # From nothing there are no owners yet that wait for vectors.
        start = Applied(now.store, now.version, vector=now.vector, removed=now.removed)
        at = start if since is None else _decode(since) or start
        removed = list(self._removed(at))
        added: list[tuple[VectorKind, VectorEntry]] = []
        ends = {"version": now.version, "removed": max(at.removed, now.removed)}
        # First the owners that are known: what follows takes all vectors into account.
        if at.vector < now.vector:
            end = self._number(_END_OF_VECTORS, space_id, at.vector, BATCH - 1)
            ends["vector"] = end or now.vector
            for kind, known in ((VectorKind.TEXT, at.text), (VectorKind.NAME, at.name)):
                added += self._entries(_OLD, kind, texts, (space_id, at.vector, ends["vector"], known))
        for kind in VectorKind:
            known, newest = getattr(at, kind.value), getattr(now, kind.value)
            if len(added) >= BATCH or ends.get("vector", now.vector) < now.vector or known >= newest:
                continue
            end = self._number(_END.format(table=TABLES[kind]), known, BATCH - 1) or newest
            added += self._entries(_NEW, kind, texts, (space_id, known, end))
            ends[kind.value] = end
        return VectorChanges(since, msgspec.structs.replace(at, **ends).encoded(), removed, added)

    def dropped_spaces(self, since: Mark) -> list[IndexedSpace]:
        """Return the spaces that were dropped since a mark that is behind."""
        at = _decode(since)
        if at is None or at.removed == self._now.removed:
            return []
        rows = self.rows(
            """SELECT DISTINCT s.key, s.dimension FROM removed_owners r
            CROSS JOIN spaces s ON s.id = r.owner_id WHERE r.id > ? AND r.id <= ? AND r.kind = ?""",
            at.removed,
            self._now.removed,
            SPACE,
        )
        return [IndexedSpace(*row) for row in rows]

    def count_entries(self, space_id: SpaceId) -> int:
        """Count the texts and names that have a vector in a space."""
        return sum(self._number(_COUNT.format(table=table), space_id) for table in TABLES.values())

    def _can_follow(self, space_id: SpaceId, mark: Applied) -> bool:
        """Return True if all is known that an index has missed, and its space was not dropped meanwhile."""
        if mark.store != self._now.store or mark.removed > self._now.removed:
            return False
        kept, dropped = self._row(
            """SELECT count(*), count(*) FILTER (WHERE kind = ? AND owner_id = ?) FROM removed_owners
            WHERE id > ? AND id <= ?""",
            SPACE,
            space_id,
            mark.removed,
            self._now.removed,
        )
        return bool(kept == self._now.removed - mark.removed and not dropped)

    def _removed(self, since: Applied) -> Iterator[tuple[VectorKind, int]]:
        rows = self.rows(
            "SELECT kind, owner_id FROM removed_owners WHERE id > ? AND id <= ? AND kind != ? ORDER BY id",
            since.removed,
            self._now.removed,
            SPACE,
        )
        for kind, owner in rows:
            yield VectorKind(kind), owner

    def _entries(
        self, template: str, kind: VectorKind, texts: bool, arguments: tuple[int, ...]
    ) -> Iterator[tuple[VectorKind, VectorEntry]]:
        import numpy as np  # not loaded where only the names of the tables are needed

        columns = _ENTRIES[kind].format(vector=self.dialect.vector, text=_TEXT if texts else "''")
        rows = self.rows(template.format(entry=columns, table=TABLES[kind]), *arguments)
        for entry_id, owner, stored, collection_id, path, ordinal, depth, heading, *rest in rows:
            vector = np.frombuffer(stored, self.dialect.dtype).astype(np.float32)
            shown = " > ".join(json.loads(heading)) if kind is VectorKind.TEXT else heading
            entry = VectorEntry(entry_id, owner, vector, collection_id, path, ordinal, depth, shown, *rest)
            yield kind, entry

    def _row(self, sql: str, *arguments: Any) -> tuple[Any, ...]:
        return self.rows(sql, *arguments)[0]

    def _number(self, sql: str, *arguments: int) -> int:
        """Return the only value of the only row; 0 without a row."""
        for (number,) in self.rows(sql, *arguments):
            return int(number)
        return 0


def _decode(mark: Mark) -> Applied | None:
    """Return what a mark says; None if this version of mdvec did not write it."""
    try:
        return msgspec.json.decode(mark, type=Applied)
    except msgspec.DecodeError:
        return None
