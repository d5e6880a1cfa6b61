"""An index of another version is backed up and made anew; what has no source, or cost money, stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.integration.test_sqlite_opening import can_be_searched, fill
from tests.security.test_damaged_rows import section
from tests.workspaces import workspace_of

from mdvec import SearchQuery, open_workspace
from mdvec.errors import DatabaseFullError, OtherVersionError
from mdvec.stores.sqlite import rebuild
from mdvec.stores.sqlite.schema import UNRELEASED as OTHER
from mdvec.stores.sqlite.schema import VERSION
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode

SECTION = section("s1", "guide.md", "Run make.")
MAKE = SearchQuery("make", mode=SearchMode.LEXICAL)
SUN = SearchQuery("tomatoes need sun", mode=SearchMode.DENSE, min_score=0.0)


def number(path: Path, sql: str) -> Any:
    """Return the one value of a statement."""
    with closing(apsw.Connection(str(path))) as connection:
        return connection.execute(sql).get


def set_version(path: Path, version: int, *statements: str) -> None:
    """Make a database look as if another version of mdvec had written it."""
    with closing(apsw.Connection(str(path))) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.pragma("user_version", version)
        connection.pragma("wal_checkpoint(truncate)")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of another version, with a folder that was imported and a document that a client pushed."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "garden.md").write_text("# Plants\n\nTomatoes need sun.\n", encoding="utf-8")
    path = tmp_path / "index.sqlite"
    with workspace_of(path, {"notes": notes}, description="My notes.") as workspace:
        workspace.sections.add([SECTION])
        workspace.import_collection("pushed")
    set_version(path, OTHER)
    return path


def test_nothing_is_lost_and_nothing_embedded_again(index: Path) -> None:
    """Collections, vectors and pushed documents stay; the next import reads folders and writes words."""
    counters = "SELECT group_concat(value ORDER BY key) FROM meta WHERE key IN ('generation', 'vector_epoch')"
    before = [int(each) for each in number(index, counters).split(",")]
    vectors, last_chunk = "SELECT count(*) FROM vectors", "SELECT max(id) FROM chunks"
    known = number(index, vectors), number(index, last_chunk)
    embedder = HashingEmbedder()
    with open_workspace(database=index, embedder=embedder) as workspace:
        assert [each.description for each in workspace.collections() if each.name == "notes"] == ["My notes."]
        assert [each.last_indexed_ms for each in workspace.collections()] == [None, None]
        after = [int(each) for each in number(index, counters).split(",")]
        assert all(new > old for old, new in zip(before, after, strict=True))
        assert [each.content for each in workspace.sections.at("guide.md")] == [SECTION.content]
        for name, added in (("notes", 1), ("pushed", 0)):
            report = workspace.import_collection(name)
            assert (report.added, report.embedded_chunks, report.pending_chunks) == (added, 0, 0)
        assert (embedder.embedded, embedder.measured) == ([], 0)
        assert workspace.search(MAKE).hits[0].path == "guide.md"
        assert workspace.search(SUN).hits[0].path == "garden.md"
        assert number(index, vectors) == known[0]
        assert number(index, last_chunk) > known[1]  # no id is used again
    store = SqliteStore(index)
    assert store.check() == []
    store.close()


def test_the_old_index_stays_beside_it(index: Path) -> None:
    """The backup holds every row, is its owner's alone, and another one does not replace it."""
    documents = "SELECT count(*) FROM documents"
    SqliteStore(index).close()
    backup = index.with_name(f"index.sqlite.schema-{OTHER}")
    assert (number(backup, "PRAGMA user_version"), number(backup, documents)) == (OTHER, 2)
    assert number(index, documents) == 1
    if sys.platform != "win32":
        assert backup.stat().st_mode & 0o077 == 0
    before = backup.read_bytes()
    set_version(index, OTHER)
    SqliteStore(index).close()
    assert backup.read_bytes() == before
    assert number(index.with_name(f"index.sqlite.schema-{OTHER}.2"), documents) == 1
    assert sorted(each.name for each in index.parent.glob("index.sqlite.*")) == [
        f"index.sqlite.schema-{OTHER}",
        f"index.sqlite.schema-{OTHER}.2",
    ]


def test_vectors_of_what_is_not_read_again_yet_stay(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unused vectors are removed only after every collection was imported again."""
    monkeypatch.setattr("mdvec.indexing.imports._MAX_UNUSED_VECTORS", 0)
    embedder = HashingEmbedder()
    with open_workspace(database=index, embedder=embedder) as workspace:
        new = index.parent / "new"
        new.mkdir()
        (new / "new.md").write_text("# New\n\nPeppers, too.\n", encoding="utf-8")
        workspace.add_collection("new", "", str(new))
        assert workspace.import_collection("new").embedded_chunks == 1
        workspace.stores.compact()
        assert workspace.import_collection("notes").embedded_chunks == 0


def test_an_attached_vector_index_starts_again(index: Path) -> None:
    """The number by which it knew the file is gone, so that it follows nothing of the old one."""
    set_version(index, OTHER, "INSERT OR REPLACE INTO meta VALUES ('vector_index', 7), ('mark', 5)")
    SqliteStore(index).close()
    assert number(index, "SELECT group_concat(value) FROM meta WHERE key IN ('vector_index', 'mark')") == "5"


@pytest.mark.parametrize("moment", ["_back_up", "_carry_over"])
@pytest.mark.parametrize("before", [True, False])
def test_a_killed_rebuild_leaves_the_old_index(index: Path, moment: str, *, before: bool) -> None:
    """Whenever the process is killed, all rows are there, and the next one finishes the work."""
    program = f"""
import os, signal, sys
from pathlib import Path
from mdvec.stores.sqlite import rebuild
from mdvec.stores.sqlite.store import SqliteStore
work = rebuild.{moment}
def killed(*arguments):
    if not {before}:
        work(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
rebuild.{moment} = killed
SqliteStore(Path(sys.argv[1]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, index], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert ended.returncode == -signal.SIGKILL
    assert number(index, "PRAGMA user_version") == OTHER
    assert number(index, "SELECT count(*) FROM documents") == 2
    store = SqliteStore(index)
    assert store.check() == []
    store.close()
    assert [each.name for each in index.parent.glob("*.schema-*")] == [f"index.sqlite.schema-{OTHER}"]


def test_a_full_disk_leaves_the_old_index(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the tables nor the backup of an attempt that failed are there."""

    def fail(old: apsw.Connection, new: apsw.Connection) -> None:
        new.execute("DROP TABLE vectors")
        raise apsw.FullError

    monkeypatch.setattr(rebuild, "_carry_over", fail)
    with pytest.raises(DatabaseFullError):
        SqliteStore(index)
    assert number(index, "SELECT count(*) FROM vectors") > 0
    assert list(index.parent.glob("*.schema-*")) == []


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE spaces",
        "ALTER TABLE collections DROP COLUMN source",
        "CREATE VIRTUAL TABLE more USING fts5(x); PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE more USING unknown' WHERE name = 'more'",
    ],
)
def test_tables_that_are_not_understood_are_left_alone(tmp_path: Path, damage: str) -> None:
    """The error names the file, both versions and the next step; nothing is changed."""
    path = tmp_path / "old.sqlite"
    fill(path)
    set_version(path, OTHER, damage)
    before = path.read_bytes()
    with pytest.raises(
        OtherVersionError, match=rf"old\.sqlite has format {OTHER}, and cannot become format"
    ) as caught:
        SqliteStore(path)
    assert "Or move it away" in caught.value.hint
    assert "'mdvec import'" in caught.value.hint
    assert path.read_bytes() == before
    assert not [*tmp_path.glob("*.schema-*")]


def test_it_is_not_rebuilt_for_reading(index: Path) -> None:
    """The error names both versions and the command that rebuilds it; nothing is changed."""
    before = index.read_bytes()
    message = f"format {OTHER}, and this mdvec uses format {VERSION}"
    with pytest.raises(OtherVersionError, match=message) as caught:
        SqliteStore(index, read_only=True)
    assert "Run 'mdvec import'" in caught.value.hint
    assert index.read_bytes() == before


@contextmanager
def reading(path: Path) -> Iterator[apsw.Connection]:
    """Read from a snapshot."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("BEGIN; SELECT * FROM documents")
        yield connection


def test_processes_that_open_it_at_once_rebuild_it_once(index: Path) -> None:
    """The others wait; one that reads the old tables meanwhile goes on with them."""
    threads = [threading.Thread(target=lambda: SqliteStore(index).close()) for _ in range(4)]
    with reading(index) as old:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert old.execute("SELECT count(*) FROM documents").get == 2
    assert len([*index.parent.glob("*.schema-*")]) == 1
    assert number(index, "PRAGMA user_version") == VERSION
    assert can_be_searched(SqliteStore(index)) is False
