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
from msgspec.structs import replace

from mdvec.stores.vectors.index import IndexedSpace, Mark, VectorChanges, VectorEntry, VectorKind
from mdvec.types.ids import SpaceId
from mdvec.types.section import IndexedSection, saved_sections

BATCH = 2048
"""About how many entries are applied at a time."""

MAX_REMOVALS = 200_000
"""An index that missed more is built again. A few megabytes at most."""

SPACE = "space"
"""The kind of a removal that is a whole space; a store writes it when it drops one."""

ATTACHED = "SELECT value FROM meta WHERE key = 'vector_index'"
"""Whether removals are written down: a random number from when an index was first attached."""

TABLES = {VectorKind.TEXT: "chunks", VectorKind.NAME: "names"}
"""Whose removals are written down, by the kind of their rows."""

# As SQLite reads them: CROSS JOIN keeps the order of the tables, a plus keeps an index from being used.
_STATE = """SELECT (SELECT value FROM meta WHERE key = 'vector_index'),
    (SELECT max(id) FROM vectors), (SELECT max(id) FROM {table}), (SELECT max(id) FROM removed_owners)"""

# The id at which a window of rows ends.
_END_OF_VECTORS = "SELECT id FROM vectors WHERE +space_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?"
_END = "SELECT id FROM {table} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"

# What an entry is made of; the heading path as JSON.
_ENTRIES = {
    VectorKind.TEXT: """o.id, o.id, {vector}, d.collection_id, d.path, o.heading_path, o.depth,
        (SELECT substr(b.body, o.start + 1, o.stop - o.start) FROM contents b
            WHERE b.document_id = o.document_id),
        o.token_count,
        (SELECT p.id FROM chunks p WHERE p.document_id = o.document_id AND p.ordinal = o.parent),
        o.ordinal, d.dirty_since_ms, d.sha256, d.indexed_at_ms, d.mtime_ns,
        CASE WHEN substr(d.fingerprint, 1, 4) = 'push' THEN d.id ELSE 0 END""",
    VectorKind.NAME: """o.id, o.document_id, {vector}, d.collection_id, d.path, o.text, 0, '', 0,
        NULL, 0, NULL, d.sha256, 0, 0, 0""",
}
_FRONTMATTER = "SELECT frontmatter FROM contents WHERE document_id = ?"
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

    Every vector up to ``vector`` of every owner up to ``owner`` was applied, and every removal up to
    ``removed``. Ids are never used again.

    Attributes:
        store: A random number that the store got when an index was first attached.
        version: The version of the snapshot that was read.
        vector: The largest id of a vector, of whatever space.
        owner: The largest id of a chunk, or of a name.
        removed: The largest id of a removal.
    """

    store: int
    version: int
    vector: int = 0
    owner: int = 0
    removed: int = 0

    def serves(self, now: Applied) -> bool:
        """Return True if an index with this mark holds all that a snapshot shows."""
        # After more removals, some that the snapshot still shows may be gone.
        is_same = (self.store, self.removed) == (now.store, now.removed)
        return is_same and self.vector >= now.vector and self.owner >= now.owner


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
        rows: Runs a query in the snapshot (:meth:`mdvec.stores.tables.Tables.rows`).
        dialect: What differs from store to store.
        version: The version of the snapshot.
        current_version: Reads the version that the store has now.
    """

    rows: Callable[..., list[tuple[Any, ...]]]
    dialect: Dialect
    version: int
    current_version: Callable[[], int]

    @cached_property
    def spaces(self) -> dict[tuple[SpaceId, VectorKind], IndexedSpace]:
        """The spaces of the store, those that were dropped included, once for each kind of text."""
        rows = self.rows("SELECT id, key, dimension FROM spaces ORDER BY id")
        return {
            (SpaceId(space_id), kind): IndexedSpace(key, dimension, kind)
            for space_id, key, dimension in rows
            for kind in VectorKind
        }

    def progress(self, space_id: SpaceId, kind: VectorKind, mark: Mark) -> Progress:
        """Return the state of an index with this mark, compared with the snapshot."""
        applied, now = _decode(mark), self._now(kind)
        # A backup was put back when the mark is of a later version than the store has.
        if applied is None or (applied.version > now.version and applied.version > self.current_version()):
            return Progress.LOST
        if applied.serves(now):
            return Progress.CURRENT
        if applied.store != now.store:
            return Progress.LOST
        if applied.version > now.version:
            return Progress.AHEAD
        removals = self._removals(applied, now)
        is_complete = len(removals) == now.removed - applied.removed
        return Progress.BEHIND if is_complete and (SPACE, space_id) not in removals else Progress.LOST

    def changes(self, space_id: SpaceId, kind: VectorKind, since: Mark | None) -> VectorChanges:
        """Return the next step toward the snapshot: everything, or about ``BATCH`` entries.

        Args:
            space_id: The space.
            kind: The kind of its vectors.
            since: A mark that is behind; None to start from nothing.
        """
        now = self._now(kind)
        # From nothing there are no owners yet that wait for vectors.
        start = Applied(now.store, now.version, vector=now.vector, removed=now.removed)
        at = start if since is None else _decode(since) or start
        removed = [owner for of, owner in self._removals(at, now) if of == kind]
        added: list[VectorEntry] = []
        vector, owner = max(at.vector, now.vector), at.owner
        # First the owners that are known: those after them get all their vectors at once.
        if at.vector < now.vector:
            vector = self._number(_END_OF_VECTORS, space_id, at.vector, BATCH - 1) or now.vector
            added += self._entries(_OLD, kind, space_id, at.vector, vector, owner)
        if vector >= now.vector and len(added) < BATCH and owner < now.owner:
            owner = self._number(_END.format(table=TABLES[kind]), at.owner, BATCH - 1) or now.owner
            added += self._entries(_NEW, kind, space_id, at.owner, owner)
        until = Applied(now.store, now.version, vector, owner, now.removed)
        return VectorChanges(since, Mark(msgspec.json.encode(until).decode()), removed, added)

    def dropped_spaces(self, kind: VectorKind, since: Mark) -> list[IndexedSpace]:
        """Return the spaces that were dropped since a mark that is behind."""
        applied = _decode(since)
        removals = [] if applied is None else self._removals(applied, self._now(kind))
        return [self.spaces[SpaceId(owner), kind] for of, owner in removals if of == SPACE]

    def count_entries(self, space_id: SpaceId, kind: VectorKind) -> int:
        """Count the texts or names that have a vector in a space."""
        return self._number(_COUNT.format(table=TABLES[kind]), space_id)

    def _now(self, kind: VectorKind) -> Applied:
        """Return what an index has to have applied to serve the snapshot."""
        ((store, *newest),) = self.rows(_STATE.format(table=TABLES[kind]))
        return Applied(store, self.version, *(each or 0 for each in newest))

    def _removals(self, since: Applied, now: Applied) -> list[tuple[str, int]]:
        """Return kind and id of what was removed since a mark, as far as it is still known."""
        sql = "SELECT kind, owner_id FROM removed_owners WHERE id > ? AND id <= ? ORDER BY id"
        return [(kind, owner) for kind, owner in self.rows(sql, since.removed, now.removed)]

    def _entries(self, template: str, kind: VectorKind, *arguments: int) -> list[VectorEntry]:
        import numpy as np  # not loaded where only the names of the tables are needed

        columns = _ENTRIES[kind].format(vector=self.dialect.vector)
        entries = []
        written: dict[int, list[IndexedSection]] = {0: []}
        for (
            entry_id,
            owner,
            stored,
            collection_id,
            path,
            heading,
            depth,
            text,
            tokens,
            parent,
            *rest,
        ) in self.rows(template.format(entry=columns, table=TABLES[kind]), *arguments):
            order, dirty_since, digest, created_ms, mtime_ns, pushed = rest
            vector = np.frombuffer(stored, self.dialect.dtype).astype(np.float32)
            headings = json.loads(heading) if kind is VectorKind.TEXT else [heading]
            if pushed not in written:
                written[pushed] = self._pushed(pushed)
            dirty, document_hash = dirty_since is not None, bytes(digest).hex()
            if pushed not in written:
                written[pushed] = self._pushed(pushed)
            if order < len(written[pushed]):
                saved = written[pushed][order]
                section = replace(saved, document_path=path, content=text, is_dirty=dirty)
                section = replace(section, document_hash=saved.document_hash or document_hash)
            else:
                chunk = (str(entry_id), path, headings[-1] if headings else "", depth, text, tokens)
                place = (None if parent is None else str(parent), order, dirty, document_hash)
                section = IndexedSection(*chunk, *place, created_ms, mtime_ns // 1_000_000)
            entries.append(VectorEntry(entry_id, owner, vector, collection_id, " > ".join(headings), section))
        return entries

    def _pushed(self, document_id: int) -> list[IndexedSection]:
        """Return the sections of a pushed document without their texts; none if they are damaged."""
        try:
            [(frontmatter,)] = self.rows(_FRONTMATTER, document_id)
            return [section for _, _, section in saved_sections(json.loads(frontmatter)) or ()]
        except (ValueError, TypeError):
            return []

    def _number(self, sql: str, *arguments: int) -> int:
        """Return the only value of the only row; 0 without a row."""
        return next((int(number) for (number,) in self.rows(sql, *arguments)), 0)


def _decode(mark: Mark) -> Applied | None:
    """Return what a mark says; None if this version of mdvec did not write it."""
    try:
        return msgspec.json.decode(mark, type=Applied)
    except msgspec.DecodeError:
        return None
