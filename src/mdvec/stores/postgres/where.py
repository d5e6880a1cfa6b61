"""A ``Where`` as SQL: conditions on a chunk ``c`` and on its document ``d``.

PostgreSQL has statistics and chooses its joins itself. Globs are matched here, by the code of every other
store, among the paths of a version.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mdvec.stores.columns import LabelKind, fold_label, prefix_end
from mdvec.stores.postgres.connection import ids_text
from mdvec.stores.postgres.database import Reader
from mdvec.stores.records import FEW_CHUNKS
from mdvec.text.globs import compile_glob, literal_prefix
from mdvec.text.properties import as_number, fold_property, is_date, is_year
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Comparison, Filters, PropertyCondition, TagMatch, Where

# As mdvec.text.properties.is_date has it.
_DATE = "^[0-9]{4}-[0-9]{2}"


class Sql(Struct, frozen=True):
    """A piece of SQL with what is bound to its placeholders."""

    text: str
    arguments: tuple[Any, ...] = ()


class WhereReader(Reader):
    """Looks once for a version which chunks a ``Where`` covers."""

    def covers_everything(self, where: Where) -> bool:
        """Return True if every chunk is inside, apart from hidden ones and those of hidden documents."""
        return self.memorized(("everything", where), lambda: self._covers_everything(where))

    def few_inside(self, where: Where) -> tuple[frozenset[ChunkId], frozenset[DocumentId]] | None:
        """Return the chunks inside and their documents where they are few, else None; None for all chunks."""
        if self.covers_everything(where):
            return None
        return self.memorized(("few", where), lambda: self._chunks_inside(where))

    def holds_few(self, where: Where) -> bool:
        """Return True if at most ``FEW_CHUNKS`` chunks are inside."""
        if self.covers_everything(where):
            return self.all_chunks() <= FEW_CHUNKS
        return self.few_inside(where) is not None

    def all_chunks(self) -> int:
        """Return the number of chunks in all collections."""
        return sum(self.chunks_by_collection().values())

    def chunks_by_collection(self) -> dict[int, int]:
        """Return the number of chunks of each collection, by its id."""
        return self.memorized(
            "chunks", lambda: dict(self.connection.execute("SELECT id, chunks FROM collections").fetchall())
        )

    def keep_chunks(self, where: Where, ids: Iterable[int]) -> set[int]:
        """Return those of the chunks that are inside."""
        condition = self.chunk_condition(where)
        sql = f"""SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE c.id = ANY(%s::bigint[]) AND {condition.text}"""
        rows = self.connection.execute(sql, (ids_text(ids), *condition.arguments), binary=True)
        return {row[0] for row in rows.fetchall()}

    def keep_documents(self, where: Where, ids: Iterable[int]) -> set[int]:
        """Return those of the documents that hold a chunk inside."""
        condition = self.document_condition(where)
        sql = f"""SELECT d.id FROM documents d WHERE d.id = ANY(%s::bigint[]) AND {condition.text}
            AND EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id)"""
        rows = self.connection.execute(sql, (ids_text(ids), *condition.arguments), binary=True)
        return {row[0] for row in rows.fetchall()}

    def document_condition(self, where: Where) -> Sql:
        """Return the conditions on a document ``d``; one of its chunks has to be inside, too."""
        parts = [_one_of("d.collection_id", where.collections), *self._document_conditions(where)]
        own = _own_conditions(where)
        if own:
            chunk = _all(own)
            text = f"EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id AND {chunk.text})"
            parts.append(Sql(text, chunk.arguments))
        return _all(parts)

    def chunk_condition(self, where: Where) -> Sql:
        """Return the conditions on a chunk ``c`` and on its document ``d``."""
        in_collections = _one_of("c.collection_id", where.collections)
        return _all([in_collections, *self._document_conditions(where), *_own_conditions(where)])

    def _covers_everything(self, where: Where) -> bool:
        if not asks_for_collections_alone(replace(where, hidden=frozenset(), hidden_chunks=frozenset())):
            return False
        return not any(
            chunks for key, chunks in self.chunks_by_collection().items() if key not in where.collections
        )

    def _chunks_inside(self, where: Where) -> tuple[frozenset[ChunkId], frozenset[DocumentId]] | None:
        condition = self.chunk_condition(where)
        sql = f"""SELECT c.id, c.document_id FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE {condition.text} LIMIT %s"""
        rows = self.connection.execute(sql, (*condition.arguments, FEW_CHUNKS + 1)).fetchall()
        if len(rows) > FEW_CHUNKS:
            return None
        return frozenset(ChunkId(row[0]) for row in rows), frozenset(DocumentId(row[1]) for row in rows)

    def _document_conditions(self, where: Where) -> list[Sql]:
        filters = where.filters
        conditions: list[Sql] = []
        if where.only is not None:
            conditions.append(_one_of("d.id", where.only))
        if where.hidden:
            conditions.append(Sql("NOT d.id = ANY(%s::bigint[])", (list(where.hidden),)))
        conditions += _label_conditions(filters)
        conditions += map(_property_condition, filters.properties)
        if filters.path is not None:
            conditions.append(_one_of("d.id", self._documents_at(filters.path, where.collections)))
        if filters.updated_since_ns is not None:
            conditions.append(Sql("coalesce(d.updated_ns, d.mtime_ns) >= %s", (filters.updated_since_ns,)))
        if filters.updated_until_ns is not None:
            conditions.append(Sql("coalesce(d.updated_ns, d.mtime_ns) < %s", (filters.updated_until_ns,)))
        if filters.clean_only:
            conditions.append(Sql("d.dirty_since_ms IS NULL"))
        return conditions

    def _documents_at(self, glob: str, collections: tuple[int, ...]) -> list[int]:
        return self.memorized(("glob", glob, collections), lambda: self._match(glob, collections))

    def _match(self, glob: str, collections: tuple[int, ...]) -> list[int]:
        matches = compile_glob(glob)
        prefix = starts_with("d.path", literal_prefix(glob))
        rows = self.connection.execute(
            f"""SELECT d.id, d.path FROM documents d
            WHERE d.collection_id = ANY(%s::bigint[]) AND {prefix.text}""",
            (list(collections), *prefix.arguments),
        )
        return [document_id for document_id, path in rows if matches(path)]


def asks_for_collections_alone(where: Where) -> bool:
    """Return True if whole collections are inside, and nothing is left out."""
    return where == Where(where.collections)


def _own_conditions(where: Where) -> list[Sql]:
    """Return the conditions on a chunk ``c`` itself."""
    conditions: list[Sql] = []
    if where.filters.depths:
        conditions.append(_one_of("c.depth", where.filters.depths))
    if where.chunks is not None:
        conditions.append(_one_of("c.id", where.chunks))
    if where.hidden_chunks:
        conditions.append(Sql("NOT c.id = ANY(%s::bigint[])", (list(where.hidden_chunks),)))
    return conditions


def _label_conditions(filters: Filters) -> Iterator[Sql]:
    if filters.tags:
        tags = [any_of([_is(tag), _below(tag)]) for tag in filters.tags]
        groups = [any_of(tags)] if filters.tag_match is TagMatch.ANY else tags
        yield from (_has_label(LabelKind.TAG, group) for group in groups)
    if filters.alias_prefix is not None:
        prefix = starts_with("l.folded", fold_label(filters.alias_prefix))
        yield _has_label(LabelKind.ALIAS, prefix)


def _property_condition(condition: PropertyCondition) -> Sql:
    """Return a condition on a property; numbers are compared as such, dates as the texts that they are."""
    comparison, value = condition.comparison, fold_property(condition.value)
    number = as_number(value)
    tests: list[Sql] = []
    if comparison in (Comparison.EQUAL, Comparison.UNEQUAL):
        tests.append(Sql("p.value = %s", (value,)))
        if number is not None:
            tests.append(Sql("p.number = %s", (number,)))
    else:
        if number is not None:
            tests.append(Sql(f"p.number {comparison.value} %s", (number,)))
        if is_date(value) or is_year(value):  # as exact as it was given: all of May is at most 2026-05
            text = f"p.value ~ '{_DATE}' AND left(p.value, %s) {comparison.value} %s"
            tests.append(Sql(text, (len(value), value)))
    met = any_of(tests or [Sql("false")])
    negation = "NOT " if comparison is Comparison.UNEQUAL else ""
    text = f"""{negation}EXISTS(SELECT 1 FROM properties p
        WHERE p.document_id = d.id AND p.key = %s AND {met.text})"""
    return Sql(text, (fold_property(condition.key), *met.arguments))


def _has_label(kind: LabelKind, condition: Sql) -> Sql:
    text = f"""EXISTS(SELECT 1 FROM labels l
        WHERE l.document_id = d.id AND l.kind = %s AND {condition.text})"""
    return Sql(text, (kind.value, *condition.arguments))


def _is(tag: str) -> Sql:
    return Sql("l.folded = %s", (fold_label(tag),))


def _below(tag: str) -> Sql:
    return starts_with("l.folded", f"{fold_label(tag)}/")


def starts_with(column: str, prefix: str) -> Sql:
    """Return the condition that a text in the collation ``C`` starts so."""
    end = prefix_end(prefix)
    if end is None:
        return Sql(f"{column} >= %s", (prefix,))
    return Sql(f"({column} >= %s AND {column} < %s)", (prefix, end))


def _one_of(column: str, values: Iterable[int]) -> Sql:
    return Sql(f"{column} = ANY(%s::bigint[])", (ids_text(values),))


def _all(parts: list[Sql]) -> Sql:
    return _joined(" AND ", parts)


def any_of(parts: list[Sql]) -> Sql:
    """Return the condition that one of several is met."""
    joined = _joined(" OR ", parts)
    return Sql(f"({joined.text})", joined.arguments)


def _joined(word: str, parts: list[Sql]) -> Sql:
    return Sql(
        word.join(part.text for part in parts),
        tuple(argument for part in parts for argument in part.arguments),
    )
