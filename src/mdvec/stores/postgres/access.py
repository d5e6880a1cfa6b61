"""Who may read what: row-level security, by the collections that are granted to a role."""

from __future__ import annotations

from collections.abc import Mapping

from psycopg import errors, sql

from mdvec.errors import NotFoundError
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.vector_tables import NEW_EPOCH
from mdvec.types.ids import CollectionId

# A role sees its own rows of this table, and by them what is granted to it.
ACCESS = """
-- Which roles may read which collections. Whoever owns the tables, or is a member of the owner, may all.
CREATE TABLE access(
  role text COLLATE "C" NOT NULL,
  collection_id bigint NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  PRIMARY KEY(role, collection_id)
);
"""

_OWN_ROWS = """EXISTS(SELECT 1 FROM pg_roles r
    WHERE r.rolname = role AND pg_has_role(current_user, r.oid, 'USAGE'))"""
_GRANTED = "{} = ANY(ARRAY(SELECT collection_id FROM access))"
_OF_COLLECTION = _GRANTED.format("collection_id")
_OF_TERM = "EXISTS(SELECT 1 FROM terms t WHERE t.id = term_id)"
_OF_DOCUMENT = "EXISTS(SELECT 1 FROM documents d WHERE d.id = document_id)"
_VISIBLE = {
    "access": _OWN_ROWS,
    "collections": _GRANTED.format("id"),
    **dict.fromkeys(("documents", "chunks", "terms", "failures", "exclusions", "claims"), _OF_COLLECTION),
    **dict.fromkeys(("contents", "labels", "properties", "names", "links"), _OF_DOCUMENT),
    "chunk_terms": "EXISTS(SELECT 1 FROM chunks c WHERE c.id = chunk_id)",
    "taken": "EXISTS(SELECT 1 FROM claims l WHERE l.token = taken.token)",
    "postings": _OF_TERM,
    "removed_owners": "false",
    "vectors": """EXISTS(SELECT 1 FROM chunks c WHERE c.text_hash = vectors.text_hash)
        OR EXISTS(SELECT 1 FROM names n WHERE n.text_hash = vectors.text_hash)""",
}


def _policies(visible: Mapping[str, str]) -> str:
    """Return SQL by which the owner of tables sees all rows, and others those that a condition holds for.

    Args:
        visible: Conditions by table.
    """
    return "".join(
        f"""
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON {table} TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY reader ON {table} FOR SELECT TO PUBLIC USING ({condition});
"""
        for table, condition in visible.items()
    )


# meta, spaces and unrelated hold numbers and names of models, and are for everybody who may use the schema.
POLICIES = _policies(_VISIBLE)


def grant(connection: Connection, schema: str, collection_id: CollectionId, role: str) -> None:
    """Let a role read a collection, inside a transaction.

    Raises:
        NotFoundError: If there is no such role.
    """
    let_use(connection, schema, role)
    added = "INSERT INTO access VALUES (%s, %s) ON CONFLICT DO NOTHING"
    if connection.execute(added, (role, collection_id)).rowcount:
        connection.execute(NEW_EPOCH)  # in memory is what could be read before


def revoke(connection: Connection, collection_id: CollectionId, role: str) -> None:
    """Revoke the right to read a collection, inside a transaction."""
    removed = "DELETE FROM access WHERE role = %s AND collection_id = %s"
    if connection.execute(removed, (role, collection_id)).rowcount:
        connection.execute(NEW_EPOCH)  # in memory is what could be read before


def let_use(connection: Connection, schema: str, role: str) -> None:
    """Let a role read the tables; which rows it sees, the policies decide.

    Raises:
        NotFoundError: If there is no such role.
    """
    names = {"schema": sql.Identifier(schema), "role": sql.Identifier(role)}
    try:
        for right in ("USAGE ON SCHEMA {schema}", "SELECT ON ALL TABLES IN SCHEMA {schema}"):
            connection.execute(sql.SQL("GRANT " + right + " TO {role}").format(**names))
    except errors.UndefinedObject:
        msg = f"there is no role {role!r}"
        raise NotFoundError(msg, hint=f'Create it first: CREATE ROLE "{role}" LOGIN;') from None
