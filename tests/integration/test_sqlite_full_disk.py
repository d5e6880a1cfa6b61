"""A full disk: a clear error, and everything committed before is kept."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.contract.store_world import add_collection, connection_of, make_document, put, read

from mdvec.errors import DatabaseFullError
from mdvec.stores.sqlite.store import SqliteStore


def test_the_file_cannot_grow(tmp_path: Path) -> None:
    """The transaction that does not fit is undone, the ones before and after it are kept."""
    path = tmp_path / "index.sqlite"
    store = SqliteStore(path)
    notes = add_collection(store)

    def known() -> list[str]:
        return sorted(read(store, lambda view: view.documents.known(notes.id)))

    with store.write() as writer:
        put(writer, notes.id, *make_document("before.md", ["x" * 10]))

    def write_too_much() -> None:
        with store.write() as writer:
            connection = connection_of(writer)
            connection.pragma("max_page_count", connection.pragma("page_count") + 20)
            put(writer, notes.id, *make_document("small.md", ["x" * 10]))
            put(writer, notes.id, *make_document("large.md", ["x" * 1_000_000]))

    with pytest.raises(DatabaseFullError, match="full"):
        write_too_much()
    assert known() == ["before.md"]
    with store.write() as writer:
        put(writer, notes.id, *make_document("after.md", ["x" * 10]))
    assert known() == ["after.md", "before.md"]
    assert store.check() == []
    store.close()


def test_the_system_refuses_to_write(tmp_path: Path) -> None:
    """When the system takes no more bytes, the error says so, and the file is whole afterwards."""
    path = tmp_path / "index.sqlite"
    code = """
import resource, sys
from pathlib import Path
from mdvec.errors import DatabaseFullError
from mdvec.stores.sqlite.store import SqliteStore
from tests.contract.store_world import add_collection, make_document, put, read
store = SqliteStore(Path(sys.argv[1]))
notes = add_collection(store)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
written = 0
try:
    with store.claim(notes, "importing", wait_s=0) as claim:
        while True:
            with store.write(claim) as writer:
                put(writer, notes.id, *make_document(f"{written}.md", ["word " * 10_000]))
            written += 1
except DatabaseFullError:
    print(written, len(read(store, lambda view: view.documents.known(notes.id))))
"""
    result = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    written, known = map(int, result.stdout.split())
    assert written == known > 5
    store = SqliteStore(path)
    (notes,) = read(store, lambda view: view.collections.all())
    with store.claim(notes, "importing", wait_s=0) as claim, store.write(claim) as writer:
        assert len(writer.documents.known(notes.id)) == written
    store.close()


def test_a_full_disk_can_be_read(tmp_path: Path) -> None:
    """Though SQLite cannot make the file there that readers share; writing fails, and says what to do."""
    path = tmp_path / "index.sqlite"
    with closing(SqliteStore(path)) as store:
        notes = add_collection(store)
        with store.write() as writer:
            put(writer, notes.id, *make_document("before.md", ["x" * 10]))
    code = """
import resource, sys
from pathlib import Path
from mdvec.errors import ReadOnlyDatabaseError
from mdvec.stores.sqlite.store import SqliteStore
from tests.contract.store_world import read
resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
store = SqliteStore(Path(sys.argv[1]))
print(*read(store, lambda view: view.documents.known(view.collections.all()[0].id)))
try:
    store.write().__enter__()
except ReadOnlyDatabaseError as error:
    print(error.hint)
"""
    result = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    known, hint = result.stdout.splitlines()
    assert known == "before.md"
    assert "free space on a full disk" in hint
