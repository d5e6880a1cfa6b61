"""The file in which sqlite-vec keeps an index: damaged, deleted, locked, shared."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.contract.attached_world import (
    CHUNKS_PER_DOCUMENT,
    FACTORIES,
    TEXTS,
    Place,
    World,
    assert_same,
    entry,
    held,
    nearest,
    open_world,
    queries,
    step,
)

from mdvec.errors import StoreError
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.stores.vectors.sqlite_vec import SqliteVecIndex


@pytest.fixture
def filled(full_databases: Callable[[str], Place], tmp_path: Path) -> Iterator[World]:
    """2,000 chunks and an index in a file that holds them."""
    made = open_world(full_databases("sqlite").copy(tmp_path), FACTORIES["sqlite-vec"], tmp_path)
    assert_same(made, count=1)
    assert held(made) == 2_250
    yield made
    made.close()


def garbage(path: Path, start: int, end: float) -> None:
    """Overwrite a part of a file, from a byte to a share of it."""
    content = bytearray(path.read_bytes())
    stop = int(len(content) * end)
    content[start:stop] = random.Random(1).randbytes(stop - start)
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "header": lambda path: garbage(path, 0, 0.01),
    "schema": lambda path: garbage(path, 100, 0.01),
    "body": lambda path: garbage(path, 8192, 1.0),
    "shortened": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "text": lambda path: path.write_text("nothing at all\n" * 100),
}


@pytest.mark.parametrize("damage", [*DAMAGES])
def test_a_damaged_file_is_built_again(filled: World, damage: str) -> None:
    """An index whose file is gone or damaged is filled again by the next searches."""
    filled.close()
    DAMAGES[damage](Path(filled.index.location))
    filled.open()
    for _ in range(3):
        assert_same(filled, count=2)
    assert held(filled) == 2_250


@pytest.mark.parametrize("damage", ["tables", "rows"])
def test_damage_inside_is_noticed(filled: World, damage: str) -> None:
    """Tables of vec0 that lack what they need are built again, while other connections are open."""
    with sqlite3.connect(filled.index.location) as database:
        if damage == "tables":
            database.execute("DROP TABLE text_1_chunks")
        else:
            database.execute("DELETE FROM text_1_vector_chunks00")
    database.close()
    for _ in range(3):
        assert_same(filled, count=2)
    assert held(filled) == 2_250


def test_a_file_that_is_deleted_in_use(filled: World) -> None:
    """A running process goes over to the new file."""
    path = Path(filled.index.location)
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    assert_same(filled, count=2)
    other = SqliteVecIndex(str(path))
    assert other.applied(TEXTS) is not None
    other.close()
    assert held(filled) == 2_250


def test_another_version_of_the_file(filled: World) -> None:
    """A file that another version of mdvec wrote is built again."""
    with sqlite3.connect(filled.index.location) as database:
        database.execute("PRAGMA application_id = 99")
    database.close()
    assert_same(filled, count=2)
    assert held(filled) == 2_250


def test_other_files_are_not_touched(tmp_path: Path) -> None:
    """A place that is something else is refused."""
    notes, database = tmp_path / "notes.md", tmp_path / "index.sqlite"
    notes.write_text("# Notes\n")
    SqliteStore(database).close()
    link = tmp_path / "index.sqlite.sqlite-vec"
    link.symlink_to(notes)
    for path in (notes, database, tmp_path, link):
        with pytest.raises(StoreError, match="is not a vector index"):
            SqliteVecIndex(str(path))
    assert notes.read_text() == "# Notes\n"


def test_removed_rows_do_not_fill_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A space from which much was removed is built again."""
    monkeypatch.setattr("mdvec.stores.vectors.sqlite_vec._ALWAYS_ROOM", 1_024)
    index, vectors = SqliteVecIndex(str(tmp_path / "index")), queries(1_100)
    index.apply(TEXTS, step(None, "1", [entry(at + 1, each) for at, each in enumerate(vectors)]))
    index.apply(TEXTS, step("1", "2", removed=range(1, 601)))
    assert index.applied(TEXTS) == "2"
    index.apply(TEXTS, step("2", "3", removed=range(601, 1_000)))
    assert index.applied(TEXTS) is None
    index.close()


def test_a_locked_file(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches do not need an index that another process is writing for long."""
    monkeypatch.setattr("mdvec.stores.vectors.sqlite_vec._BUSY_TIMEOUT_S", 0.05)
    filled.close()
    filled.open()
    filled.put("7.md", ["changed"], collection=1)
    filled.embed()
    lock = sqlite3.connect(filled.index.location)
    lock.execute("BEGIN IMMEDIATE")
    assert_same(filled, count=2)
    lock.rollback()
    lock.close()
    assert_same(filled, count=2)
    assert held(filled) == 2_250 - CHUNKS_PER_DOCUMENT + 1


def test_problems_are_shown(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that cannot be used says so, and is no damage of the store."""
    filled.close()
    monkeypatch.setattr("sqlite_vec.loadable_path", lambda: "/nowhere/vec0")
    with pytest.raises(StoreError, match="cannot be used"):
        SqliteVecIndex(filled.index.location)
    monkeypatch.undo()
    filled.open()
    Path(filled.index.location).unlink()
    Path(filled.index.location).mkdir()
    with filled.store.read() as view:
        index = view.vectors.index
        assert index is not None
        assert "cannot be used" in index.problem()
    assert filled.store.check() == []
    assert_same(filled, count=2)


def test_two_processes(filled: World) -> None:
    """Two stores that catch up with one file at once leave every entry once."""
    second = World(
        filled.place,
        SqliteVecIndex(filled.index.location),
        filled.exact,
        filled.store,
        filled.collections,
    )
    second.store = filled.place.open(second.index)
    problems: list[BaseException] = []
    stop = threading.Event()

    def search(world: World) -> None:
        try:
            while not stop.is_set():
                assert len(nearest(world.store, world, queries(1)[0])) == 10
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            problems.append(error)

    threads = [threading.Thread(target=search, args=(each,)) for each in (filled, second)]
    for each in threads:
        each.start()
    for number in range(0, 40, 2):
        filled.put(f"{number}.md", [f"new {number}"])
        filled.embed()
    stop.set()
    for each in threads:
        each.join()
    assert not problems
    assert_same(second, count=3)
    assert_same(filled, count=3)
    assert held(filled) == 2_250 - 20 * (CHUNKS_PER_DOCUMENT - 1)
    second.store.close()
