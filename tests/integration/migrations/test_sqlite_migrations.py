"""Older databases become current ones, and are then what a fresh one would be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.integration.test_sqlite_opening import can_be_searched, fill

from mdvec.errors import ReadOnlyDatabaseError
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Database
from mdvec.stores.sqlite.schema import SCHEMA, Schema
from mdvec.stores.sqlite.store import SqliteStore

# A next version as it might come, to try the mechanism with.
NEXT = Schema(
    SCHEMA.tables + "CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT) STRICT;",
    (*SCHEMA.migrations, "CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT) STRICT;"),
)
BROKEN = Schema(NEXT.tables, (*NEXT.migrations[:-1], "CREATE TABLE notes(id); SELECT * FROM not_there;"))


def schema_of(connection: Connection) -> list[str]:
    """Return the SQL of all tables, in order of name, without differences in white space."""
    rows = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    return [re.sub(r"\s+", " ", sql) for (sql,) in rows]


def test_a_migrated_database_equals_a_fresh_one(tmp_path: Path) -> None:
    """After the migration the tables are those of a fresh database, and the data is still there."""
    fill(tmp_path / "old")
    for path in (tmp_path / "old", tmp_path / "fresh"):
        Database(path, schema=NEXT).close()
    old, fresh = Database(tmp_path / "old", schema=NEXT), Database(tmp_path / "fresh", schema=NEXT)
    with old.reading() as migrated, fresh.reading() as made:
        assert schema_of(migrated) == schema_of(made)
        assert migrated.pragma("user_version") == made.pragma("user_version") == NEXT.version
        assert migrated.execute("SELECT count(*) FROM chunks").get == 1
        assert migrated.execute("PRAGMA foreign_key_check").fetchall() == []
        assert migrated.pragma("integrity_check") == "ok"
    old.close()
    fresh.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    """The old version can still be used after a migration broke off in the middle."""
    path = tmp_path / "old"
    fill(path)
    with pytest.raises(Exception, match="not_there"):
        Database(path, schema=BROKEN)
    store = SqliteStore(path)
    assert can_be_searched(store)
    store.close()


def test_an_older_database_is_not_migrated_for_reading(tmp_path: Path) -> None:
    """Without permission to write, an older database is refused and stays as it is."""
    path = tmp_path / "old"
    fill(path)
    before = path.read_bytes()
    with pytest.raises(ReadOnlyDatabaseError, match="upgraded"):
        Database(path, read_only=True, schema=NEXT)
    assert path.read_bytes() == before
