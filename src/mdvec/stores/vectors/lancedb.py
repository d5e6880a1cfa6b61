"""A vector index in LanceDB: tables in a folder or in an S3 bucket, which many machines may read."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from msgspec import Struct

# LanceDB writes warnings about every query to standard error; it reads this when it is imported.
os.environ.setdefault("LANCEDB_LOG", "error")
import lancedb
import pyarrow as pa
from lancedb.index import HnswSq

from mdvec.locks import locked
from mdvec.settings import BucketSettings, Count
from mdvec.stores.vectors.folders import (
    LOCK,
    cannot_be_used,
    free_name,
    not_ours,
    refuse_other_files,
)
from mdvec.stores.vectors.index import IndexedSpace, Mark, VectorChanges, VectorEntry, VectorKind
from mdvec.types.ids import CollectionId

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACES = "mdvec_spaces"
"""The table of what is in the others."""

TABLES = {VectorKind.TEXT: "sections", VectorKind.NAME: "names"}
"""The tables of the first space; those of another one end in a number."""

_LOCK_WAIT_S = 2.0  # searches can do without the index
_KEPT = timedelta(minutes=10)  # versions that other processes may be reading
_MAX_VERSIONS = 20  # of a table, until the old ones are removed
_ROWS_A_DELETE = 1_000

_FAILURES = (RuntimeError, ValueError, OSError, pa.ArrowException)

_SPACE_ROWS = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("mark", pa.string()),
        pa.field("epoch", pa.string()),
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
    """A row of the table of spaces; the mark is empty until the first changes are complete."""

    name: str
    key: str
    mark: str
    epoch: str

    def table(self, kind: VectorKind) -> str:
        return TABLES[kind] + self.name.removeprefix(TABLES[VectorKind.TEXT])


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
    keeps_texts: ClassVar[bool] = True

    def __init__(self, place: str, **settings: Any) -> None:
        self._folder = None if "://" in place else Path(place).absolute()
        self.location = place if self._folder is None else str(self._folder)
        self._settings = LanceSettings(**settings)
        self._guard = threading.Lock()
        self._connection: Any = None
        self._tables: dict[tuple[str, str], Any] = {}
        refuse_other_files(self._folder)

    def applied(self, space: IndexedSpace) -> Mark | None:
        """Return the mark of the last applied changes."""
        with self._translated():
            row = self._find(space)
        return Mark(row.mark) if row is not None and row.mark else None

    def apply(self, space: IndexedSpace, changes: VectorChanges) -> bool:
        """Apply changes, the mark last; each row has a key, so that applying them again repairs all."""
        with self._translated(), self._writing() as mine:
            if not mine:
                return False
            row = self._find(space)
            if (row.mark if row is not None else "") != (changes.since or ""):
                return False
            if row is None or not row.mark:
                row = self._reserve(space, row)
            if row is None:
                return False
            for kind in VectorKind:
                self._write(row, kind, changes, space.dimension)
            done = self._open(SPACES).update(
                where=f"name = '{row.name}' AND epoch = '{row.epoch}'", values={"mark": changes.until}
            )
            return bool(done.rows_updated == 1)

    def nearest(
        self,
        space: IndexedSpace,
        query: NDArray[np.float32],
        kind: VectorKind,
        limit: int,
        collections: Sequence[CollectionId] | None,
    ) -> list[tuple[int, float]]:
        """Return the owners of the nearest entries: exact, or from a graph where there is one."""
        if limit <= 0 or (collections is not None and not collections):
            return []
        with self._translated():
            row = self._find(space)
            if row is None:
                return []
            table = self._open(row.table(kind), row.epoch)
            found = self._search(table, query, limit, collections, exactly=False)
            if len(found) < limit and table.list_indices():
                found = self._search(table, query, limit, collections, exactly=True)
        return found

    def drop(self, space: IndexedSpace) -> None:
        """Remove a space."""
        with self._translated(), self._writing():
            while (row := self._find(space)) is not None:
                self._remove(row)

    def optimize(self) -> None:
        """Merge small files, remove old versions, and make the graphs complete."""
        with self._translated(), self._writing() as mine:
            if not mine or self._connect() is None:
                return
            tables = self._all_tables()
            for table in tables.values():
                self._index(table)
            for table in (*tables.values(), self._open(SPACES)):
                if len(table.list_versions()) > _MAX_VERSIONS:
                    table.optimize(cleanup_older_than=_KEPT)

    def check(self) -> list[str]:
        """Return which graphs lack rows: every search looks at these one by one."""
        with self._translated():
            missing = {name: _unindexed(table) for name, table in self._all_tables().items()}
        return [
            f"{count:,} rows of {self.location}/{name} are missing in its HNSW graph"
            for name, count in missing.items()
            if count
        ]

    def close(self) -> None:
        """Forget the tables; nothing is open between two calls."""
        with self._guard:
            self._connection = None
            self._tables.clear()

    # --- tables --------------------------------------------------------------------------------

    def _connect(self, *, make: bool = False) -> Any:
        """Return the connection; None for a place where nothing is yet."""
        with self._guard:
            known = self._connection
        if known is not None and (self._folder is None or (self._folder / f"{SPACES}.lance").exists()):
            return known
        if self._folder is not None and not self._folder.exists() and not make:
            return None
        refuse_other_files(self._folder)
        connection = lancedb.connect(
            self.location,
            read_consistency_interval=timedelta(0),
            storage_options=_storage_options(self._settings),
        )
        tables = connection.list_tables().tables
        if SPACES not in tables:
            if tables and self._folder is None:
                raise not_ours(self.location)
            if not make:
                return None
            spaces = connection.create_table(SPACES, schema=_SPACE_ROWS, exist_ok=True)
            spaces.set_unenforced_primary_key("name")
        with self._guard:
            self._connection = connection
            self._tables.clear()
        return connection

    def _open(self, name: str, epoch: str = "") -> Any:
        key = name, epoch
        with self._guard:
            known = self._tables.get(key)
        if known is None:
            known = self._connect().open_table(name)
            with self._guard:
                self._tables[key] = known
        return known

    def _rows(self) -> list[_SpaceRow]:
        if self._connect() is None:
            return []
        return [_SpaceRow(**row) for row in self._open(SPACES).to_arrow().to_pylist()]

    def _find(self, space: IndexedSpace) -> _SpaceRow | None:
        return next((row for row in self._rows() if row.key == space.key), None)

    def _all_tables(self) -> dict[str, Any]:
        """Return the tables of all spaces, by name."""
        names = [(row.table(kind), row.epoch) for row in self._rows() for kind in VectorKind]
        return {name: self._open(name, epoch) for name, epoch in names}

    def _reserve(self, space: IndexedSpace, unfinished: _SpaceRow | None) -> _SpaceRow | None:
        """Make empty tables for a space; return None if another process was faster."""
        connection = self._connect(make=True)
        if unfinished is not None:
            self._remove(unfinished)
        name = free_name(TABLES[VectorKind.TEXT], {row.name for row in self._rows()})
        row = _SpaceRow(name, space.key, "", secrets.token_hex(8))
        values = {column: [getattr(row, column)] for column in _SPACE_ROWS.names}
        inserted = (
            self._open(SPACES)
            .merge_insert("name")
            .when_not_matched_insert_all()
            .execute(pa.table(values, schema=_SPACE_ROWS))
        )
        if inserted.num_inserted_rows != 1:
            return None
        for kind in VectorKind:
            made = connection.create_table(
                row.table(kind), schema=section_rows(space.dimension), mode="overwrite"
            )
            # Without it two processes that add a row at once both keep it (lance#4585).
            made.set_unenforced_primary_key("id")
        return row

    def _remove(self, row: _SpaceRow) -> None:
        self._open(SPACES).delete(f"name = '{row.name}' AND epoch = '{row.epoch}'")
        for kind in VectorKind:
            self._connect().drop_table(row.table(kind), ignore_missing=True)
        with self._guard:
            self._tables.clear()

    def _write(self, row: _SpaceRow, kind: VectorKind, changes: VectorChanges, dimension: int) -> None:
        table = self._open(row.table(kind), row.epoch)
        removed = [f"'{key}'" for key in changes.removed_of(kind)]
        for at in range(0, len(removed), _ROWS_A_DELETE):
            table.delete(f"id IN ({', '.join(removed[at : at + _ROWS_A_DELETE])})")
        if added := changes.added_of(kind):
            upsert = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            upsert.execute(_as_rows(added, dimension))

    def _search(
        self,
        table: Any,
        query: NDArray[np.float32],
        limit: int,
        collections: Sequence[CollectionId] | None,
        *,
        exactly: bool,
    ) -> list[tuple[int, float]]:
        # Vectors have unit length; a vector of zeros has no cosine.
        search = table.search(query, vector_column_name="vector").distance_type("dot")
        search = search.bypass_vector_index() if exactly else search.refine_factor(self._settings.refine)
        if collections is not None:
            inside = ", ".join(str(int(each)) for each in collections)
            search = search.where(f"collection IN ({inside})", prefilter=True)
        found = search.select(["owner", "_distance"]).limit(limit).to_arrow()
        similarities = 1.0 - found["_distance"].to_numpy()
        return list(zip(found["owner"].to_pylist(), similarities.tolist(), strict=True))

    def _index(self, table: Any) -> None:
        """Make a graph of a large table, or add what is new to it; one that fails is built again."""
        names = [each.name for each in table.list_indices()]
        if not names and table.count_rows() < self._settings.flat_rows:
            return
        if names and _unindexed(table):
            # A graph that cannot be merged would never be complete again.
            with suppress(RuntimeError):
                table.optimize(cleanup_older_than=_KEPT)
        if names and not _unindexed(table):
            return
        for name in names:
            table.drop_index(name)
        table.create_index("vector", config=HnswSq(distance_type="dot"))

    # --- processes and errors ------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[bool]:
        """Keep other processes from writing to the folder; yield whether that worked."""
        if self._folder is None:
            yield True
            return
        refuse_other_files(self._folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._folder / LOCK, wait_s=_LOCK_WAIT_S) as held:
            yield held

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise what Lance raises as an error of ours; what is damaged is removed."""
        try:
            yield
        except _FAILURES as error:
            self.close()
            if self._folder is not None and self._folder.is_dir():
                self._remove_damage(self._folder)
            raise cannot_be_used(self.location, error) from error

    def _remove_damage(self, folder: Path) -> None:
        """Remove tables that cannot be read while no process writes, so that new ones can be made."""
        with suppress(OSError), locked(folder / LOCK, wait_s=_LOCK_WAIT_S) as held:
            if not held or not os.access(folder, os.W_OK):
                return
            try:
                for table in self._all_tables().values():
                    for _ in table.search().to_batches():
                        pass
            except _FAILURES:
                self.close()
                for each in folder.glob("*.lance"):
                    shutil.rmtree(each, ignore_errors=True)


def section_rows(dimension: int) -> pa.Schema:
    """Return the columns of ``sections``: those that search-docs has, in its order, then ours."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document_path", pa.string()),
            pa.field("heading", pa.string()),
            pa.field("depth", pa.int32()),
            pa.field("content", pa.string()),
            pa.field("token_count", pa.int32()),
            pa.field("vector", pa.list_(pa.float32(), dimension)),
            pa.field("parent_id", pa.string()),
            pa.field("order", pa.int32()),
            pa.field("is_dirty", pa.bool_()),
            pa.field("document_hash", pa.string()),
            pa.field("created_at", pa.timestamp("ms")),
            pa.field("updated_at", pa.timestamp("ms")),
            pa.field("owner", pa.int64()),
            pa.field("collection", pa.int64()),
        ]
    )


def _as_rows(entries: Sequence[VectorEntry], dimension: int) -> pa.Table:
    now = [datetime.now(UTC).replace(tzinfo=None)] * len(entries)
    vectors = pa.array(np.concatenate([each.vector for each in entries]), pa.float32())
    columns = {
        "id": [str(each.id) for each in entries],
        "document_path": [each.path for each in entries],
        "heading": [each.heading for each in entries],
        "depth": [each.depth for each in entries],
        "content": [each.text for each in entries],
        "token_count": [each.token_count for each in entries],
        "vector": pa.FixedSizeListArray.from_arrays(vectors, dimension),
        "parent_id": [None if each.parent is None else str(each.parent) for each in entries],
        "order": [each.ordinal for each in entries],
        "is_dirty": [False] * len(entries),
        "document_hash": [each.content_hash.hex() for each in entries],
        "created_at": now,
        "updated_at": now,
        "owner": [each.owner for each in entries],
        "collection": [each.collection_id for each in entries],
    }
    return pa.table(columns, schema=section_rows(dimension))


def _storage_options(bucket: BucketSettings) -> dict[str, str]:
    options = {"aws_region": bucket.region, "aws_endpoint": bucket.endpoint}
    if bucket.endpoint is not None and bucket.endpoint.startswith("http://"):
        options["allow_http"] = "true"
    return {name: value for name, value in options.items() if value is not None}


def _unindexed(table: Any) -> int:
    """Return how many rows are missing in the graph of a table; 0 without a graph."""
    return sum(table.index_stats(each.name).num_unindexed_rows for each in table.list_indices())
