"""A full disk: a clear error, and everything committed before is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mdvec.stores.sqlite.catalog import SqliteCatalog
from tests.contract.store_world import FOLDER, make_document, make_entry

from mdvec.errors import DatabaseFullError
from mdvec.stores.sqlite.database import Database
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.types.collection import ChunkingSpec


def test_the_file_cannot_grow(tmp_path: Path) -> None:
    """The transaction that does not fit is undone, the ones before and after it are kept."""
    database = Database(tmp_path / "index.sqlite")
    catalog = SqliteCatalog(database)
    notes = catalog.add_collection("notes", "", FOLDER, ChunkingSpec())

    def write(path: str, length: int) -> None:
        document, chunks = make_document(path, ["x" * length])
        catalog.put_document(
            notes.id, document, chunks, entry=make_entry(path), content_hash=bytes(32), fingerprint=""
        )

    write("before.md", 10)

    def write_too_much() -> None:
        with database.transaction() as connection:
            connection.pragma("max_page_count", connection.pragma("page_count") + 20)
            write("small.md", 10)
            write("large.md", 1_000_000)

    with pytest.raises(DatabaseFullError, match="full"):
        write_too_much()
    assert list(catalog.known_documents(notes.id)) == ["before.md"]
    write("after.md", 10)
    with database.reading() as connection:
        assert connection.pragma("integrity_check") == "ok"
    assert sorted(catalog.known_documents(notes.id)) == ["after.md", "before.md"]
    database.close()


def test_the_system_refuses_to_write(tmp_path: Path) -> None:
    """When the system takes no more bytes, the error says so, and the file is whole afterwards."""
    path = tmp_path / "index.sqlite"
    code = """
import resource, sys
from pathlib import Path
from mdvec.errors import DatabaseFullError
from mdvec.types.collection import ChunkingSpec
from mdvec.stores.sqlite.store import SqliteStore
from tests.contract.store_world import FOLDER, make_document, put
store = SqliteStore(Path(sys.argv[1]))
with store.transaction():
    notes = store.catalog.add_collection("notes", "", FOLDER, ChunkingSpec())
resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))
written = 0
try:
    with store.writer("import", wait_s=0):
        while True:
            with store.transaction():
                put(store, notes.id, *make_document(f"{written}.md", ["word " * 10_000]))
            written += 1
except DatabaseFullError:
    print(written, len(store.catalog.known_documents(notes.id)))
"""
    result = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    written, known = map(int, result.stdout.split())
    assert written == known > 5
    store = SqliteStore(path)
    with store.writer("go on", wait_s=0), store.transaction():
        assert len(store.catalog.known_documents(store.catalog.collections()[0].id)) == written
    store.close()
