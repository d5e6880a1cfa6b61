"""What is read and written in one transaction, put together from its parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mdvec.stores.catalog import CatalogReader, CatalogWriter
from mdvec.stores.claims import live_holders
from mdvec.stores.columns import storable
from mdvec.stores.conditions import Sql
from mdvec.stores.sqlite.documents import DocumentWriter
from mdvec.stores.sqlite.vectors import VectorReader, VectorWriter
from mdvec.stores.sqlite.words import WordReader
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.report import Activity

CLOCK = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"
"""The time, in milliseconds since 1970."""

# EXCEPT merges two indexes in order of hash: 7 ms for 72,000 chunks, where looking for each chunk's vector by
# itself takes 49.
_MISSING = """(SELECT count(*) FROM (SELECT text_hash FROM chunks WHERE collection_id = ?
        EXCEPT SELECT text_hash FROM vectors WHERE space_id = ?) missing
     CROSS JOIN chunks c ON c.collection_id = ? AND c.text_hash = missing.text_hash
     CROSS JOIN documents d ON d.id = c.document_id AND NOT d.superseded)"""
_WITHOUT_SPACE = """(SELECT count(*) FROM chunks WHERE collection_id = ?)
    - (SELECT count(*) FROM documents d CROSS JOIN chunks c ON c.document_id = d.id
        WHERE d.collection_id = ? AND d.superseded)"""

# With its checksum, since a later statement would write the text again.
_INSERT_CONTENTS = """INSERT INTO contents(document_id, frontmatter, body, comments, checksum)
    VALUES (?1, ?2, ?3, ?4, crc32(CAST(?3 AS BLOB)))"""


class Snapshot(VectorReader, WordReader, CatalogReader):
    """One consistent snapshot; a :class:`mdvec.stores.interface.View`."""

    def activities(self) -> list[Activity]:
        """Return what live processes are doing now."""
        return [holder.activity for holder in live_holders(self.rows, CLOCK)]

    def pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        """Return how many chunks lack a vector, as SQL."""
        if space_id is None:
            return Sql(_WITHOUT_SPACE, (collection_id, collection_id))
        return Sql(_MISSING, (collection_id, space_id, collection_id))


class Transaction(Snapshot, CatalogWriter, DocumentWriter, VectorWriter):
    """One transaction; a :class:`mdvec.stores.interface.Writer`."""

    def stored(self, text: str) -> str:
        """Return a text without lone surrogates."""
        return storable(text)

    def change(self, sql: str, *arguments: Any) -> int:
        """Run a statement; return how many rows it changed."""
        self.connection.execute(sql, arguments)
        return self.connection.changes()

    def insert(self, table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows, by one statement that is compiled once."""
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our own names
        self.connection.executemany(_INSERT_CONTENTS if table == "contents" else sql, rows)

    def new_ids(self, table: str, count: int) -> Sequence[int]:
        """Return ids that were never used: a transaction has no other writer."""
        last = self.rows("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        first = last[0][0] + 1 if last else 1
        return range(first, first + count)

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        self.connection.execute("DELETE FROM collections WHERE id = ?", (collection_id,))
