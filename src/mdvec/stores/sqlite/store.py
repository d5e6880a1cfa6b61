"""The default store: everything in one file that can be copied, moved and deleted like any other."""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import ClassVar

from mdvec.errors import DamagedDatabaseError, StoreError
from mdvec.stores.claims import Claim
from mdvec.stores.collection_tables import CollectionTables
from mdvec.stores.commits import current_version
from mdvec.stores.document_tables import ChunkTables, DocumentTables
from mdvec.stores.interface import Team, View, Writer
from mdvec.stores.pool import closed_on_error
from mdvec.stores.records import ChunkTerms, DocumentRecord
from mdvec.stores.sqlite.checksums import DOCUMENT_CHECKSUM, REPAIR_HINT, damaged_rows
from mdvec.stores.sqlite.claim_files import FileClaims, is_gone
from mdvec.stores.sqlite.connection import BUSY_TIMEOUT_S, Connection
from mdvec.stores.sqlite.database import SqliteDatabase, SqliteTables
from mdvec.stores.sqlite.opening import Opening, read_mark, read_spaces
from mdvec.stores.sqlite.schema import attach
from mdvec.stores.sqlite.vectors import SqliteVectors
from mdvec.stores.sqlite.where import SqliteWhere
from mdvec.stores.sqlite.words import SqliteWords
from mdvec.stores.tables import Memo, Readable, Sql
from mdvec.stores.vector_tables import Matrices, SpaceTables
from mdvec.stores.vectors.follower import AttachedIndex
from mdvec.stores.vectors.index import VectorIndex
from mdvec.stores.vectors.journal import ATTACHED
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.report import Activity
from mdvec.types.store_report import PublishedVersion

_MAX_PROBLEMS = 20
# In the file format of FTS5 the upper bits of an id name a segment; larger ones are lists of deleted rows.
_SEGMENT_BITS = 37
_MAX_SEGMENTS = 0xFFFF
# Of the pages of the index of words, the share outside of its largest segment; and the most that are written
# at once: 200 MB, in three seconds.
_MAX_APART = 0.2
_MAX_MERGED_PAGES = 50_000

# EXCEPT merges two indexes in order of hash: 7 ms for 72,000 chunks, where looking for each chunk's vector by
# itself takes 49.
_MISSING = """(SELECT count(*) FROM (SELECT text_hash FROM chunks WHERE collection_id = ?
        EXCEPT SELECT text_hash FROM vectors WHERE space_id = ?) missing
     CROSS JOIN chunks c ON c.collection_id = ? AND c.text_hash = missing.text_hash
     CROSS JOIN documents d ON d.id = c.document_id AND NOT d.superseded)"""
_WITHOUT_SPACE = """(SELECT count(*) FROM chunks WHERE collection_id = ?)
    - (SELECT count(*) FROM documents d CROSS JOIN chunks c ON c.document_id = d.id
        WHERE d.collection_id = ? AND d.superseded)"""


class SqliteDocuments(DocumentTables):
    """The documents of a transaction."""

    intact = f"d.checksum = {DOCUMENT_CHECKSUM}"
    links_table = "links l INDEXED BY links_previous"

    def _put_terms(
        self,
        collection_id: CollectionId,  # noqa: ARG002 - words are counted for all collections together
        chunks: Sequence[int],
        terms: Sequence[ChunkTerms],
    ) -> None:
        self.tables.change_each(
            "INSERT INTO chunks_fts(rowid, main, minor) VALUES (?, ?, ?)",
            [(key, each.main, each.minor) for key, each in zip(chunks, terms, strict=True)],
        )

    def _complete(self, documents: Sequence[int], records: Sequence[DocumentRecord]) -> None:  # noqa: ARG002
        """Write the checksums of new documents."""
        self.tables.change(
            f"UPDATE documents AS d SET checksum = {DOCUMENT_CHECKSUM} WHERE id BETWEEN ? AND ?",  # noqa: S608
            documents[0],
            documents[-1],
        )

    def _merge_words(self) -> None:
        # A term is looked up in each segment: in four of them, it takes four times as long.
        pages = [row[0] for row in self.tables.rows("SELECT count(*) FROM chunks_fts_idx GROUP BY segid")]
        largest, total = max(pages, default=0), sum(pages)
        if total <= _MAX_MERGED_PAGES and total - largest > _MAX_APART * total:
            self.tables.change("INSERT INTO chunks_fts(chunks_fts) VALUES ('optimize')")


class SqliteCollections(CollectionTables):
    """The collections of a transaction."""

    def __init__(self, tables: SqliteTables, claims: FileClaims | None) -> None:
        super().__init__(tables)
        self._claims = claims

    def _activities(self) -> list[Activity]:
        return [] if self._claims is None else self._claims.activities(self.all())

    def delete(self, collection_id: CollectionId) -> None:
        self.tables.change("DELETE FROM collections WHERE id = ?", collection_id)
        if self._claims is not None:
            self._claims.remove(collection_id)

    def _pending_chunks(self, collection_id: CollectionId, space_id: SpaceId | None) -> Sql:
        if space_id is None:
            return Sql(_WITHOUT_SPACE, (collection_id, collection_id))
        return Sql(_MISSING, (collection_id, space_id, collection_id))


def snapshot(
    connection: Connection,
    claims: FileClaims | None = None,
    memo: Memo | None = None,
    matrices: Matrices | None = None,
    index: AttachedIndex | None = None,
    readable: Readable = None,
) -> Writer:
    """Return the parts of a transaction; one that only reads is shown as a :class:`View`.

    The arguments are those of its :class:`SqliteTables` and its :class:`SqliteVectors`; claims are None where
    nobody asks for them.
    """
    tables = SqliteTables(connection, memo, readable)
    where = SqliteWhere(tables)
    chunks = ChunkTables(where)
    vectors = SqliteVectors
    if index is not None:
        from mdvec.stores.sqlite.indexed import SqliteIndexedVectors

        vectors = SqliteIndexedVectors
    return Writer(
        version=tables.version,
        restricted=readable is not None,
        collections=SqliteCollections(tables, claims),
        documents=SqliteDocuments(where),
        chunks=chunks,
        words=SqliteWords(where),
        spaces=SpaceTables(tables),
        vectors=vectors(where, chunks, matrices, index),
    )


class SqliteStore:
    """A store in one SQLite file. Safe to use from several threads, and from several processes.

    Attributes:
        path: Absolute path of the file.
        location: The same as text.

    Args:
        path: The file; made when it is not there, with its folders.
        read_only: Do not write even where it is possible. A file in a place that cannot be written
            is opened so by itself.
        vector_index: Searched instead of a matrix in memory; closed with the store.
        writes_matrices: Whether to write files of vectors next to it for other processes; None to do so
            where the store can be written.
        follow_links: Whether the path may hold symbolic links.
        mark: What the database gets if it has no mark (see :meth:`mark_of`); None for none.

    Raises:
        NotADatabaseError: If the file is something else; it is not touched.
        OtherVersionError: If another version wrote it, and it cannot be rebuilt; it is not touched.
        ReadOnlyDatabaseError: If it would have to be made, and cannot be written.
        StoreError: If it cannot be opened for another reason.
    """

    takes_vector_index: ClassVar[bool] = True
    published: PublishedVersion | None = None
    team: Team | None = None

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        follow_links: bool = True,
        mark: int | None = None,
        vector_index: VectorIndex | None = None,
        writes_matrices: bool | None = None,
    ) -> None:
        self._database = SqliteDatabase(path, Opening(read_only, follow_links, mark))
        self.path = self._database.path
        self.location = str(self.path)
        self._claims = FileClaims(self.path)
        self._memo = Memo()
        writes_matrices = not self.read_only if writes_matrices is None else writes_matrices
        self._matrices = Matrices(self.path, read_only=not writes_matrices)
        self._index = vector_index
        with closed_on_error(self._database):
            self._attached = None if vector_index is None else self._attach(vector_index)

    mark_of = staticmethod(read_mark)
    spaces_of = staticmethod(read_spaces)

    @staticmethod
    def write_copy(
        path: Path, target: Path, names: AnyCollection[str], version: int, *, follow_links: bool
    ) -> str:
        """Write some collections of a file into another one; see :mod:`mdvec.stores.sqlite.copying`."""
        from mdvec.stores.sqlite.copying import write_copy

        return write_copy(path, target, names, version, snapshot, follow_links=follow_links)

    @staticmethod
    def adopt(path: Path) -> None:
        """Make a file of :meth:`write_copy` from elsewhere ready to be searched, whoever wrote it.

        Raises:
            StoreError: If it is no such file, damaged, or has what could run.
        """
        from mdvec.stores.sqlite.copying import adopt

        adopt(path, snapshot)

    @property
    def size_bytes(self) -> int:
        """Bytes of the file and its log."""
        return sum(_size_bytes(each) for each in (self.path, self.path.with_name(f"{self.path.name}-wal")))

    @property
    def read_only(self) -> bool:
        """True if nothing can be written."""
        return self._database.read_only

    @property
    def warnings(self) -> tuple[str, ...]:
        if not self._database.ignores_log:
            return ()
        return (
            f"the latest changes of {self.path} are missing: they are in {self.path.name}-wal, which cannot "
            "be read in a read-only place; copy both files to a writable folder",
        )

    @contextmanager
    def read(self, readable: Readable = None) -> Iterator[View]:
        with self._database.reading() as connection:
            yield snapshot(connection, self._claims, self._memo, self._matrices, self._attached, readable)

    @contextmanager
    def write(self, claim: Claim | None = None) -> Iterator[Writer]:
        with self._database.writing(BUSY_TIMEOUT_S if claim is None else claim.wait_s) as connection:
            if claim is not None:
                self._claims.confirm(connection, claim)
            yield snapshot(connection, self._claims)

    @contextmanager
    def claim(self, collection: Collection | None, purpose: str, *, wait_s: float) -> Iterator[Claim]:
        self._database.require_writable()
        with self._claims.hold(collection, purpose, wait_s=wait_s) as claim:
            with self._database.reading() as connection:
                if is_gone(connection, claim):
                    raise claim.deleted()
            yield claim

    def make_vector_indexes(self) -> None:
        """Do nothing: vectors are searched in memory, or by an index next to the file."""

    def check(self) -> list[StoreError]:
        try:
            with self._database.reading() as connection:
                found: list[StoreError] = [DamagedDatabaseError(each) for each in _problems(connection)]
                damaged = damaged_rows(connection)
                if damaged and not found:
                    found.append(DamagedDatabaseError(f"{damaged} are damaged", hint=REPAIR_HINT))
            if not found and not self.read_only:
                with self._database.writing() as connection:
                    # An INSERT to SQLite, though it changes nothing.
                    connection.execute(
                        "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 0)"
                    )
        except DamagedDatabaseError as error:
            return [error]
        return found

    def compact(self) -> None:
        self._database.compact()
        from mdvec.stores.matrix_file import matrix_files, remove_file

        for path in matrix_files(self.path).values():  # they contain vectors of deleted texts
            remove_file(path)

    def close(self) -> None:
        self._claims.release_all()
        self._database.close()
        if self._index is not None:
            self._index.close()

    def _attach(self, index: VectorIndex) -> AttachedIndex | None:
        """Make the file write down removals; return None where that is needed and not possible."""
        with self._database.reading() as connection:
            known = connection.execute(ATTACHED).get is not None
        if not known and self.read_only:
            return None
        if not known:
            with self._database.writing() as connection:
                attach(connection)
        return AttachedIndex(index, partial(current_version, self))


def _problems(connection: Connection) -> list[str]:
    """Return problems of the file's structure, of references, and of the words of chunks.

    Documents without a fingerprint came through a rebuild, and get their words when they are imported.
    """
    found = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})")]
    found = [message for message in found if message != "ok"]
    found += [
        f"a row of {row[0]} refers to a missing row of {row[2]}"
        for row in connection.execute("PRAGMA foreign_key_check")
    ][:_MAX_PROBLEMS]
    wordless, ownerless = connection.execute(
        """SELECT (SELECT count(*) FROM chunks c CROSS JOIN documents d ON d.id = c.document_id
            WHERE c.id NOT IN (SELECT id FROM chunks_fts_docsize) AND d.fingerprint != ''),
        (SELECT count(*) FROM chunks_fts_docsize WHERE id NOT IN (SELECT id FROM chunks))"""
    ).get
    # Each segment of the word index has a page of terms; FTS5's own check does not look for it.
    unreachable = connection.execute(
        f"""SELECT count(DISTINCT id >> {_SEGMENT_BITS}) FROM chunks_fts_data
        WHERE id >> {_SEGMENT_BITS} BETWEEN 1 AND {_MAX_SEGMENTS}
        AND id >> {_SEGMENT_BITS} NOT IN (SELECT segid FROM chunks_fts_idx)"""  # noqa: S608 - numbers
    ).get
    if unreachable:
        found.append(f"{unreachable} parts of the word index cannot be reached")
    if wordless:
        found.append(f"{wordless} chunks are missing from the word index")
    if ownerless:
        found.append(f"{ownerless} entries of the word index belong to no chunk")
    return found


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the last one to close the file removes the log
        return 0
