"""Documents as rows, with their chunks; the text of a chunk is cut from its document's body."""

from __future__ import annotations

from collections.abc import Sequence

from mdvec.stores.postgres.connection import ids_text
from mdvec.stores.postgres.where import WhereReader
from mdvec.stores.records import ChunkPlace, StoredChunk, places_of_rows
from mdvec.stores.tables import CHUNK_COLUMNS, CHUNK_JOINS, PLACE_COLUMNS, DocumentTables
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Where

# Not by their ids: those of two imports at once take turns.
_PLACE = f"{PLACE_COLUMNS}, coalesce(before.id, 0), coalesce(after.id, 0)"
_BESIDE = """LEFT JOIN chunks before ON before.document_id = c.document_id AND before.ordinal = c.ordinal - 1
    LEFT JOIN chunks after ON after.document_id = c.document_id AND after.ordinal = c.ordinal + 1"""


class DocumentReader(WhereReader, DocumentTables):
    """Reads documents, chunks and links."""

    def chunks(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Return those of the chunks that exist, by id."""
        sql = f"SELECT {CHUNK_COLUMNS} FROM chunks c {CHUNK_JOINS} WHERE c.id = ANY(?::bigint[])"  # noqa: S608
        return {chunk.id: chunk for chunk in self.chunks_of_rows(self.rows(sql, list(ids)))}

    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        """Return the places of the chunks that exist, in order of id."""
        sql = f"""SELECT {_PLACE} FROM chunks c {_BESIDE}
            WHERE c.id = ANY(?::bigint[]) ORDER BY c.id"""  # noqa: S608 - constants
        return places_of_rows(self.rows(sql, ids_text(ids)))

    def places_in(self, documents: Sequence[DocumentId], where: Where, limit: int) -> list[ChunkPlace]:
        """Return the places of some documents' chunks inside ``where``, in their order and by ordinal."""
        if not documents:
            return []
        condition = self.chunk_condition(where)
        sql = f"""SELECT {_PLACE} FROM unnest(?::bigint[]) WITH ORDINALITY j(id, position)
            JOIN documents d ON d.id = j.id JOIN chunks c ON c.document_id = d.id {_BESIDE}
            WHERE {condition.text} ORDER BY j.position, c.ordinal LIMIT ?"""  # noqa: S608 - constants
        return places_of_rows(self.rows(sql, ids_text(documents), *condition.arguments, limit))

    def skeletons(self, ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        """Return the skeletons of those of the chunks that have one."""
        sql = "SELECT id, skeleton FROM chunks WHERE id = ANY(%s::bigint[]) AND skeleton IS NOT NULL"
        return dict(self.connection.execute(sql, (ids_text(ids),), binary=True).fetchall())

    def bodies(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """Return the texts of those of the documents that exist, by id."""
        sql = "SELECT document_id, body FROM contents WHERE document_id = ANY(%s::bigint[])"
        return dict(self.connection.execute(sql, (list(documents),)).fetchall())
