"""What is kept in memory of a space: how it grows, what is read for it, and whose snapshot it shows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mdvec.stores.sqlite.catalog import SqliteCatalog
from mdvec.stores.sqlite.space import LoadedSpace
from tests.contract.store_world import FOLDER, SPACE, make_document, make_entry, unit_vectors

from mdvec.stores.sqlite import space
from mdvec.stores.sqlite.connection import Access, Connection, connect
from mdvec.stores.sqlite.database import Database
from mdvec.stores.sqlite.vectors import SqliteVectorIndex
from mdvec.text.hashing import text_hash
from mdvec.types.collection import ChunkingSpec
from mdvec.types.ids import ChunkId
from mdvec.types.query import Scope

QUERY = unit_vectors(1, seed=4)[0]


class WatchedDatabase(Database):
    """A database that tells what its readers ask, and can give one an old snapshot.

    Attributes:
        asked: Every query of a reader with what was bound to it.
        stop_at: Part of a query that ends in Ctrl-C, once.
        old: A connection with a snapshot, for the next reader.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[tuple[str, Any]] = []
        self.stop_at: str | None = None
        self.old: Connection | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read as usual, or from the old snapshot."""
        if self.old is not None:
            old, self.old = self.old, None
            yield old
            return
        with super().reading() as connection:
            connection.exec_trace = self._note
            try:
                yield connection
            finally:
                connection.exec_trace = None

    def _note(self, _cursor: object, sql: str, bindings: Any) -> bool:
        if self.stop_at is not None and self.stop_at in sql:
            self.stop_at = None
            raise KeyboardInterrupt
        self.asked.append((sql, bindings))
        return True

    def take_snapshot(self) -> Connection:
        """Open a connection that goes on seeing what is there now."""
        connection = connect(self.path, Access.WRITE)
        connection.execute("BEGIN")
        assert connection.execute("SELECT count(*) FROM chunks").get is not None
        return connection


class Bench:
    """A database with an index that was not searched yet."""

    def __init__(self, path: Path) -> None:
        self.database = WatchedDatabase(path)
        self.catalog = SqliteCatalog(self.database)
        self.index = SqliteVectorIndex(self.database)
        with self.database.transaction():
            self.notes = self.catalog.add_collection("notes", "", FOLDER, ChunkingSpec()).id
            self.space_id = self.index.open_space(SPACE)

    def put(self, path: str, texts: list[str], *, embed: bool = True) -> list[ChunkId]:
        """Write a document, and give its texts and its name vectors."""
        document, chunks = make_document(path, texts)
        with self.database.transaction():
            ids = self.catalog.put_document(
                self.notes,
                document,
                chunks,
                entry=make_entry(path),
                content_hash=bytes(32),
                fingerprint="",
            )
        if embed:
            self.embed([*texts, path])
        return ids

    def embed(self, texts: list[str]) -> None:
        """Give texts vectors of their own."""
        vectors = [unit_vectors(1, seed=int.from_bytes(text_hash(text)[:4])) for text in texts]
        with self.database.transaction():
            self.index.add(self.space_id, [text_hash(text) for text in texts], np.concatenate(vectors))

    def remove(self, path: str) -> None:
        """Remove a document."""
        with self.database.transaction():
            self.catalog.delete_document(self.notes, path)

    def found(self) -> set[ChunkId]:
        """Search for everything."""
        return set(self.index.search(self.space_id, QUERY, 99, Scope((self.notes,))).ids)

    def starts(self) -> dict[str, int]:
        """Return behind which id each kind of row was read since the last call, of those that were read."""
        starts = {}
        for sql, bindings in self.database.asked:
            for kind in ("vector", "document", "chunk", "name"):
                if f"FROM {kind}s o" in sql:
                    starts[kind] = bindings[1]
                if sql.startswith((f"SELECT id FROM {kind}s", f"SELECT id, vector FROM {kind}s")):
                    starts[kind] = bindings[-1]
        self.database.asked.clear()
        return starts


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Three documents of two chunks."""
    made = Bench(tmp_path / "index.sqlite")
    for name in "abc":
        made.put(f"{name}.md", [f"{name} one", f"{name} two"])
    yield made
    made.database.close()


def test_only_what_is_new_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a commit rows are read behind the last ones; without a commit none are, counts included."""
    monkeypatch.setattr(space, "_FEW_CHUNKS", 0)
    first = bench.found()
    assert bench.starts() == {"vector": 0, "document": 0, "chunk": 0, "name": 0}
    bench.found()
    assert bench.starts() == {}
    new = bench.put("d.md", ["d one"], embed=False)
    assert bench.found() == first
    assert bench.starts() == {"document": 3, "chunk": 6, "name": 3}
    bench.embed(["d one"])
    assert bench.found() == {*first, *new}
    assert bench.starts() == {"vector": 9, "chunk": 7, "name": 4}


def test_removed_vectors_leave_memory(bench: Bench) -> None:
    """When vectors were dropped, those that are left are read anew."""
    bench.found()
    bench.remove("a.md")
    bench.index.drop_unused()
    bench.starts()
    assert len(bench.found()) == 4
    assert bench.starts()["vector"] == 0


def test_chunks_that_are_gone_leave_memory(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once in a small index; in a large one when there are many of them."""
    for few, expected in ((4096, [6, 4, 2]), (0, [6, 6, 2])):
        monkeypatch.setattr(space, "_FEW_CHUNKS", few)
        monkeypatch.setattr(space, "_MOST_PLACES", 2.0)
        with bench.database.reading() as connection:
            loaded = LoadedSpace(connection, bench.space_id)
        sizes = [len(loaded.view().chunks)]
        for path in ("b.md", "c.md"):
            bench.remove(path)
            with bench.database.reading() as connection:
                loaded.catch_up(connection)
            sizes.append(len(loaded.view().chunks))
        assert sizes == expected
        bench.put("b.md", ["b one", "b two"])
        bench.put("c.md", ["c one", "c two"])


def test_a_chunk_takes_sixteen_bytes(bench: Bench) -> None:
    """Beside its vector; a name and a document take 8."""
    with bench.database.reading() as connection:
        placement = LoadedSpace(connection, bench.space_id).view().placement
    of_chunks = (placement.chunks, placement.chunk_slots, placement.chunk_rows)
    assert sum(each.nbytes for each in of_chunks) == 6 * 16
    assert placement.documents.nbytes + placement.name_slots.nbytes + placement.name_rows.nbytes == 3 * 16


def test_a_search_with_an_older_snapshot_looks_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that was replaced twice meanwhile is found, though memory never knew its middle state."""
    monkeypatch.setattr(space, "_FEW_CHUNKS", 0)
    bench.found()
    bench.put("a.md", ["second version"])
    snapshot = bench.database.take_snapshot()
    third = bench.put("a.md", ["third version"])
    bench.found()
    bench.database.old = snapshot
    assert bench.found() >= set(third)
    bench.database.old = snapshot
    near = bench.index.similarities(bench.space_id, QUERY, third)
    assert near.keys() == set(third)
    snapshot.close()


def test_a_file_that_was_put_back_is_searched(bench: Bench) -> None:
    """A database that counts from an earlier number, as a backup does, is read each time."""
    before = bench.found()
    other = sqlite3.connect(bench.database.path)
    other.execute("UPDATE meta SET value = 0 WHERE key = 'generation'")
    other.commit()
    other.close()
    assert bench.found() == before


def test_what_is_read_halfway_is_forgotten(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C in the middle of reading, the next search finds every chunk once."""
    monkeypatch.setattr(space, "_FEW_CHUNKS", 0)
    before = bench.found()
    new = bench.put("d.md", ["d one"])
    bench.database.stop_at = "FROM names o"
    with pytest.raises(KeyboardInterrupt):
        bench.found()
    matches = bench.index.search(bench.space_id, QUERY, 99, Scope((bench.notes,)))
    assert sorted(matches.ids) == sorted({*before, *new})


def test_what_a_transaction_sees_is_nothing_to_others(bench: Bench) -> None:
    """A search inside a transaction finds what it wrote; after a rollback nobody does."""
    before = bench.found()

    def write_and_fail() -> None:
        document, chunks = make_document("d.md", ["a one"])
        with bench.database.transaction():
            bench.catalog.put_document(
                bench.notes,
                document,
                chunks,
                entry=make_entry("d.md"),
                content_hash=bytes(32),
                fingerprint="",
            )
            assert len(bench.found()) == len(before) + 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert bench.found() == before
    assert len(bench.put("d.md", ["b one"])) == 1
    assert len(bench.found()) == len(before) + 1
