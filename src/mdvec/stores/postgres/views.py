"""Views and a function under names that other programs know, over the tables of one collection."""

# ruff: noqa: S608 - the SQL is put together from constants and by psycopg.sql

from __future__ import annotations

from psycopg import sql

from mdvec.errors import StoreError
from mdvec.stores.postgres.connection import Connection
from mdvec.types.ids import CollectionId, SpaceId

_OURS = "made by mdvec store views"

_FIND = """SELECT c.relkind::text, obj_description(c.oid, 'pg_class') FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""
_FIND_FUNCTION = """SELECT 'f', obj_description(p.oid, 'pg_proc') FROM pg_proc p
    JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s AND p.proname = %s"""

# Ids are uuids there. These hold our number: the version 8 of RFC 9562 leaves that to us.
_DOCUMENT_ID = "('00000000-0000-8000-8000-' || lpad(to_hex({}), 12, '0'))::uuid"
_CHUNK_ID = "('00000000-0000-8000-8001-' || lpad(to_hex({}), 12, '0'))::uuid"

# Frontmatter may hold what jsonb does not take: a NUL, or a number that is none.
_AS_JSONB = """CREATE OR REPLACE FUNCTION {schema}.as_jsonb(source text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN source::jsonb;
EXCEPTION WHEN others THEN
  RETURN '{{}}'::jsonb;
END $$"""

# Other programs hash the inside of the frontmatter, a fence and the text, whatever the source's own
# identity of a file is (a repository has another kind of hash).
_HASH = r"""encode(sha256(convert_to(CASE WHEN d.content_start > 0 THEN regexp_replace(t.body, '^---\n', '')
    ELSE E'\n---\n' || t.body END, 'UTF8')), 'hex')"""
# The heading, which has a column of its own; bare headings may stand before it.
_HEADING_LINES = r"^(#{{1,6}}[ \t][^\n]*(\n+|$))+"
# The name of a note without a heading above: its title, or that of its file without a time.
_NAME = r"regexp_replace(d.title, '^\d{{8,14}}[_-]', '')"

# Each needs those before it, and the function all of them.
_VIEWS = {
    "raw.docs_github": f"""SELECT {_DOCUMENT_ID.format("d.id")} AS id, d.path AS file_path,
        {{schema}}.as_jsonb(t.frontmatter) AS frontmatter, substr(t.body, d.content_start + 1) AS content,
        {_HASH} AS content_hash, to_timestamp(d.indexed_at_ms / 1000.0) AS fetched_at
        FROM {{schema}}.documents d JOIN {{schema}}.contents t ON t.document_id = d.id
        WHERE d.collection_id = {{collection}}""",
    "rag.documents_with_metadata": f"""SELECT {_DOCUMENT_ID.format("d.id")} AS id,
        d.path AS file_path, d.title,
        ARRAY(SELECT l.display FROM {{schema}}.labels l
            WHERE l.document_id = d.id AND l.kind = 'tag' ORDER BY l.position) AS tags,
        ARRAY(SELECT l.display FROM {{schema}}.labels l
            WHERE l.document_id = d.id AND l.kind = 'alias' ORDER BY l.position) AS aliases,
        {_HASH} AS content_hash
        FROM {{schema}}.documents d JOIN {{schema}}.contents t ON t.document_id = d.id
        WHERE d.collection_id = {{collection}}""",
    "rag.documents": "SELECT * FROM rag.documents_with_metadata",
    "rag.chunks": f"""SELECT {_CHUNK_ID.format("c.id")} AS id,
        {_DOCUMENT_ID.format("c.document_id")} AS document_id,
        c.ordinal AS chunk_index, coalesce(c.heading_path::json ->> -2, {_NAME}) AS parent_heading,
        coalesce(c.heading_path::json ->> -1, '') AS heading,
        regexp_replace(substr(t.body, c.start + 1, c.stop - c.start), '{_HEADING_LINES}', '') AS content,
        v.vector::{{vector}}({{dimension}}) AS embedding, to_timestamp(d.indexed_at_ms / 1000.0) AS created_at
        FROM {{schema}}.chunks c JOIN {{schema}}.documents d ON d.id = c.document_id
        JOIN {{schema}}.contents t ON t.document_id = c.document_id
        LEFT JOIN {{schema}}.vectors v ON v.space_id = {{space}} AND v.text_hash = c.text_hash
        WHERE c.collection_id = {{collection}} AND NOT d.superseded""",
}
_FUNCTION = "public.search_chunks"
_SEARCH_CHUNKS = """CREATE FUNCTION public.search_chunks(
    query_embedding {vector}, filter_tags text[] DEFAULT NULL,
    match_count int DEFAULT 5, similarity_threshold float DEFAULT 0.7
) RETURNS TABLE(id uuid, title text, heading text, content text, file_path text, similarity float)
LANGUAGE sql STABLE SET search_path = {extension}, pg_temp AS $$
  SELECT c.id, d.title, c.heading, c.content, d.file_path, 1 - (c.embedding <=> query_embedding)
  FROM rag.chunks c JOIN rag.documents d ON d.id = c.document_id
  WHERE (filter_tags IS NULL OR d.tags && filter_tags)
  AND 1 - (c.embedding <=> query_embedding) >= similarity_threshold
  ORDER BY c.embedding <=> query_embedding LIMIT match_count
$$"""


def make_views(
    connection: Connection, schema: str, vector_schema: str, collection_id: CollectionId, space_id: SpaceId
) -> list[str]:
    """Make the views of a collection, inside a transaction, instead of those of another one.

    Readers see in them what they may see in the tables.

    Raises:
        StoreError: If there is something else of such a name.
    """
    (dimension,) = connection.execute("SELECT dimension FROM spaces WHERE id = %s", (space_id,)).fetchall()[0]
    parts = {
        "schema": sql.Identifier(schema),
        "extension": sql.Identifier(vector_schema),
        "vector": sql.Identifier(vector_schema, "vector"),
        "collection": sql.Literal(int(collection_id)),
        "space": sql.Literal(int(space_id)),
        "dimension": sql.Literal(int(dimension)),
    }
    _remove_ours(connection)
    for each in ("raw", "rag"):
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {each}; GRANT USAGE ON SCHEMA {each} TO PUBLIC")
    connection.execute(sql.SQL(_AS_JSONB).format(**parts))
    for name, query in _VIEWS.items():
        # With the rights of who asks: those of the owner would show everything to everybody.
        head = f"CREATE VIEW {name} WITH (security_invoker = true) AS "
        connection.execute(sql.SQL(head + query).format(**parts))
        connection.execute(f"GRANT SELECT ON {name} TO PUBLIC; COMMENT ON VIEW {name} IS '{_OURS}'")
    connection.execute(sql.SQL(_SEARCH_CHUNKS).format(**parts))
    connection.execute(f"COMMENT ON FUNCTION {_FUNCTION} IS '{_OURS}'")
    return [*_VIEWS, _FUNCTION]


def _remove_ours(connection: Connection) -> None:
    """Remove what was made before.

    Raises:
        StoreError: If there is something of another program under one of the names.
    """
    for name in (_FUNCTION, *reversed(_VIEWS)):
        find = _FIND_FUNCTION if name == _FUNCTION else _FIND
        for kind, comment in connection.execute(find, tuple(name.split("."))).fetchall():
            if comment != _OURS:
                msg = f"{name} already exists, and mdvec did not create it"
                raise StoreError(msg, hint="Rename or drop it; nothing was changed.")
            connection.execute(f"DROP {'FUNCTION' if kind == 'f' else 'VIEW'} {name}")
