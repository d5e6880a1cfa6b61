"""A vector index in LanceDB: tables in a folder or in an S3 bucket, which many machines may read."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

# LanceDB writes warnings about every query to standard error; it reads this when it is imported.
os.environ.setdefault("LANCEDB_LOG", "error")
import lancedb
import pyarrow as pa
from lancedb.index import HnswSq

from mdvec.errors import StoreError
from mdvec.settings import BucketSettings, Count
from mdvec.stores.vectors.folders import IndexFolder, cannot_be_used, free_name, not_ours
from mdvec.stores.vectors.index import (
    IndexedSpace,
    Inside,
    Mark,
    Neighbours,
    VectorChanges,
    VectorEntry,
    VectorKind,
)

if TYPE_CHECKING:
    from mdvec.stores.vectors.index import Vector

SPACES = "mdvec_spaces"
"""The table of what is in the others."""

TABLES = {VectorKind.TEXT: "sections", VectorKind.NAME: "names"}
"""The tables of the first space; those of another one end in a number."""

_LOCK_WAIT_S = 2.0  # searches can do without the index
_MIN_AGE = timedelta(minutes=10)  # versions that other processes may be reading
_MAX_VERSIONS = 20  # of a table, until the old ones are removed
_ROWS_A_DELETE = 1_000

_FAILURES = (RuntimeError, ValueError, OSError, pa.ArrowException)

_TEXTS = ("name", "space", "mark", "epoch")
_SPACE_ROWS = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=name != "name") for name in _TEXTS),
        pa.field("version", pa.int64()),
    ]
)


class LanceSettings(BucketSettings, frozen=True, kw_only=True):
    """``[store.lancedb]``. Keys of S3 come from the usual variables (``AWS_ACCESS_KEY_ID`` and so on).

    Attributes:
        flat_rows: Tables with fewer rows are searched exactly; larger ones get an HNSW graph.
        refine: How many times as many candidates of the graph are compared exactly.
    """

    flat_rows: Count = 50_000
    refine: Count = 2


class _SpaceRow(Struct, frozen=True):
    """A space, in the table ``name``; the mark is empty until the first changes are complete.

    Attributes:
        version: Of the table when the mark was written; an older one has lost changes.
    """

    name: str
    space: str
    mark: str
    epoch: str
    version: int = 0

    @property
    def condition(self) -> str:
        """SQL for this row, unless its space was dropped and begun again."""
        return f"name = '{self.name}' AND epoch = '{self.epoch}'"


class LanceVectorIndex:
    """Vectors with what a reader of the table ``sections`` wants to know of them.

    In a folder one process writes at a time. In a bucket there is no lock: what two processes write at once
    are the same rows, and the mark of a process whose space was dropped meanwhile is not written.

    Args:
        place: A folder, or ``s3://BUCKET/PATH``; made when it is not there.
        settings: See :class:`LanceSettings`.

    Raises:
        StoreError: If the folder holds something else.
    """

    Settings = LanceSettings

    def __init__(self, place: str, **settings: Any) -> None:
        self._folder = IndexFolder(place)
        self._settings = LanceSettings(**settings)
        self.location = self._folder.location

    def applied(self, space: IndexedSpace) -> Mark | None:
        with self._opened() as database:
            row = _find(database, space)
        return Mark(row.mark) if row is not None and row.mark else None

    def apply(self, space: IndexedSpace, changes: VectorChanges) -> bool:
        """Apply changes, the mark last; each row has a key, so that applying them again repairs all."""
        with self._opened(writing=True) as database:
            row = _find(database, space)
            if database is None or (row.mark if row is not None else "") != (changes.since or ""):
                return False
            if row is None or not row.mark:
                row = _reserve(database, space, row)
            if row is None:
                return False
            table = _table(database, row)
            _write(table, changes, space.dimension)
            values = {"mark": changes.until, "version": table.version}
            done = database.open_table(SPACES).update(where=row.condition, values=values)
            return bool(done.rows_updated == 1)

    def nearest(self, space: IndexedSpace, query: Vector, limit: int, inside: Inside) -> Neighbours:
        """Return the owners of the nearest entries: exact, or from a graph where there is one."""
        with self._opened() as database:
            row = _find(database, space)
            if row is None:
                return []
            table = _table(database, row)
            # Vectors have unit length; a vector of zeros has no cosine.
            search = table.search(query, vector_column_name="vector").distance_type("dot")
            if inside is not None:
                ids = ", ".join(str(int(each)) for each in inside)
                search = search.where(f"collection IN ({ids})", prefilter=True)
            search = search.select(["owner", "_distance"]).limit(limit).refine_factor(self._settings.refine)
            found = search.to_arrow()
            if len(found) < limit and table.list_indices():
                found = search.bypass_vector_index().to_arrow()
        similarities = 1.0 - found["_distance"].to_numpy()
        return list(zip(found["owner"].to_pylist(), similarities.tolist(), strict=True))

    def drop(self, space: IndexedSpace) -> None:
        with self._opened(writing=True) as database:
            if database is None:
                msg = f"another process writes to the vector index {self.location}"
                raise StoreError(msg)
            while (row := _find(database, space)) is not None:
                _remove(database, row)

    def optimize(self) -> None:
        """Merge small files, remove old versions, and make the graphs complete."""
        with self._opened(writing=True) as database:
            if database is None:
                return
            tables = _tables(database)
            for table in (*tables, database.open_table(SPACES)):
                if len(table.list_versions()) > _MAX_VERSIONS or _unindexed(table):
                    # A graph that cannot be merged would never be complete again.
                    with suppress(*([RuntimeError] if _unindexed(table) else [])):
                        table.optimize(cleanup_older_than=_MIN_AGE)
            for table in tables:
                names = [each.name for each in table.list_indices()]
                if _unindexed(table) or (not names and table.count_rows() >= self._settings.flat_rows):
                    for name in names:
                        table.drop_index(name)
                    table.create_index("vector", config=HnswSq(distance_type="dot"))

    def close(self) -> None:
        """Do nothing: nothing is open between two calls."""

    @contextmanager
    def _opened(self, *, writing: bool = False) -> Iterator[Any]:
        """Connect, for writing as the only process in a folder; what cannot be read is removed.

        Yields:
            The connection; None where nothing is yet, or, for writing, while another process writes.
        """
        try:
            lock = self._folder.locked(_LOCK_WAIT_S) if writing else nullcontext(enter_result=True)
            with _panics_as_errors(), lock as mine:
                yield self._connect(make=writing) if mine else None
        except _FAILURES as error:
            with suppress(OSError):
                self._remove_damage()
            raise cannot_be_used(self.location, error) from error

    def _connect(self, *, make: bool) -> Any:
        folder = self._folder.path
        self._folder.refuse_other_files()
        if folder is not None and not folder.exists() and not make:
            return None
        region, endpoint = self._settings.region, self._settings.endpoint
        allow_http = "true" if endpoint is not None and endpoint.startswith("http://") else None
        options = {"aws_region": region, "aws_endpoint": endpoint, "allow_http": allow_http}
        database = lancedb.connect(
            self.location,
            read_consistency_interval=timedelta(0),
            storage_options={name: value for name, value in options.items() if value is not None},
        )
        tables = database.list_tables().tables
        if SPACES in tables:
            return database
        if tables and folder is None:
            raise not_ours(self.location)
        if not make:
            return None
        spaces = database.create_table(SPACES, schema=_SPACE_ROWS, exist_ok=True)
        spaces.set_unenforced_primary_key("name")
        return database

    def _remove_damage(self) -> None:
        """Empty a folder whose tables cannot be read though no process writes."""
        folder = self._folder.path
        if folder is None or not os.access(folder, os.W_OK):
            return
        with self._folder.locked(_LOCK_WAIT_S) as mine:
            if not mine:
                return
            try:
                with _panics_as_errors():
                    for table in _tables(self._connect(make=False)):
                        for _ in table.search().to_batches():
                            pass
            except _FAILURES:
                self._folder.empty()


def _find(database: Any, space: IndexedSpace) -> _SpaceRow | None:
    key = _key(space)
    return next((row for row in _rows(database) if row.space == key), None)


def _key(space: IndexedSpace) -> str:
    return space.key if space.kind is VectorKind.TEXT else f"{space.key} names"


def _rows(database: Any) -> list[_SpaceRow]:
    if database is None:
        return []
    spaces = database.open_table(SPACES).to_arrow()
    if set(spaces.schema.names) != set(_SPACE_ROWS.names):
        msg = "another version of mdvec made its list of spaces"
        raise ValueError(msg)
    return [_SpaceRow(**row) for row in spaces.to_pylist()]


def _tables(database: Any) -> list[Any]:
    """Return the tables of all spaces that were finished."""
    return [_table(database, row) for row in _rows(database) if row.mark]


def _table(database: Any, row: _SpaceRow) -> Any:
    """Return the table of a space; Lance opens an older version where the newest one is lost."""
    table = database.open_table(row.name)
    if table.version < row.version:
        msg = f"version {row.version} of the table {row.name} is lost"
        raise RuntimeError(msg)
    return table


@contextmanager
def _panics_as_errors() -> Iterator[None]:
    """Raise a RuntimeError where Lance's own code has panicked, whose exception cannot be imported."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "RustPanic":
            raise
        raise RuntimeError(str(error)) from error


def _reserve(database: Any, space: IndexedSpace, unfinished: _SpaceRow | None) -> _SpaceRow | None:
    """Make empty tables for a space; return None if another process was faster."""
    if unfinished is not None:
        _remove(database, unfinished)
    name = free_name(TABLES[space.kind], {row.name for row in _rows(database)})
    row = _SpaceRow(name, _key(space), "", secrets.token_hex(8))
    values = {column: [getattr(row, column)] for column in _SPACE_ROWS.names}
    insert = database.open_table(SPACES).merge_insert("name").when_not_matched_insert_all()
    if insert.execute(pa.table(values, schema=_SPACE_ROWS)).num_inserted_rows != 1:
        return None
    made = database.create_table(name, section_rows([], space.dimension), mode="overwrite")
    # Without it two processes that add a row at once both keep it (lance#4585).
    made.set_unenforced_primary_key("entry")
    return row


def _remove(database: Any, row: _SpaceRow) -> None:
    database.open_table(SPACES).delete(row.condition)
    database.drop_table(row.name, ignore_missing=True)


def _write(table: Any, changes: VectorChanges, dimension: int) -> None:
    removed = [str(key) for key in changes.removed]
    for at in range(0, len(removed), _ROWS_A_DELETE):
        table.delete(f"entry IN ({', '.join(removed[at : at + _ROWS_A_DELETE])})")
    if changes.added:
        upsert = table.merge_insert("entry").when_matched_update_all().when_not_matched_insert_all()
        upsert.execute(section_rows(changes.added, dimension))


def _unindexed(table: Any) -> int:
    """Return how many rows are missing in the graph of a table; 0 without a graph."""
    return sum(table.index_stats(each.name).num_unindexed_rows for each in table.list_indices())


def section_rows(entries: Sequence[VectorEntry], dimension: int) -> pa.Table:
    """Return rows of ``sections``: the columns that search-docs has, in its order, then ours."""
    sections = [each.section for each in entries]
    columns = {
        "id": (pa.string(), [each.id for each in sections]),
        "document_path": (pa.string(), [each.document_path for each in sections]),
        "heading": (pa.string(), [each.heading for each in sections]),
        "depth": (pa.int32(), [each.depth for each in sections]),
        "content": (pa.string(), [each.content for each in sections]),
        "token_count": (pa.int32(), [each.token_count for each in sections]),
        "vector": (pa.list_(pa.float32(), dimension), [each.vector for each in entries]),
        "parent_id": (pa.string(), [each.parent_id for each in sections]),
        "order": (pa.int32(), [each.order for each in sections]),
        "is_dirty": (pa.bool_(), [each.is_dirty for each in sections]),
        "document_hash": (pa.string(), [each.document_hash for each in sections]),
        "created_at": (pa.timestamp("ms"), [each.created_at_ms for each in sections]),
        "updated_at": (pa.timestamp("ms"), [each.updated_at_ms for each in sections]),
        "entry": (pa.int64(), [each.id for each in entries]),
        "owner": (pa.int64(), [each.owner for each in entries]),
        "collection": (pa.int64(), [each.collection_id for each in entries]),
    }
    fields = [pa.field(name, kind, nullable=name != "entry") for name, (kind, _) in columns.items()]
    return pa.table({name: values for name, (_, values) in columns.items()}, schema=pa.schema(fields))
