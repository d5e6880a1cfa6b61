"""Documents and chunks as rows, the same in every database with our tables; an adapter adds what differs."""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from mdvec.stores.columns import (
    CHUNKS,
    DOCUMENTS,
    PARTS,
    LabelKind,
    chunk_rows,
    document_row,
    locator_of,
    storable,
)
from mdvec.stores.interface import DocumentWriter
from mdvec.stores.records import (
    ChunkTerms,
    DocumentFacts,
    DocumentRecord,
    StoredChunk,
    StoredDocument,
)
from mdvec.stores.tables import Tables, starts_with
from mdvec.stores.versions import find_versions
from mdvec.stores.view import ChunkView
from mdvec.stores.where_tables import Part, WhereTables
from mdvec.text.links import link_key
from mdvec.types.change import KnownDocument
from mdvec.types.document import Comment, Link, LinkKind
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.links import PlacedLink, Versions
from mdvec.types.query import Where
from mdvec.types.report import ListedDocument, TagCount

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
    "dirty": "d.dirty_since_ms IS NOT NULL",
    "ordinal": "c.ordinal",
    "parent": "c.parent",
    "depth": "c.depth",
    "heading_path": "c.heading_path",
    "start": "c.start",
    "end": "c.stop",
    "start_line": "c.start_line",
    "end_line": "c.end_line",
    "token_count": "c.token_count",
}
_FIELDS = tuple(_COLUMN_OF_FIELD)

CHUNK_COLUMNS = ", ".join(_COLUMN_OF_FIELD.values())
"""What :meth:`ChunkTables.stored_chunks` needs, of ``CHUNK_JOINS``."""

CHUNK_JOINS = """CROSS JOIN documents d ON d.id = c.document_id
    CROSS JOIN collections k ON k.id = c.collection_id"""
"""Joins a chunk ``c`` with its document and its collection."""

PLACE_COLUMNS = "c.id, c.document_id, c.collection_id, c.ordinal, c.unspaced, c.token_count"
"""The first fields of a ChunkPlace, in order."""

_LINK = "l.kind, l.target, l.fragment, l.text, l.line"

# A tag is shown as the first document spells it.
_TAGS = """SELECT l.display, t.documents FROM (
        SELECT l.folded, count(*) AS documents, min(d.id) AS first
        FROM labels l CROSS JOIN documents d ON d.id = l.document_id
        WHERE l.kind = ? AND {condition} GROUP BY l.folded) t
    CROSS JOIN labels l ON l.kind = ? AND l.folded = t.folded AND l.document_id = t.first
    ORDER BY t.documents DESC, t.folded"""


class DocumentTables(Part, DocumentWriter):
    """The documents of a transaction; a :class:`mdvec.stores.interface.DocumentWriter`."""

    body_column: ClassVar[str] = "t.body"
    """The text of a row ``t`` of contents."""

    links_table: ClassVar[str] = "links l"
    """The table of links, as ``l``, where the links to older versions are read."""

    @abstractmethod
    def _put_terms(
        self, collection_id: CollectionId, chunks: Sequence[int], terms: Sequence[ChunkTerms]
    ) -> None:
        """Write the terms of new chunks, whose ids follow each other; there is at least one."""

    @abstractmethod
    def _complete(self, documents: Sequence[int], records: Sequence[DocumentRecord]) -> None:
        """Write what follows from the rows of new documents."""

    def page(
        self, collection_id: CollectionId, *, after: str, prefix: str, limit: int
    ) -> list[ListedDocument]:
        """List documents in order of path, by code point."""
        paths = starts_with("d.path", prefix)
        sql = f"""SELECT k.name, d.path, d.title, d.size, d.mtime_ns
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            WHERE d.collection_id = ? AND d.path > ? AND {paths.text} ORDER BY d.path LIMIT ?"""
        return [
            ListedDocument(*row)
            for row in self._tables.rows(sql, collection_id, after, *paths.arguments, limit)
        ]

    def newest(self, where: Where, *, limit: int) -> list[ListedDocument]:
        """List documents inside ``where``, the last updated first, then by collection and path."""
        condition = self._where.documents(where)
        sql = f"""SELECT k.name, d.path, d.title, d.size, d.mtime_ns, d.updated_ns, d.locator
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            WHERE {condition.text} ORDER BY coalesce(d.updated_ns, d.mtime_ns) DESC, k.name, d.path
            LIMIT ?"""
        rows = self._tables.rows(sql, *condition.arguments, limit)
        return [
            ListedDocument(name, path, title, size, modified_ns, updated_ns, locator_of(locator))
            for name, path, title, size, modified_ns, updated_ns, locator in rows
        ]

    def titles(self, where: Where) -> dict[DocumentId, str]:
        """Return the titles of documents inside ``where``, by id: the last updated first, then by path."""
        condition = self._where.documents(where)
        sql = f"""SELECT d.id, d.title FROM documents d WHERE {condition.text}
            ORDER BY coalesce(d.updated_ns, d.mtime_ns) DESC, d.path, d.id"""
        return {DocumentId(key): title for key, title in self._tables.rows(sql, *condition.arguments)}

    def known(self, collection_id: CollectionId) -> dict[str, KnownDocument]:
        """Return what comparing with the source needs of every document, by path."""
        sql = """SELECT path, locator, mtime_ns, size, sha256, fingerprint, dirty_since_ms FROM documents
            WHERE collection_id = ?"""
        rows = self._tables.rows(sql, collection_id)
        return {path: KnownDocument(path, locator_of(locator), *rest) for path, locator, *rest in rows}

    def dirty(self, collection_id: CollectionId, limit: int) -> list[str]:
        """Return the documents that are marked dirty, the oldest mark first, then by path."""
        sql = """SELECT path FROM documents WHERE collection_id = ? AND dirty_since_ms IS NOT NULL
            ORDER BY dirty_since_ms, path LIMIT ?"""
        return [path for (path,) in self._tables.rows(sql, collection_id, limit)]

    def find(self, collection_id: CollectionId, path: str) -> StoredDocument | None:
        """Return the document at a path."""
        found = self._tables.rows(
            f"""SELECT d.id, k.name, d.locator, d.title, {self.body_column}, d.content_start, t.frontmatter,
            t.comments, d.sha256, d.mtime_ns, d.size, d.dirty_since_ms IS NOT NULL, d.indexed_at_ms,
            d.warnings
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            CROSS JOIN contents t ON t.document_id = d.id
            WHERE d.collection_id = ? AND d.path = ?""",
            collection_id,
            path,
        )
        if not found:
            return None
        document_id, collection, locator, title, body, start, frontmatter, comments, *rest = found[0]
        content_hash, mtime_ns, size, dirty, indexed_at_ms, warnings = rest
        labels = self._tables.rows(
            "SELECT kind, display FROM labels WHERE document_id = ? ORDER BY position", document_id
        )
        return StoredDocument(
            id=DocumentId(document_id),
            collection=collection,
            collection_id=collection_id,
            path=path,
            locator=locator_of(locator),
            title=title,
            body=body,
            comments=_comments(comments),
            content_start=start,
            frontmatter=json.loads(frontmatter),
            tags=tuple(display for kind, display in labels if kind == LabelKind.TAG),
            aliases=tuple(display for kind, display in labels if kind == LabelKind.ALIAS),
            content_hash=content_hash,
            mtime_ns=mtime_ns,
            size=size,
            dirty=bool(dirty),
            indexed_at_ms=indexed_at_ms,
            warnings=tuple(warnings.splitlines()),
        )

    def facts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, DocumentFacts]:
        """Return tags, frontmatter and time of those of the documents that exist, by id."""
        chosen = self._tables.one_of("d.id", documents)
        sql = f"""SELECT d.id, t.frontmatter, coalesce(d.updated_ns, d.mtime_ns), t.comments,
            l.kind, l.display FROM documents d CROSS JOIN contents t ON t.document_id = d.id
            LEFT JOIN labels l ON l.document_id = d.id WHERE {chosen.text} ORDER BY l.position"""
        found: dict[DocumentId, tuple[str, int, str, list[str]]] = {}
        for key, *said, kind, display in self._tables.rows(sql, *chosen.arguments):
            frontmatter, changed_ns, comments = said
            *_, tags = found.setdefault(DocumentId(key), (frontmatter, changed_ns, comments, []))
            tags += [display] if kind == LabelKind.TAG else []
        return {
            key: DocumentFacts(
                tuple(tags),
                json.loads(frontmatter),
                changed_ns,
                () if comments == "[]" else _comments(comments),
            )
            for key, (frontmatter, changed_ns, comments, tags) in found.items()
        }

    def links_of(self, documents: Iterable[DocumentId]) -> list[PlacedLink]:
        """Return the links of any number of documents, by document and position."""
        chosen = self._tables.listed("l.document_id", documents)
        sql = f"""SELECT d.id, d.path, {_LINK} FROM links l CROSS JOIN documents d ON d.id = l.document_id
            WHERE {chosen.text} ORDER BY l.document_id, l.position"""
        return _placed(self._tables.rows(sql, *chosen.arguments))

    def links_to(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        """Return the links that may lead to the files of a name, by path of their document and position."""
        sql = f"""SELECT d.id, d.path, {_LINK} FROM links l CROSS JOIN documents d ON d.id = l.document_id
            WHERE l.file_key = ? AND +d.collection_id = ? ORDER BY d.path, l.position"""
        return _placed(self._tables.rows(sql, key, collection_id))

    def versions(self, collection_id: CollectionId) -> Versions:
        """Return which documents of a collection replace which."""
        return self._tables.memorized(("versions", collection_id), lambda: self._read_versions(collection_id))

    def _read_versions(self, collection_id: CollectionId) -> Versions:
        # The kind is part of the text, or the index of these links alone could not be used.
        sql = f"""SELECT d.id, d.path, {_LINK} FROM {self.links_table}
            CROSS JOIN documents d ON d.id = l.document_id
            WHERE l.kind = 'previous' AND +d.collection_id = ? ORDER BY l.document_id, l.position"""
        previous = _placed(self._tables.rows(sql, collection_id))
        keys = {link_key(each.link) for each in previous}
        return find_versions(previous, self.with_file_names(collection_id, keys)) if previous else Versions()

    def with_file_names(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        """Return paths and ids of the documents whose files have one of the names, by name."""
        condition = self._tables.named("d.file_key", sorted(set(keys)))
        sql = f"""SELECT d.file_key, d.path, d.id FROM documents d
            WHERE {condition.text} AND +d.collection_id = ?"""
        found: dict[str, dict[str, DocumentId]] = {}
        for key, path, document_id in self._tables.rows(sql, *condition.arguments, collection_id):
            found.setdefault(key, {})[path] = DocumentId(document_id)
        return found

    def called(self, folded: str, where: Where) -> list[DocumentId]:
        """Return the documents inside ``where`` with this name."""
        condition = self._where.documents(where)
        sql = f"""SELECT DISTINCT d.path, d.id FROM names n CROSS JOIN documents d ON d.id = n.document_id
            WHERE n.folded = ? AND {condition.text} ORDER BY d.path, d.id"""
        return [DocumentId(key) for _, key in self._tables.rows(sql, storable(folded), *condition.arguments)]

    def tags(self, where: Where) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name."""
        condition, tag = self._where.documents(where), LabelKind.TAG.value
        rows = self._tables.rows(_TAGS.format(condition=condition.text), tag, *condition.arguments, tag)
        return [TagCount(display, documents) for display, documents in rows]

    def put(self, collection_id: CollectionId, records: Sequence[DocumentRecord]) -> None:
        """Write documents with all that belongs to them, each instead of the one at its path.

        Each table is written at once, since a statement costs as much as some rows.
        """
        if not records:
            return
        by_path = {record.document.path: record for record in records}
        self.delete(collection_id, list(by_path))
        ids, put = self._tables.new_ids("documents", len(by_path)), list(by_path.values())
        identified = list(zip(ids, put, strict=True))
        rows = ((key, *document_row(collection_id, each, self._tables.stored)) for key, each in identified)
        self._tables.insert("documents", {"id": "bigint", **DOCUMENTS}, rows)
        for part in PARTS:
            rows = (row for key, each in identified for row in part.rows(key, each, self._tables.stored))
            self._tables.insert(part.table, part.columns, rows)
        terms = [each for record in put for each in record.terms]
        chunks = self._tables.new_ids("chunks", len(terms))
        cut = (
            row
            for key, each in identified
            for row in chunk_rows(collection_id, key, each, self._tables.stored)
        )
        rows = ((key, *row) for key, row in zip(chunks, cut, strict=True))
        self._tables.insert("chunks", {"id": "bigint", **CHUNKS}, rows)
        if terms:
            self._put_terms(collection_id, chunks, terms)
        self._complete(ids, put)


def _comments(stored: str) -> tuple[Comment, ...]:
    return tuple(Comment(at, text) for at, text in json.loads(stored))


def _placed(rows: Sequence[tuple[Any, ...]]) -> list[PlacedLink]:
    return [PlacedLink(DocumentId(document_id), path, _link(*link)) for document_id, path, *link in rows]


def _link(kind: str, target: str, fragment: str, text: str, line: int) -> Link:
    return Link(LinkKind(kind), target, fragment, text, line)


class ChunkTables(Part, ChunkView):
    """The chunks of a transaction; a :class:`mdvec.stores.interface.ChunkView`.

    Attributes:
        texts: Returns the texts of documents.

    Args:
        tables: The transaction.
        where: Which chunks a ``Where`` covers.
        texts: Returns the texts of documents: those of chunks are cut from them.
    """

    def __init__(
        self,
        tables: Tables,
        where: WhereTables,
        texts: Callable[[Sequence[DocumentId]], dict[DocumentId, str]],
    ) -> None:
        super().__init__(tables, where)
        self.texts = texts

    def of_document(self, document_id: DocumentId) -> list[StoredChunk]:
        """Return a document's chunks, in order."""
        sql = f"SELECT {CHUNK_COLUMNS} FROM chunks c {CHUNK_JOINS} WHERE c.document_id = ? ORDER BY c.ordinal"
        return [*self.stored_chunks(self._tables.rows(sql, document_id)).values()]

    def contexts(self, collection_id: CollectionId, path: str) -> list[str]:
        """Return the context of each of a document's chunks, in order."""
        sql = """SELECT c.context FROM documents d CROSS JOIN chunks c ON c.document_id = d.id
            WHERE d.collection_id = ? AND d.path = ? ORDER BY c.ordinal"""
        return [context for (context,) in self._tables.rows(sql, collection_id, path)]

    def stored_chunks(self, rows: Sequence[tuple[Any, ...]]) -> dict[ChunkId, StoredChunk]:
        """Return the chunks of rows of ``CHUNK_COLUMNS``, with their texts, by id.

        Slicing a decoded body is faster than substr in SQL, which counts characters from the start of the
        body for every chunk.
        """
        at = _FIELDS.index("document_id")
        bodies = self.texts(list({row[at] for row in rows})) if rows else {}
        found: dict[ChunkId, StoredChunk] = {}
        for row in rows:
            fields = dict(zip(_FIELDS, row, strict=True))
            fields["locator"] = locator_of(fields["locator"])
            fields["dirty"] = bool(fields["dirty"])
            fields["heading_path"] = tuple(json.loads(fields["heading_path"]))
            text = bodies[fields["document_id"]][fields["start"] : fields["end"]]
            found[fields["id"]] = StoredChunk(**fields, text=text)
        return found
