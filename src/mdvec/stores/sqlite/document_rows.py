"""Documents as rows, with all that hangs on them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from mdvec.types.change import KnownDocument, SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.document import Comment, Document
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.report import ListedDocument
from mdvec.stores.interface import StoredDocument
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.labels import LabelKind, fold, storable
from mdvec.stores.sqlite.link_rows import put_links
from mdvec.stores.sqlite.name_rows import put_names
from mdvec.text.hashing import text_hash
from mdvec.text.paths import file_key
from mdvec.text.writing import is_unspaced

_LAST_CHARACTER = "\U0010ffff"


def documents(
    connection: Connection, collection_id: CollectionId, *, after: str, prefix: str, limit: int
) -> list[ListedDocument]:
    """List documents in order of path; SQLite compares text by its UTF-8, so by code point."""
    rows = connection.execute(
        """SELECT k.name, d.path, d.title, d.size, d.mtime_ns
        FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
        WHERE d.collection_id = ? AND d.path > ? AND d.path >= ? AND d.path < ? ORDER BY d.path LIMIT ?""",
        (collection_id, after, prefix, prefix + _LAST_CHARACTER, limit),
    )
    return [ListedDocument(*row) for row in rows]


def known_documents(connection: Connection, collection_id: CollectionId) -> dict[str, KnownDocument]:
    """Return what is known of every document, by path."""
    rows = connection.execute(
        "SELECT path, locator, mtime_ns, size, sha256, fingerprint FROM documents WHERE collection_id = ?",
        (collection_id,),
    )
    return {path: KnownDocument(path, locator_text(locator), *rest) for path, locator, *rest in rows}


def put_document(
    connection: Connection,
    collection_id: CollectionId,
    document: Document,
    chunks: Sequence[Chunk],
    *,
    entry: SourceEntry,
    content_hash: bytes,
    fingerprint: str,
) -> list[ChunkId]:
    """Write a document and all that hangs on it, replacing the one at its path."""
    delete_document(connection, collection_id, document.path)
    connection.execute(
        """INSERT INTO documents(collection_id, path, locator, title, mtime_ns, size, sha256, fingerprint,
        content_start, indexed_at_ms, file_key, updated_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            collection_id,
            document.path,
            _locator_bytes(entry.locator),
            storable(document.title),
            entry.mtime_ns,
            entry.size,
            content_hash,
            fingerprint,
            document.content_start,
            time.time_ns() // 1_000_000,
            file_key(document.path),
            document.updated_ns,
        ),
    )
    document_id = DocumentId(connection.last_insert_rowid())
    frontmatter = storable(json.dumps(dict(document.frontmatter), ensure_ascii=False))
    comments = json.dumps(
        [(each.start, storable(each.text)) for each in document.comments], ensure_ascii=False
    )
    connection.execute(
        "INSERT INTO contents(document_id, frontmatter, body, comments) VALUES (?, ?, ?, ?)",
        (document_id, frontmatter, storable(document.body), comments),
    )
    _put_labels(connection, document_id, LabelKind.TAG, document.tags)
    _put_labels(connection, document_id, LabelKind.ALIAS, document.aliases)
    put_links(connection, document_id, document.links)
    put_names(connection, document_id, document)
    return _put_chunks(connection, collection_id, document_id, chunks)


def touch_document(connection: Connection, collection_id: CollectionId, entry: SourceEntry) -> None:
    """Write down the time, size and spelling of a document whose content is the same."""
    connection.execute(
        "UPDATE documents SET mtime_ns = ?, size = ?, locator = ? WHERE collection_id = ? AND path = ?",
        (entry.mtime_ns, entry.size, _locator_bytes(entry.locator), collection_id, entry.path),
    )


def delete_document(connection: Connection, collection_id: CollectionId, path: str) -> None:
    """Remove a document and all that hangs on it."""
    connection.execute("DELETE FROM documents WHERE collection_id = ? AND path = ?", (collection_id, path))


def find_document(connection: Connection, collection_id: CollectionId, path: str) -> StoredDocument | None:
    """Return the document at a path."""
    row = connection.execute(
        """SELECT d.id, k.name, d.locator, d.title, t.body, d.content_start, t.frontmatter, t.comments,
        d.sha256, d.mtime_ns, d.size
        FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
        CROSS JOIN contents t ON t.document_id = d.id
        WHERE d.collection_id = ? AND d.path = ?""",
        (collection_id, path),
    ).fetchone()
    if row is None:
        return None
    document_id, collection, locator, title, body, start, frontmatter, comments, sha256, mtime_ns, size = row
    return StoredDocument(
        id=DocumentId(document_id),
        collection=collection,
        collection_id=collection_id,
        path=path,
        locator=locator_text(locator),
        title=title,
        body=body,
        comments=tuple(Comment(at, text) for at, text in json.loads(comments)),
        content_start=start,
        frontmatter=json.loads(frontmatter),
        tags=_labels(connection, document_id, LabelKind.TAG),
        aliases=_labels(connection, document_id, LabelKind.ALIAS),
        content_hash=sha256,
        mtime_ns=mtime_ns,
        size=size,
    )


def locator_text(locator: bytes) -> str:
    """Return the name of a file as Python spells it, undecodable bytes as lone surrogates."""
    return locator.decode("utf-8", "surrogatepass")


def _locator_bytes(locator: str) -> bytes:
    return locator.encode("utf-8", "surrogatepass")


def _put_labels(
    connection: Connection, document_id: DocumentId, kind: LabelKind, labels: Sequence[str]
) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO labels(kind, folded, document_id, position, display) VALUES (?, ?, ?, ?, ?)",
        [
            (kind.value, fold(label), document_id, position, label)
            for position, label in enumerate(map(storable, labels))
        ],
    )


def _labels(connection: Connection, document_id: DocumentId, kind: LabelKind) -> tuple[str, ...]:
    rows = connection.execute(
        """SELECT display FROM labels INDEXED BY labels_document
        WHERE document_id = ? AND kind = ? ORDER BY position""",
        (document_id, kind.value),
    )
    return tuple(row[0] for row in rows)


def _put_chunks(
    connection: Connection, collection_id: CollectionId, document_id: DocumentId, chunks: Sequence[Chunk]
) -> list[ChunkId]:
    if not chunks:
        return []
    connection.executemany(
        """INSERT INTO chunks(document_id, collection_id, ordinal, parent, depth, start, stop, start_line,
        end_line, token_count, text_hash, heading_path, context, unspaced)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        [
            (
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
                storable(json.dumps(chunk.heading_path, ensure_ascii=False)),
                storable(chunk.context),
                is_unspaced(chunk.text),
            )
            for chunk in chunks
        ],
    )
    # Nobody else writes during a transaction, so AUTOINCREMENT has counted up by one for each.
    last = connection.last_insert_rowid()
    return [ChunkId(last - len(chunks) + 1 + position) for position in range(len(chunks))]
