"""Collections as rows: what is registered, how much is there, and the state of each file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mdvec.errors import CollectionExistsError, CollectionNotFoundError
from mdvec.stores.columns import (
    COLLECTION_COLUMNS,
    LabelKind,
    collection_of,
    settings_json,
    spec_json,
    storable,
)
from mdvec.stores.sqlite.database import Reader
from mdvec.stores.sqlite.where import document_condition
from mdvec.types.change import Exclusion, Unreadable
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.document import DocumentState
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.query import Where
from mdvec.types.report import CollectionCounts, FileStatus, TagCount

# EXCEPT merges two indexes in order of hash: 7 ms for 72,000 chunks, where looking for each chunk's vector by
# itself takes 49.
_MISSING = """(SELECT count(*) FROM (SELECT text_hash FROM chunks WHERE collection_id = :collection
        EXCEPT SELECT text_hash FROM vectors WHERE space_id = :space) missing
     CROSS JOIN chunks c ON c.collection_id = :collection AND c.text_hash = missing.text_hash
     CROSS JOIN documents d ON d.id = c.document_id AND NOT d.superseded)"""
_WITHOUT_SPACE = """(SELECT count(*) FROM chunks WHERE collection_id = :collection)
    - (SELECT count(*) FROM documents d CROSS JOIN chunks c ON c.document_id = d.id
        WHERE d.collection_id = :collection AND d.superseded)"""
_COUNTS = """SELECT
    (SELECT count(*) FROM documents WHERE collection_id = :collection),
    (SELECT count(*) FROM failures WHERE collection_id = :collection),
    (SELECT count(*) FROM exclusions WHERE collection_id = :collection),
    (SELECT count(*) FROM chunks WHERE collection_id = :collection),
    {pending},
    (SELECT count(*) FROM documents WHERE collection_id = :collection AND dirty_since_ms IS NOT NULL),
    (SELECT count(*) FROM documents WHERE collection_id = :collection AND superseded)"""


class CollectionReader(Reader):
    """Reads collections."""

    def collections(self) -> list[Collection]:
        """Return all collections, by name."""
        return list(self.memorized("collections", self._collections))

    def _collections(self) -> list[Collection]:
        rows = self.connection.execute(f"SELECT {COLLECTION_COLUMNS} FROM collections ORDER BY name")  # noqa: S608
        return list(map(collection_of, rows))

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count what a collection holds; without a space every chunk is pending."""
        arguments = {"collection": collection_id, "space": space_id}
        sql = _COUNTS.format(pending=_WITHOUT_SPACE if space_id is None else _MISSING)
        return self.memorized(
            ("counts", collection_id, space_id),
            lambda: CollectionCounts(*self.connection.execute(sql, arguments).get),
        )

    def file_states(self, collection_id: CollectionId, space_id: SpaceId | None) -> list[FileStatus]:
        """Return the one state of every file, by path.

        A file that failed or is excluded now is that, even while an older version can still be found.
        """
        states = {
            path: FileStatus(path, state, reason)
            for table, state in (("exclusions", DocumentState.EXCLUDED), ("failures", DocumentState.FAILED))
            for path, reason in self._outcome(table, collection_id).items()
        }
        rows = self.connection.execute(
            """SELECT d.path, count(c.id), count(c.id) - count(v.id), d.dirty_since_ms IS NOT NULL,
            d.superseded, d.warnings
            FROM documents d LEFT JOIN chunks c ON c.document_id = d.id
            LEFT JOIN vectors v ON v.space_id = ? AND v.text_hash = c.text_hash
            WHERE d.collection_id = ? GROUP BY d.path""",
            (space_id, collection_id),
        )
        for path, chunks, missing, dirty, superseded, warnings in rows:
            pending = 0 if superseded else missing
            state = DocumentState.of(pending_chunks=pending, dirty=bool(dirty), superseded=bool(superseded))
            known = states.get(path, FileStatus(path, state, "; ".join(warnings.splitlines())))
            states[path] = FileStatus(path, known.state, known.reason, chunks, pending)
        return [states[path] for path in sorted(states)]

    def tags(self, where: Where) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name."""
        condition = document_condition(where)
        rows = self.connection.execute(
            # The bare column comes from the row that holds the minimum: the spelling used first.
            f"""SELECT l.display, count(*) AS documents, min(d.id)
            FROM labels l CROSS JOIN documents d ON d.id = l.document_id
            WHERE l.kind = ? AND {condition.text} GROUP BY l.folded
            ORDER BY documents DESC, l.folded""",  # noqa: S608 - a condition of ours
            (LabelKind.TAG.value, *condition.arguments),
        )
        return [TagCount(display, documents) for display, documents, _ in rows]

    def _outcome(self, table: str, collection_id: CollectionId) -> dict[str, str]:
        sql = f"SELECT path, reason FROM {table} WHERE collection_id = ?"  # noqa: S608 - one of our tables
        rows = self.connection.execute(sql, (collection_id,))
        return {path: reason for path, reason in rows}  # noqa: C416 - its rows are not typed


class CollectionWriter(CollectionReader):
    """Writes collections."""

    def add_collection(
        self, name: str, description: str, source: SourceSpec, chunking: ChunkingSpec
    ) -> Collection:
        """Write a new, enabled collection."""
        if self.connection.execute("SELECT 1 FROM collections WHERE name = ?", (name,)).get is not None:
            msg = f"there is already a collection named {name!r}"
            raise CollectionExistsError(msg)
        self.connection.execute(
            "INSERT INTO collections(name, description, source, chunking, enabled) VALUES (?, ?, ?, ?, 1)",
            (name, description, spec_json(source), spec_json(chunking)),
        )
        new_id = CollectionId(self.connection.last_insert_rowid())
        return Collection(new_id, name, description, source, chunking)

    def change_collection(
        self, collection_id: CollectionId, change: Callable[[Collection], Collection]
    ) -> Collection:
        """Rewrite a collection from what it is inside this transaction."""
        current = next((each for each in self.collections() if each.id == collection_id), None)
        if current is None:
            msg = "the collection was deleted"
            raise CollectionNotFoundError(msg)
        changed = change(current)
        if changed != current:
            self._save(changed)
        return changed

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self.connection.execute("DELETE FROM collections WHERE id = ?", (collection_id,))

    def set_outcome(
        self,
        collection_id: CollectionId,
        *,
        exclusions: Iterable[Exclusion],
        failures: Iterable[Unreadable],
    ) -> None:
        """Write which files are excluded and failed; only what differs is written."""
        self._replace_outcome("exclusions", collection_id, {each.path: each.rule for each in exclusions})
        self._replace_outcome("failures", collection_id, {each.path: each.reason for each in failures})

    def _save(self, collection: Collection) -> None:
        self.connection.execute(
            """UPDATE collections SET name = ?, description = ?, source = ?, chunking = ?, enabled = ?,
            last_indexed_ms = ?, settings = ? WHERE id = ?""",
            (
                collection.name,
                collection.description,
                spec_json(collection.source),
                spec_json(collection.chunking),
                collection.enabled,
                collection.last_indexed_ms,
                settings_json(collection),
                collection.id,
            ),
        )

    def _replace_outcome(self, table: str, collection_id: CollectionId, outcome: Mapping[str, str]) -> None:
        wanted = {storable(path): storable(reason) for path, reason in outcome.items()}
        known = self._outcome(table, collection_id)
        self.connection.executemany(
            f"DELETE FROM {table} WHERE collection_id = ? AND path = ?",  # noqa: S608 - one of our tables
            [(collection_id, path) for path in known.keys() - wanted.keys()],
        )
        self.connection.executemany(
            f"INSERT OR REPLACE INTO {table}(collection_id, path, reason) VALUES (?, ?, ?)",  # noqa: S608
            [(collection_id, path, reason) for path, reason in wanted.items() if known.get(path) != reason],
        )
