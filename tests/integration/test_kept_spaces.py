"""The file of a space beside its database: when it is used and written, and when it is not believed."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.contract.store_world import SPACE, World, unit_vectors, vector_of

from mdvec.stores import loaded
from mdvec.stores.blocks import Block, coded
from mdvec.stores.mapped import Arrays, map_arrays, write_arrays
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.types.query import Where

QUERY = unit_vectors(1, seed=4)[0]


class Notes(World):
    """A store whose spaces are kept in files from the first vector on."""

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
    monkeypatch.setattr(loaded, "_FEW_CHUNKS", 0)
    monkeypatch.setattr(loaded, "_FEW_ADDED", 0)
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

        view.connection.row_trace = count
        try:
            where = Where(tuple(each.id for each in view.collections()))
            space_id = view.find_space(SPACE)
            assert space_id is not None
            return {int(key): near for key, near in view.nearest_chunks(space_id, QUERY, where, 999)}, read
        finally:
            view.connection.row_trace = None


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
    """Another one that has begun is left to it; what it left when it was killed is removed in time."""
    path = tmp_path / "file"
    arrays: Arrays = {"numbers": np.arange(5), "none": np.empty((0, 3), np.float16)}
    begun = path.with_name("file.new")
    begun.touch()
    assert not write_arrays(path, "mine", arrays)
    begun.unlink()
    assert write_arrays(path, "mine", arrays)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    said, mapped = map_arrays(path, str) or ("", {})
    assert said == "mine"
    assert mapped["numbers"].tolist() == [0, 1, 2, 3, 4]
    assert mapped["none"].shape == (0, 3)
    assert map_arrays(path, int) is None


@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_codes_choose_the_nearest(alike: float) -> None:
    """The ten nearest are among the forty of the largest products by codes, also among vectors much alike."""
    vectors = unit_vectors(20_000, alike=alike, dimension=96).astype(np.float16)
    block = Block(np.arange(len(vectors)), vectors, coded(vectors))
    found = 0
    for query in unit_vectors(100, seed=1, alike=alike, dimension=96):
        exact = vectors.astype(np.float32) @ query
        products = block.products(query)
        assert np.abs(products - exact).max() < 0.01
        found += len({*np.argsort(-exact)[:10].tolist()} & {*np.argsort(-products)[:40].tolist()})
    assert found >= 999
