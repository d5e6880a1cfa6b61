"""What :mod:`mdvec.stores.catalog` leaves to PostgreSQL: counts, tags, and removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdvec.stores.catalog import CatalogReader, CatalogWriter
from mdvec.stores.columns import LabelKind
from mdvec.stores.postgres.connection import insert_rows, stored_text
from mdvec.stores.postgres.where import WhereReader
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.query import Where
from mdvec.types.report import CollectionCounts, TagCount

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


class CollectionReader(WhereReader, CatalogReader):
    """Reads collections."""

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count what a collection holds; without a space every chunk is pending."""

        def count() -> CollectionCounts:
            row = self.connection.execute(_COUNTS, {"collection": collection_id, "space": space_id})
            return CollectionCounts(*row.fetchall()[0])

        return self.memorized(("counts", collection_id, space_id), count)

    def tags(self, where: Where) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name; shown as first written."""
        condition = self.document_condition(where)
        rows = self.rows(
            f"""SELECT (array_agg(l.display ORDER BY d.id))[1], count(*) AS documents
            FROM labels l JOIN documents d ON d.id = l.document_id
            WHERE l.kind = ? AND {condition.text} GROUP BY l.folded
            ORDER BY documents DESC, l.folded""",  # noqa: S608 - a condition of ours
            LabelKind.TAG.value,
            *condition.arguments,
        )
        return [TagCount(display, documents) for display, documents in rows]


class CollectionWriter(CollectionReader, CatalogWriter):
    """Writes collections."""

    def stored(self, text: str) -> str:
        """Return a text without NUL and lone surrogates."""
        return stored_text(text)

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self.connection.execute(
            "DELETE FROM postings WHERE term_id IN (SELECT id FROM terms WHERE collection_id = %s)",
            (collection_id,),
        )
        self.connection.execute("DELETE FROM collections WHERE id = %s", (collection_id,))

    def replace_outcome(
        self, table: str, collection_id: CollectionId, gone: Sequence[str], new: Mapping[str, str]
    ) -> None:
        """Remove the rows of some paths, then add the new ones."""
        self.connection.execute(
            f"DELETE FROM {table} WHERE collection_id = %s AND path = ANY(%s)",  # noqa: S608 - one of our tables
            (collection_id, list(gone)),
        )
        insert_rows(
            self.connection,
            table,
            {"collection_id": "bigint", "path": "text", "reason": "text"},
            [(collection_id, path, reason) for path, reason in new.items()],
        )
