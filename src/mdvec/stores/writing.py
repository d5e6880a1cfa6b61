"""How documents are written as rows, the same in every database with our tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mdvec.stores.records import ChunkTerms, DocumentRecord
from mdvec.stores.rows import CHUNKS, DOCUMENTS, PARTS, chunk_rows, document_row
from mdvec.stores.tables import TableWriter
from mdvec.types.ids import CollectionId


class DocumentRows(TableWriter):
    """Writes documents with all that belongs to them."""

    @abstractmethod
    def delete_documents(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Remove documents with all that belongs to them."""

    @abstractmethod
    def put_terms(
        self, collection_id: CollectionId, chunks: Sequence[int], terms: Sequence[ChunkTerms]
    ) -> None:
        """Write the terms of new chunks, whose ids follow each other; there is at least one."""

    @abstractmethod
    def complete(self, documents: Sequence[int], records: Sequence[DocumentRecord]) -> None:
        """Write what follows from the rows of new documents."""

    def put_documents(self, collection_id: CollectionId, records: Sequence[DocumentRecord]) -> None:
        """Write documents with all that belongs to them, each instead of the one at its path.

        Each table is written at once, since a statement costs as much as some rows.
        """
        if not records:
            return
        by_path = {record.document.path: record for record in records}
        self.delete_documents(collection_id, list(by_path))
        ids, put = self.new_ids("documents", len(by_path)), list(by_path.values())
        identified = list(zip(ids, put, strict=True))
        rows = ((key, *document_row(collection_id, each, self.stored)) for key, each in identified)
        self.insert("documents", {"id": "bigint", **DOCUMENTS}, rows)
        for part in PARTS:
            rows = (row for key, each in identified for row in part.rows(key, each, self.stored))
            self.insert(part.table, part.columns, rows)
        terms = [each for record in put for each in record.terms]
        chunks = self.new_ids("chunks", len(terms))
        cut = (row for key, each in identified for row in chunk_rows(collection_id, key, each, self.stored))
        rows = ((key, *row) for key, row in zip(chunks, cut, strict=True))
        self.insert("chunks", {"id": "bigint", **CHUNKS}, rows)
        if terms:
            self.put_terms(collection_id, chunks, terms)
        self.complete(ids, put)
