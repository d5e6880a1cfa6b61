"""What :mod:`mdvec.stores.catalog` leaves to SQLite: counts, tags, and removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdvec.stores.catalog import CatalogReader, CatalogWriter
from mdvec.stores.columns import LabelKind, storable
from mdvec.stores.sqlite.where import WhereReader
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.query import Where
from mdvec.types.report import CollectionCounts, TagCount

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


class CollectionReader(WhereReader, CatalogReader):
    """Reads collections."""

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count what a collection holds; without a space every chunk is pending."""
        arguments = {"collection": collection_id, "space": space_id}
        sql = _COUNTS.format(pending=_WITHOUT_SPACE if space_id is None else _MISSING)
        return self.memorized(
            ("counts", collection_id, space_id),
            lambda: CollectionCounts(*self.connection.execute(sql, arguments).get),
        )

    def tags(self, where: Where) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name."""
        condition = self.document_condition(where)
        rows = self.connection.execute(
            # The bare column comes from the row that holds the minimum: the spelling used first.
            f"""SELECT l.display, count(*) AS documents, min(d.id)
            FROM labels l CROSS JOIN documents d ON d.id = l.document_id
            WHERE l.kind = ? AND {condition.text} GROUP BY l.folded
            ORDER BY documents DESC, l.folded""",  # noqa: S608 - a condition of ours
            (LabelKind.TAG.value, *condition.arguments),
        )
        return [TagCount(display, documents) for display, documents, _ in rows]


class CollectionWriter(CollectionReader, CatalogWriter):
    """Writes collections."""

    def stored(self, text: str) -> str:
        """Return a text without lone surrogates."""
        return storable(text)

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self.connection.execute("DELETE FROM collections WHERE id = ?", (collection_id,))

    def replace_outcome(
        self, table: str, collection_id: CollectionId, gone: Sequence[str], new: Mapping[str, str]
    ) -> None:
        """Remove the rows of some paths, then add the new ones."""
        self.connection.executemany(
            f"DELETE FROM {table} WHERE collection_id = ? AND path = ?",  # noqa: S608 - one of our tables
            [(collection_id, path) for path in gone],
        )
        self.connection.executemany(
            f"INSERT INTO {table}(collection_id, path, reason) VALUES (?, ?, ?)",  # noqa: S608
            [(collection_id, path, reason) for path, reason in new.items()],
        )
