"""Damage is found and named."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.workspaces import workspace_of

from mdvec.errors import StoreError
from mdvec.stores.sqlite.store import SqliteStore


@pytest.fixture
def database(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(60):
        (docs / f"{number}.md").write_text(f"# Note {number}\n\n{'some words ' * 50}\n", encoding="utf-8")
    path = tmp_path / "index.sqlite"
    with workspace_of(path, {"notes": docs}):
        pass
    return path


def damage(database: Path, *statements: str) -> list[str]:
    connection = sqlite3.connect(database)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    store = SqliteStore(database)
    try:
        return [str(each) for each in store.check()]
    finally:
        store.close()


def test_a_healthy_database_has_no_problem(database: Path) -> None:
    """Nothing is reported, and nothing is changed by looking."""
    assert damage(database) == []
    assert damage(database) == []


def test_missing_words_are_counted(database: Path) -> None:
    """A chunk that the word index does not know cannot be found by words."""
    (message,) = damage(database, "DELETE FROM chunks_fts_docsize WHERE id IN (1, 2)")[-1:]
    assert message == "2 chunks are missing from the word index"


def test_dangling_rows_are_named(database: Path) -> None:
    """A row without its owner is damage."""
    problems = damage(database, "PRAGMA foreign_keys = OFF", "DELETE FROM documents WHERE id = 1")
    assert "a row of chunks refers to a missing row of documents" in problems


def test_overwritten_pages_are_found(database: Path) -> None:
    """A file that a disk or a sync client has spoilt; the rest of it can still be opened."""
    damage(database, "PRAGMA wal_checkpoint(TRUNCATE)")
    raw = bytearray(database.read_bytes())
    last = len(raw) - 4096
    raw[last : last + 64] = b"\x5a" * 64
    database.write_bytes(raw)
    assert damage(database)


def test_a_spoilt_beginning_is_a_clear_error(database: Path) -> None:
    """Such a file cannot even be opened; it is left as it is."""
    damage(database, "PRAGMA wal_checkpoint(TRUNCATE)")
    raw = bytearray(database.read_bytes())
    raw[200 : 8 * 4096] = b"\x5a" * (8 * 4096 - 200)
    database.write_bytes(raw)
    with pytest.raises(StoreError, match="damaged"):
        SqliteStore(database)
    assert database.read_bytes() == raw
