"""Chunks as rows; their text is cut from the document's body."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.stores.interface import PendingText, StoredChunk
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.document_rows import locator_text

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
}
_FIELDS = tuple(_COLUMN_OF_FIELD)
_COLUMNS = ", ".join(_COLUMN_OF_FIELD.values())
_JOINS = """CROSS JOIN documents d ON d.id = c.document_id
    CROSS JOIN collections k ON k.id = c.collection_id"""


def document_chunks(connection: Connection, document_id: DocumentId) -> list[StoredChunk]:
    """Return a document's chunks, in order."""
    sql = f"SELECT {_COLUMNS} FROM chunks c {_JOINS} WHERE c.document_id = ? ORDER BY c.ordinal"  # noqa: S608
    return list(_with_text(connection, connection.execute(sql, (document_id,)).fetchall()))


def contexts(connection: Connection, collection_id: CollectionId, path: str) -> list[str]:
    """Return the context of each of a document's chunks, in order."""
    rows = connection.execute(
        """SELECT c.context FROM documents d CROSS JOIN chunks c ON c.document_id = d.id
        WHERE d.collection_id = ? AND d.path = ? ORDER BY c.ordinal""",
        (collection_id, path),
    )
    return [row[0] for row in rows]


def documents_of(connection: Connection, ids: Sequence[ChunkId]) -> dict[ChunkId, DocumentId]:
    """Return the documents of those of the chunks that still exist."""
    rows = connection.execute(
        "SELECT c.id, c.document_id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value",
        (json.dumps(list(ids)),),
    )
    return {ChunkId(chunk_id): DocumentId(document_id) for chunk_id, document_id in rows}


def collections_of(connection: Connection, ids: Sequence[ChunkId]) -> dict[ChunkId, CollectionId]:
    """Return the collections of those of the chunks that still exist."""
    rows = connection.execute(
        "SELECT c.id, c.collection_id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value",
        (json.dumps(list(ids)),),
    )
    return {ChunkId(chunk_id): CollectionId(collection_id) for chunk_id, collection_id in rows}


def unspaced(connection: Connection, ids: Sequence[ChunkId]) -> set[ChunkId]:
    """Return those of the chunks that are mostly in scripts without spaces."""
    rows = connection.execute(
        "SELECT c.id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value WHERE c.unspaced",
        (json.dumps(list(ids)),),
    )
    return {ChunkId(chunk_id) for (chunk_id,) in rows}


def load_chunks(connection: Connection, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
    """Return those of the chunks that still exist, by id."""
    sql = f"""SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value {_JOINS}
        ORDER BY c.document_id"""  # noqa: S608
    rows = connection.execute(sql, (json.dumps(list(ids)),)).fetchall()
    return {chunk.id: chunk for chunk in _with_text(connection, rows)}


def pending(
    connection: Connection, collection_id: CollectionId, space_id: SpaceId, limit: int, *, after: int
) -> tuple[list[PendingText], int]:
    """Find texts without a vector, oldest chunk first, each hash once.

    Args:
        connection: Where to look.
        collection_id: Whose chunks to look at.
        space_id: The space in which they need a vector.
        limit: Most texts to return.
        after: Id of a chunk; all up to it are known to have their vector.

    Returns:
        The texts, and the largest id that can be given as ``after`` next time.
    """
    rows = connection.execute(
        """SELECT c.id, c.document_id, c.start, c.stop, c.context, c.text_hash, d.title
        FROM chunks c CROSS JOIN documents d ON d.id = c.document_id WHERE +c.collection_id = ? AND c.id > ?
        AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash)
        ORDER BY c.id""",
        (collection_id, after, space_id),
    )
    found: dict[bytes, PendingText] = {}
    body, body_of = "", 0
    with closing(rows):
        for chunk_id, document_id, start, stop, context, text_hash, title in rows:
            if not found:
                after = chunk_id - 1
            if text_hash in found:
                continue
            if len(found) >= limit:
                break
            if document_id != body_of:
                body, body_of = _body(connection, document_id), document_id
            text = f"{context}\n{body[start:stop]}" if context else body[start:stop]
            found[text_hash] = PendingText(TextHash(text_hash), text, title)
    if not found:
        last = connection.execute("SELECT max(id) FROM chunks WHERE collection_id = ?", (collection_id,)).get
        after = max(after, last or 0)
    return list(found.values()), after


def _body(connection: Connection, document_id: int) -> str:
    body: str = connection.execute("SELECT body FROM contents WHERE document_id = ?", (document_id,)).get
    return body


def _with_text(connection: Connection, rows: Sequence[Any]) -> Iterator[StoredChunk]:
    """Make chunks of rows that are grouped by document.

    Slicing one decoded body is faster than SQLite's substr, which counts characters from the start
    of the body for every chunk.
    """
    body, body_of = "", 0
    for row in rows:
        fields = dict(zip(_FIELDS, row, strict=True))
        document_id = fields["document_id"]
        if document_id != body_of:
            body, body_of = _body(connection, document_id), document_id
        fields["locator"] = locator_text(fields["locator"])
        fields["heading_path"] = tuple(json.loads(fields["heading_path"]))
        yield StoredChunk(**fields, text=body[fields["start"] : fields["end"]])
