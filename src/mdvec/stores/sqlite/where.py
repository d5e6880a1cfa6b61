"""The part of a ``Where`` as SQL that only SQLite has: the index from which its chunks are listed.

The order of the joins is written down (CROSS JOIN), and columns that must not choose an index carry a
plus sign: without statistics the planner guesses wrong, by a factor of a thousand.
"""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

from mdvec.stores.tables import Sql, starts_with
from mdvec.stores.where_tables import WhereTables, alias_condition, tag_conditions
from mdvec.text.globs import literal_prefix
from mdvec.types.ids import CollectionId
from mdvec.types.query import Filters, TagMatch, Where


class SqliteWhere(WhereTables):
    """Finds which chunks and documents a ``Where`` covers."""

    date_condition = "p.value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]*'"
    labels_table = "labels l INDEXED BY labels_document"
    unindexed = "+"
    count_chunks = "SELECT count(*) FROM chunks"

    def path_condition(self, glob: str, collections: tuple[CollectionId, ...]) -> Sql:  # noqa: ARG002
        return Sql("matches_glob(?, d.path)", (glob,))

    def source(self, where: Where) -> Sql:
        """Return joins that reach at least every chunk inside, starting where an index is most selective."""
        filters = where.filters
        if where.chunks is not None:
            return Sql(
                """json_each(?) j CROSS JOIN chunks c ON c.id = j.value
                    CROSS JOIN documents d ON d.id = c.document_id WHERE 1""",
                (self.tables.ids(sorted(where.chunks)),),
            )
        if where.only is not None:
            return Sql(
                """json_each(?) j CROSS JOIN documents d ON d.id = j.value
                    CROSS JOIN chunks c ON c.document_id = d.id WHERE 1""",
                (self.tables.ids(sorted(where.only)),),
            )
        if filters.tags or filters.alias_prefix is not None:
            labels = _labelled(filters)
            return Sql(
                f"""({labels.text}) l CROSS JOIN documents d ON d.id = l.document_id
                    CROSS JOIN chunks c ON c.document_id = d.id WHERE 1""",
                labels.arguments,
            )
        if self.document_conditions(where):
            inside = self.tables.one_of("d.collection_id", where.collections)
            paths = starts_with("d.path", literal_prefix(filters.path or ""))
            return Sql(
                f"""documents d CROSS JOIN chunks c ON c.document_id = d.id
                    WHERE {inside.text} AND {paths.text}""",
                inside.arguments + paths.arguments,
            )
        if filters.depths:  # the index on collections holds no depth: looking up each row takes longer
            return Sql("chunks c NOT INDEXED WHERE 1")
        inside = self.tables.one_of("c.collection_id", where.collections)
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
