"""The file of a matrix: when it is used and written, and when it is not believed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from tests.contract.store_world import SPACE, World, connection_of, unit_vectors, vector_of, vectors_in

from mdvec.stores import vector_tables
from mdvec.stores.matrix import NO_OWNERS, Matrix, Owners, VectorBlock
from mdvec.stores.matrix_file import MatrixFile, SpaceMatrix, map_matrix, write_matrix
from mdvec.stores.records import VectorKind
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.types.query import Where

QUERY = unit_vectors(1, seed=4)[0]


class Notes(World):
    """A store whose matrices are written to files from the first vector on."""

    store: SqliteStore

    @property
    def file(self) -> Path:
        """The file of the space."""
        return self.store.path.with_name(f"{self.store.path.name}-matrix-{self.space_id}")

    def put(self, path: str, texts: list[str]) -> None:
        """Write a document, with vectors of its texts and its name."""
        self.add(path, texts)
        self.embed({text: vector_of(text) for text in (*texts, path)})


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notes]:
    """Forty documents of two chunks, and the file that the first search has written."""
    monkeypatch.setattr(vector_tables, "_FEW_CHUNKS", 0)
    monkeypatch.setattr(vector_tables, "_FEW_ADDED", 0)
    made = Notes(SqliteStore(tmp_path / "index.sqlite"))
    for number in range(40):
        made.put(f"{number}.md", [f"{number} one", f"{number} two"])
    search(made.store.path)
    yield made
    made.store.close()


def search(path: Path, *, read_only: bool = False) -> tuple[dict[int, float], int]:
    """Search for everything as a new process does; return what is found, and how many vectors were read."""
    with closing(SqliteStore(path, read_only=read_only)) as store, store.read() as view:
        read = 0

        def count(_cursor: object, row: tuple[object, ...]) -> tuple[object, ...]:
            nonlocal read
            read += len(row) == 2 and isinstance(row[1], bytes)
            return row

        connection_of(view).row_trace = count
        try:
            where = Where(tuple(each.id for each in view.collections.all()))
            space_id = view.spaces.find(SPACE)
            assert space_id is not None
            return {
                int(key): near
                for key, near in view.vectors.nearest(VectorKind.TEXT, space_id, QUERY, where, 999)
            }, read
        finally:
            connection_of(view).row_trace = None


def without_file(notes: Notes) -> dict[int, float]:
    """Return what is found when there is no file."""
    notes.file.unlink(missing_ok=True)
    return search(notes.store.path, read_only=True)[0]


def test_a_process_maps_what_another_one_wrote(notes: Notes) -> None:
    """It reads no vector from the database, and finds the same; nobody else can read the file."""
    found, read = search(notes.store.path)
    assert read == 0
    assert found == without_file(notes)
    assert search(notes.store.path)[1] == 120
    assert sys.platform == "win32" or notes.file.stat().st_mode & 0o777 == 0o600


def test_small_changes_are_read_from_the_database(notes: Notes) -> None:
    """The file stays as it is until there are many; what is gone from the database is not found."""
    written = notes.file.read_bytes()
    notes.put("new.md", ["new one"])
    notes.remove("3.md")
    found, read = search(notes.store.path)
    assert (len(found), read) == (79, 2)
    assert notes.file.read_bytes() == written
    assert found == without_file(notes)


def test_many_changes_are_written(notes: Notes) -> None:
    """After a twentieth was added, or a fifth is gone, the next process has nothing to read again."""
    for number in range(40, 50):
        notes.put(f"{number}.md", [f"{number} one"])
    assert search(notes.store.path)[1] == 20
    assert search(notes.store.path)[1] == 0
    written = notes.file.read_bytes()
    for number in range(30):
        notes.remove(f"{number}.md")
    found, _ = search(notes.store.path)
    assert notes.file.read_bytes() != written
    assert search(notes.store.path) == (found, 0)
    assert found == without_file(notes)


def test_a_reader_writes_nothing(notes: Notes) -> None:
    """Where the store is opened for reading only, a file is used and none is made."""
    assert search(notes.store.path, read_only=True)[1] == 0
    notes.file.unlink()
    assert search(notes.store.path, read_only=True)[1] == 120
    assert not notes.file.exists()


@pytest.mark.parametrize("where", [0, 20, 4096, -1])
def test_a_damaged_file_is_written_anew(notes: Notes, where: int) -> None:
    """Wherever a bit has changed."""
    damaged = bytearray(notes.file.read_bytes())
    damaged[where] ^= 1
    notes.file.write_bytes(damaged)
    found, read = search(notes.store.path)
    assert read == 120
    assert search(notes.store.path) == (found, 0)
    assert found == without_file(notes)


def test_a_shorter_file_is_written_anew(notes: Notes) -> None:
    """As after a disk was full."""
    notes.file.write_bytes(notes.file.read_bytes()[:-64])
    assert search(notes.store.path)[1] == 120


def test_the_file_of_another_database_is_not_believed(notes: Notes, tmp_path: Path) -> None:
    """Neither of one with another mark, nor of one with as many other vectors."""
    with closing(sqlite3.connect(notes.store.path)) as connection, connection:
        connection.execute("INSERT INTO meta VALUES ('mark', 7)")
    assert search(notes.store.path)[1] == 120
    other = Notes(SqliteStore(tmp_path / "other.sqlite"))
    with closing(other.store):
        for number in range(40):
            other.put(f"{number}.md", [f"{number} eins", f"{number} zwei"])
        shutil.copy(notes.file, other.file)
        with closing(sqlite3.connect(other.store.path)) as connection, connection:
            connection.execute("INSERT INTO meta VALUES ('mark', 7)")
        assert search(other.store.path)[1] == 120


def test_a_backup_that_is_put_back_is_noticed(notes: Notes, tmp_path: Path) -> None:
    """Though it has had as many commits since as were lost, the file of the lost ones is not used."""
    backup = tmp_path / "backup.sqlite"
    notes.store.close()
    shutil.copy(notes.store.path, backup)
    notes.store = SqliteStore(notes.store.path)
    for number in range(40, 60):
        notes.put(f"{number}.md", [f"{number} lost"])
    search(notes.store.path)
    assert search(notes.store.path)[1] == 0
    notes.store.close()
    backup.replace(notes.store.path)
    notes.store = SqliteStore(notes.store.path)
    assert search(notes.store.path)[1] == 120
    for number in range(40, 60):
        notes.put(f"{number}.md", [f"{number} new"])
    found, _ = search(notes.store.path)
    assert found == without_file(notes)


def test_files_go_with_what_they_hold(notes: Notes) -> None:
    """Compacting removes them, as they hold vectors of deleted texts; that of a dropped space goes, too."""
    stale = notes.file.with_name(notes.file.name.replace(str(notes.space_id), "99"))
    shutil.copy(notes.file, stale)
    for number in range(40, 60):
        notes.put(f"{number}.md", [f"{number} one"])
    search(notes.store.path)
    assert not stale.exists()
    assert notes.file.exists()
    notes.store.compact()
    assert not notes.file.exists()


def test_only_one_process_writes(tmp_path: Path) -> None:
    """Another one that has begun is left to it. What is written is mapped as it was."""
    path = tmp_path / "file"
    vectors = unit_vectors(5, dimension=8).astype(np.float16)
    ids = np.arange(3, 8)
    chunks = np.array([[7, 4], [2, 6]])
    matrix = Matrix((VectorBlock(ids, vectors),)).with_owners(VectorKind.TEXT, chunks)
    space = SpaceMatrix(2, 1, {"vectors": 7, "chunks": 7, "names": 0}, matrix)
    begun = path.with_name("file.new")
    begun.touch()
    assert not write_matrix(path, 5, space)
    begun.unlink()
    assert write_matrix(path, 5, space)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    mapped = map_matrix(path, 5)
    assert mapped is not None
    assert (mapped.version, mapped.epoch, mapped.last_ids) == (2, 1, space.last_ids)
    (block,), owners = mapped.matrix.blocks, mapped.matrix.owners
    assert (block.ids == ids).all()
    assert (block.rows == vectors).all()
    assert owners[VectorKind.TEXT].ids.tolist() == [2, 7]
    assert owners[VectorKind.TEXT].rows.tolist() == [3, 1]
    assert not len(owners[VectorKind.NAME].ids)
    assert map_matrix(path, 6) is None


def test_what_another_process_has_just_written_is_mapped(notes: Notes) -> None:
    """A process that had fewer rows, and catches up after another one has, does not write the same again."""
    with closing(SqliteStore(notes.store.path)) as other:
        with other.read() as view:
            view.vectors.nearest(VectorKind.TEXT, notes.space_id, QUERY, notes.where(), 9)
        for number in range(40, 60):
            notes.put(f"{number}.md", [f"{number} one"])
        search(notes.store.path)
        written = notes.file.stat().st_mtime_ns
        with other.read() as view:
            assert (
                len(view.vectors.nearest(VectorKind.TEXT, notes.space_id, QUERY, notes.where(), 999)) == 100
            )
            space = vectors_in(view).load_matrix(notes.space_id)
        assert [each.codes is not None for each in space.matrix.blocks] == [True]
        assert notes.file.stat().st_mtime_ns == written


def test_ids_that_the_database_never_gave_are_noticed(notes: Notes) -> None:
    """As in a backup that has had many commits, but fewer rows."""
    with notes.store.read() as view:
        file = MatrixFile(notes.store.path, notes.space_id, vectors_in(view).tables.rows)
        space = file.read(view.version, vectors_in(view).tables.vector_epoch)
        assert space is not None
        for table in space.last_ids:
            changed = replace(space, last_ids={**space.last_ids, table: 10_000})
            assert write_matrix(file.path, None, changed)
            assert file.read(view.version, vectors_in(view).tables.vector_epoch) is None


def test_a_search_does_not_wait_for_a_file(notes: Notes) -> None:
    """While another process writes it, every vector is read from the database."""
    found = without_file(notes)
    notes.file.with_name(f"{notes.file.name}.new").touch()
    assert search(notes.store.path) == (found, 120)
    assert not notes.file.exists()


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """As where a folder has the name."""
    space = SpaceMatrix(1, 1, {}, Matrix((VectorBlock(np.arange(1), np.ones((1, 4), np.float16)),)))
    (tmp_path / "file").mkdir()
    assert not write_matrix(tmp_path / "file", None, space)
    assert not (tmp_path / "file.new").exists()


def test_a_file_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    """Not before ten minutes have passed: writing takes seconds."""
    path = tmp_path / "file"
    left = path.with_name("file.new")
    space = SpaceMatrix(1, 1, {}, Matrix((VectorBlock(np.arange(1), np.ones((1, 4), np.float16)),)))
    left.touch()
    minutes_ago = time.time() - 601
    os.utime(left, (minutes_ago, minutes_ago))
    assert write_matrix(path, None, space)
    assert not left.exists()


def test_rows_that_are_not_there_are_noticed(tmp_path: Path) -> None:
    """A file whose owners have rows beyond the last one is not believed, whoever wrote it."""
    vectors = np.ones((2, 4), np.float16)
    owners = {**NO_OWNERS, VectorKind.NAME: Owners(np.array([1]), np.array([2]))}
    space = SpaceMatrix(1, 1, {}, Matrix((VectorBlock(np.arange(2), vectors),), owners))
    assert write_matrix(tmp_path / "file", None, space)
    assert map_matrix(tmp_path / "file", None) is None
