"""Which files are opened, how, and what is left alone."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace
from tests.contract.store_world import SPACE, add_collection, make_document, put, read

from mdvec.errors import (
    NotADatabaseError,
    OtherVersionError,
    ReadOnlyDatabaseError,
    StoreError,
    StoreUnavailableError,
)
from mdvec.stores.records import VectorKind
from mdvec.stores.sqlite.database import SqliteDatabase
from mdvec.stores.sqlite.schema import APPLICATION_ID, UNRELEASED, VERSION
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.hashing import text_hash
from mdvec.types.document import Comment
from mdvec.types.query import Where

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database may be made, in a folder that is not there yet."""
    return tmp_path / "new folder #1?" / "データ 50%.sqlite"


def fill(path: Path) -> None:
    """Make a database with one document."""
    store = SqliteStore(path)
    notes = add_collection(store)
    with store.write() as writer:
        put(writer, notes.id, *make_document("a.md", ["some words"]))
    store.close()


def can_be_searched(store: SqliteStore) -> bool:
    """Return whether the document of :func:`fill` is found."""
    with store.read() as view:
        where = Where(tuple(collection.id for collection in view.collections.all()))
        return len(view.words.bm25(["words"], where, 5)) == 1


def test_opening_makes_what_is_missing(path: Path) -> None:
    """The folder, the file, its tables and its identity are made; WAL and foreign keys are on.

    What a database defines, such as the default of a column, calls no function that is not harmless.
    """
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    connection.close()
    database = SqliteDatabase(path)
    with database.reading() as ours:
        assert ours.pragma("journal_mode") == "wal"
        assert ours.pragma("foreign_keys") == 1
        assert ours.pragma("trusted_schema") == 0
        assert ours.pragma("synchronous") == 1
        assert ours.pragma("busy_timeout") == 10_000
    database.close()


def test_opening_again_changes_nothing(path: Path) -> None:
    """A second opening finds what the first one left, byte for byte."""
    fill(path)
    before = path.read_bytes()
    store = SqliteStore(path)
    assert can_be_searched(store)
    store.close()
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    """A file of no bytes belongs to no program."""
    path = tmp_path / "empty"
    path.touch()
    SqliteStore(path).close()
    assert path.read_bytes().startswith(b"SQLite format 3\0")
    fill(path)


@pytest.mark.parametrize("content", [b"# A note\n", b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 200])
@pytest.mark.parametrize("read_only", [False, True])
def test_other_files_are_left_alone(tmp_path: Path, content: bytes, *, read_only: bool) -> None:
    """What is not a database is refused and stays as it is."""
    path = tmp_path / "note.md"
    path.write_bytes(content)
    with pytest.raises(NotADatabaseError, match=r"note\.md"):
        SqliteStore(path, read_only=read_only)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("application_id", [0, 77])
def test_databases_of_other_programs_are_left_alone(
    tmp_path: Path, application_id: int, *, log: bool
) -> None:
    """A foreign SQLite file is refused, whether it says whose it is or not, and stays as it is."""
    path = tmp_path / "bookmarks.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {application_id}")
    if log:
        connection.execute("PRAGMA journal_mode = wal")
    connection.execute("CREATE TABLE bookmarks(url)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotADatabaseError, match="bookmarks"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_folder_is_not_a_database(tmp_path: Path) -> None:
    """A folder in the place of the file is said to be one."""
    with pytest.raises(NotADatabaseError, match="not a file"):
        SqliteStore(tmp_path)


def test_a_newer_database_is_left_alone(path: Path) -> None:
    """A database of a later version is refused and stays as it is."""
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {UNRELEASED + 1}")
    connection.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(OtherVersionError, match="has format 8, and this mdvec uses format 1") as caught:
            SqliteStore(path, read_only=read_only)
        assert "Install the version of mdvec that wrote it. Or move it away" in caught.value.hint
    assert path.read_bytes() == before


def test_a_damaged_database_is_said_to_be_one(path: Path) -> None:
    """Overwritten pages give an error that names the file, not a wrong answer."""
    fill(path)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        read(SqliteStore(path), lambda view: view.collections.all())


def test_reading_what_is_not_there(path: Path) -> None:
    """Opening for reading makes no file and no folder."""
    with pytest.raises(ReadOnlyDatabaseError, match="there is no database"):
        SqliteStore(path, read_only=True)
    assert not path.parent.exists()


def test_reading_what_is_being_made(tmp_path: Path) -> None:
    """An empty file has no tables, and opening it for reading makes none."""
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(ReadOnlyDatabaseError, match="holds nothing yet"):
        SqliteStore(path, read_only=True)
    assert path.read_bytes() == b""


def test_read_only_on_request(path: Path) -> None:
    """A store opened for reading finds documents and refuses to write."""
    fill(path)
    store = SqliteStore(path, read_only=True)
    assert store.read_only
    assert can_be_searched(store)
    with pytest.raises(ReadOnlyDatabaseError), store.write():
        pass
    (notes,) = read(store, lambda view: view.collections.all())
    with pytest.raises(ReadOnlyDatabaseError), store.claim(notes, "importing", wait_s=0):
        pass
    store.close()


@pytest.fixture
def as_another_user() -> Iterator[Path]:
    """A folder that all users may enter, in a process to which permissions apply (root's do not)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        fill(folder / "index.sqlite")
        (folder / "index.sqlite").chmod(0o644)  # shared on purpose: by default it is its owner's alone
        root = os.geteuid() == 0
        if not root:
            folder.chmod(0o555)
        else:
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)


def test_a_folder_that_cannot_be_written(as_another_user: Path) -> None:
    """A database in a read-only folder can be searched; writing says why it cannot be."""
    store = SqliteStore(as_another_user / "index.sqlite")
    assert store.read_only
    assert can_be_searched(store)
    with pytest.raises(ReadOnlyDatabaseError, match="only be read") as caught, store.write():
        pass
    assert "--database" in caught.value.hint
    store.close()


def test_a_database_that_cannot_be_made(as_another_user: Path) -> None:
    """No database can be made in a read-only folder, and the error says so."""
    for path in (as_another_user / "new.sqlite", as_another_user / "sub" / "new.sqlite"):
        with pytest.raises(ReadOnlyDatabaseError, match="no database can be made"):
            SqliteStore(path)


def test_processes_that_start_at_once(path: Path) -> None:
    """Several processes may make the same database at the same time."""
    code = """
import sys
from pathlib import Path
from mdvec.stores.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
with store.read() as view:
    print(len(view.collections.all()))
store.close()
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate()[0].strip() for process in processes] == ["0"] * 4


def test_a_database_that_is_made_while_it_is_looked_at(path: Path) -> None:
    """The first look is at one state of the file: not no id, and then the tables that somebody made since."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    make = f"BEGIN; CREATE TABLE t (x); PRAGMA application_id = {APPLICATION_ID}; COMMIT"

    def make_it(_cursor: object, sql: str, _bindings: object) -> bool:
        if "sqlite_schema" in sql and not path.stat().st_size:
            with (
                contextlib.closing(sqlite3.connect(path, timeout=0)) as other,
                contextlib.suppress(sqlite3.OperationalError),  # locked, as it should be
            ):
                other.executescript(make)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = make_it

    apsw.connection_hooks.append(watch)
    try:
        SqliteDatabase(path).close()
    finally:
        apsw.connection_hooks.remove(watch)


def test_searching_by_words_loads_no_numpy(path: Path) -> None:
    """Opening, writing and a lexical search load neither numpy nor numkong nor psutil."""
    fill(path)
    code = """
import sys
from pathlib import Path
from mdvec.types.query import Where
from mdvec.stores.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
with store.read() as view:
    assert view.words.bm25(["words"], Where((1,)), 5)
    view.collections.counts(1, None)
store.close()
print(sorted({"numpy", "numkong", "psutil"} & set(sys.modules)))
"""
    result = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_what_utf8_cannot_hold_is_replaced(path: Path) -> None:
    """A lone surrogate, which an escape in YAML can make, is written as a replacement character."""
    store = SqliteStore(path)
    notes = add_collection(store)
    document, chunks = make_document("a.md", ["a       b"], tags=("t\ud800",), aliases=("n\udcff",))
    comments = (Comment(2, "\ud800"),)
    document = replace(document, title="x\ud800y", frontmatter={"k": "\udfff"}, comments=comments)
    with store.write() as writer:
        put(writer, notes.id, document, chunks)
        space_id = writer.spaces.open(SPACE)
        names = writer.vectors.pending(VectorKind.NAME, notes.id, space_id, 9)
    found = read(store, lambda view: view.documents.find(notes.id, "a.md"))
    assert found is not None
    assert (found.title, found.tags, found.aliases) == ("x\ufffdy", ("t\ufffd",), ("n\ufffd",))
    assert (found.frontmatter, found.comments) == ({"k": "\ufffd"}, (Comment(2, "\ufffd"),))
    assert [(each.text, each.text_hash) for each in names] == [
        (name, text_hash(name)) for name in ("x\ufffdy", "n\ufffd")
    ]
    store.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps an open file where it is")
def test_a_file_that_was_replaced_is_not_used_on(path: Path) -> None:
    """What is written to a file that is gone is lost, and answers from it are of the past."""
    fill(path)
    store = SqliteStore(path)
    aside = path.rename(path.with_name("aside"))
    for other in (None, path):
        if other is not None:
            fill(other)
        with pytest.raises(StoreUnavailableError, match="moved, deleted or replaced"), store.read():
            pass
        with pytest.raises(StoreUnavailableError, match="moved, deleted or replaced"), store.write():
            pass
    aside.rename(path)
    assert can_be_searched(store)
    store.close()
