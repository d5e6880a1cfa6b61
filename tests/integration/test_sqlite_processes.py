"""Several processes on one database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.store_world import FOLDER, SPACE, make_document, put, unit_vectors

from mdvec.stores.sqlite.database import Database
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.hashing import text_hash
from mdvec.types.collection import ChunkingSpec
from mdvec.types.query import Scope

WRITER = """
import sys
from pathlib import Path
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.hashing import text_hash
from tests.contract.store_world import SPACE, make_document, put, unit_vectors
path, name, rounds = sys.argv[1:]
store = SqliteStore(Path(path))
notes = store.catalog.collections()[0]
for number in range(int(rounds)):
    texts = [f"word {name} {number} {part}" for part in range(3)]
    with store.transaction():
        put(store, notes.id, *make_document(f"{name}{number % 5}.md", texts))
    with store.transaction():
        space_id = store.vectors.open_space(SPACE)
        store.vectors.add(space_id, [text_hash(text) for text in texts], unit_vectors(3, seed=number))
        store.vectors.drop_unused(keep=30)
    print(number, flush=True)
store.close()
"""


def test_a_write_of_another_process_is_seen(tmp_path: Path) -> None:
    """Words, vectors, counts and removed vectors of another process show in the next search."""
    store = SqliteStore(tmp_path / "index.sqlite")
    with store.transaction():
        notes = store.catalog.add_collection("notes", "", FOLDER, ChunkingSpec())
        space_id = store.vectors.open_space(SPACE)
        put(store, notes.id, *make_document("mine.md", ["mine"]))
        store.vectors.add(space_id, [text_hash("mine")], unit_vectors(1, seed=99))
    scope = Scope((notes.id,))
    query = unit_vectors(3, seed=1)[2]
    assert len(store.vectors.search(space_id, query, 9, scope).ids) == 1
    assert store.catalog.counts(notes.id, space_id).chunks == 1
    subprocess.run([sys.executable, "-c", WRITER, str(store_path(tmp_path)), "theirs", "2"], check=True)
    found = store.vectors.search(space_id, query, 9, scope)
    assert len(found.ids) == 7
    assert store.catalog.load_chunks(found.ids[:1])[found.ids[0]].text == "word theirs 1 2"
    assert len(store.lexical.search(["theirs"], 9, scope)) == 6
    assert store.catalog.counts(notes.id, space_id).chunks == 7
    subprocess.run([sys.executable, "-c", WRITER, str(store_path(tmp_path)), "theirs", "40"], check=True)
    assert len(store.vectors.search(space_id, query, 99, scope).ids) == 16
    store.close()


def store_path(folder: Path) -> Path:
    """Where the database is."""
    return folder / "index.sqlite"


def test_readers_and_two_writers(tmp_path: Path) -> None:
    """Two processes write while this one reads: nobody is ever told that the database is locked."""
    store = SqliteStore(store_path(tmp_path))
    with store.transaction():
        notes = store.catalog.add_collection("notes", "", FOLDER, ChunkingSpec())
        space_id = store.vectors.open_space(SPACE)
    scope = Scope((notes.id,))
    query = unit_vectors(1)[0]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store_path(tmp_path)), name, "60"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    reads = 0
    while any(writer.poll() is None for writer in writers):
        ranking = store.lexical.search(["word"], 99, scope)
        assert len(ranking) % 3 == 0  # a document has three chunks or is not there
        assert len(store.vectors.search(space_id, query, 99, scope).ids) <= 30
        store.catalog.load_chunks([chunk_id for chunk_id, _ in ranking])
        store.catalog.counts(notes.id, space_id)
        reads += 1
    assert [(writer.returncode, writer.communicate()[1]) for writer in writers] == [(0, "")] * 2
    assert reads > 5
    assert store.catalog.counts(notes.id, space_id).chunks == 30
    store.close()


@pytest.mark.parametrize("rounds", [3])
def test_a_killed_writer_leaves_whole_documents(tmp_path: Path, rounds: int) -> None:
    """After kill -9 the file is sound, every document is searchable, and words and chunks agree."""
    path = store_path(tmp_path)
    store = SqliteStore(path)
    with store.transaction():
        store.catalog.add_collection("notes", "", FOLDER, ChunkingSpec())
    store.close()
    for turn in range(rounds):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"n{turn}", "100000"],
            stdout=subprocess.PIPE,
            text=True,
        ) as writer:
            assert writer.stdout is not None
            for _ in range(8 + turn):
                writer.stdout.readline()
            writer.kill()
        database = Database(path)
        with database.reading() as connection:
            chunks = connection.execute("SELECT count(*) FROM chunks").get
            documents = connection.execute("SELECT count(*) FROM documents").get
            assert chunks == 3 * documents == connection.execute("SELECT count(*) FROM chunks_fts").get
            assert connection.pragma("integrity_check") == "ok"
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        with database.transaction() as connection:
            connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('integrity-check')")
        database.close()
