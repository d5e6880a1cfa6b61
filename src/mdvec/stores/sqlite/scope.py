"""A scope as SQL, in two forms: list its chunks when they are few, or test given chunks one by one.

The order of the joins is written down (CROSS JOIN), and columns that must not choose an index carry a
plus sign: without statistics the planner guesses wrong, by a factor of a thousand.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from mdvec.types.ids import ChunkId
from mdvec.types.query import Filters, Scope, TagMatch
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.labels import LabelKind, fold, prefix_end
from mdvec.text.globs import literal_prefix

SMALL_SCOPE = 5_000
"""Up to so many chunks are listed and looked at one by one; listing them takes a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Sql:
    """A piece of SQL with what is bound to its question marks."""

    text: str
    arguments: tuple[str | int, ...] = ()


def covers_everything(connection: Connection, scope: Scope) -> bool:
    """Return whether every chunk is inside the scope, apart from those of its hidden documents.

    Args:
        connection: Where to look for chunks of other collections.
        scope: What is allowed.
    """
    if _document_conditions(replace(scope, hidden=frozenset())) or scope.filters.depths:
        return False
    inside = _one_of("k.id", scope.collections)
    sql = f"""SELECT 1 FROM collections k WHERE NOT {inside.text}
        AND EXISTS(SELECT 1 FROM chunks c WHERE c.collection_id = k.id) LIMIT 1"""
    return connection.execute(sql, inside.arguments).get is None


def chunks_inside(connection: Connection, scope: Scope, most: int) -> list[ChunkId] | None:
    """List the chunks of a small scope.

    Args:
        connection: Where to look.
        scope: What is allowed.
        most: How many there may be.

    Returns:
        Their ids, in no order; None when there are more.
    """
    source, condition = _source(scope), chunk_condition(scope)
    sql = f"SELECT c.id FROM {source.text} AND {condition.text} LIMIT ?"
    rows = connection.execute(sql, (*source.arguments, *condition.arguments, most + 1))
    ids = [ChunkId(chunk_id) for (chunk_id,) in rows]
    return ids if len(ids) <= most else None


def keep_inside(connection: Connection, scope: Scope, ids: Iterable[ChunkId]) -> set[ChunkId]:
    """Return those of the chunks that are inside the scope.

    Args:
        connection: Where to look.
        scope: What is allowed.
        ids: The chunks to test.
    """
    condition = chunk_condition(scope)
    sql = f"""SELECT c.id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
        {_document_join(scope)} WHERE {condition.text}"""
    rows = connection.execute(sql, (json.dumps(list(ids)), *condition.arguments))
    return {ChunkId(row[0]) for row in rows}


def document_condition(scope: Scope) -> Sql:
    """Return what the scope asks of a document ``d``; of its chunks, that one has the right depth."""
    parts = [_one_of("d.collection_id", scope.collections), *_document_conditions(scope)]
    if scope.filters.depths:
        depth = _one_of("c.depth", scope.filters.depths)
        text = f"EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id AND {depth.text})"
        parts.append(Sql(text, depth.arguments))
    return _all(parts)


def chunk_condition(scope: Scope) -> Sql:
    """Return what the scope asks of a chunk ``c`` and of its document ``d``."""
    parts = [_one_of("+c.collection_id", scope.collections), *_document_conditions(scope)]
    if scope.filters.depths:
        parts.append(_one_of("+c.depth", scope.filters.depths))
    return _all(parts)


def _source(scope: Scope) -> Sql:
    """Joins that reach at least every chunk of the scope, starting where an index is most selective."""
    filters = scope.filters
    if scope.only is not None:
        return Sql(
            """json_each(?) j CROSS JOIN documents d ON d.id = j.value
                CROSS JOIN chunks c ON c.document_id = d.id WHERE 1""",
            (_id_list(scope.only),),
        )
    if filters.tags or filters.alias_prefix is not None:
        labels = _labelled(filters)
        return Sql(
            f"""({labels.text}) l CROSS JOIN documents d ON d.id = l.document_id
                CROSS JOIN chunks c ON c.document_id = d.id WHERE 1""",
            labels.arguments,
        )
    if _document_conditions(scope):
        inside = _one_of("d.collection_id", scope.collections)
        paths = _starts_with("d.path", literal_prefix(filters.path or ""))
        return Sql(
            f"""documents d CROSS JOIN chunks c ON c.document_id = d.id
                WHERE {inside.text} AND {paths.text}""",
            inside.arguments + paths.arguments,
        )
    if filters.depths:  # the index on collections holds no depth: looking up each row takes longer
        return Sql("chunks c NOT INDEXED WHERE 1")
    inside = _one_of("c.collection_id", scope.collections)
    return Sql(f"chunks c WHERE {inside.text}", inside.arguments)


def _document_join(scope: Scope) -> str:
    """Look up a chunk's document only when something is asked of it."""
    return "CROSS JOIN documents d ON d.id = c.document_id" if _document_conditions(scope) else ""


def _labelled(filters: Filters) -> Sql:
    """Documents that carry a wanted label; where all of several tags are wanted, the first one."""
    conditions: list[Sql] = []
    if filters.tags:
        wanted = filters.tags if filters.tag_match is TagMatch.ANY else filters.tags[:1]
        for tag in wanted:
            conditions += _tag_ranges(tag)
    else:
        conditions.append(_alias_range(filters.alias_prefix or ""))
    return Sql(
        " UNION ".join(f"SELECT l.document_id FROM labels l WHERE {part.text}" for part in conditions),
        tuple(argument for part in conditions for argument in part.arguments),
    )


def _document_conditions(scope: Scope) -> list[Sql]:
    filters = scope.filters
    conditions: list[Sql] = []
    if scope.only is not None:
        conditions.append(Sql("d.id IN (SELECT value FROM json_each(?))", (_id_list(scope.only),)))
    if scope.hidden:
        conditions.append(Sql("d.id NOT IN (SELECT value FROM json_each(?))", (_id_list(scope.hidden),)))
    match filters.tag_match:
        case TagMatch.ANY if filters.tags:
            ranges = [part for tag in filters.tags for part in _tag_ranges(tag)]
            conditions.append(_has_label(ranges))
        case TagMatch.ANY:
            pass
        case TagMatch.ALL:
            conditions += [_has_label(_tag_ranges(tag)) for tag in filters.tags]
    if filters.alias_prefix is not None:
        conditions.append(_has_label([_alias_range(filters.alias_prefix)]))
    if filters.path is not None:
        conditions.append(Sql("matches_glob(?, d.path)", (filters.path,)))
    if filters.updated_since_ns is not None:
        conditions.append(Sql("coalesce(d.updated_ns, d.mtime_ns) >= ?", (filters.updated_since_ns,)))
    if filters.updated_until_ns is not None:
        conditions.append(Sql("coalesce(d.updated_ns, d.mtime_ns) < ?", (filters.updated_until_ns,)))
    return conditions


def _has_label(ranges: list[Sql]) -> Sql:
    any_of = " OR ".join(f"({part.text})" for part in ranges)
    return Sql(
        f"""EXISTS(SELECT 1 FROM labels l INDEXED BY labels_document
            WHERE l.document_id = d.id AND ({any_of}))""",
        tuple(argument for part in ranges for argument in part.arguments),
    )


def _tag_ranges(tag: str) -> list[Sql]:
    """The tag itself, and the tags below it."""
    folded = fold(tag)
    below = _starts_with("l.folded", f"{folded}/")
    return [
        Sql("l.kind = ? AND l.folded = ?", (LabelKind.TAG.value, folded)),
        Sql(f"l.kind = ? AND {below.text}", (LabelKind.TAG.value, *below.arguments)),
    ]


def _alias_range(prefix: str) -> Sql:
    names = _starts_with("l.folded", fold(prefix))
    return Sql(f"l.kind = ? AND {names.text}", (LabelKind.ALIAS.value, *names.arguments))


def _starts_with(column: str, prefix: str) -> Sql:
    end = prefix_end(prefix)
    if end is None:
        return Sql(f"{column} >= ?", (prefix,))
    return Sql(f"{column} >= ? AND {column} < ?", (prefix, end))


def _one_of(column: str, values: Iterable[int]) -> Sql:
    arguments = tuple(values)
    return Sql(f"{column} IN ({','.join('?' * len(arguments))})", arguments)


def _id_list(ids: Iterable[int]) -> str:
    return json.dumps(sorted(ids))


def _all(parts: list[Sql]) -> Sql:
    return Sql(
        " AND ".join(part.text for part in parts),
        tuple(argument for part in parts for argument in part.arguments),
    )
