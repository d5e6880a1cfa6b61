"""A ``Where`` as SQL, in two forms: list its chunks when they are few, or test chunks one by one.

The order of the joins is written down (CROSS JOIN), and columns that must not choose an index carry a
plus sign: without statistics the planner guesses wrong, by a factor of a thousand.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec.structs import replace

from mdvec.stores.conditions import (
    Sql,
    alias_condition,
    all_of,
    filter_conditions,
    starts_with,
    tag_conditions,
)
from mdvec.stores.sqlite.connection import Connection
from mdvec.text.globs import literal_prefix
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Filters, TagMatch, Where

_DATE = "p.value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]*'"
_LABELS = "labels l INDEXED BY labels_document"


def covers_everything(connection: Connection, where: Where) -> bool:
    """Return True if every chunk is inside, apart from hidden ones and those of hidden documents."""
    shown = replace(where, hidden=frozenset(), hidden_chunks=frozenset())
    if _document_conditions(shown) or _own_conditions(shown):
        return False
    inside = _one_of("k.id", where.collections)
    sql = f"""SELECT 1 FROM collections k WHERE NOT {inside.text}
        AND EXISTS(SELECT 1 FROM chunks c WHERE c.collection_id = k.id) LIMIT 1"""
    return connection.execute(sql, inside.arguments).get is None


def chunks_inside(
    connection: Connection, where: Where, most: int
) -> tuple[frozenset[ChunkId], frozenset[DocumentId]] | None:
    """List the chunks inside, and their documents; return None when there are more than ``most`` chunks."""
    source, condition = _source(where), chunk_condition(where)
    sql = f"SELECT c.id, c.document_id FROM {source.text} AND {condition.text} LIMIT ?"
    rows: list[tuple[int, int]] = list(
        connection.execute(sql, (*source.arguments, *condition.arguments, most + 1))
    )
    if len(rows) > most:
        return None
    return frozenset(ChunkId(row[0]) for row in rows), frozenset(DocumentId(row[1]) for row in rows)


def keep_chunks(connection: Connection, where: Where, ids: Iterable[int]) -> set[int]:
    """Return those of the chunks that are inside."""
    condition = chunk_condition(where)
    sql = f"""SELECT c.id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
        {_document_join(where)} WHERE {condition.text}"""
    rows = connection.execute(sql, (json.dumps(list(ids)), *condition.arguments))
    return {row[0] for row in rows}


def keep_documents(connection: Connection, where: Where, ids: Iterable[int]) -> set[int]:
    """Return those of the documents that hold a chunk inside."""
    condition = document_condition(where)
    sql = f"""SELECT d.id FROM json_each(?) j CROSS JOIN documents d ON d.id = j.value
        WHERE EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id) AND {condition.text}"""
    rows = connection.execute(sql, (json.dumps(list(ids)), *condition.arguments))
    return {row[0] for row in rows}


def document_condition(where: Where) -> Sql:
    """Return the conditions on a document ``d``; one of its chunks has to be inside, too."""
    parts = [_one_of("d.collection_id", where.collections), *_document_conditions(where)]
    own = _own_conditions(where)
    if own:
        chunk = all_of(own)
        text = f"EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id AND {chunk.text})"
        parts.append(Sql(text, chunk.arguments))
    return all_of(parts)


def chunk_condition(where: Where) -> Sql:
    """Return the conditions on a chunk ``c`` and on its document ``d``."""
    in_collections = _one_of("+c.collection_id", where.collections)
    return all_of([in_collections, *_document_conditions(where), *_own_conditions(where)])


def _source(where: Where) -> Sql:
    """Return joins that reach at least every chunk inside, starting where an index is most selective."""
    filters = where.filters
    if where.chunks is not None:
        return Sql(
            """json_each(?) j CROSS JOIN chunks c ON c.id = j.value
                CROSS JOIN documents d ON d.id = c.document_id WHERE 1""",
            (_id_list(where.chunks),),
        )
    if where.only is not None:
        return Sql(
            """json_each(?) j CROSS JOIN documents d ON d.id = j.value
                CROSS JOIN chunks c ON c.document_id = d.id WHERE 1""",
            (_id_list(where.only),),
        )
    if filters.tags or filters.alias_prefix is not None:
        labels = _labelled(filters)
        return Sql(
            f"""({labels.text}) l CROSS JOIN documents d ON d.id = l.document_id
                CROSS JOIN chunks c ON c.document_id = d.id WHERE 1""",
            labels.arguments,
        )
    if _document_conditions(where):
        inside = _one_of("d.collection_id", where.collections)
        paths = starts_with("d.path", literal_prefix(filters.path or ""))
        return Sql(
            f"""documents d CROSS JOIN chunks c ON c.document_id = d.id
                WHERE {inside.text} AND {paths.text}""",
            inside.arguments + paths.arguments,
        )
    if filters.depths:  # the index on collections holds no depth: looking up each row takes longer
        return Sql("chunks c NOT INDEXED WHERE 1")
    inside = _one_of("c.collection_id", where.collections)
    return Sql(f"chunks c WHERE {inside.text}", inside.arguments)


def _document_join(where: Where) -> str:
    """Return a join with the document, if there is any condition on it."""
    return "CROSS JOIN documents d ON d.id = c.document_id" if _document_conditions(where) else ""


def _labelled(filters: Filters) -> Sql:
    """Return the documents with a wanted label; of several tags that are all wanted, the first one."""
    conditions: list[Sql] = []
    if filters.tags:
        wanted = filters.tags if filters.tag_match is TagMatch.ANY else filters.tags[:1]
        for tag in wanted:
            conditions += tag_conditions(tag)
    else:
        conditions.append(alias_condition(filters.alias_prefix or ""))
    return Sql(
        " UNION ".join(f"SELECT l.document_id FROM labels l WHERE {part.text}" for part in conditions),
        tuple(argument for part in conditions for argument in part.arguments),
    )


def _document_conditions(where: Where) -> list[Sql]:
    filters = where.filters
    conditions: list[Sql] = []
    if where.only is not None:
        conditions.append(Sql("d.id IN (SELECT value FROM json_each(?))", (_id_list(where.only),)))
    if where.hidden:
        conditions.append(Sql("d.id NOT IN (SELECT value FROM json_each(?))", (_id_list(where.hidden),)))
    conditions += filter_conditions(filters, date=_DATE, labels=_LABELS)
    if filters.path is not None:
        conditions.append(Sql("matches_glob(?, d.path)", (filters.path,)))
    return conditions


def _own_conditions(where: Where) -> list[Sql]:
    """Return the conditions on a chunk ``c`` itself."""
    conditions: list[Sql] = []
    if where.filters.depths:
        conditions.append(_one_of("+c.depth", where.filters.depths))
    if where.chunks is not None:
        conditions.append(Sql("+c.id IN (SELECT value FROM json_each(?))", (_id_list(where.chunks),)))
    if where.hidden_chunks:
        hidden = _id_list(where.hidden_chunks)
        conditions.append(Sql("+c.id NOT IN (SELECT value FROM json_each(?))", (hidden,)))
    return conditions


def _one_of(column: str, values: Iterable[int]) -> Sql:
    arguments = tuple(values)
    return Sql(f"{column} IN ({','.join('?' * len(arguments))})", arguments)


def _id_list(ids: Iterable[int]) -> str:
    return json.dumps(sorted(ids))
