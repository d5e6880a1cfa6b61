"""Statements in one transaction of a database, pieces of SQL, and values that hold for one version."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from msgspec import Struct

from mdvec.errors import NotAllowedError
from mdvec.types.ids import DocumentId
from mdvec.types.query import Where

_MAX_MEMORIZED = 50_000
_SURROGATES = re.compile("[\ud800-\udfff]")

T = TypeVar("T")
P = TypeVar("P", bound="Part")
A = ParamSpec("A")

Known = dict[Hashable, object]

Readable = frozenset[str] | None
"""The names of the collections that a snapshot shows; None for all."""


NEW_EPOCH = "UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'"
"""Invalidates the vectors that processes hold in memory."""


def storable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold; an escape in YAML can make one."""
    return text if text.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def locator_bytes(locator: str) -> bytes:
    """Return the name of a file as it is stored; it may hold undecodable bytes as lone surrogates."""
    return locator.encode("utf-8", "surrogatepass")


def locator_of(stored: bytes) -> str:
    """Return the name of a file as Python spells it."""
    return stored.decode("utf-8", "surrogatepass")


def prefix_end(prefix: str) -> str | None:
    """Return the first string after all that start with a prefix, by code point; None if there is none."""
    for length in range(len(prefix), 0, -1):
        following = ord(prefix[length - 1]) + 1
        if following > 0x10FFFF:
            continue
        return prefix[: length - 1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)
    return None


class Sql(Struct, frozen=True):
    """A piece of SQL with the values of its question marks."""

    text: str
    arguments: tuple[Any, ...] = ()


def starts_with(column: str, prefix: str) -> Sql:
    """Return the condition that a text, ordered by code point, starts with a prefix."""
    end = prefix_end(prefix)
    if end is None:
        return Sql(f"{column} >= ?", (prefix,))
    return Sql(f"({column} >= ? AND {column} < ?)", (prefix, end))


def all_of(*parts: Sql) -> Sql:
    """Return the condition that all conditions are met."""
    text = " AND ".join(part.text for part in parts)
    return Sql(text, tuple(argument for part in parts for argument in part.arguments))


def any_of(parts: Sequence[Sql]) -> Sql:
    """Return the condition that one of several conditions is met; without any, it never is."""
    text = " OR ".join(f"({part.text})" for part in parts)
    return Sql(f"({text or '1 = 0'})", tuple(argument for part in parts for argument in part.arguments))


class Memo:
    """Values that were computed from the newest version of a store. Safe for several threads."""

    def __init__(self) -> None:
        self._of_version: tuple[int, dict[Readable, Known]] = (-1, {})

    def values(self, version: int, readable: Readable = None) -> Known:
        """Return the values of a version, as some collections show them: a dict to add to."""
        known, of_readable = self._of_version
        if known != version:
            of_readable = {}
            if version >= known:  # an older snapshot must not replace newer values
                self._of_version = version, of_readable
        values = of_readable.setdefault(readable, {})
        if len(values) > _MAX_MEMORIZED:
            values = of_readable[readable] = {}
        return values


class Tables(ABC):
    """Runs statements, each written as for SQLite, in one transaction.

    ``CROSS JOIN`` keeps the order of the joins in SQLite, and a plus sign keeps it from using an index:
    without statistics its planner guesses wrong.

    Attributes:
        version: Grows with every commit that changed something.
        vector_epoch: Grows when vectors are removed; until then they are only appended.
        readable: The collections that may be read.
        known: The memorized values of this version (see :func:`memorized`); None if it may be undone.
        known_here: Those of chunks that one query chose, which no other transaction asks for.
        texts: The last texts of documents that were read; for a transaction that does not write.

    Args:
        version: Of the transaction.
        vector_epoch: Of the transaction.
        memo: The memorized values of versions; None in a transaction that may be undone.
        readable: The collections that may be read.
    """

    each_id: ClassVar[str]
    """SQL for a table ``j`` of ids, in which ``value`` is the id and ``key`` its position."""

    body: ClassVar[str]
    """SQL for the text of a row ``t`` of contents."""

    vector: ClassVar[str]
    """SQL for the bytes of the vector of a row ``v``."""

    vector_dtype: ClassVar[str]
    """The type of their numbers for numpy."""

    def __init__(self, version: int, vector_epoch: int, memo: Memo | None, readable: Readable) -> None:
        self.known = None if memo is None else memo.values(version, readable)
        self.known_here: Known = {}
        self.texts: dict[DocumentId, str] = {}
        self.readable = readable
        self.version = version
        self.vector_epoch = vector_epoch

    def require_everything(self) -> None:
        """Check that all collections may be read, of which vectors without an owner show something.

        Raises:
            NotAllowedError: If not.
        """
        if self.readable is not None:
            raise NotAllowedError

    @abstractmethod
    def rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows, if any."""

    def each_row(self, sql: str, *arguments: Any) -> Iterator[tuple[Any, ...]]:
        """Run a query; yield its rows, where the database can, as they are found."""
        return iter(self.rows(sql, *arguments))

    @abstractmethod
    def named(self, column: str, values: Iterable[str]) -> Sql:
        """Return the condition that a column is one of some texts."""

    @abstractmethod
    def one_of(self, column: str, values: Iterable[int]) -> Sql:
        """Return the condition that a column is one of a few numbers."""

    @abstractmethod
    def listed(self, column: str, values: Iterable[int]) -> Sql:
        """Return the condition that a column is one of any number of ids."""

    @abstractmethod
    def unlisted(self, column: str, ids: Iterable[int]) -> Sql:
        """Return the condition that a column is none of any number of ids."""

    @abstractmethod
    def ids(self, ids: Iterable[int]) -> str:
        """Return ids as the argument of ``each_id``."""

    @abstractmethod
    def stored(self, text: str) -> str:
        """Return a text without the characters that the database cannot hold."""

    @abstractmethod
    def change(self, sql: str, *arguments: Any) -> int:
        """Run a statement; return how many rows it changed."""

    @abstractmethod
    def change_each(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement with the arguments of each row."""

    @abstractmethod
    def insert(self, table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows into a table of ours; ``columns`` are their types in PostgreSQL by name, in order."""

    @abstractmethod
    def new_ids(self, table: str, count: int) -> Sequence[int]:
        """Return ids that were never used, ascending."""


class Part:
    """A part of a transaction.

    Args:
        tables: The transaction.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables


def memorized(method: Callable[Concatenate[P, A], T]) -> Callable[Concatenate[P, A], T]:
    """Have a method of a part compute each of its values once for a version."""

    @wraps(method)
    def known(part: P, /, *arguments: A.args, **named: A.kwargs) -> T:
        values, key = part.tables.known, (method, arguments, *named.items())
        if values is None:
            return method(part, *arguments, **named)
        if any(isinstance(each, Where) and each.chunks is not None for each in arguments):
            values = part.tables.known_here
        if key not in values:
            values[key] = method(part, *arguments, **named)
        return values[key]  # type: ignore[return-value] # a method returns values of one type

    return known
