"""Collections as rows: what is registered, how much is there, and the state of each file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mdvec.errors import CollectionExistsError, CollectionNotFoundError
from mdvec.stores.columns import COLLECTION_COLUMNS, LabelKind, collection_of, settings_json, spec_json
from mdvec.stores.postgres.connection import insert_rows, stored_text
from mdvec.stores.postgres.where import WhereReader
from mdvec.types.change import Exclusion, Unreadable
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.document import DocumentState
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.query import Where
from mdvec.types.report import CollectionCounts, FileStatus, TagCount

_COUNTS = """SELECT
    (SELECT count(*) FROM documents WHERE collection_id = %(collection)s),
    (SELECT count(*) FROM failures WHERE collection_id = %(collection)s),
    (SELECT count(*) FROM exclusions WHERE collection_id = %(collection)s),
    (SELECT count(*) FROM chunks WHERE collection_id = %(collection)s),
    (SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id AND NOT d.superseded
     WHERE c.collection_id = %(collection)s AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = %(space)s AND v.text_hash = c.text_hash)),
    (SELECT count(*) FROM documents WHERE collection_id = %(collection)s AND dirty_since_ms IS NOT NULL),
    (SELECT count(*) FROM documents WHERE collection_id = %(collection)s AND superseded)"""


class CollectionReader(WhereReader):
    """Reads collections."""

    def collections(self) -> list[Collection]:
        """Return all collections, by name."""
        sql = f"SELECT {COLLECTION_COLUMNS} FROM collections ORDER BY name"  # noqa: S608 - constants
        rows = self.memorized("collections", lambda: self.connection.execute(sql).fetchall())
        return list(map(collection_of, rows))

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count what a collection holds; without a space every chunk is pending."""

        def count() -> CollectionCounts:
            row = self.connection.execute(_COUNTS, {"collection": collection_id, "space": space_id})
            return CollectionCounts(*row.fetchall()[0])

        return self.memorized(("counts", collection_id, space_id), count)

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
            LEFT JOIN vectors v ON v.space_id = %s AND v.text_hash = c.text_hash
            WHERE d.collection_id = %s GROUP BY d.id""",
            (space_id, collection_id),
        )
        for path, chunks, missing, dirty, superseded, warnings in rows:
            pending = 0 if superseded else missing
            state = DocumentState.of(pending_chunks=pending, dirty=dirty, superseded=superseded)
            known = states.get(path, FileStatus(path, state, "; ".join(warnings.splitlines())))
            states[path] = FileStatus(path, known.state, known.reason, chunks, pending)
        return [states[path] for path in sorted(states)]

    def tags(self, where: Where) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name; shown as first written."""
        condition = self.document_condition(where)
        rows = self.connection.execute(
            f"""SELECT (array_agg(l.display ORDER BY d.id))[1], count(*) AS documents
            FROM labels l JOIN documents d ON d.id = l.document_id
            WHERE l.kind = %s AND {condition.text} GROUP BY l.folded
            ORDER BY documents DESC, l.folded""",  # noqa: S608 - a condition of ours
            (LabelKind.TAG.value, *condition.arguments),
        )
        return [TagCount(display, documents) for display, documents in rows]

    def _outcome(self, table: str, collection_id: CollectionId) -> dict[str, str]:
        sql = f"SELECT path, reason FROM {table} WHERE collection_id = %s"  # noqa: S608 - one of our tables
        return dict(self.connection.execute(sql, (collection_id,)).fetchall())


class CollectionWriter(CollectionReader):
    """Writes collections."""

    def add_collection(
        self, name: str, description: str, source: SourceSpec, chunking: ChunkingSpec
    ) -> Collection:
        """Write a new, enabled collection."""
        if self.connection.execute("SELECT 1 FROM collections WHERE name = %s", (name,)).fetchone():
            msg = f"there is already a collection named {name!r}"
            raise CollectionExistsError(msg)
        row = self.connection.execute(
            f"""INSERT INTO collections(name, description, source, chunking, enabled)
            VALUES (%s, %s, %s, %s, true) RETURNING {COLLECTION_COLUMNS}""",  # noqa: S608 - constants
            (name, description, spec_json(source), spec_json(chunking)),
        )
        return collection_of(row.fetchall()[0])

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
        self.connection.execute(
            "DELETE FROM postings WHERE term_id IN (SELECT id FROM terms WHERE collection_id = %s)",
            (collection_id,),
        )
        self.connection.execute("DELETE FROM collections WHERE id = %s", (collection_id,))

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
            """UPDATE collections SET name = %s, description = %s, source = %s, chunking = %s, enabled = %s,
            last_indexed_ms = %s, settings = %s WHERE id = %s""",
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
        wanted = {stored_text(path): stored_text(reason) for path, reason in outcome.items()}
        known = self._outcome(table, collection_id)
        gone = [path for path in known if known[path] != wanted.get(path)]
        self.connection.execute(
            f"DELETE FROM {table} WHERE collection_id = %s AND path = ANY(%s)",  # noqa: S608 - one of our tables
            (collection_id, gone),
        )
        insert_rows(
            self.connection,
            table,
            {"collection_id": "bigint", "path": "text", "reason": "text"},
            [(collection_id, path, reason) for path, reason in wanted.items() if known.get(path) != reason],
        )
