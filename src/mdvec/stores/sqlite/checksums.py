"""Checksums of texts and vectors: damage that SQLite cannot see is noticed, and the rows are made anew.

SQLite checks its own structure, not the bytes of a row.
"""

from __future__ import annotations

import apsw

from mdvec.stores.records import DamagedRows
from mdvec.types.ids import CollectionId

REPAIR_HINT = (
    "Run 'mdvec import --check -n NAME' for each collection: it reads and embeds again what is damaged."
)
"""The next step where only rows are damaged."""

VECTOR = "intact(v.vector, v.checksum)"
"""The vector of a row ``v``; raises where it is damaged."""

BODY = "CAST(intact(CAST(t.body AS BLOB), t.checksum) AS TEXT)"
"""The text of a row ``t`` of contents; raises where it is damaged."""


def _rows(columns: str, table: str, order: str) -> str:
    """Return SQL for all rows of a document in a table, as one text."""
    return (
        f"(SELECT group_concat(concat_ws(char(31), {columns}), char(30) ORDER BY {order})"  # noqa: S608 - constants
        f" FROM {table} WHERE document_id = d.id)"
    )


# A cast to bytes, since damage may have left what is no text. Facts that say whether a file has changed are
# not covered: where they are damaged, the file is read again.
DOCUMENT_CHECKSUM = f"""(SELECT crc32(CAST(concat_ws(char(29), d.path, d.title, d.content_start, d.file_key,
    d.updated_ns, t.frontmatter, t.comments,
    {
    _rows(
        "ordinal, coalesce(parent, ''), depth, start, stop, start_line, end_line, token_count, "
        "hex(text_hash), heading_path, context, unspaced, hex(skeleton)",
        "chunks",
        "ordinal",
    )
},
    {_rows("kind, folded, position, display", "labels", "kind, folded")},
    {_rows("position, kind, target, fragment, text, line, file_key", "links", "position")},
    {_rows("folded, text, hex(text_hash)", "names", "id")},
    {_rows("key, value, number", "properties", "key, value")}
    ) AS BLOB)) FROM contents t WHERE t.document_id = d.id)"""  # noqa: S608 - constants
"""SQL for the checksum of a row ``d`` of documents and all that belongs to it, but for the body's."""

_DAMAGED_DOCUMENT = f"""(d.checksum IS NOT {DOCUMENT_CHECKSUM} OR EXISTS(
    SELECT 1 FROM contents t WHERE t.document_id = d.id AND t.checksum != crc32(CAST(t.body AS BLOB))))"""  # noqa: S608
_DAMAGED_VECTOR = "v.checksum != crc32(v.vector)"
_ELSEWHERE = f"""WITH damaged(hash) AS (SELECT text_hash FROM vectors v WHERE {_DAMAGED_VECTOR})
    SELECT k.name FROM collections k WHERE k.id != ? AND k.id IN (
    SELECT d.collection_id FROM documents d WHERE {_DAMAGED_DOCUMENT}
    UNION SELECT c.collection_id FROM damaged CROSS JOIN chunks c ON c.text_hash = hash
    UNION SELECT d.collection_id FROM damaged CROSS JOIN names n ON n.text_hash = hash
    CROSS JOIN documents d ON d.id = n.document_id) ORDER BY k.name"""  # noqa: S608 - constants


def damaged_rows(connection: apsw.Connection) -> DamagedRows:
    """Compare every text and vector with its checksum; slow."""
    documents, vectors = connection.execute(
        f"""SELECT (SELECT count(*) FROM documents d WHERE {_DAMAGED_DOCUMENT}),
        (SELECT count(*) FROM vectors v WHERE {_DAMAGED_VECTOR})"""  # noqa: S608 - constants
    ).get
    return DamagedRows(documents, vectors)


def discard(connection: apsw.Connection, collection_id: CollectionId) -> DamagedRows:
    """Remove damaged vectors, and forget what is known of the files of a collection's damaged documents.

    The next import of the collections that use them makes all of them anew.
    """
    elsewhere = tuple(row[0] for row in connection.execute(_ELSEWHERE, (collection_id,)))
    # Without an identity nothing of a document is believed, not even that its source has the same text.
    forgotten = connection.execute(
        f"""UPDATE documents AS d SET fingerprint = '', sha256 = x''
        WHERE collection_id = ? AND {_DAMAGED_DOCUMENT} RETURNING CAST(path AS BLOB)""",  # noqa: S608 - constants
        (collection_id,),
    )
    paths = tuple(sorted(path.decode(errors="replace") for (path,) in forgotten))
    connection.execute(f"DELETE FROM vectors AS v WHERE {_DAMAGED_VECTOR}")  # noqa: S608 - constants
    return DamagedRows(len(paths), connection.changes(), paths, elsewhere)
