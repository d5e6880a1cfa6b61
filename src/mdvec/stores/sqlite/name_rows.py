"""What documents are called, as rows."""

from __future__ import annotations

from contextlib import closing

from mdvec.types.document import Document
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.query import Scope
from mdvec.stores.interface import PendingText
from mdvec.stores.names import embedded_names
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.labels import storable
from mdvec.stores.sqlite.scope import chunk_condition
from mdvec.text.folding import fold_name
from mdvec.text.hashing import text_hash

# Two indexes merged in order of hash: in a database where no name lacks its vector, four times as fast as
# looking for each one's.
_MISSING = "SELECT text_hash FROM names EXCEPT SELECT text_hash FROM vectors WHERE space_id = ? LIMIT 1"

# Of names without a vector; those up to an id are known to have theirs.
_WITHOUT_VECTOR = """FROM names n CROSS JOIN documents d ON d.id = n.document_id
    WHERE n.id > ? AND d.collection_id = ?
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = n.text_hash)"""


def put_names(connection: Connection, document_id: DocumentId, document: Document) -> None:
    """Write the names of a new document."""
    names = [storable(name) for name in embedded_names(document)]
    connection.executemany(
        "INSERT OR IGNORE INTO names(document_id, folded, text, text_hash) VALUES (?, ?, ?, ?)",
        [(document_id, fold_name(name), name, text_hash(name)) for name in names],
    )


def pending_names(
    connection: Connection, collection_id: CollectionId, space_id: SpaceId, limit: int, *, after: int
) -> tuple[list[PendingText], int]:
    """Find names without a vector, oldest first, each hash once.

    Args:
        connection: Where to look.
        collection_id: Whose documents to look at.
        space_id: The space in which their names need a vector.
        limit: Most names to return.
        after: Id of a name; all up to it are known to have their vector.

    Returns:
        The names, and the largest id that can be given as ``after`` next time.
    """
    newest = connection.execute("SELECT max(id) FROM names").get or 0
    if not after and connection.execute(_MISSING, (space_id,)).get is None:
        return [], newest
    rows = connection.execute(
        f"SELECT n.id, n.text_hash, n.text {_WITHOUT_VECTOR} ORDER BY n.id",
        (after, collection_id, space_id),
    )
    found: dict[bytes, PendingText] = {}
    with closing(rows):
        for name_id, digest, text in rows:
            if not found:
                after = name_id - 1
            if len(found) >= limit:
                break
            found.setdefault(digest, PendingText(TextHash(digest), text))
    return list(found.values()), after if found else max(after, newest)


def count_pending_names(connection: Connection, collection_id: CollectionId, space_id: SpaceId) -> int:
    """Count the names without a vector, each hash once."""
    sql = f"SELECT count(DISTINCT n.text_hash) {_WITHOUT_VECTOR}"
    count: int = connection.execute(sql, (0, collection_id, space_id)).get
    return count


def chunks_named(connection: Connection, folded: str, scope: Scope, limit: int) -> list[ChunkId]:
    """Return the chunks of the documents inside the scope that are called so, by path and ordinal."""
    condition = chunk_condition(scope)
    rows = connection.execute(
        f"""SELECT c.id FROM (SELECT DISTINCT n.document_id FROM names n WHERE n.folded = ?) called
        CROSS JOIN documents d ON d.id = called.document_id
        CROSS JOIN chunks c ON c.document_id = d.id
        WHERE {condition.text} ORDER BY d.path, d.id, c.ordinal LIMIT ?""",  # noqa: S608
        (storable(folded), *condition.arguments, limit),
    )
    return [ChunkId(row[0]) for row in rows]
