"""The store of a team: many machines write and search the same collections on a server."""

# ruff: noqa: S608 - the SQL is put together from constants

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, ClassVar

from mdvec.errors import ConfigError, DamagedDatabaseError, StoreError
from mdvec.stores.claims import Claim
from mdvec.stores.collection_tables import CollectionTables
from mdvec.stores.commits import current_version
from mdvec.stores.document_tables import ChunkTables, DocumentTables
from mdvec.stores.interface import Team, View, Writer
from mdvec.stores.pool import closed_on_error
from mdvec.stores.postgres.claims import ACTIVITIES, RowClaims
from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.database import PostgresDatabase, PostgresSettings, PostgresTables
from mdvec.stores.postgres.opening import identifier
from mdvec.stores.postgres.postings import ENTRIES, ENTRY_BYTES
from mdvec.stores.postgres.schema import set_access
from mdvec.stores.postgres.vectors import (
    PostgresVectors,
    make_indexes,
    spaces_without_indexes,
    take_texts,
)
from mdvec.stores.postgres.views import make_views
from mdvec.stores.postgres.words import PostgresWords, put_terms, remove_terms
from mdvec.stores.records import ChunkTerms, DocumentRecord
from mdvec.stores.tables import Memo, Readable, Sql, memorized, starts_with
from mdvec.stores.vector_tables import Matrices, SpaceTables
from mdvec.stores.vectors.follower import AttachedIndex
from mdvec.stores.vectors.index import VectorIndex
from mdvec.stores.vectors.journal import ATTACHED
from mdvec.stores.where_tables import WhereTables
from mdvec.text.addresses import without_password
from mdvec.text.globs import compile_glob, literal_prefix
from mdvec.text.hashing import text_hash
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId, SpaceId, TextHash
from mdvec.types.query import Where
from mdvec.types.report import Activity
from mdvec.types.store_report import PublishedVersion

_MISSING = """(SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id AND NOT d.superseded
     WHERE c.collection_id = ? AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.space_id = ? AND v.text_hash = c.text_hash))"""


_MAY_READ_ALL = """SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c
    WHERE c.oid = 'chunks'::regclass"""

_ATTACH = "INSERT INTO meta VALUES ('vector_index', %s) ON CONFLICT DO NOTHING"
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"""
_OUR_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY tablename"

# With texts that lie apart; a count alone would read neither them nor most columns.
_READ_ALL = "SELECT sum(length(record_send(each))) FROM {table} each"

_LENGTH_TOLERANCE = 0.02  # of a length; float16 rounds by far less

# Rows that contradict each other: no error of the server, but of a program that wrote them.
_CHECKS = {
    "{} chunks are missing from the word index": """SELECT count(*) FROM chunks c
        WHERE NOT EXISTS(SELECT 1 FROM chunk_terms w WHERE w.chunk_id = c.id)""",
    "{} entries of the word index belong to no chunk": f"""SELECT count(*) FROM ({ENTRIES}) e
        WHERE NOT EXISTS(SELECT 1 FROM chunk_terms w
            WHERE w.chunk_id = e.chunk_id AND e.term_id = ANY(w.term_ids))""",
    "{} chunks lack entries of the word index": f"""SELECT count(*) FROM chunk_terms w
        LEFT JOIN (SELECT chunk_id, count(*) AS terms FROM ({ENTRIES}) e GROUP BY chunk_id) e
            ON e.chunk_id = w.chunk_id
        WHERE cardinality(w.term_ids) <> coalesce(e.terms, 0)""",
    "{} words are counted wrongly": f"""SELECT count(*) FROM terms t
        LEFT JOIN (SELECT term_id, sum(octet_length(entries)) / {ENTRY_BYTES} AS chunks
            FROM postings GROUP BY term_id) p ON p.term_id = t.id
        WHERE t.chunks <> coalesce(p.chunks, 0)""",
    "the chunks of {} collections are counted wrongly": """SELECT count(*) FROM collections k
        WHERE (k.chunks, k.terms) <> (SELECT count(*), coalesce(sum(w.length), 0)
            FROM chunks c JOIN chunk_terms w ON w.chunk_id = c.id WHERE c.collection_id = k.id)""",
    "{} vectors are damaged": f"""SELECT count(*) FROM vectors v JOIN spaces s ON s.id = v.space_id
        WHERE vector_dims(v.vector) <> s.dimension
        OR l2_norm(v.vector) <> 0 AND abs(l2_norm(v.vector) - 1) > {_LENGTH_TOLERANCE}""",
}


class PostgresWhere(WhereTables):
    """Finds which chunks and documents a ``Where`` covers.

    PostgreSQL has statistics and chooses its joins itself. Globs are matched here, by the code of every other
    store, among the paths of a version.
    """

    date_condition = "p.value ~ '^[0-9]{4}-[0-9]{2}'"
    count_chunks = "SELECT coalesce(sum(chunks), 0) FROM collections"

    def path_condition(self, glob: str, collections: tuple[CollectionId, ...]) -> Sql:
        """Return the condition that a document ``d`` is one of those whose path matches a glob."""
        return self.tables.listed("d.id", self._documents_at(glob, collections))

    def source(self, where: Where) -> Sql:  # noqa: ARG002
        return Sql("chunks c JOIN documents d ON d.id = c.document_id WHERE true")

    @memorized
    def _documents_at(self, glob: str, collections: tuple[CollectionId, ...]) -> list[int]:
        matches = compile_glob(glob)
        prefix = starts_with("d.path", literal_prefix(glob))
        sql = f"""SELECT d.id, d.path FROM documents d
            WHERE d.collection_id = ANY(?::bigint[]) AND {prefix.text}"""
        rows = self.tables.rows(sql, list(collections), *prefix.arguments)
        return [document_id for document_id, path in rows if matches(path)]


class PostgresDocuments(DocumentTables):
    """The documents of a transaction."""

    def _put_terms(
        self, collection_id: CollectionId, chunks: Sequence[int], terms: Sequence[ChunkTerms]
    ) -> None:
        put_terms(self.tables, collection_id, chunks, terms)

    def _complete(self, documents: Sequence[int], records: Sequence[DocumentRecord]) -> None:  # noqa: ARG002
        """Mark the vectors of texts that are names from now on."""
        names = (text_hash(name) for record in records for name in record.names)
        self.tables.change(
            "UPDATE vectors SET named = true WHERE text_hash = ANY(?::bytea[]) AND NOT named", list(names)
        )

    def delete(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Remove documents with their terms, which no foreign key removes."""
        chosen = self.tables.named("path", paths)
        sql = f"SELECT id FROM documents WHERE collection_id = ? AND {chosen.text}"
        if ids := [row[0] for row in self.tables.rows(sql, collection_id, *chosen.arguments)]:
            remove_terms(self.tables, collection_id, ids)
            self.tables.change("DELETE FROM documents WHERE id = ANY(?::bigint[])", ids)


class PostgresChunks(ChunkTables):
    """The chunks of a transaction."""

    # Not by their ids: a sequence may leave some out.
    before_and_after = "coalesce(before.id, 0), coalesce(after.id, 0)"
    neighbours = """LEFT JOIN chunks before
            ON before.document_id = c.document_id AND before.ordinal = c.ordinal - 1
        LEFT JOIN chunks after ON after.document_id = c.document_id AND after.ordinal = c.ordinal + 1"""


class PostgresCollections(CollectionTables):
    """The collections of a transaction."""

    def _activities(self) -> list[Activity]:
        return [Activity(*row) for row in self.tables.rows(ACTIVITIES)]

    def delete(self, collection_id: CollectionId) -> None:
        self.tables.change(
            "DELETE FROM postings WHERE term_id IN (SELECT id FROM terms WHERE collection_id = ?)",
            collection_id,
        )
        self.tables.change("DELETE FROM collections WHERE id = ?", collection_id)

    def _pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        return Sql(_MISSING, (collection_id, space_id))


def snapshot(
    connection: Connection,
    exact_up_to: int,
    memo: Memo | None = None,
    matrices: Matrices | None = None,
    index: AttachedIndex | None = None,
    readable: Readable = None,
) -> Writer:
    """Return the parts of a transaction; one that only reads is shown as a :class:`View`.

    The arguments are those of its :class:`PostgresTables` and its :class:`PostgresVectors`.
    """
    tables = PostgresTables(connection, exact_up_to, memo, readable)
    where = PostgresWhere(tables)
    chunks = PostgresChunks(where)
    return Writer(
        version=tables.version,
        restricted=readable is not None,
        collections=PostgresCollections(tables),
        documents=PostgresDocuments(where),
        chunks=chunks,
        words=PostgresWords(where),
        spaces=SpaceTables(tables),
        vectors=PostgresVectors(where, chunks, matrices, index),
    )


class PostgresStore:
    """A store in a schema of a PostgreSQL database. Safe for several threads, processes and machines.

    Attributes:
        location: The address, without user name and password.

    Args:
        address: ``postgresql://…``, as libpq takes it.
        vector_index: Searched instead of the store's own; closed with the store.
        settings: See :class:`mdvec.stores.postgres.database.PostgresSettings`.

    Raises:
        ConfigError: If the address cannot be read, or the database cannot hold a store, or the role may not
            read all that a vector index holds; the hint says what is missing.
        OtherVersionError: If another version of mdvec made the tables; they are not touched.
        ReadOnlyDatabaseError: If the tables have to be made, and the user may not do that.
        StoreUnavailableError: If the server cannot be reached.
    """

    Settings = PostgresSettings
    takes_vector_index: ClassVar[bool] = True
    published: PublishedVersion | None = None

    def __init__(self, address: str, *, vector_index: VectorIndex | None = None, **settings: Any) -> None:
        self._database = PostgresDatabase(address, PostgresSettings(**settings))
        self.location = without_password(address)
        self._claims = RowClaims(self._database)
        self._memo = Memo()
        self._matrices = Matrices()
        self._exact_up_to = self._database.settings.exact_up_to
        self.has_checksums = self._database.opened.has_checksums
        self.warnings = self._database.opened.warnings  # nothing but for an old pgvector
        self._index = vector_index
        with closed_on_error(self._database):
            self._attached = None if vector_index is None else self._attach(vector_index)

    @property
    def team(self) -> Team:
        return self

    @property
    def size_bytes(self) -> int:
        """Bytes of the tables and their indexes."""
        with self._database.reading() as connection:
            size: int = connection.execute(_SIZE, (self._database.settings.schema,)).fetchall()[0][0]
            return size

    @contextmanager
    def read(self, readable: Readable = None) -> Iterator[View]:
        with self._database.reading() as connection:
            shared = self._memo, self._matrices, self._attached
            yield snapshot(connection, self._exact_up_to, *shared, readable)

    def make_vector_indexes(self) -> None:
        """Make the indexes of spaces that have become large; other writers wait meanwhile.

        At the end of an import: written into an index, each vector takes many times as long.
        """
        with self._database.reading() as connection:
            missing = spaces_without_indexes(connection, self._exact_up_to)
        if missing:
            with self._database.writing() as connection:  # where another process may have made them
                for space_id, dimension in spaces_without_indexes(connection, self._exact_up_to):
                    make_indexes(connection, space_id, dimension)

    @contextmanager
    def write(self, claim: Claim | None = None) -> Iterator[Writer]:
        with self._writing(claim) as connection:
            yield snapshot(connection, self._exact_up_to)

    def claim(
        self, collection: Collection | None, purpose: str, *, wait_s: float
    ) -> AbstractContextManager[Claim]:
        return self._claims.hold(collection, purpose, wait_s=wait_s)

    def check(self) -> list[StoreError]:
        """Look for pages that the server cannot read, and for rows that contradict each other."""
        try:
            with self._database.reading() as connection:
                for table in self._tables(connection):
                    connection.execute(_READ_ALL.format(table=identifier(table)))
                counts = {
                    message: connection.execute(sql).fetchall()[0][0] for message, sql in _CHECKS.items()
                }
        except DamagedDatabaseError as error:
            return [error]
        return [DamagedDatabaseError(message.format(count)) for message, count in counts.items() if count]

    def compact(self) -> None:
        schema = self._database.settings.schema
        with self._database.writing() as connection:
            connection.execute("DELETE FROM terms WHERE chunks = 0")
        with self._database.outside_transactions() as connection:
            names = ", ".join(
                f"{identifier(schema)}.{identifier(table)}" for table in self._tables(connection)
            )
            connection.execute(f"VACUUM (FULL, ANALYZE) {names}")

    def take_texts(self, claim: Claim, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        with self._writing(claim) as connection:
            token = self._claims.token(claim)
            return take_texts(PostgresTables(connection, self._exact_up_to, None), space_id, hashes, token)

    def share(
        self, lease: Claim, here: Sequence[CollectionId], missing: Sequence[CollectionId]
    ) -> set[CollectionId]:
        return self._claims.share(lease, here, missing)

    def set_access(self, collection: Collection, role: str, *, may_read: bool) -> None:
        schema = self._database.settings.schema
        with self._database.writing() as connection:
            set_access(connection, schema, collection.id, role, may_read=may_read)

    def make_views(self, collection: Collection, space_id: SpaceId) -> list[str]:
        schema, vector_schema = self._database.settings.schema, self._database.opened.vector_schema
        with self._database.writing() as connection:
            return make_views(connection, schema, vector_schema, collection.id, space_id)

    def close(self) -> None:
        self._claims.release_all()
        self._database.close()
        if self._index is not None:
            self._index.close()

    @contextmanager
    def _writing(self, claim: Claim | None) -> Iterator[Connection]:
        with self._database.writing() as connection:
            if claim is not None:
                self._claims.confirm(connection, claim)
            yield connection

    def _attach(self, index: VectorIndex) -> AttachedIndex:
        """Make the database write down removals.

        Raises:
            ConfigError: If the role may not read every collection: an index would lack the others, and show
                those that it may not read any more.
        """
        with self._database.reading() as connection:
            if not connection.execute(_MAY_READ_ALL).fetchall()[0][0]:
                msg = "a vector index beside the database needs a role that may read every collection"
                raise ConfigError(
                    msg, hint="Leave out [store] vectors, or connect as the owner of the tables."
                )
            known = connection.execute(ATTACHED).fetchone() is not None
        if not known:
            with self._database.writing() as connection:
                connection.execute(_ATTACH, (secrets.randbits(62),))
        return AttachedIndex(index, partial(current_version, self))

    def _tables(self, connection: Connection) -> list[str]:
        """Return the names of our tables."""
        return [row[0] for row in connection.execute(_OUR_TABLES, (self._database.settings.schema,))]
