"""The change journal of a store: which owners were removed, and which got vectors, since a mark.

The queries are the same for every store with tables; ids only grow, and are never reused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
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
        o.token_count, d.sha256,
        (SELECT substr(b.body, o.start + 1, o.stop - o.start) FROM contents b
            WHERE b.document_id = o.document_id)""",
    VectorKind.NAME: """o.id, o.document_id, {vector}, d.collection_id, d.path, 0, 0, o.text,
        NULL, 0, d.sha256, ''""",
}
_COUNT = """SELECT count(*) FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    WHERE v.space_id = ?"""
# Owners that are new.
_NEW = """SELECT {entry} FROM {table} o CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash
    CROSS JOIN documents d ON d.id = o.document_id WHERE o.id > ? AND o.id <= ? ORDER BY o.id"""
# Owners that were there before their vectors.
_OLD = """SELECT {entry} FROM vectors v CROSS JOIN {table} o ON o.text_hash = v.text_hash
    CROSS JOIN documents d ON d.id = o.document_id
    WHERE +v.space_id = ? AND v.id > ? AND v.id <= ? AND +o.id <= ? ORDER BY v.id"""


class Progress(Enum):
    """The state of an index, compared with a snapshot of its store."""

    CURRENT = auto()
    """It holds all that the snapshot shows."""
    BEHIND = auto()
    """It missed changes, and they are known."""
    AHEAD = auto()
    """It has followed a later snapshot, and may lack what this one still shows."""
    LOST = auto()
    """What it missed is not known any more, or it followed another store: it has to start from nothing."""


class Applied(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
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
        is_same = (self.store, self.removed) == (now.store, now.removed)
        return is_same and self.vector >= now.vector and self.text >= now.text and self.name >= now.name


class Dialect(Struct, frozen=True):
    """The differences between stores.

    Attributes:
        vector: SQL for the bytes of the vector of a row ``v``.
        dtype: What they are to numpy.
    """

    vector: str
    dtype: str


class ChangeJournal(Struct, frozen=True, dict=True):
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
    def spaces(self) -> dict[SpaceId, IndexedSpace]:
        """The spaces of the store, those that were dropped included."""
        rows = self.rows("SELECT id, key, dimension FROM spaces ORDER BY id")
        return {SpaceId(space_id): IndexedSpace(*space) for space_id, *space in rows}

    @cached_property
    def _now(self) -> Applied:
        """What an index has to have applied to serve the snapshot."""
        ((store, *newest),) = self.rows(_STATE)
        return Applied(store, self.version, *(each or 0 for each in newest))

    def progress(self, space_id: SpaceId, mark: Mark) -> Progress:
        """Return the state of an index with this mark, compared with the snapshot."""
        applied, now = _decode(mark), self._now
        # A backup was put back when the mark is of a later version than the store has.
        if applied is None or (applied.version > now.version and applied.version > self.current_version()):
            return Progress.LOST
        if applied.serves(now):
            return Progress.CURRENT
        if applied.store != now.store:
            return Progress.LOST
        if applied.version > now.version:
            return Progress.AHEAD
        removals = self._removals(applied)
        is_complete = len(removals) == now.removed - applied.removed
        return Progress.BEHIND if is_complete and (SPACE, space_id) not in removals else Progress.LOST

    def changes(self, space_id: SpaceId, since: Mark | None) -> VectorChanges:
        """Return the next step toward the snapshot: everything, or about ``BATCH`` entries.

        Args:
            space_id: The space.
            since: A mark that is behind; None to start from nothing.
        """
        now = self._now
        # From nothing there are no owners yet that wait for vectors.
        start = Applied(now.store, now.version, vector=now.vector, removed=now.removed)
        at = start if since is None else _decode(since) or start
        removals = self._removals(at)
        removed = {kind: [owner for of, owner in removals if of == kind] for kind in VectorKind}
        added: dict[VectorKind, list[VectorEntry]] = {kind: [] for kind in VectorKind}
        ends = {"version": now.version, "vector": max(at.vector, now.vector), "removed": now.removed}
        # First the owners that are known: those after them get all their vectors at once.
        if at.vector < now.vector:
            end = self._number(_END_OF_VECTORS, space_id, at.vector, BATCH - 1)
            ends["vector"] = end or now.vector
            for kind in VectorKind:
                known = getattr(at, kind.value)
                added[kind] += self._entries(_OLD, kind, space_id, at.vector, ends["vector"], known)
        for kind in VectorKind:
            known, newest = getattr(at, kind.value), getattr(now, kind.value)
            is_full = sum(map(len, added.values())) >= BATCH or ends["vector"] < now.vector
            if not is_full and known < newest:
                end = self._number(_END.format(table=TABLES[kind]), known, BATCH - 1) or newest
                added[kind] += self._entries(_NEW, kind, space_id, known, end)
                ends[kind.value] = end
        until = msgspec.json.encode(msgspec.structs.replace(at, **ends)).decode()
        return VectorChanges(since, Mark(until), removed, added)

    def dropped_spaces(self, since: Mark) -> list[IndexedSpace]:
        """Return the spaces that were dropped since a mark that is behind."""
        applied = _decode(since)
        removals = [] if applied is None else self._removals(applied)
        return [self.spaces[SpaceId(owner)] for kind, owner in removals if kind == SPACE]

    def count_entries(self, space_id: SpaceId) -> int:
        """Count the texts and names that have a vector in a space."""
        return sum(self._number(_COUNT.format(table=table), space_id) for table in TABLES.values())

    def _removals(self, since: Applied) -> list[tuple[str, int]]:
        """Return kind and id of what was removed since a mark, as far as it is still known."""
        sql = "SELECT kind, owner_id FROM removed_owners WHERE id > ? AND id <= ? ORDER BY id"
        return [(kind, owner) for kind, owner in self.rows(sql, since.removed, self._now.removed)]

    def _entries(self, template: str, kind: VectorKind, *arguments: int) -> list[VectorEntry]:
        import numpy as np  # not loaded where only the names of the tables are needed

        columns = _ENTRIES[kind].format(vector=self.dialect.vector)
        entries = []
        for entry_id, owner, stored, collection_id, path, ordinal, depth, heading, *rest in self.rows(
            template.format(entry=columns, table=TABLES[kind]), *arguments
        ):
            vector = np.frombuffer(stored, self.dialect.dtype).astype(np.float32)
            shown = " > ".join(json.loads(heading)) if kind is VectorKind.TEXT else heading
            entries.append(
                VectorEntry(entry_id, owner, vector, collection_id, path, ordinal, depth, shown, *rest)
            )
        return entries

    def _number(self, sql: str, *arguments: int) -> int:
        """Return the only value of the only row; 0 without a row."""
        return next((int(number) for (number,) in self.rows(sql, *arguments)), 0)


def _decode(mark: Mark) -> Applied | None:
    """Return what a mark says; None if this version of mdvec did not write it."""
    try:
        return msgspec.json.decode(mark, type=Applied)
    except msgspec.DecodeError:
        return None
