"""The change journal of a store: which owners were removed, and which got vectors, since a mark.

The queries are the same for every store with tables; ids only grow, and are never reused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum, auto
from functools import cache

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mdvec.stores.records import VectorKind
from mdvec.stores.tables import Tables
from mdvec.stores.vectors.index import IndexedSpace, Mark, VectorChanges, VectorEntry, VectorIndex
from mdvec.types.ids import SpaceId
from mdvec.types.section import IndexedSection, saved_sections

BATCH = 2048
"""About how many entries are applied at a time."""

MAX_REMOVALS = 200_000
"""An index that missed more is built again. A few megabytes at most."""

SPACE = "space"
"""The kind of a removal that is a whole space; a store writes it when it drops one."""

ATTACHED = "SELECT value FROM meta WHERE key = 'vector_index'"
"""Selects the random number that a store gets with its first index; without it, no removal is recorded."""

TABLES = {VectorKind.TEXT: "chunks", VectorKind.NAME: "names"}
"""The tables of the owners whose removals are recorded, by the kind of text."""

OWNERS = {VectorKind.TEXT: "o.id", VectorKind.NAME: "o.document_id"}
"""The owner of a row ``o`` of these tables."""

# As SQLite reads them: CROSS JOIN keeps the order of the tables, a plus keeps an index from being used.
_STATE = """SELECT (SELECT value FROM meta WHERE key = 'vector_index'),
    (SELECT max(id) FROM vectors), (SELECT max(id) FROM {table}), (SELECT max(id) FROM removed_owners)"""

# The id at which a window of rows ends.
_END_OF_VECTORS = "SELECT id FROM vectors WHERE +space_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?"
_END = "SELECT id FROM {table} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"

# Id, owner, vector, collection, heading path as JSON, the document if a program wrote its sections (else 0),
# the identity of its content; then the fields of IndexedSection, without heading and hash.
_ENTRIES = {
    VectorKind.TEXT: """o.id, o.id, {vector}, d.collection_id, o.heading_path,
        CASE WHEN substr(d.fingerprint, 1, 4) = 'push' THEN d.id ELSE 0 END, d.sha256,
        CAST(o.id AS text), d.path, '', o.depth,
        (SELECT substr(b.body, o.start + 1, o.stop - o.start) FROM contents b
            WHERE b.document_id = o.document_id), o.token_count,
        (SELECT CAST(p.id AS text) FROM chunks p
            WHERE p.document_id = o.document_id AND p.ordinal = o.parent),
        o.ordinal, d.dirty_since_ms IS NOT NULL, '', d.indexed_at_ms, d.mtime_ns / 1000000""",
    VectorKind.NAME: """o.id, o.document_id, {vector}, d.collection_id, o.text, 0, d.sha256,
        CAST(o.id AS text), d.path, '', 0, '', 0, NULL, 0, 0, '', 0, 0""",
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

# The entries with some ids.
_STORED = """SELECT o.id, {owner}, {vector} FROM {each_id} CROSS JOIN {table} o ON o.id = j.value
    CROSS JOIN vectors v ON v.space_id = ? AND v.text_hash = o.text_hash"""

_ROUNDING = 1e-3
"""How much a number of a vector may differ in an index: less changes no ranking."""


class Progress(Enum):
    """The state of an index, compared with a snapshot of its store."""

    CURRENT = auto()
    """It holds all that the snapshot shows."""
    BEHIND = auto()
    """It missed changes, and they are known."""
    AHEAD = auto()
    """It has followed a later snapshot, and may lack what this one still shows."""
    LOST = auto()
    """The changes that it missed are forgotten, or it followed another store: it has to start anew."""


class Applied(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The content of a mark.

    Every vector up to ``vector`` of every owner up to ``owner`` was applied, and every removal up to
    ``removed``. Ids are never used again.

    Attributes:
        store: A random number that the store got when an index was first attached.
        version: The version of the snapshot that was read.
        vector: The largest id of a vector, in any space.
        owner: The largest id of a chunk, or of a name.
        removed: The largest id of a removal.
    """

    store: int
    version: int
    vector: int = 0
    owner: int = 0
    removed: int = 0


class SpaceJournal(Struct, frozen=True):
    """The changes of a space up to a snapshot of its store.

    Attributes:
        space_id: The space.
        space: The same space, as the index knows it.
        now: The state that an index must have reached to serve the snapshot.
        tables: The snapshot.
        current_version: Reads the version that the store has now.
    """

    space_id: SpaceId
    space: IndexedSpace
    now: Applied
    tables: Tables
    current_version: Callable[[], int]

    def progress(self, mark: Mark | None) -> Progress:
        """Return the state of an index with this mark, compared with the snapshot."""
        if mark is None:
            return Progress.BEHIND
        applied, now = _decode(mark), self.now
        if applied is None or applied.store != now.store:
            return Progress.LOST
        # A mark of a later version than the store has means that a backup was restored.
        is_later = applied.version > now.version
        if is_later and applied.version > self.current_version():
            return Progress.LOST
        # After more removals, some that the snapshot still shows may be gone.
        is_same = applied.removed == now.removed
        if is_same and applied.vector >= now.vector and applied.owner >= now.owner:
            return Progress.CURRENT
        if is_later:
            return Progress.AHEAD
        removals = self._removals(applied)
        is_complete = len(removals) == now.removed - applied.removed
        return Progress.BEHIND if is_complete and (SPACE, self.space_id) not in removals else Progress.LOST

    def changes(self, since: Mark | None) -> VectorChanges:
        """Return the next step toward the snapshot: everything, or about ``BATCH`` entries.

        Args:
            since: A mark that is behind; None to start from nothing.
        """
        now, table = self.now, TABLES[self.space.kind]
        # At the start no owner waits for a vector.
        start = Applied(now.store, now.version, vector=now.vector, removed=now.removed)
        at = start if since is None else _decode(since) or start
        removed = [owner for kind, owner in self._removals(at) if kind == self.space.kind]
        added: list[VectorEntry] = []
        vector, owner = max(at.vector, now.vector), at.owner
        # First the owners that are known: those after them get all their vectors at once.
        if at.vector < now.vector:
            vector = self._number(_END_OF_VECTORS, self.space_id, at.vector, BATCH - 1) or now.vector
            added += self._entries(_OLD, at.vector, vector, owner)
        if vector >= now.vector and len(added) < BATCH and owner < now.owner:
            owner = self._number(_END.format(table=table), at.owner, BATCH - 1) or now.owner
            added += self._entries(_NEW, at.owner, owner)
        until = Applied(now.store, now.version, vector, owner, now.removed)
        return VectorChanges(since, Mark(msgspec.json.encode(until).decode()), removed, added)

    def dropped_spaces(self, since: Mark) -> list[SpaceId]:
        """Return the spaces that were dropped since a mark that is behind."""
        applied = _decode(since) or self.now
        return [SpaceId(owner) for kind, owner in self._removals(applied) if kind == SPACE]

    def count_entries(self) -> int:
        """Count the texts or names that have a vector in the space."""
        return self._number(_COUNT.format(table=TABLES[self.space.kind]), self.space_id)

    def count_differing(self, index: VectorIndex) -> int:
        """Count the entries of an index that differ from the snapshot's, or are missing; reads all of them.

        Args:
            index: One that has reached the snapshot.
        """
        import numpy as np  # not loaded where only the names of the tables are needed

        tables, kind = self.tables, self.space.kind
        sql = _STORED.format(
            owner=OWNERS[kind], vector=tables.vector, each_id=tables.each_id, table=TABLES[kind]
        )
        seen = same = 0
        for held in index.held(self.space):
            rows = tables.rows(sql, tables.ids(held.ids), self.space_id)
            stored = {key: (owner_id, vector) for key, owner_id, vector in rows}
            for key, owner_id, vector in zip(held.ids, held.owners, held.vectors, strict=True):
                seen += 1
                if key in stored and stored[key][0] == owner_id:
                    expected = np.frombuffer(stored[key][1], tables.vector_dtype)
                    same += np.allclose(vector, expected, atol=_ROUNDING)
        return max(seen, self.count_entries()) - same

    def _removals(self, since: Applied) -> list[tuple[str, int]]:
        """Return kind and id of everything removed since a mark, except removals that are forgotten."""
        sql = "SELECT kind, owner_id FROM removed_owners WHERE id > ? AND id <= ? ORDER BY id"
        return [(kind, owner) for kind, owner in self.tables.rows(sql, since.removed, self.now.removed)]

    def _entries(self, template: str, *arguments: int) -> list[VectorEntry]:
        import numpy as np  # not loaded where only the names of the tables are needed

        kind, tables, pushed = self.space.kind, self.tables, cache(self._pushed)
        sql = template.format(entry=_ENTRIES[kind].format(vector=tables.vector), table=TABLES[kind])
        entries = []
        for key, owner, stored, collection_id, heading, document_id, digest, *rest in tables.rows(
            sql, self.space_id, *arguments
        ):
            vector = np.frombuffer(stored, tables.vector_dtype).astype(np.float32)
            headings = json.loads(heading) if kind is VectorKind.TEXT else [heading]
            cut, written = IndexedSection(*rest), pushed(document_id)
            is_written = cut.order < len(written)
            section = written[cut.order] if is_written else replace(cut, heading="".join(headings[-1:]))
            section = replace(
                section,
                document_path=cut.document_path,
                content=cut.content,
                is_dirty=bool(cut.is_dirty),
                document_hash=section.document_hash or bytes(digest).hex(),
            )
            entries.append(VectorEntry(key, owner, vector, collection_id, " > ".join(headings), section))
        return entries

    def _pushed(self, document_id: int) -> list[IndexedSection]:
        """Return the sections of a pushed document without their texts; of others none."""
        try:
            [(frontmatter,)] = self.tables.rows(_FRONTMATTER, document_id)
            return [section for _, _, section in saved_sections(json.loads(frontmatter)) or ()]
        except (ValueError, TypeError):
            return []

    def _number(self, sql: str, *arguments: int) -> int:
        """Return the only value of the only row; 0 without a row."""
        return next((int(number) for (number,) in self.tables.rows(sql, *arguments)), 0)


def read_journals(
    tables: Tables, current_version: Callable[[], int]
) -> dict[tuple[SpaceId, VectorKind], SpaceJournal]:
    """Return the changes of every space up to a snapshot, also of dropped spaces."""
    found = {}
    spaces = tables.rows("SELECT id, key, dimension FROM spaces ORDER BY id")
    for kind, table in TABLES.items():
        ((store, *newest),) = tables.rows(_STATE.format(table=table))
        now = Applied(store, tables.version, *(each or 0 for each in newest))
        for space_id, key, dimension in spaces:
            space = IndexedSpace(key, dimension, kind)
            found[space_id, kind] = SpaceJournal(space_id, space, now, tables, current_version)
    return found


def _decode(mark: Mark) -> Applied | None:
    """Return the content of a mark; None if this version of mdvec did not write it."""
    try:
        return msgspec.json.decode(mark, type=Applied)
    except msgspec.DecodeError:
        return None
