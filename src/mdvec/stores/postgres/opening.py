"""The first look at a database: is the extension there, are the tables those of this version."""

from __future__ import annotations

import re

from msgspec import Struct

from mdvec.errors import ConfigError, OtherVersionError, StoreError
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.schema import SCHEMA, VERSION
from mdvec.text.addresses import without_password

LOCK_TIMEOUT_S = 60
"""How long a writer waits for another one; transactions are short, but for the making of an index."""

_OLDEST_SERVER = 150_000
"""PostgreSQL 15: the first one whose views can have the rights of who asks."""

_SOUND_VECTOR = (0, 8, 4)
"""pgvector 0.8.4: vacuuming an HNSW index with an older one may damage it, or fail."""

_ITERATIVE_VECTOR = (0, 8)
"""The first pgvector that goes on where a filter lets too little through."""

EF_SEARCH = 1000
"""As many as pgvector takes, for texts. A search wants 400 of them; with 200, a fifth of the nearest ten are
missed among vectors that are as alike as those of E5."""

_FACTS = """SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
    (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE e.extname = 'vector'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    EXISTS(SELECT 1 FROM pg_available_extensions WHERE name = 'vector'), current_database(),
    current_setting('data_checksums') = 'on'"""


class Opened(Struct, frozen=True):
    """A database that can be used.

    Attributes:
        vector_schema: Where the extension is.
        vector_version: Its version, such as ``0.8.6``.
        has_checksums: Whether the server compares each page that it reads with a checksum.
    """

    vector_schema: str
    vector_version: str
    has_checksums: bool

    @property
    def settings(self) -> str:
        """The settings of a transaction, as SQL: how HNSW indexes are searched.

        No statement of a search takes as long as to compile it, or to start a process for a part of it.
        """
        settings = "SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0"
        settings += f"; SET LOCAL hnsw.ef_search = {EF_SEARCH}"
        if self._version >= _ITERATIVE_VECTOR:
            settings += "; SET LOCAL hnsw.iterative_scan = relaxed_order"
        return settings

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why answers may be wrong, for people."""
        if self._version >= _SOUND_VECTOR:
            return ()
        return (
            f"pgvector {self.vector_version} may damage the vector index of a large collection, or fail to "
            "change it; install 0.8.4 or newer on the server, and run: ALTER EXTENSION vector UPDATE;",
        )

    @property
    def _version(self) -> tuple[int, ...]:
        return tuple(map(int, re.findall(r"\d+", self.vector_version)[:3]))


def identifier(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def open_first(connection: Connection, schema: str, address: str) -> Opened:
    """Check the server, outside a transaction, and make the tables where there are none.

    Raises:
        ConfigError: If the server is too old, has no pgvector, or the database is not in UTF-8.
        OtherVersionError: If another version of mdvec made the tables; they are not touched.
        ReadOnlyDatabaseError: If the tables have to be made, and the user may not do that.
    """
    (facts,) = connection.execute(_FACTS).fetchall()
    server, encoding, vector_schema, vector_version, available, database, has_checksums = facts
    if server < _OLDEST_SERVER:
        place = without_password(address)
        msg = f"{place} is PostgreSQL {server // 10_000}; 15 is the oldest that mdvec can use"
        raise ConfigError(msg, hint="Upgrade the server.")
    if encoding != "UTF8":
        msg = f"the database {database} has the encoding {encoding}"
        raise ConfigError(msg, hint="Make one with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0;")
    if vector_schema is None:
        msg = f"the database {database} has no extension 'vector'"
        hint = "Run in it, as a user who may: CREATE EXTENSION vector;"
        if not available:
            hint = f"Install pgvector on the server (https://github.com/pgvector/pgvector). {hint}"
        raise ConfigError(msg, hint=hint)
    opened = Opened(vector_schema, vector_version, has_checksums)
    if not _has_tables(connection, schema, address):
        _make_tables(connection, schema, opened, address)
    return opened


def _has_tables(connection: Connection, schema: str, address: str) -> bool:
    """Return True if the tables are there.

    Raises:
        OtherVersionError: If another version of mdvec made them.
        StoreError: If another program uses the schema.
    """
    place = without_password(address)
    found = connection.execute(
        "SELECT EXISTS(SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'meta')", (schema,)
    ).fetchone()
    if found is None or not found[0]:
        return False
    version = f"SELECT value FROM {identifier(schema)}.meta WHERE key = 'schema_version'"  # noqa: S608
    row = connection.execute(version).fetchone()
    if row is None:
        msg = f"the schema {schema!r} of {place} belongs to another program"
        raise StoreError(msg, hint="Choose another one: [store.postgres] schema.")
    if row[0] != VERSION:
        msg = f"the schema {schema!r} of {place} has format {row[0]}, and this mdvec uses format {VERSION}"
        raise OtherVersionError(
            msg,
            hint="Install the version of mdvec that made it. Or choose another schema ([store.postgres] "
            "schema), register your folders again with 'mdvec tool add', and run 'mdvec import'.",
        )
    return True


def _make_tables(connection: Connection, schema: str, opened: Opened, address: str) -> None:
    """Make all tables in one transaction; other processes wait, and then find them."""
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'; SET LOCAL statement_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"mdvec {schema}",))
        if _has_tables(connection, schema, address):
            return
        # Asked first: to make what is there takes a right that is not needed.
        known = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
        if known is None:
            connection.execute(f"CREATE SCHEMA {identifier(schema)}")
        path = f"{identifier(schema)}, {identifier(opened.vector_schema)}"
        connection.execute(f"SET LOCAL search_path = {path}")
        connection.execute(SCHEMA)
