"""A vector index in LanceDB: tables in a folder or in an S3 bucket, which many machines may read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

# LanceDB writes warnings about every query to standard error; it reads this when it is imported.
os.environ.setdefault("LANCEDB_LOG", "error")
import lancedb
import pyarrow as pa
from lancedb.index import HnswSq

from mdvec.errors import StoreError
from mdvec.settings import BucketSettings, Count
from mdvec.stores.records import VectorKind
from mdvec.stores.vectors.folders import IndexFolder, free_name, parts, usable
from mdvec.stores.vectors.index import (
    HeldEntries,
    IndexedSpace,
    Inside,
    Mark,
    VectorChanges,
    VectorEntry,
    VectorIndex,
)

if TYPE_CHECKING:
    from mdvec.stores.vectors.index import Vector

TABLES = {VectorKind.TEXT: "sections", VectorKind.NAME: "names"}
"""The tables of the first space; the tables of another one have a number at the end."""

# The metadata of a table of ours: the key of its space, empty for a dropped one, and the mark.
_SPACE, _MARK = "mdvec_space", "mdvec_mark"

_LOCK_WAIT_S = 2.0  # searches can do without the index
_MIN_AGE = timedelta(minutes=10)  # versions that other processes may be reading
_NO_AGE = timedelta(milliseconds=1)  # of a zero Lance warns
_MAX_VERSIONS = 20  # of a table, until the old ones are removed
_ROWS_A_DELETE = 1_000

_FAILURES = (RuntimeError, ValueError, OSError, pa.ArrowException)


class LanceSettings(BucketSettings, frozen=True, kw_only=True):
    """``[store.lancedb]``. Keys of S3 come from the usual variables (``AWS_ACCESS_KEY_ID`` and so on).

    Attributes:
        flat_rows: Tables with fewer rows are searched exactly; larger ones get an HNSW graph.
        refine: How many times as many candidates of the graph are compared exactly.
    """

    flat_rows: Count = 50_000
    refine: Count = 2


class LanceVectorIndex(VectorIndex):
    """Vectors with the columns that readers of the table ``sections`` expect.

    In a folder one process writes at a time. In a bucket there is no lock: two processes at once write the
    same rows, and Lance refuses a mark if the table was emptied, or got another mark, meanwhile.

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
            return _mark(_find(database, space))

    def apply(self, space: IndexedSpace, changes: VectorChanges) -> bool:
        """Apply changes, the mark last; rows have keys, so applying them again repairs a broken step."""
        with self._opened(writing=True) as database:
            table = _find(database, space)
            if database is None or _mark(table) != changes.since:
                return False
            if changes.since is None:
                table = self._begun(database, space)
            _write(table, changes, space.dimension)
            # After a write, earlier writes of others are visible; Lance itself refuses later ones.
            if _mark(table) != changes.since:
                return False
            table.update_field_metadata({"path": "id", "metadata": {_MARK: changes.until}})
            return True

    def nearest(self, space: IndexedSpace, query: Vector, limit: int, inside: Inside) -> list[int]:
        """Return the owners of the nearest entries: exact, or from a graph where there is one."""
        with self._opened() as database:
            table = _find(database, space)
            if table is None:
                return []
            # Vectors have unit length; a vector of zeros has no cosine.
            search = table.search(query, vector_column_name="vector").distance_type("dot")
            if inside is not None:
                ids = ", ".join(str(int(each)) for each in inside)
                search = search.where(f"collection IN ({ids})", prefilter=True)
            search = search.select(["owner", "_distance"]).limit(limit).refine_factor(self._settings.refine)
            found = search.to_arrow()
            if len(found) < limit and table.list_indices():
                found = search.bypass_vector_index().to_arrow()
        owners: list[int] = found["owner"].to_pylist()
        return owners

    def held(self, space: IndexedSpace) -> Iterator[HeldEntries]:
        with self._opened() as database:
            table = _find(database, space)
            columns = ["entry", "owner", "vector"]
            for batch in () if table is None else table.search().select(columns).to_batches():
                vectors = batch["vector"].flatten().to_numpy().reshape(-1, space.dimension)
                yield HeldEntries(batch["entry"].to_pylist(), batch["owner"].to_pylist(), vectors)

    def drop(self, space: IndexedSpace) -> None:
        """Empty the table of a space: another process that writes to it fails then."""
        with self._opened(writing=True) as database:
            if database is None:
                msg = f"another process writes to the vector index {self.location}"
                raise StoreError(msg)
            while (table := _find(database, space)) is not None:
                emptied = _empty(database, table.name, space.dimension, key="")
                emptied.optimize(cleanup_older_than=_NO_AGE)

    def optimize(self) -> None:
        """Merge small files, remove old versions, and make the graphs complete."""
        with self._opened(writing=True) as database:
            for table in filter(_mark, _tables(database, *VectorKind)):
                if len(table.list_versions()) > _MAX_VERSIONS or _unindexed(table):
                    # A graph that cannot be merged would never be complete again.
                    with suppress(*([RuntimeError] if _unindexed(table) else [])):
                        table.optimize(cleanup_older_than=_MIN_AGE)
                names = [each.name for each in table.list_indices()]
                if _unindexed(table) or (not names and table.count_rows() >= self._settings.flat_rows):
                    for name in names:
                        table.drop_index(name)
                    table.create_index("vector", config=HnswSq(distance_type="dot"))

    def _begun(self, database: Any, space: IndexedSpace) -> Any:
        """Return an empty table of a space: its own, one that was dropped, or a new one."""
        # What is in a folder of ours is ours; in a bucket the tables of others keep their names.
        usable = (space.key, "") if self._folder.path is None else (space.key, "", None)
        taken = [each.name for each in _tables(database, space.kind) if _about(each, _SPACE) not in usable]
        return _empty(database, free_name(TABLES[space.kind], taken), space.dimension, space.key)

    @contextmanager
    def _opened(self, *, writing: bool = False) -> Iterator[Any]:
        """Connect, for writing as the only process in a folder; a folder that cannot be read is emptied.

        Yields:
            The connection; None if there is no folder yet or, for writing, while another process writes.
        """
        lock = self._folder.locked(_LOCK_WAIT_S) if writing else nullcontext(enter_result=True)
        with usable(self.location, _FAILURES, self._remove_damage), _panics_as_errors(), lock as mine:
            yield self._connect() if mine else None

    def _connect(self) -> Any:
        """Connect; tables are then read as they are when they are opened."""
        self._folder.refuse_other_files()
        if self._folder.path is not None and not self._folder.path.exists():
            return None
        region, endpoint = self._settings.region, self._settings.endpoint or ""
        allow_http = "true" if endpoint.startswith("http://") else None
        options = {"aws_region": region, "aws_endpoint": endpoint, "allow_http": allow_http}
        given = {name: value for name, value in options.items() if value}
        return lancedb.connect(self.location, storage_options=given)

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
                    for table in _tables(self._connect(), *VectorKind):
                        for _ in table.search().to_batches():
                            pass
            except _FAILURES:
                self._folder.empty()


@contextmanager
def _panics_as_errors() -> Iterator[None]:
    """Raise a RuntimeError instead of the exception of a panic in Lance, whose class cannot be imported."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "RustPanic":
            raise
        raise RuntimeError(str(error)) from error


def _tables(database: Any, *kinds: VectorKind) -> Iterator[Any]:
    """Yield the tables of some kinds of text, and any of others with such a name."""
    for name in () if database is None else database.list_tables().tables:
        if name.startswith(tuple(TABLES[kind] for kind in kinds)):
            yield database.open_table(name)


def _find(database: Any, space: IndexedSpace) -> Any:
    """Return the table of a space; None without one."""
    return next((each for each in _tables(database, space.kind) if _about(each, _SPACE) == space.key), None)


def _about(table: Any, name: str) -> str | None:
    """Return a part of the metadata of a table; None where it has none."""
    metadata = {key: value for field in table.schema for key, value in (field.metadata or {}).items()}
    found: bytes | None = metadata.get(name.encode())
    return None if found is None else found.decode()


def _mark(table: Any) -> Mark | None:
    mark = None if table is None else _about(table, _MARK)
    return None if mark is None else Mark(mark)


def _empty(database: Any, name: str, dimension: int, key: str) -> Any:
    """Make a table, or remove all its rows, and assign it to a space."""
    table = database.create_table(name, section_rows([], dimension, {_SPACE: key}), mode="overwrite")
    # Without it two processes that add a row at once both keep it (lance#4585).
    table.set_unenforced_primary_key("entry")
    return table


def _write(table: Any, changes: VectorChanges, dimension: int) -> None:
    for some in parts(changes.removed, _ROWS_A_DELETE):
        table.delete(f"entry IN ({', '.join(map(str, some))})")
    if changes.added:
        upsert = table.merge_insert("entry").when_matched_update_all().when_not_matched_insert_all()
        upsert.execute(section_rows(changes.added, dimension))


def _unindexed(table: Any) -> int:
    """Return how many rows are missing in the graph of a table; 0 without a graph."""
    return sum(table.index_stats(each.name).num_unindexed_rows for each in table.list_indices())


def section_rows(
    entries: Sequence[VectorEntry], dimension: int, metadata: dict[str, str] | None = None
) -> pa.Table:
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
    fields[0] = fields[0].with_metadata(metadata)
    return pa.table({name: values for name, (_, values) in columns.items()}, schema=pa.schema(fields))
