"""How documents are written: some statements for a whole batch, whatever its size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mdvec.stores.columns import LabelKind, fold_label, locator_bytes
from mdvec.stores.holders import now_ms
from mdvec.stores.postgres.connection import insert_rows, stored_text
from mdvec.stores.postgres.documents import DocumentReader
from mdvec.stores.postgres.words import put_terms, remove_terms
from mdvec.stores.records import DocumentRecord, embedded_names
from mdvec.text.folding import fold_name
from mdvec.text.hashing import text_hash
from mdvec.text.links import file_key, link_key
from mdvec.text.properties import flat_properties
from mdvec.types.change import SourceEntry
from mdvec.types.ids import ChunkId, CollectionId, DocumentId

_DOCUMENTS = {
    "id": "bigint",
    "collection_id": "bigint",
    "path": "text",
    "locator": "bytea",
    "title": "text",
    "mtime_ns": "bigint",
    "size": "bigint",
    "sha256": "bytea",
    "fingerprint": "text",
    "content_start": "integer",
    "indexed_at_ms": "bigint",
    "file_key": "text",
    "updated_ns": "bigint",
    "warnings": "text",
}
_CONTENTS = {"document_id": "bigint", "frontmatter": "text", "body": "text", "comments": "text"}
_LABELS = {
    "kind": "text",
    "folded": "text",
    "document_id": "bigint",
    "position": "integer",
    "display": "text",
}
_PROPERTIES = {"document_id": "bigint", "key": "text", "value": "text", "number": "double precision"}
_NAMES = {"document_id": "bigint", "folded": "text", "text": "text", "text_hash": "bytea"}
_LINKS = {
    "document_id": "bigint",
    "position": "integer",
    "kind": "text",
    "target": "text",
    "fragment": "text",
    "text": "text",
    "line": "integer",
    "file_key": "text",
}
_CHUNKS = {
    "id": "bigint",
    "document_id": "bigint",
    "collection_id": "bigint",
    "ordinal": "integer",
    "parent": "integer",
    "depth": "smallint",
    "start": "integer",
    "stop": "integer",
    "start_line": "integer",
    "end_line": "integer",
    "token_count": "integer",
    "text_hash": "bytea",
    "heading_path": "text",
    "context": "text",
    "unspaced": "boolean",
    "skeleton": "bytea",
}

_Rows = Iterator[tuple[Any, ...]]


class DocumentWriter(DocumentReader):
    """Writes documents."""

    def put_documents(self, collection_id: CollectionId, records: Sequence[DocumentRecord]) -> None:
        """Write documents with all that belongs to them, each instead of the one at its path."""
        by_path = {record.document.path: record for record in records}
        self.delete_documents(collection_id, list(by_path))
        identified = list(zip(self._new_ids("documents", len(by_path)), by_path.values(), strict=True))
        rows = (_document(key, collection_id, record) for key, record in identified)
        insert_rows(self.connection, "documents", _DOCUMENTS, rows)
        for table, columns, rows_of in (
            ("contents", _CONTENTS, _contents),
            ("labels", _LABELS, _labels),
            ("properties", _PROPERTIES, _properties),
            ("names", _NAMES, _names),
            ("links", _LINKS, _links),
        ):
            rows = (row for key, record in identified for row in rows_of(key, record))
            insert_rows(self.connection, table, columns, rows)
        names = (text_hash(name) for _, record in identified for name in embedded_names(record.document))
        self.connection.execute(
            "UPDATE vectors SET named = true WHERE text_hash = ANY(%s::bytea[]) AND NOT named", (list(names),)
        )
        self._put_chunks(collection_id, identified)

    def touch_documents(self, collection_id: CollectionId, entries: Sequence[SourceEntry]) -> None:
        """Write the time, size and spelling of documents whose content is the same."""
        values = [(each.path, each.mtime_ns, each.size, locator_bytes(each.locator)) for each in entries]
        if values:
            self.connection.execute(
                """UPDATE documents d SET mtime_ns = u.mtime_ns, size = u.size, locator = u.locator,
                dirty_since_ms = NULL FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bytea[])
                u(path, mtime_ns, size, locator) WHERE d.collection_id = %s AND d.path = u.path""",
                (*(list(column) for column in zip(*values, strict=True)), collection_id),
            )

    def mark_dirty(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Mark documents as changed since they were indexed."""
        self.connection.execute(
            """UPDATE documents d SET dirty_since_ms = %s FROM unnest(%s::text[]) u(path)
            WHERE d.collection_id = %s AND d.dirty_since_ms IS NULL
            AND (d.path = u.path OR u.path LIKE '%%/' AND starts_with(d.path, u.path))""",
            (now_ms(), list(paths), collection_id),
        )

    def delete_documents(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Remove documents with all that belongs to them."""
        rows = self.connection.execute(
            "SELECT id FROM documents WHERE collection_id = %s AND path = ANY(%s)",
            (collection_id, list(paths)),
        ).fetchall()
        if rows:
            ids = [row[0] for row in rows]
            remove_terms(self.connection, collection_id, ids)
            self.connection.execute("DELETE FROM documents WHERE id = ANY(%s::bigint[])", (ids,))

    def set_superseded(self, collection_id: CollectionId, documents: Iterable[DocumentId]) -> None:
        """Write which documents of a collection another one replaces."""
        self.connection.execute(
            """UPDATE documents SET superseded = NOT superseded WHERE collection_id = %s
            AND superseded <> (id = ANY(%s::bigint[]))""",
            (collection_id, list(documents)),
        )

    def _put_chunks(
        self, collection_id: CollectionId, identified: Sequence[tuple[int, DocumentRecord]]
    ) -> None:
        new_ids = iter(self._new_ids("chunks", sum(len(record.chunks) for _, record in identified)))
        rows, terms = [], []
        for document_id, record in identified:
            for chunk, terms_of_chunk, skeleton in zip(
                record.chunks, record.terms, record.skeletons, strict=True
            ):
                chunk_id = next(new_ids)
                terms.append((ChunkId(chunk_id), terms_of_chunk))
                rows.append(
                    (
                        chunk_id,
                        document_id,
                        collection_id,
                        chunk.ordinal,
                        chunk.parent,
                        chunk.depth,
                        chunk.start,
                        chunk.end,
                        chunk.start_line,
                        chunk.end_line,
                        chunk.token_count,
                        text_hash(chunk.embedded_text),
                        json.dumps(chunk.heading_path, ensure_ascii=False),
                        chunk.context,
                        record.unspaced,
                        skeleton or None,
                    )
                )
        insert_rows(self.connection, "chunks", _CHUNKS, rows)
        if terms:
            put_terms(self.connection, collection_id, terms)

    def _new_ids(self, table: str, count: int) -> list[int]:
        """Return ids that were never used, ascending."""
        rows = self.connection.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", (table, count)
        )
        return [row[0] for row in rows]


def _document(key: int, collection_id: int, record: DocumentRecord) -> tuple[Any, ...]:
    document, entry = record.document, record.entry
    return (
        key,
        collection_id,
        document.path,
        locator_bytes(entry.locator),
        document.title,
        entry.mtime_ns,
        entry.size,
        record.content_hash,
        record.fingerprint,
        document.content_start,
        now_ms(),
        file_key(document.path),
        document.updated_ns,
        "\n".join(document.warnings),
    )


def _contents(key: int, record: DocumentRecord) -> _Rows:
    document = record.document
    frontmatter = json.dumps(dict(document.frontmatter), ensure_ascii=False)
    comments = json.dumps([(each.start, each.text) for each in document.comments], ensure_ascii=False)
    yield key, frontmatter, document.body, comments


def _labels(key: int, record: DocumentRecord) -> _Rows:
    document = record.document
    for kind, labels in ((LabelKind.TAG, document.tags), (LabelKind.ALIAS, document.aliases)):
        seen: set[str] = set()
        for position, label in enumerate(map(stored_text, labels)):
            folded = fold_label(label)
            if folded not in seen:
                seen.add(folded)
                yield kind.value, folded, key, position, label


def _properties(key: int, record: DocumentRecord) -> _Rows:
    found = {
        (stored_text(each.key), stored_text(each.value)): each.number
        for each in flat_properties(record.document.frontmatter)
    }
    for (name, value), number in found.items():
        yield key, name, value, number


def _names(key: int, record: DocumentRecord) -> _Rows:
    for name in dict.fromkeys(map(stored_text, embedded_names(record.document))):
        yield key, fold_name(name), name, text_hash(name)


def _links(key: int, record: DocumentRecord) -> _Rows:
    for position, link in enumerate(record.document.links):
        yield (
            key,
            position,
            link.kind.value,
            link.target,
            link.fragment,
            link.text,
            link.line,
            link_key(link),
        )
