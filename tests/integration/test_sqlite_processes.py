"""Several processes on one database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.store_world import SPACE, add_collection, make_document, put, read, unit_vectors
from tests.waiting import HANG_S

from mdvec.stores.records import VectorKind
from mdvec.stores.sqlite.database import SqliteDatabase
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.hashing import text_hash
from mdvec.types.query import Where

WRITER = """
import sys
from pathlib import Path
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.hashing import text_hash
from tests.contract.store_world import SPACE, make_document, put, read, unit_vectors
path, name, rounds = sys.argv[1:]
store = SqliteStore(Path(path))
(notes,) = read(store, lambda view: view.collections.all())
for number in range(int(rounds)):
    texts = [f"word {name} {number} {part}" for part in range(3)]
    with store.write() as writer:
        put(writer, notes.id, *make_document(f"{name}{number % 5}.md", texts))
    with store.write() as writer:
        space_id = writer.spaces.open(SPACE)
        writer.vectors.put(space_id, [text_hash(text) for text in texts], unit_vectors(3, seed=number))
        writer.vectors.drop_unused(keep=30)
    print(number, flush=True)
store.close()
"""

READER = """
import sys
from pathlib import Path
from mdvec.stores.records import VectorKind
from mdvec.stores.sqlite.store import SqliteStore
from tests.contract.store_world import SPACE, unit_vectors
from mdvec.types.query import Where
with SqliteStore(Path(sys.argv[1])).read() as view:
    (notes,) = view.collections.all()
    where = Where((notes.id,))
    print(len(view.words.bm25(["word"], where, 99)), len(view.chunks.get([1, 2, 3])),
        len(view.vectors.nearest(VectorKind.TEXT, view.spaces.find(SPACE), unit_vectors(1)[0], where, 99)))
"""


def test_another_process_searches_while_a_collection_is_deleted(tmp_path: Path) -> None:
    """One that starts in the middle of it opens the database and answers from what was there before."""
    store = SqliteStore(store_path(tmp_path))
    notes = add_collection(store)
    texts = [f"word {number}" for number in range(3)]
    with store.write() as writer:
        put(writer, notes.id, *make_document("a.md", texts))
        hashes = [text_hash(text) for text in texts]
        writer.vectors.put(writer.spaces.open(SPACE), hashes, unit_vectors(3))
    with store.write() as writer:
        writer.collections.delete(notes.id)
        answered = subprocess.run(
            [sys.executable, "-c", READER, str(store_path(tmp_path))],
            check=True,
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
    assert answered.stdout.split() == ["3", "3", "3"]
    assert read(store, lambda view: view.collections.all()) == []
    store.close()


def test_a_write_of_another_process_is_seen(tmp_path: Path) -> None:
    """Words, vectors, counts and removed vectors of another process show in the next search."""
    store = SqliteStore(tmp_path / "index.sqlite")
    notes = add_collection(store)
    with store.write() as writer:
        space_id = writer.spaces.open(SPACE)
        put(writer, notes.id, *make_document("mine.md", ["mine"]))
        writer.vectors.put(space_id, [text_hash("mine")], unit_vectors(1, seed=99))
    where = Where((notes.id,))
    query = unit_vectors(3, seed=1)[2]
    assert (
        len(read(store, lambda view: view.vectors.nearest(VectorKind.TEXT, space_id, query, where, 9))) == 1
    )
    assert read(store, lambda view: view.collections.counts(notes.id, space_id)).chunks == 1
    subprocess.run([sys.executable, "-c", WRITER, str(store_path(tmp_path)), "theirs", "2"], check=True)
    found = [
        key
        for key, _ in read(
            store, lambda view: view.vectors.nearest(VectorKind.TEXT, space_id, query, where, 9)
        )
    ]
    assert len(found) == 7
    assert read(store, lambda view: view.chunks.get(found[:1]))[found[0]].text == "word theirs 1 2"
    assert len(read(store, lambda view: view.words.bm25(["theirs"], where, 9))) == 6
    assert read(store, lambda view: view.collections.counts(notes.id, space_id)).chunks == 7
    subprocess.run([sys.executable, "-c", WRITER, str(store_path(tmp_path)), "theirs", "40"], check=True)
    assert (
        len(read(store, lambda view: view.vectors.nearest(VectorKind.TEXT, space_id, query, where, 99))) == 16
    )
    store.close()


def store_path(folder: Path) -> Path:
    """Where the database is."""
    return folder / "index.sqlite"


def test_readers_and_two_writers(tmp_path: Path) -> None:
    """Two processes write while this one reads: none ever finds the database locked."""
    store = SqliteStore(store_path(tmp_path))
    notes = add_collection(store)
    with store.write() as writer:
        space_id = writer.spaces.open(SPACE)
    where = Where((notes.id,))
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
        with store.read() as view:
            ranking = view.words.bm25(["word"], where, 99)
            assert len(ranking) % 3 == 0  # a document has three chunks or is not there
            assert len(view.vectors.nearest(VectorKind.TEXT, space_id, query, where, 99)) <= 30
            assert len(view.chunks.get([chunk_id for chunk_id, _ in ranking])) == len(ranking)
            assert view.collections.counts(notes.id, space_id).chunks == len(ranking)
        reads += 1
    assert [(writer.returncode, writer.communicate()[1]) for writer in writers] == [(0, "")] * 2
    assert reads > 5
    assert read(store, lambda view: view.collections.counts(notes.id, space_id)).chunks == 30
    store.close()


@pytest.mark.parametrize("rounds", [3])
def test_a_killed_writer_leaves_whole_documents(tmp_path: Path, rounds: int) -> None:
    """After kill -9 the file is sound, every document is searchable, and words and chunks agree."""
    path = store_path(tmp_path)
    store = SqliteStore(path)
    add_collection(store)
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
        database = SqliteDatabase(path)
        with database.reading() as connection:
            chunks = connection.execute("SELECT count(*) FROM chunks").get
            documents = connection.execute("SELECT count(*) FROM documents").get
            assert chunks == 3 * documents == connection.execute("SELECT count(*) FROM chunks_fts").get
            assert connection.pragma("integrity_check") == "ok"
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        with database.writing() as connection:
            connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('integrity-check')")
        database.close()
