"""A copy of some collections in a file of its own, without what is private."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from collections.abc import Collection as AnyCollection
from pathlib import Path

from msgspec.structs import replace

from mdvec import run
from mdvec.errors import DamagedDatabaseError, OtherVersionError
from mdvec.stores.interface import Writer
from mdvec.stores.sqlite.checksums import DOCUMENT_CHECKSUM
from mdvec.stores.sqlite.connection import Access, Connection, add_functions, connect, translated
from mdvec.stores.sqlite.database import SqliteDatabase
from mdvec.stores.sqlite.opening import Opening
from mdvec.stores.sqlite.schema import TABLES, VERSION, attach
from mdvec.types.collection import Collection, SourceSpec

Snapshots = Callable[[Connection], Writer]
"""Returns the parts of a transaction."""

_PAGES_A_STEP = 4096

# A larger share of free pages is taken out. Else all pages stay in place: what did not change is then equal
# from copy to copy.
_MAX_FREE = 0.25

# Nothing is behind it, so that nothing is looked for where the copy is read.
_NO_SOURCE = SourceSpec("push", "")

# Of files that are not documents, and of processes.
_PRIVATE = ("exclusions", "failures", "removed_owners")

# When a collection or a document was read, which each import changes.
_IMPORTED = ("last_indexed_ms", "indexed_at_ms")

_FORGET_FILES = "".join(f"DELETE FROM {table};" for table in _PRIVATE)  # noqa: S608 - our own names
_HAS_PRIVATE = "SELECT " + " OR ".join(f"EXISTS(SELECT 1 FROM {table})" for table in _PRIVATE)  # noqa: S608
# All that SQLite may run together with a statement of ours: neither tables nor indexes. The other columns can
# be forged.
_RUNNING = """SELECT name, sql FROM sqlite_schema WHERE sql NOT GLOB 'CREATE TABLE *'
    AND sql NOT GLOB 'CREATE INDEX *' AND sql NOT GLOB 'CREATE UNIQUE INDEX *'"""
_MAX_NAMED = 3

# Comments are for the author; what was left out or failed names files that are not there; the mark is about a
# machine. A document with comments gets a new checksum.
_FORGET = f"""
CREATE TEMP TABLE commented AS SELECT document_id AS id FROM contents WHERE comments != '[]';
UPDATE contents SET comments = '[]' WHERE document_id IN (SELECT id FROM commented);
UPDATE documents AS d SET checksum = {DOCUMENT_CHECKSUM} WHERE id IN (SELECT id FROM commented);
DROP TABLE commented;
{_FORGET_FILES}
DELETE FROM meta WHERE key NOT IN ('generation', 'vector_epoch');
"""  # noqa: S608 - a constant


def write_copy(
    path: Path,
    target: Path,
    names: AnyCollection[str],
    version: int,
    snapshot: Snapshots,
    *,
    follow_links: bool,
) -> str:
    """Write some collections of a database into a file; all else is removed, and overwritten, in it.

    Comments, file names of what is not in the index, places of sources and everything about this machine are
    left out. Copies of equal content are nearly equal files.

    Args:
        path: The database.
        target: A file that is not there.
        names: The collections.
        version: What the copy's snapshots call their version.
        snapshot: Returns the parts of a transaction.
        follow_links: Whether the path of the database may hold symbolic links.

    Returns:
        A digest of what the file holds, but for the version and the times of imports.

    Raises:
        ImportStoppedError: If the run is cancelled; a part of the file is there.
    """
    opening = Opening(read_only=True, follow_links=follow_links)
    with contextlib.closing(SqliteDatabase(path, opening)) as database, database.reading() as source:
        snapshot(source)  # reads: from here on the snapshot stays
        _copy_pages(source, target)
    with contextlib.closing(SqliteDatabase(target)) as database:
        with database.writing() as connection:
            _keep_only(snapshot(connection), names)
            connection.execute(_FORGET)
            # Deleted words are still in their index, until it is merged into one piece.
            connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('optimize')")
        with database.writing() as connection:
            connection.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (version - 1,))
    with _alone(target) as copy:
        free, pages = copy.pragma("freelist_count"), copy.pragma("page_count")
        if free > _MAX_FREE * pages:
            copy.execute("PRAGMA temp_store = FILE; VACUUM")
        return _digest(copy)


def _copy_pages(source: Connection, target: Path) -> None:
    with translated(target), contextlib.closing(connect(target, Access.MAKE)) as copy:
        with copy.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_PAGES_A_STEP)
                run.current().check()
        copy.pragma("journal_mode", "delete")


def adopt(path: Path, snapshot: Snapshots) -> None:
    """Make a copy that came from elsewhere ready to be searched, and believe nothing of it but its documents.

    Nothing in it runs: it has no triggers, views or virtual tables but mdvec's own. It leads to nothing on
    this machine: collections have no sources, and no files that were left out.

    Args:
        path: The copy.
        snapshot: Returns the parts of a transaction.

    Raises:
        OtherVersionError: If another version of mdvec published it.
        StoreError: If it is no copy, damaged, or has what could run.
    """
    with _reading(path) as connection:
        unknown = {*connection.execute(_RUNNING)} - _own_running()
        version = int(connection.pragma("user_version"))
    if version != VERSION:
        msg = f"the published database has format {version}, and this mdvec uses format {VERSION}"
        raise OtherVersionError(msg, hint="Publish it again with this version of mdvec.")
    if unknown:
        names = ", ".join(sorted(repr(name) for name, _ in unknown)[:_MAX_NAMED])
        msg = (
            f"the published database has triggers, views or virtual tables that mdvec does not make: {names}"
        )
        raise DamagedDatabaseError(msg, hint="Ask who publishes it; nothing of it was used.")
    with _reading(path) as connection:
        collections = snapshot(connection).collections.all()
        is_clean = all(each == _without_place(each) for each in collections)
        is_clean = is_clean and not connection.execute(_HAS_PRIVATE).get
    if not is_clean:
        with contextlib.closing(SqliteDatabase(path)) as database, database.writing() as connection:
            writer = snapshot(connection)
            for each in collections:
                writer.collections.change(each.id, _without_place)
            connection.execute(_FORGET_FILES)
        with _alone(path):
            pass


def _own_running() -> set[tuple[object, ...]]:
    """Return what may run in a database of mdvec's own."""
    with contextlib.closing(Connection(":memory:")) as connection:
        add_functions(connection)
        connection.execute(TABLES)
        attach(connection)
        return {*connection.execute(_RUNNING)}


def _digest(copy: Connection) -> str:
    # Of rows, not of bytes: an import that changes nothing moves pages, and so does another collection. The
    # word index follows from the rows.
    total = hashlib.sha256(str(copy.pragma("user_version")).encode())
    tables = "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' ORDER BY name"
    for table in [str(name) for (name,) in copy.execute(tables)]:
        if table == "meta" or table.startswith("sqlite_"):
            continue
        columns = [
            name for _, name, *_ in copy.execute(f"PRAGMA table_info({table})") if name not in _IMPORTED
        ]
        total.update(f"{table}: {columns}".encode())
        for row in copy.execute(f"SELECT {', '.join(columns)} FROM {table}"):  # noqa: S608 - our own names
            total.update(repr(row).encode(errors="surrogatepass"))
        run.current().check()
    return total.hexdigest()


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[Connection]:
    with translated(path), contextlib.closing(connect(path, Access.READ)) as connection:
        yield connection


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[Connection]:
    """Open a file that no other process uses, and leave it without a log."""
    with translated(path), contextlib.closing(connect(path, Access.WRITE)) as connection:
        connection.pragma("journal_mode", "delete")
        yield connection


def _keep_only(writer: Writer, names: AnyCollection[str]) -> None:
    for each in writer.collections.all():
        if each.name in names:
            writer.collections.change(each.id, _without_place)
        else:
            writer.collections.delete(each.id)
    writer.vectors.drop_unused()


def _without_place(collection: Collection) -> Collection:
    return replace(collection, source=_NO_SOURCE, revision="", checked_up_to="", next_embedding=None)
