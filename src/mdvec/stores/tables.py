"""The queries that are the same in every database with our tables; an adapter adds those that differ."""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from mdvec.stores.columns import LabelKind, locator_of, storable
from mdvec.stores.conditions import Sql, starts_with
from mdvec.stores.memo import Memorizing
from mdvec.stores.records import DocumentFacts, StoredChunk, StoredDocument
from mdvec.types.change import KnownDocument
from mdvec.types.document import Comment, Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.links import PlacedLink
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
"""What :meth:`DocumentTables.chunks_of_rows` needs, of ``CHUNK_JOINS``."""

CHUNK_JOINS = """CROSS JOIN documents d ON d.id = c.document_id
    CROSS JOIN collections k ON k.id = c.collection_id"""
"""Joins a chunk ``c`` with its document and its collection."""

PLACE_COLUMNS = "c.id, c.document_id, c.collection_id, c.ordinal, c.unspaced, c.token_count"
"""The first fields of a ChunkPlace, in order."""

_LINK = "l.kind, l.target, l.fragment, l.text, l.line"


class TableReader(Memorizing, ABC):
    """Runs queries in one snapshot of a database."""

    @abstractmethod
    def rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """Run a statement that is written as for SQLite; return its rows, if any.

        ``CROSS JOIN`` keeps the order of the joins in SQLite, and a plus sign keeps it from using an index:
        without statistics its planner guesses wrong.
        """

    @abstractmethod
    def named(self, column: str, texts: Iterable[str]) -> Sql:
        """Return the condition that a column is one of some texts."""

    @abstractmethod
    def one_of(self, column: str, values: Iterable[int]) -> Sql:
        """Return the condition that a column is one of a few numbers."""


class TableWriter(TableReader):
    """Changes rows in one transaction."""

    @abstractmethod
    def stored(self, text: str) -> str:
        """Return a text without the characters that the database cannot hold."""

    @abstractmethod
    def change(self, sql: str, *arguments: Any) -> int:
        """Run a statement that is written as for SQLite; return how many rows it changed."""

    @abstractmethod
    def insert(self, table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows.

        Args:
            table: One of our tables.
            columns: Types of PostgreSQL by name, in the order of the rows.
            rows: Any number.
        """

    @abstractmethod
    def new_ids(self, table: str, count: int) -> Sequence[int]:
        """Return ids that were never used, ascending."""


class DocumentTables(TableReader):
    """Reads documents, chunks and links."""

    body_column: ClassVar[str] = "t.body"
    """The text of a row ``t`` of contents."""

    links_table: ClassVar[str] = "links l"
    """The table of links, as ``l``, where the links to older versions are read."""

    @abstractmethod
    def document_condition(self, where: Where) -> Sql:
        """Return the conditions on a document ``d``; one of its chunks has to be inside, too."""

    @abstractmethod
    def bodies(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """Return the texts of the documents that exist, by id."""

    def documents(
        self, collection_id: CollectionId, *, after: str, prefix: str, limit: int
    ) -> list[ListedDocument]:
        """List documents in order of path, by code point."""
        paths = starts_with("d.path", prefix)
        sql = f"""SELECT k.name, d.path, d.title, d.size, d.mtime_ns
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            WHERE d.collection_id = ? AND d.path > ? AND {paths.text} ORDER BY d.path LIMIT ?"""
        return [ListedDocument(*row) for row in self.rows(sql, collection_id, after, *paths.arguments, limit)]

    def newest_documents(self, where: Where, *, limit: int) -> list[ListedDocument]:
        """List documents inside ``where``, the last updated first, then by collection and path."""
        condition = self.document_condition(where)
        sql = f"""SELECT k.name, d.path, d.title, d.size, d.mtime_ns, d.updated_ns, d.locator
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            WHERE {condition.text} ORDER BY coalesce(d.updated_ns, d.mtime_ns) DESC, k.name, d.path
            LIMIT ?"""
        rows = self.rows(sql, *condition.arguments, limit)
        return [
            ListedDocument(name, path, title, size, modified_ns, updated_ns, locator_of(locator))
            for name, path, title, size, modified_ns, updated_ns, locator in rows
        ]

    def documents_inside(self, where: Where) -> dict[DocumentId, str]:
        """Return the titles of documents inside ``where``, by id: the last updated first, then by path."""
        condition = self.document_condition(where)
        sql = f"""SELECT d.id, d.title FROM documents d WHERE {condition.text}
            ORDER BY coalesce(d.updated_ns, d.mtime_ns) DESC, d.path, d.id"""
        return {DocumentId(key): title for key, title in self.rows(sql, *condition.arguments)}

    def known_documents(self, collection_id: CollectionId) -> dict[str, KnownDocument]:
        """Return what comparing with the source needs of every document, by path."""
        sql = """SELECT path, locator, mtime_ns, size, sha256, fingerprint, dirty_since_ms FROM documents
            WHERE collection_id = ?"""
        rows = self.rows(sql, collection_id)
        return {path: KnownDocument(path, locator_of(locator), *rest) for path, locator, *rest in rows}

    def dirty_paths(self, collection_id: CollectionId, limit: int) -> list[str]:
        """Return the documents that are marked dirty, the oldest mark first, then by path."""
        sql = """SELECT path FROM documents WHERE collection_id = ? AND dirty_since_ms IS NOT NULL
            ORDER BY dirty_since_ms, path LIMIT ?"""
        return [path for (path,) in self.rows(sql, collection_id, limit)]

    def find_document(self, collection_id: CollectionId, path: str) -> StoredDocument | None:
        """Return the document at a path."""
        found = self.rows(
            f"""SELECT d.id, k.name, d.locator, d.title, {self.body_column}, d.content_start, t.frontmatter,
            t.comments, d.sha256, d.mtime_ns, d.size, d.dirty_since_ms IS NOT NULL, d.indexed_at_ms
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            CROSS JOIN contents t ON t.document_id = d.id
            WHERE d.collection_id = ? AND d.path = ?""",
            collection_id,
            path,
        )
        if not found:
            return None
        document_id, collection, locator, title, body, start, frontmatter, comments, *rest = found[0]
        content_hash, mtime_ns, size, dirty, indexed_at_ms = rest
        labels = self.rows(
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
            comments=tuple(Comment(at, text) for at, text in json.loads(comments)),
            content_start=start,
            frontmatter=json.loads(frontmatter),
            tags=tuple(display for kind, display in labels if kind == LabelKind.TAG),
            aliases=tuple(display for kind, display in labels if kind == LabelKind.ALIAS),
            content_hash=content_hash,
            mtime_ns=mtime_ns,
            size=size,
            dirty=bool(dirty),
            indexed_at_ms=indexed_at_ms,
        )

    def facts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, DocumentFacts]:
        """Return tags, frontmatter and time of those of the documents that exist, by id."""
        chosen = self.one_of("d.id", documents)
        sql = f"""SELECT d.id, t.frontmatter, coalesce(d.updated_ns, d.mtime_ns), l.kind, l.display
            FROM documents d CROSS JOIN contents t ON t.document_id = d.id
            LEFT JOIN labels l ON l.document_id = d.id WHERE {chosen.text} ORDER BY l.position"""
        found: dict[DocumentId, tuple[str, int, list[str]]] = {}
        for key, frontmatter, changed_ns, kind, display in self.rows(sql, *chosen.arguments):
            _, _, tags = found.setdefault(DocumentId(key), (frontmatter, changed_ns, []))
            tags += [display] if kind == LabelKind.TAG else []
        return {
            key: DocumentFacts(tuple(tags), json.loads(frontmatter), changed_ns)
            for key, (frontmatter, changed_ns, tags) in found.items()
        }

    def document_chunks(self, document_id: DocumentId) -> list[StoredChunk]:
        """Return a document's chunks, in order."""
        sql = f"SELECT {CHUNK_COLUMNS} FROM chunks c {CHUNK_JOINS} WHERE c.document_id = ? ORDER BY c.ordinal"
        return list(self.chunks_of_rows(self.rows(sql, document_id)))

    def contexts(self, collection_id: CollectionId, path: str) -> list[str]:
        """Return the context of each of a document's chunks, in order."""
        sql = """SELECT c.context FROM documents d CROSS JOIN chunks c ON c.document_id = d.id
            WHERE d.collection_id = ? AND d.path = ? ORDER BY c.ordinal"""
        return [context for (context,) in self.rows(sql, collection_id, path)]

    def links_of(self, document_id: DocumentId) -> list[Link]:
        """Return a document's links, in order."""
        sql = f"SELECT {_LINK} FROM links l WHERE l.document_id = ? ORDER BY l.position"
        return [_link(*row) for row in self.rows(sql, document_id)]

    def links_to(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        """Return the links that may lead to the files of a name, by path of their document and position."""
        sql = f"""SELECT d.id, d.path, {_LINK} FROM links l CROSS JOIN documents d ON d.id = l.document_id
            WHERE l.file_key = ? AND +d.collection_id = ? ORDER BY d.path, l.position"""
        return _placed(self.rows(sql, key, collection_id))

    def previous_links(self, collection_id: CollectionId) -> list[PlacedLink]:
        """Return the links to older versions, by document and position."""
        # The kind is part of the text, or the index of these links alone could not be used.
        sql = f"""SELECT d.id, d.path, {_LINK} FROM {self.links_table}
            CROSS JOIN documents d ON d.id = l.document_id
            WHERE l.kind = 'previous' AND +d.collection_id = ? ORDER BY l.document_id, l.position"""
        return self.memorized(("previous", collection_id), lambda: _placed(self.rows(sql, collection_id)))

    def files_named(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        """Return paths and ids of the documents whose files have one of the names, by name."""
        condition = self.named("d.file_key", sorted(set(keys)))
        sql = f"""SELECT d.file_key, d.path, d.id FROM documents d
            WHERE {condition.text} AND +d.collection_id = ?"""
        found: dict[str, dict[str, DocumentId]] = {}
        for key, path, document_id in self.rows(sql, *condition.arguments, collection_id):
            found.setdefault(key, {})[path] = DocumentId(document_id)
        return found

    def documents_called(self, folded: str, where: Where) -> list[DocumentId]:
        """Return the documents inside ``where`` with this name."""
        condition = self.document_condition(where)
        sql = f"""SELECT DISTINCT d.path, d.id FROM names n CROSS JOIN documents d ON d.id = n.document_id
            WHERE n.folded = ? AND {condition.text} ORDER BY d.path, d.id"""
        return [DocumentId(key) for _, key in self.rows(sql, storable(folded), *condition.arguments)]

    def chunks_of_rows(self, rows: Sequence[tuple[Any, ...]]) -> Iterator[StoredChunk]:
        """Yield the chunks of rows of ``CHUNK_COLUMNS``, with their texts.

        Slicing a decoded body is faster than substr in SQL, which counts characters from the start of the
        body for every chunk.
        """
        at = _FIELDS.index("document_id")
        bodies = self.bodies(list({row[at] for row in rows})) if rows else {}
        for row in rows:
            fields = dict(zip(_FIELDS, row, strict=True))
            fields["locator"] = locator_of(fields["locator"])
            fields["dirty"] = bool(fields["dirty"])
            fields["heading_path"] = tuple(json.loads(fields["heading_path"]))
            text = bodies[fields["document_id"]][fields["start"] : fields["end"]]
            yield StoredChunk(**fields, text=text)


def _placed(rows: Sequence[tuple[Any, ...]]) -> list[PlacedLink]:
    return [PlacedLink(DocumentId(document_id), path, _link(*link)) for document_id, path, *link in rows]


def _link(kind: str, target: str, fragment: str, text: str, line: int) -> Link:
    return Link(LinkKind(kind), target, fragment, text, line)
