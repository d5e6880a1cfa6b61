"""What :mod:`mdvec.stores.catalog` leaves to PostgreSQL."""

from __future__ import annotations

from mdvec.stores.catalog import CatalogReader, CatalogWriter
from mdvec.stores.conditions import Sql
from mdvec.stores.postgres.where import WhereReader
from mdvec.types.ids import CollectionId, SpaceId

_MISSING = """(SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id AND NOT d.superseded
     WHERE c.collection_id = ? AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash))"""


class CollectionReader(WhereReader, CatalogReader):
    """Reads collections."""

    def pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        """Return how many chunks lack a vector, as SQL."""
        return Sql(_MISSING, (collection_id, space_id))


class CollectionWriter(CollectionReader, CatalogWriter):
    """Writes collections."""

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self.connection.execute(
            "DELETE FROM postings WHERE term_id IN (SELECT id FROM terms WHERE collection_id = %s)",
            (collection_id,),
        )
        self.connection.execute("DELETE FROM collections WHERE id = %s", (collection_id,))
