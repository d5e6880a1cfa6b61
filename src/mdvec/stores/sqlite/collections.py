"""What :mod:`mdvec.stores.catalog` leaves to SQLite."""

from __future__ import annotations

from mdvec.stores.catalog import CatalogReader, CatalogWriter
from mdvec.stores.conditions import Sql
from mdvec.stores.sqlite.where import WhereReader
from mdvec.types.ids import CollectionId, SpaceId

# EXCEPT merges two indexes in order of hash: 7 ms for 72,000 chunks, where looking for each chunk's vector by
# itself takes 49.
_MISSING = """(SELECT count(*) FROM (SELECT text_hash FROM chunks WHERE collection_id = ?
        EXCEPT SELECT text_hash FROM vectors WHERE space_id = ?) missing
     CROSS JOIN chunks c ON c.collection_id = ? AND c.text_hash = missing.text_hash
     CROSS JOIN documents d ON d.id = c.document_id AND NOT d.superseded)"""
_WITHOUT_SPACE = """(SELECT count(*) FROM chunks WHERE collection_id = ?)
    - (SELECT count(*) FROM documents d CROSS JOIN chunks c ON c.document_id = d.id
        WHERE d.collection_id = ? AND d.superseded)"""


class CollectionReader(WhereReader, CatalogReader):
    """Reads collections."""

    def pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        """Return how many chunks lack a vector, as SQL."""
        if space_id is None:
            return Sql(_WITHOUT_SPACE, (collection_id, collection_id))
        return Sql(_MISSING, (collection_id, space_id, collection_id))


class CollectionWriter(CollectionReader, CatalogWriter):
    """Writes collections."""

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self.connection.execute("DELETE FROM collections WHERE id = ?", (collection_id,))
