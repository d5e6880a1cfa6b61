"""Matrices in memory: how they grow, what is read for them, and which snapshots they show."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.store_world import (
    SPACE,
    World,
    connection_of,
    make_document,
    put,
    unit_vectors,
    vector_of,
    vectors_in,
)

from mdvec.stores import vector_tables
from mdvec.stores.records import VectorKind
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.types.ids import ChunkId

QUERY = unit_vectors(1, seed=4)[0]


class Bench(World):
    """A store that records the statements of its snapshots.

    Attributes:
        statements: Every statement with what was bound to it.
        stop_at: Part of a statement that ends in Ctrl-C, once.
    """

    store: SqliteStore

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(store)
        self.statements: list[tuple[str, Any]] = []
        self.stop_at: str | None = None

    def put(self, path: str, texts: list[str], *, embed: bool = True) -> list[ChunkId]:
        """Write a document, and give its texts and its name vectors."""
        ids = self.add(path, texts)
        if embed:
            self.give([*texts, path])
        return ids

    def give(self, texts: list[str]) -> None:
        """Give texts vectors of their own."""
        self.embed({text: vector_of(text) for text in texts})

    def found(self) -> set[ChunkId]:
        """Search for everything."""
        with self.store.read() as view:
            return self.found_in(view)

    def found_in(self, view: Any) -> set[ChunkId]:
        """Search for everything in a snapshot."""
        connection_of(view).exec_trace = self._note
        try:
            found = view.vectors.nearest(VectorKind.TEXT, self.space_id, QUERY, self.where(), 99)
        finally:
            connection_of(view).exec_trace = None
        return {key for key, _ in found}

    def starts(self) -> dict[str, int]:
        """Return behind which id each kind of row was read since the last call, of those that were read."""
        starts = {}
        for sql, bindings in self.statements:
            for kind in ("chunk", "name"):
                if f"FROM {kind}s o" in sql:
                    starts[kind] = bindings[1]
            if sql.startswith("SELECT v.id, intact(v.vector"):
                starts["vector"] = bindings[1]
        self.statements.clear()
        return starts

    def _note(self, _cursor: object, sql: str, bindings: Any) -> bool:
        if self.stop_at is not None and self.stop_at in sql:
            self.stop_at = None
            raise KeyboardInterrupt
        self.statements.append((sql, bindings))
        return True


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Three documents of two chunks."""
    store = SqliteStore(tmp_path / "index.sqlite")
    made = Bench(store)
    for name in "abc":
        made.put(f"{name}.md", [f"{name} one", f"{name} two"])
    yield made
    store.close()


def test_only_what_is_new_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a commit rows are read behind the last ones; without a commit none are."""
    monkeypatch.setattr(vector_tables, "_FEW_CHUNKS", 0)
    first = bench.found()
    assert bench.starts() == {"vector": 0, "chunk": 0, "name": 0}
    bench.found()
    assert bench.starts() == {}
    new = bench.put("d.md", ["d one"], embed=False)
    assert bench.found() == first
    assert bench.starts() == {"chunk": 6, "name": 3}
    bench.give(["d one"])
    assert bench.found() == {*first, *new}
    assert bench.starts() == {"vector": 9, "chunk": 7, "name": 4}


def test_removed_vectors_leave_memory(bench: Bench) -> None:
    """When vectors were dropped, those that are left are read anew."""
    bench.found()
    bench.remove("a.md")
    with bench.store.write() as writer:
        writer.vectors.drop_unused()
    bench.starts()
    assert len(bench.found()) == 4
    assert bench.starts()["vector"] == 0


def test_chunks_that_are_gone_leave_memory(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once in a small index; in a large one when there are many of them."""
    for few, expected in ((4096, [6, 4, 2]), (0, [6, 6, 2])):
        monkeypatch.setattr(vector_tables, "_FEW_CHUNKS", few)
        monkeypatch.setattr(vector_tables, "_MAX_OWNERS", 2.0)
        with bench.store.read() as view:
            space = vectors_in(view).load_matrix(bench.space_id)
        sizes = [len(space.matrix.owners[VectorKind.TEXT].ids)]
        for path in ("b.md", "c.md"):
            bench.remove(path)
            with bench.store.read() as view:
                space = vectors_in(view).update_matrix(bench.space_id, space)
            sizes.append(len(space.matrix.owners[VectorKind.TEXT].ids))
        assert sizes == expected
        bench.put("b.md", ["b one", "b two"])
        bench.put("c.md", ["c one", "c two"])


def test_a_chunk_takes_sixteen_bytes(bench: Bench) -> None:
    """And its vector two for each number; so does a name."""
    with bench.store.read() as view:
        found = vectors_in(view).load_matrix(bench.space_id).matrix
    chunks, names = found.owners[VectorKind.TEXT], found.owners[VectorKind.NAME]
    assert chunks.ids.nbytes + chunks.rows.nbytes == 6 * 16
    assert names.ids.nbytes + names.rows.nbytes == 3 * 16
    assert found.whole().rows.nbytes == 9 * 2 * SPACE.dimension


@pytest.mark.parametrize("few", [0, 4096])
def test_an_older_snapshot_finds_what_it_shows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """A document that was replaced twice meanwhile is found as it was, though memory never saw that state."""
    monkeypatch.setattr(vector_tables, "_FEW_CHUNKS", few)
    everything = bench.found()
    second = bench.put("a.md", ["second version"])
    with bench.store.read() as old:
        assert old.collections.all()  # from here on it is a snapshot
        third = bench.put("a.md", ["third version"])
        assert bench.found() >= set(third)
        found = bench.found_in(old)
        assert found >= set(second)
        assert not found & set(third)
        assert (
            old.vectors.similarities(VectorKind.TEXT, bench.space_id, QUERY.reshape(1, -1), second) > -1
        ).all()
    assert bench.found() >= set(third)
    assert len(bench.found()) == len(everything) - 1


def test_a_file_that_was_put_back_is_searched(bench: Bench) -> None:
    """A database that counts from an earlier number, as a backup does, is read each time."""
    before = bench.found()
    other = sqlite3.connect(bench.store.path)
    other.execute("UPDATE meta SET value = 0 WHERE key = 'generation'")
    other.commit()
    other.close()
    assert bench.found() == before


def test_what_is_read_halfway_is_forgotten(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C in the middle of reading, the next search finds every chunk once."""
    monkeypatch.setattr(vector_tables, "_FEW_CHUNKS", 0)
    before = bench.found()
    new = bench.put("d.md", ["d one"])
    bench.stop_at = "FROM names o"
    with pytest.raises(KeyboardInterrupt):
        bench.found()
    with bench.store.read() as view:
        found = [
            key for key, _ in view.vectors.nearest(VectorKind.TEXT, bench.space_id, QUERY, bench.where(), 99)
        ]
    assert sorted(found) == sorted({*before, *new})


def test_what_a_transaction_sees_is_nothing_to_others(bench: Bench) -> None:
    """A search inside a transaction finds what it wrote; after a rollback none does."""
    before = bench.found()

    def write_and_fail() -> None:
        with bench.store.write() as writer:
            put(writer, bench.first.id, *make_document("d.md", ["a one"]))
            assert len(bench.found_in(writer)) == len(before) + 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert bench.found() == before
    assert len(bench.put("d.md", ["b one"])) == 1
    assert len(bench.found()) == len(before) + 1
