"""A ``Where`` as SQL, in two forms: list its chunks when they are few, or test chunks one by one.

The order of the joins is written down (CROSS JOIN), and columns that must not choose an index carry a
plus sign: without statistics the planner guesses wrong, by a factor of a thousand.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

import json
from collections.abc import Iterable

from mdvec.stores.sqlite.connection import id_list
from mdvec.stores.tables import Sql, starts_with
from mdvec.stores.where_tables import IdFilter, WhereTables, alias_condition, tag_conditions
from mdvec.text.globs import literal_prefix
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import Filters, TagMatch, Where


class SqliteWhere(WhereTables):
    """Finds which chunks and documents a ``Where`` covers."""

    date_condition = "p.value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]*'"
    labels_table = "labels l INDEXED BY labels_document"
    unindexed = "+"

    def path_condition(self, glob: str, collections: tuple[CollectionId, ...]) -> Sql:  # noqa: ARG002
        """Return the condition that the path of a document ``d`` matches a glob."""
        return Sql("matches_glob(?, d.path)", (glob,))

    def all_chunks(self) -> int:
        """Return the number of chunks in all collections."""
        return self._tables.memorized(
            "chunks", lambda: int(self._tables.rows("SELECT count(*) FROM chunks")[0][0])
        )

    def hold_all_chunks(self, collections: tuple[CollectionId, ...]) -> bool:
        """Return True if no other collection has a chunk."""
        inside = self._tables.one_of("k.id", collections)
        sql = f"""SELECT 1 FROM collections k WHERE NOT {inside.text}
            AND EXISTS(SELECT 1 FROM chunks c WHERE c.collection_id = k.id) LIMIT 1"""
        return not self._tables.rows(sql, *inside.arguments)

    def chunks_inside(self, where: Where, most: int) -> list[tuple[ChunkId, DocumentId]]:
        """Return at most some of the chunks inside, with their documents."""
        source, condition = self._source(where), self.chunks(where)
        sql = f"SELECT c.id, c.document_id FROM {source.text} AND {condition.text} LIMIT ?"
        rows = self._tables.rows(sql, *source.arguments, *condition.arguments, most)
        return [(ChunkId(row[0]), DocumentId(row[1])) for row in rows]

    def chunk_filter(self, where: Where) -> IdFilter:
        """Return what keeps those of some chunks that are inside."""
        condition = self.chunks(where)
        has_conditions = bool(self.document_conditions(where))
        documents = "CROSS JOIN documents d ON d.id = c.document_id" if has_conditions else ""
        sql = f"""SELECT c.id FROM json_each(?) j CROSS JOIN chunks c ON c.id = j.value
            {documents} WHERE {condition.text}"""
        return self._filter(sql, condition)

    def document_filter(self, where: Where) -> IdFilter:
        """Return what keeps those of some documents that have a chunk inside."""
        condition = self.documents(where)
        sql = f"""SELECT d.id FROM json_each(?) j CROSS JOIN documents d ON d.id = j.value
            WHERE EXISTS(SELECT 1 FROM chunks c WHERE c.document_id = d.id) AND {condition.text}"""
        return self._filter(sql, condition)

    def _filter(self, sql: str, condition: Sql) -> IdFilter:
        def keep(ids: Iterable[int]) -> set[int]:
            return {row[0] for row in self._tables.rows(sql, json.dumps(list(ids)), *condition.arguments)}

        return keep

    def _source(self, where: Where) -> Sql:
        """Return joins that reach at least every chunk inside, starting where an index is most selective."""
        filters = where.filters
        if where.chunks is not None:
            return Sql(
                """json_each(?) j CROSS JOIN chunks c ON c.id = j.value
                    CROSS JOIN documents d ON d.id = c.document_id WHERE 1""",
                (id_list(where.chunks),),
            )
        if where.only is not None:
            return Sql(
                """json_each(?) j CROSS JOIN documents d ON d.id = j.value
                    CROSS JOIN chunks c ON c.document_id = d.id WHERE 1""",
                (id_list(where.only),),
            )
        if filters.tags or filters.alias_prefix is not None:
            labels = _labelled(filters)
            return Sql(
                f"""({labels.text}) l CROSS JOIN documents d ON d.id = l.document_id
                    CROSS JOIN chunks c ON c.document_id = d.id WHERE 1""",
                labels.arguments,
            )
        if self.document_conditions(where):
            inside = self._tables.one_of("d.collection_id", where.collections)
            paths = starts_with("d.path", literal_prefix(filters.path or ""))
            return Sql(
                f"""documents d CROSS JOIN chunks c ON c.document_id = d.id
                    WHERE {inside.text} AND {paths.text}""",
                inside.arguments + paths.arguments,
            )
        if filters.depths:  # the index on collections holds no depth: looking up each row takes longer
            return Sql("chunks c NOT INDEXED WHERE 1")
        inside = self._tables.one_of("c.collection_id", where.collections)
        return Sql(f"chunks c WHERE {inside.text}", inside.arguments)


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
