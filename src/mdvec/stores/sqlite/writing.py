"""How rows are changed in a file of SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mdvec.stores.columns import storable
from mdvec.stores.sqlite.database import Reader
from mdvec.stores.tables import TableWriter

# With its checksum, since a later statement would write the text again.
_INSERT_CONTENTS = """INSERT INTO contents(document_id, frontmatter, body, comments, checksum)
    VALUES (?1, ?2, ?3, ?4, crc32(CAST(?3 AS BLOB)))"""


class RowWriter(Reader, TableWriter):
    """Changes rows inside a transaction."""

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
