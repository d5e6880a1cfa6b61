"""Documents as rows, with their chunks; the text of a chunk is cut from its document's body."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from mdvec.stores.columns import LabelKind, locator_of
from mdvec.stores.postgres.connection import ids_text
from mdvec.stores.postgres.where import WhereReader
from mdvec.stores.records import (
    MOST_REPETITIONS,
    ChunkPlace,
    StoredChunk,
    StoredDocument,
    places_of_rows,
)
from mdvec.types.change import KnownDocument
from mdvec.types.document import Comment
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import Where
from mdvec.types.report import ListedDocument

_COLUMN_OF_FIELD = {
    "id": "c.id",
    "document_id": "c.document_id",
    "collection_id": "c.collection_id",
    "collection": "k.name",
    "path": "d.path",
    "locator": "d.locator",
    "title": "d.title",
    "content_hash": "d.sha256",
    "mtime_ns": "d.mtime_ns",
    "size": "d.size",
    "ordinal": "c.ordinal",
    "parent": "c.parent",
    "depth": "c.depth",
    "heading_path": "c.heading_path",
    "start": "c.start",
    "end": "c.stop",
    "start_line": "c.start_line",
    "end_line": "c.end_line",
    "token_count": "c.token_count",
    "dirty": "d.dirty_since_ms IS NOT NULL",
}
_FIELDS = tuple(_COLUMN_OF_FIELD)
_CHUNKS = f"""SELECT {", ".join(_COLUMN_OF_FIELD.values())} FROM chunks c
    JOIN documents d ON d.id = c.document_id JOIN collections k ON k.id = c.collection_id"""  # noqa: S608

_REPETITIONS = """WITH asked AS MATERIALIZED (
        SELECT id, collection_id, skeleton FROM chunks WHERE id = ANY(%s::bigint[]) AND skeleton IS NOT NULL),
    counted AS MATERIALIZED (
        SELECT a.collection_id, a.skeleton, n.times
        FROM (SELECT DISTINCT collection_id, skeleton FROM asked) a
        CROSS JOIN LATERAL (SELECT count(*) AS times FROM (SELECT 1 FROM chunks s
            WHERE s.collection_id = a.collection_id AND s.skeleton = a.skeleton LIMIT %s) few) n)
    SELECT a.id, k.times FROM asked a
    JOIN counted k ON k.collection_id = a.collection_id AND k.skeleton = a.skeleton"""

# In the order of a ChunkPlace.
_PLACE = """c.id, c.document_id, c.collection_id, c.ordinal, c.unspaced,
    coalesce(before.id, 0), coalesce(after.id, 0)"""
# Not by their ids: those of two imports at once take turns.
_BESIDE = """LEFT JOIN chunks before ON before.document_id = c.document_id AND before.ordinal = c.ordinal - 1
    LEFT JOIN chunks after ON after.document_id = c.document_id AND after.ordinal = c.ordinal + 1"""


class DocumentReader(WhereReader):
    """Reads documents and chunks."""

    def documents(
        self, collection_id: CollectionId, *, after: str, prefix: str, limit: int
    ) -> list[ListedDocument]:
        """List documents in order of path (by code point), without reading any text."""
        rows = self.connection.execute(
            """SELECT k.name, d.path, d.title, d.size, d.mtime_ns
            FROM documents d JOIN collections k ON k.id = d.collection_id
            WHERE d.collection_id = %s AND d.path > %s AND d.path >= %s AND starts_with(d.path, %s)
            ORDER BY d.path LIMIT %s""",
            (collection_id, after, prefix, prefix, limit),
        )
        return [ListedDocument(*row) for row in rows]

    def newest_documents(self, where: Where, *, limit: int, offset: int) -> list[ListedDocument]:
        """List documents inside ``where``, the last updated first, then by collection and path."""
        condition = self.document_condition(where)
        rows = self.connection.execute(
            f"""SELECT k.name, d.path, d.title, d.size, d.mtime_ns, d.updated_ns
            FROM documents d JOIN collections k ON k.id = d.collection_id
            WHERE {condition.text} ORDER BY coalesce(d.updated_ns, d.mtime_ns) DESC, k.name, d.path
            LIMIT %s OFFSET %s""",  # noqa: S608 - a condition of ours
            (*condition.arguments, limit, offset),
        )
        return [ListedDocument(*row) for row in rows]

    def documents_inside(self, where: Where) -> dict[DocumentId, str]:
        """Return the titles of the documents inside ``where``, by id, the last updated first, then by id."""
        condition = self.document_condition(where)
        sql = f"""SELECT d.id, d.title FROM documents d WHERE {condition.text}
            ORDER BY coalesce(d.updated_ns, d.mtime_ns) DESC, d.id"""  # noqa: S608 - a condition of ours
        return {DocumentId(row[0]): row[1] for row in self.connection.execute(sql, condition.arguments)}

    def known_documents(self, collection_id: CollectionId) -> dict[str, KnownDocument]:
        """Return what comparing with the source needs of every document, by path."""
        rows = self.connection.execute(
            """SELECT path, locator, mtime_ns, size, sha256, fingerprint, dirty_since_ms FROM documents
            WHERE collection_id = %s""",
            (collection_id,),
        )
        return {path: KnownDocument(path, locator_of(locator), *rest) for path, locator, *rest in rows}

    def dirty_paths(self, collection_id: CollectionId, limit: int) -> list[str]:
        """Return the documents that are marked dirty, the oldest mark first, then by path."""
        rows = self.connection.execute(
            """SELECT path FROM documents WHERE collection_id = %s AND dirty_since_ms IS NOT NULL
            ORDER BY dirty_since_ms, path LIMIT %s""",
            (collection_id, limit),
        )
        return [row[0] for row in rows]

    def find_document(self, collection_id: CollectionId, path: str) -> StoredDocument | None:
        """Return the document at a path."""
        row = self.connection.execute(
            """SELECT d.id, k.name, d.locator, d.title, t.body, d.content_start, t.frontmatter, t.comments,
            d.sha256, d.mtime_ns, d.size, d.dirty_since_ms IS NOT NULL, d.indexed_at_ms
            FROM documents d JOIN collections k ON k.id = d.collection_id
            JOIN contents t ON t.document_id = d.id
            WHERE d.collection_id = %s AND d.path = %s""",
            (collection_id, path),
        ).fetchone()
        if row is None:
            return None
        document_id, collection, locator, title, body, start, frontmatter, comments, *rest = row
        content_hash, mtime_ns, size, dirty, indexed_at_ms = rest
        labels = self._labels(document_id)
        return StoredDocument(
            id=DocumentId(document_id),
            collection=collection,
            collection_id=collection_id,
            path=path,
            locator=locator_of(locator),
            title=title,
            body=body,
            comments=tuple(Comment(at, text) for at, text in json.loads(comments)),
            content_start=start,
            frontmatter=json.loads(frontmatter),
            tags=labels[LabelKind.TAG],
            aliases=labels[LabelKind.ALIAS],
            content_hash=content_hash,
            mtime_ns=mtime_ns,
            size=size,
            dirty=dirty,
            indexed_at_ms=indexed_at_ms,
        )

    def document_chunks(self, document_id: DocumentId) -> list[StoredChunk]:
        """Return a document's chunks, in order."""
        rows = self.connection.execute(
            f"{_CHUNKS} WHERE c.document_id = %s ORDER BY c.ordinal", (document_id,)
        )
        return list(self._with_text(rows.fetchall()))

    def chunks(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Return those of the chunks that exist, by id."""
        rows = self.connection.execute(f"{_CHUNKS} WHERE c.id = ANY(%s::bigint[])", (list(ids),))
        return {chunk.id: chunk for chunk in self._with_text(rows.fetchall())}

    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        """Return the places of those of the chunks that exist, in order of id."""
        rows = self.connection.execute(
            f"SELECT {_PLACE} FROM chunks c {_BESIDE} WHERE c.id = ANY(%s::bigint[]) ORDER BY c.id",  # noqa: S608
            (ids_text(ids),),
            binary=True,
        )
        return places_of_rows(rows.fetchall())

    def places_in(self, documents: Sequence[DocumentId], where: Where, limit: int) -> list[ChunkPlace]:
        """Return the places of some documents' chunks inside ``where``, in their order and by ordinal."""
        if not documents:
            return []
        condition = self.chunk_condition(where)
        rows = self.connection.execute(
            f"""SELECT {_PLACE} FROM unnest(%s::bigint[]) WITH ORDINALITY j(id, position)
            JOIN documents d ON d.id = j.id JOIN chunks c ON c.document_id = d.id {_BESIDE}
            WHERE {condition.text} ORDER BY j.position, c.ordinal LIMIT %s""",  # noqa: S608 - constants
            (ids_text(documents), *condition.arguments, limit),
            binary=True,
        )
        return places_of_rows(rows.fetchall())

    def repetitions(self, ids: Sequence[ChunkId]) -> dict[ChunkId, int]:
        """Return how many chunks have the same skeleton; each skeleton is counted once, in its index."""
        rows = self.connection.execute(_REPETITIONS, (ids_text(ids), MOST_REPETITIONS), binary=True)
        return {ChunkId(chunk_id): count for chunk_id, count in rows.fetchall() if count > 1}

    def contexts(self, collection_id: CollectionId, path: str) -> list[str]:
        """Return the context of each of a document's chunks, in order."""
        rows = self.connection.execute(
            """SELECT c.context FROM documents d JOIN chunks c ON c.document_id = d.id
            WHERE d.collection_id = %s AND d.path = %s ORDER BY c.ordinal""",
            (collection_id, path),
        )
        return [row[0] for row in rows]

    def bodies(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """Return the texts of those of the documents that exist, by id."""
        sql = "SELECT document_id, body FROM contents WHERE document_id = ANY(%s::bigint[])"
        return dict(self.connection.execute(sql, (list(documents),)).fetchall())

    def _labels(self, document_id: int) -> dict[LabelKind, tuple[str, ...]]:
        rows = self.connection.execute(
            "SELECT kind, display FROM labels WHERE document_id = %s ORDER BY position", (document_id,)
        ).fetchall()
        return {kind: tuple(display for each, display in rows if each == kind) for kind in LabelKind}

    def _with_text(self, rows: Sequence[Any]) -> Iterator[StoredChunk]:
        at = _FIELDS.index("document_id")
        bodies = self.bodies(list({row[at] for row in rows})) if rows else {}
        for row in rows:
            fields = dict(zip(_FIELDS, row, strict=True))
            fields["locator"] = locator_of(fields["locator"])
            fields["heading_path"] = tuple(json.loads(fields["heading_path"]))
            text = bodies[fields["document_id"]][fields["start"] : fields["end"]]
            yield StoredChunk(**fields, text=text)
