"""Older databases become current ones, and are then what a fresh one would be."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.integration.test_sqlite_opening import can_be_searched, fill

from mdvec import SearchQuery, open_workspace
from mdvec.config.schema import Config, DocumentSettings
from mdvec.errors import ReadOnlyDatabaseError
from mdvec.stores.sqlite.checksums import DOCUMENT_CHECKSUM
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Database
from mdvec.stores.sqlite.opening import Opening
from mdvec.stores.sqlite.schema import SCHEMA, Schema
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.hit import Confidence
from mdvec.types.query import Filters, SearchMode
from mdvec.types.report import CollectionCounts
from mdvec.types.space import UnrelatedTexts

# A next version as it might come, to try the mechanism with.
NEXT = Schema(
    SCHEMA.tables + "CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT) STRICT;",
    (*SCHEMA.migrations, "CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT) STRICT;"),
)
BROKEN = Schema(NEXT.tables, (*NEXT.migrations[:-1], "CREATE TABLE notes(id); SELECT * FROM not_there;"))


def _older(version: int) -> Schema:
    tables = (Path(__file__).parent / f"version_{version}.sql").read_text(encoding="utf-8")
    return Schema(tables, ("",) * (version - 1))


VERSION_1, VERSION_3, VERSION_4, VERSION_5, VERSION_6 = map(_older, (1, 3, 4, 5, 6))
SAME_IN_VERSION_1 = ("collections", "documents", "contents", "labels", "links", "chunks", "spaces", "vectors")
SAME_IN_VERSION_3 = (*SAME_IN_VERSION_1, "names")
SAME_IN_VERSION_4 = (*SAME_IN_VERSION_3, "unrelated", "failures", "exclusions")
SAME_IN_VERSION_5 = SAME_IN_VERSION_4


def make_version_1(path: Path, current: Path) -> None:
    """Make a database of version 1 that holds what a current one holds; names were not known to it."""
    make_older(path, current, VERSION_1, SAME_IN_VERSION_1)


def make_version_3(path: Path, current: Path) -> None:
    """Make a database of version 3 that holds what a current one holds; its model was never measured."""
    make_older(path, current, VERSION_3, SAME_IN_VERSION_3)


def make_version_4(path: Path, current: Path) -> None:
    """Make a database of version 4 that holds what a current one holds."""
    make_older(path, current, VERSION_4, SAME_IN_VERSION_4)


def make_version_5(path: Path, current: Path) -> None:
    """Make a database of version 5 that holds what a current one holds."""
    make_older(path, current, VERSION_5, SAME_IN_VERSION_5)


def make_version_6(path: Path, current: Path) -> None:
    """Make a database of version 6 that holds what a current one holds."""
    make_older(path, current, VERSION_6, SAME_IN_VERSION_5)


def make_older(path: Path, current: Path, schema: Schema, same: Sequence[str]) -> None:
    """Make an older database; all its chunks hold the one word ``words``.

    Args:
        path: Where.
        current: A current one, whose rows are taken over.
        schema: Of the older one.
        same: The tables whose rows mean the same in both.
    """
    database = Database(path, schema=schema)
    with database.reading() as connection:
        connection.execute("COMMIT")  # inside of a transaction no file can be attached
        connection.execute("ATTACH ? AS current", (str(current),))
        connection.execute("BEGIN")
        for table in same:
            columns = ",".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO {table} SELECT {columns} FROM current.{table}")
        if "names" not in same:
            connection.execute("DELETE FROM vectors WHERE text_hash NOT IN (SELECT text_hash FROM chunks)")
        connection.execute("INSERT INTO chunks_fts(rowid, body) SELECT id, 'words' FROM chunks")
        connection.execute("COMMIT")
        connection.execute("DETACH current")
    database.close()


def schema_of(connection: Connection) -> list[str]:
    """Return the SQL of all tables, in order of name, without differences in white space."""
    rows = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    return [re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", sql)) for (sql,) in rows]


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


def assert_like_fresh(old_path: Path, fresh_path: Path) -> None:
    """Assert that a database was migrated to the tables that a fresh one has."""
    old, fresh = Database(old_path), Database(fresh_path)
    with old.reading() as migrated, fresh.reading() as made:
        assert schema_of(migrated) == schema_of(made)
        assert migrated.pragma("user_version") == made.pragma("user_version") == SCHEMA.version
    old.close()
    fresh.close()


def test_version_1_becomes_a_current_database(tmp_path: Path) -> None:
    """The tables are those of a fresh one, and nothing in the file is damaged."""
    fill(tmp_path / "fresh")
    make_version_1(tmp_path / "old", tmp_path / "fresh")
    assert_like_fresh(tmp_path / "old", tmp_path / "fresh")
    store = SqliteStore(tmp_path / "old")
    assert store.check() == []
    assert not can_be_searched(store)  # by words: they are made anew by the next import
    store.close()


def test_documents_of_version_1_are_read_again_without_embedding_them_again(tmp_path: Path) -> None:
    """They are found by meaning at once; an import brings back words, and embeds names alone."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "garden.md").write_text("---\naliases: [Yard]\n---\n# Plants\n\nTomatoes need sun.\n")
    (docs / "empty.md").write_text("")
    with open_workspace(database=tmp_path / "new.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", "", str(docs))
        workspace.import_collection("notes")
    make_version_1(tmp_path / "old.sqlite", tmp_path / "new.sqlite")
    embedder = HashingEmbedder()
    with open_workspace(database=tmp_path / "old.sqlite", embedder=embedder) as workspace:
        assert workspace.collections()[0].last_indexed_ms is None
        meaning = SearchQuery("tomatoes", mode=SearchMode.DENSE, min_score=0.0)
        assert workspace.search(meaning).hits[0].path == "garden.md"
        words = SearchQuery("tomatoes", mode=SearchMode.LEXICAL, min_score=0.0)
        assert workspace.search(words).hits == ()
        report = workspace.import_collection("notes")
        assert (report.updated, report.embedded_chunks, report.pending_chunks) == (2, 0, 0)
        assert sorted(embedder.embedded) == ["Plants", "Yard", "empty", "garden"]
        assert workspace.search(words).hits[0].path == "garden.md"


def test_version_3_becomes_a_current_database(tmp_path: Path) -> None:
    """The tables are those of a fresh one, nothing is damaged, and words are found as before."""
    fill(tmp_path / "fresh")
    make_version_3(tmp_path / "old", tmp_path / "fresh")
    assert_like_fresh(tmp_path / "old", tmp_path / "fresh")
    store = SqliteStore(tmp_path / "old")
    assert store.check() == []
    assert can_be_searched(store)
    store.close()


def test_a_model_of_version_3_is_measured_by_the_next_import(tmp_path: Path) -> None:
    """Once, though nothing is read or embedded; until then confidence goes by words, and search works."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "garden.md").write_text("# Plants\n\nTomatoes need sun.\n")
    with open_workspace(database=tmp_path / "new.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", "", str(docs))
        workspace.import_collection("notes")
    make_version_3(tmp_path / "old.sqlite", tmp_path / "new.sqlite")
    embedder = HashingEmbedder()
    meaning = SearchQuery("tomatoes need sun", mode=SearchMode.DENSE, min_score=0.0)
    with open_workspace(database=tmp_path / "old.sqlite", embedder=embedder) as workspace:
        before = workspace.search(meaning)
        assert (before.hits[0].path, before.confidence) == ("garden.md", Confidence.LOW)
        assert embedder.measured == 0  # not when searching
        for _ in range(2):
            report = workspace.import_collection("notes")
            assert (report.unchanged, report.updated, report.embedded_chunks) == (1, 0, 0)
            assert (embedder.embedded, embedder.measured) == ([], 1)
        assert workspace.search(meaning).confidence is Confidence.HIGH


def test_version_4_becomes_a_current_database(tmp_path: Path) -> None:
    """The tables are those of a fresh one, nothing is damaged, and words are found as before."""
    fill(tmp_path / "fresh")
    make_version_4(tmp_path / "old", tmp_path / "fresh")
    assert_like_fresh(tmp_path / "old", tmp_path / "fresh")
    store = SqliteStore(tmp_path / "old")
    assert store.check() == []
    assert can_be_searched(store)
    store.close()


def test_a_database_of_version_5_becomes_a_current_one(tmp_path: Path) -> None:
    """The tables are those of a fresh database; the lease on all of it can be had, and nothing is dirty."""
    fill(tmp_path / "fresh")
    make_version_5(tmp_path / "old", tmp_path / "fresh")
    assert_like_fresh(tmp_path / "old", tmp_path / "fresh")
    store = SqliteStore(tmp_path / "old")
    assert store.check() == []
    assert can_be_searched(store)
    with store.claim(None, "watching", wait_s=0) as lease, store.write(lease) as writer:
        (notes,) = writer.collections()
        assert writer.dirty_paths(notes.id, 10) == []
    store.close()


def test_what_version_6_did_not_measure_is_measured_by_the_next_import(tmp_path: Path) -> None:
    """What it did measure stays until then, and the next import finds the rest though nothing is new."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n\nwords\n", encoding="utf-8")
    fresh, old = tmp_path / "fresh", tmp_path / "old"
    model = HashingEmbedder()
    with open_workspace(database=fresh, embedder=model) as workspace:
        workspace.add_collection("notes", "", str(tmp_path / "notes"))
        workspace.import_collection("notes")
    make_version_6(old, fresh)
    assert_like_fresh(old, fresh)
    measured = unrelated_in(fresh, model)
    assert measured is not None
    assert measured.complete
    before = unrelated_in(old, model)
    assert before is not None
    assert (before.complete, before.spaced.mean) == (False, measured.spaced.mean)
    with open_workspace(database=old, embedder=model) as workspace:
        workspace.import_collection("notes")
    assert unrelated_in(old, model) == measured


def unrelated_in(path: Path, model: HashingEmbedder) -> UnrelatedTexts | None:
    """Return what was measured of a model."""
    with closing(SqliteStore(path)) as store, store.read() as view:
        space_id = view.find_space(model.space)
        return None if space_id is None else view.unrelated(space_id)


def test_a_lease_of_version_4_is_no_claim(tmp_path: Path) -> None:
    """A process that was killed while it held it, or still runs, hinders none that claims a collection."""
    fill(tmp_path / "fresh")
    make_version_4(tmp_path / "old", tmp_path / "fresh")
    database = Database(tmp_path / "old", schema=VERSION_4)
    with database.writing() as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(lease)")]
        connection.execute(f"INSERT INTO lease VALUES ({','.join('?' * len(columns))})", [1] * len(columns))
    database.close()
    store = SqliteStore(tmp_path / "old")
    with store.read() as view:
        (notes,) = view.collections()
        assert view.activities() == []
    with store.claim(notes, "importing", wait_s=0) as claim, store.write(claim):
        pass
    store.close()


def test_all_data_of_version_4_survive(tmp_path: Path) -> None:
    """Every row but the lease; nothing is pending, and an import measures what is missing, and no more."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "garden.md").write_text("---\ntags: [a]\naliases: [Yard]\n---\n# Plants\n\nTomatoes need sun.\n")
    (docs / "new.md").write_text("---\nprevious: garden\n---\n# New\n\nPeppers, too.\n")
    (docs / "broken.md").write_bytes(b"\0\0")
    with open_workspace(database=tmp_path / "new.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", "", str(docs))
        workspace.import_collection("notes")
    versions = Config(documents=DocumentSettings(versions=True))
    with open_workspace(versions, database=tmp_path / "new.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.import_collection("notes")
    store = SqliteStore(tmp_path / "new.sqlite")
    with store.write() as writer:  # version 4 did not know them
        (notes,) = writer.collections()
        writer.set_superseded(notes.id, ())
        writer.connection.execute(
            "DELETE FROM properties; UPDATE chunks SET skeleton = NULL;"
            f"UPDATE documents AS d SET checksum = {DOCUMENT_CHECKSUM}"
        )
    store.close()
    with closing(sqlite3.connect(tmp_path / "new.sqlite")) as connection, connection:
        connection.execute("UPDATE chunks SET skeleton = NULL")
        connection.execute("UPDATE unrelated SET passages = x''")
    make_version_4(tmp_path / "old.sqlite", tmp_path / "new.sqlite")
    assert rows_of(tmp_path / "old.sqlite", SAME_IN_VERSION_4) == rows_of(
        tmp_path / "new.sqlite", SAME_IN_VERSION_4
    )
    embedder = HashingEmbedder()
    meaning = SearchQuery("tomatoes need sun", mode=SearchMode.DENSE, min_score=0.0)
    with open_workspace(versions, database=tmp_path / "old.sqlite", embedder=embedder) as workspace:
        assert workspace.collections()[0].last_indexed_ms is not None
        counts = workspace.status("notes").collections[0].counts
        assert counts == CollectionCounts(2, 0, 1, counts.chunks, 0)
        filters = Filters(include_superseded=True)
        assert workspace.search(replace(meaning, filters=filters)).hits[0].path == "garden.md"
        assert [hit.path for hit in workspace.search(meaning).hits] == ["new.md"]
        report = workspace.import_collection("notes")
        assert (report.unchanged, report.updated, report.embedded_chunks) == (2, 0, 0)
        assert (embedder.embedded, embedder.measured) == ([], 1)


def rows_of(path: Path, tables: Sequence[str]) -> dict[str, list[object]]:
    """Return all rows of some tables, migrating the database if it is an older one."""
    database = Database(path)
    with database.reading() as connection:
        rows = {table: list(connection.execute(f"SELECT * FROM {table}")) for table in tables}
    database.close()
    return rows


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
        Database(path, Opening(read_only=True), schema=NEXT)
    assert path.read_bytes() == before
