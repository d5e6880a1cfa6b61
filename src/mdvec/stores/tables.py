"""Statements in one transaction of a database, and the conditions that databases write differently."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mdvec.stores.conditions import Sql
from mdvec.stores.memo import Memo, Memorizing, Readable


class Tables(Memorizing, ABC):
    """Runs statements, each written as for SQLite, in one transaction.

    ``CROSS JOIN`` keeps the order of the joins in SQLite, and a plus sign keeps it from using an index:
    without statistics its planner guesses wrong.

    Attributes:
        version: Grows with every commit that changed something.
        vector_epoch: Grows when vectors are removed; until then they are only appended.
        readable: The collections that may be read.

    Args:
        version: Of the transaction.
        vector_epoch: Of the transaction.
        memo: What is known of versions; None where what is read may yet be undone.
        readable: The collections that may be read.
    """

    def __init__(self, version: int, vector_epoch: int, memo: Memo | None, readable: Readable) -> None:
        super().__init__(None if memo is None else memo.values(version, readable))
        self.readable = readable
        self.version = version
        self.vector_epoch = vector_epoch

    @abstractmethod
    def rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows, if any."""

    def each_row(self, sql: str, *arguments: Any) -> Iterator[tuple[Any, ...]]:
        """Run a query; yield its rows, where the database can, as they are found."""
        return iter(self.rows(sql, *arguments))

    @abstractmethod
    def named(self, column: str, texts: Iterable[str]) -> Sql:
        """Return the condition that a column is one of some texts."""

    @abstractmethod
    def one_of(self, column: str, values: Iterable[int]) -> Sql:
        """Return the condition that a column is one of a few numbers."""

    @abstractmethod
    def listed(self, column: str, ids: Iterable[int]) -> Sql:
        """Return the condition that a column is one of any number of ids."""

    @abstractmethod
    def unlisted(self, column: str, ids: Iterable[int]) -> Sql:
        """Return the condition that a column is none of any number of ids."""

    @abstractmethod
    def stored(self, text: str) -> str:
        """Return a text without the characters that the database cannot hold."""

    @abstractmethod
    def change(self, sql: str, *arguments: Any) -> int:
        """Run a statement; return how many rows it changed."""

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
