"""Collections as rows, the same in every database with our tables: settings, and the state of each file."""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from msgspec.structs import replace

from mdvec.errors import CollectionExistsError, CollectionNotFoundError
from mdvec.stores.columns import COLLECTION, collection_of, collection_row
from mdvec.stores.document_tables import outcome_in
from mdvec.stores.interface import CollectionWriter
from mdvec.stores.tables import Part, Sql, memorized
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.report import Activity, CollectionCounts, FileStatus

_COUNTS = """SELECT
    (SELECT count(*) FROM documents WHERE collection_id = ?),
    (SELECT count(*) FROM failures WHERE collection_id = ?),
    (SELECT count(*) FROM exclusions WHERE collection_id = ?),
    (SELECT count(*) FROM chunks WHERE collection_id = ?),
    {pending},
    (SELECT count(*) FROM documents WHERE collection_id = ? AND dirty_since_ms IS NOT NULL),
    (SELECT count(*) FROM documents WHERE collection_id = ? AND superseded)"""

_OUTCOMES = (("exclusions", DocumentState.EXCLUDED), ("failures", DocumentState.FAILED))


class CollectionTables(Part, CollectionWriter):
    """The collections of a transaction; a :class:`mdvec.stores.interface.CollectionWriter`."""

    @abstractmethod
    def _pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        """Return how many chunks that are not superseded lack a vector, as a scalar; without a space all."""

    def all(self) -> list[Collection]:
        return list(self._all())

    @memorized
    def _all(self) -> list[Collection]:
        rows = self.tables.rows(f"SELECT id, {', '.join(COLLECTION)} FROM collections ORDER BY name")
        readable = self.tables.readable
        return [each for each in map(collection_of, rows) if readable is None or each.name in readable]

    @abstractmethod
    def _activities(self) -> list[Activity]:
        """Return the current work of live processes, the lease first."""

    def activities(self) -> list[Activity]:
        """Return the current work of live processes.

        A snapshot of some collections shows neither processes nor machines, nor the progress under the lease.
        """
        found, readable = self._activities(), self.tables.readable
        if readable is None:
            return found
        unnamed = [replace(each, pid=0, host="") for each in found]
        return [
            each if each.collection else replace(each, stage="", done=0, total=0)
            for each in unnamed
            if not each.collection or each.collection in readable
        ]

    @memorized
    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        pending = self._pending_chunks(collection_id, space_id)
        sql = _COUNTS.format(pending=pending.text)
        arguments = (*[collection_id] * 4, *pending.arguments, *[collection_id] * 2)
        return CollectionCounts(*self.tables.rows(sql, *arguments)[0])

    def file_states(
        self, collection_id: CollectionId, space_id: SpaceId | None, *, only_odd: bool = False
    ) -> list[FileStatus]:
        """Return the one state of every file, by path; or only of files that failed or were odd.

        A file that failed or is excluded now has that state, even if an older version can still be found.
        """
        states = {
            path: FileStatus(path, state, reason)
            for table, state in _OUTCOMES[only_odd:]
            for path, reason in outcome_in(table, collection_id, self.tables).items()
        }
        odd = "AND d.warnings <> ''" if only_odd else ""
        rows = self.tables.rows(
            f"""SELECT d.path, count(c.id), count(c.id) - count(v.id), d.dirty_since_ms IS NOT NULL,
            d.superseded, d.warnings, d.indexed_at_ms
            FROM documents d LEFT JOIN chunks c ON c.document_id = d.id
            LEFT JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash
            WHERE d.collection_id = ? {odd} GROUP BY d.path, d.id""",
            space_id,
            collection_id,
        )
        for path, chunks, missing, dirty, superseded, warnings, indexed_ms in rows:
            pending = 0 if superseded else missing
            state = DocumentState.of(pending_chunks=pending, dirty=bool(dirty), superseded=bool(superseded))
            known = states.get(path, FileStatus(path, state, "; ".join(warnings.splitlines())))
            states[path] = FileStatus(path, known.state, known.reason, chunks, pending, indexed_ms or None)
        return [states[path] for path in sorted(states)]

    def add(self, collection: Collection) -> Collection:
        if self.tables.rows("SELECT 1 FROM collections WHERE name = ?", collection.name):
            msg = f"there is already a collection named {collection.name!r}"
            raise CollectionExistsError(msg)
        values = ", ".join("?" for _ in COLLECTION)
        sql = f"INSERT INTO collections({', '.join(COLLECTION)}) VALUES ({values}) RETURNING id"
        ((row_id,),) = self.tables.rows(sql, *collection_row(collection))
        return replace(collection, id=CollectionId(row_id))

    def change(self, collection_id: CollectionId, change: Callable[[Collection], Collection]) -> Collection:
        current = next((each for each in self.all() if each.id == collection_id), None)
        if current is None:
            msg = "the collection was deleted"
            raise CollectionNotFoundError(msg)
        changed = change(current)
        if changed != current:
            columns = ", ".join(f"{column} = ?" for column in COLLECTION)
            sql = f"UPDATE collections SET {columns} WHERE id = ?"
            self.tables.rows(sql, *collection_row(changed), collection_id)
        return changed
