"""What other users of the server, and other programs, see of a store in PostgreSQL."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fakes.vector_index import MemoryVectorIndex
from tests.postgres_server import new_schema, open_postgres, shared_server

from mdvec import Workspace, open_workspace
from mdvec.config import Config, load_config
from mdvec.errors import (
    CollectionNotFoundError,
    ConfigError,
    NotFoundError,
    ReadOnlyDatabaseError,
    StoreError,
)
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import ChunkingSpec
from mdvec.types.query import SearchMode, SearchQuery

pytestmark = pytest.mark.postgres

ROLE = "reader_of_b"


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    for name, text in (
        ("a", "---\ntitle: Secret\ntags: [plan]\n---\n# Secret harbour\n\nThe zeppelin is hidden.\n"),
        (
            "b",
            "---\ntitle: Open\ntags: [public, x]\naliases: ['jira:42']\n---\n# Open\n\n## Garden\n\nTrees.\n",
        ),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.md").write_text(text)
    return tmp_path


def configured(schema: str, role: str | None = None) -> Config:
    env = {"MDVEC_STORE_LOCATION": shared_server(), "MDVEC_STORE_POSTGRES_SCHEMA": schema}
    if role is not None:
        env["MDVEC_STORE_POSTGRES_ROLE"] = role
    return load_config(cwd=Path("/"), env=env).config


@pytest.fixture
def workspace(schema: str, docs: Path) -> Iterator[Workspace]:
    """Two collections, of one document each."""
    with open_workspace(configured(schema), embedder=HashingEmbedder(dimension=16)) as workspace:
        for name in ("a", "b"):
            workspace.add_collection(name, "", str(docs / name))
            workspace.import_collection(name)
        yield workspace


@pytest.fixture
def sql() -> Iterator[Any]:
    """A connection of the owner, outside of transactions."""
    import psycopg

    with psycopg.connect(shared_server(), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
            connection.execute(f"CREATE ROLE {ROLE}")
        yield connection
        connection.execute("RESET ROLE")


def rows_of(sql: Any, schema: str) -> dict[str, int]:
    """Return how many rows of each table a connection sees."""
    tables = sql.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
    return {
        table: sql.execute(f'SELECT count(*) FROM "{schema}".{table}').fetchone()[0] for (table,) in tables
    }


def test_a_role_sees_the_collections_that_are_granted_to_it(
    workspace: Workspace, schema: str, sql: Any
) -> None:
    """Through the workspace: no other collection, document, chunk, tag or word; and it cannot write."""
    workspace.stores.grant("b", ROLE)
    with open_workspace(configured(schema, ROLE), embedder=HashingEmbedder(dimension=16)) as restricted:
        assert [each.name for each in restricted.collections()] == ["b"]
        assert [each.path for each in restricted.documents()] == ["b.md"]
        assert [each.tag for each in restricted.tags()] == ["public", "x"]
        assert {each.path for each in restricted.chunks()} == {"b.md"}
        for mode in SearchMode:
            found = restricted.search(SearchQuery("zeppelin garden secret", mode=mode, limit=50, min_score=0))
            assert {hit.path for hit in found.hits} == {"b.md"}
        assert [each.collection.name for each in restricted.status().collections] == ["b"]
        with pytest.raises(CollectionNotFoundError):
            restricted.collection("a")
        with pytest.raises(ReadOnlyDatabaseError, match="permission denied"):
            restricted.delete_collection("b")
    assert {hit.path for hit in workspace.search(SearchQuery("zeppelin garden", min_score=0)).hits} == {
        "a.md",
        "b.md",
    }


def test_a_role_sees_no_row_of_another_collection(workspace: Workspace, schema: str, sql: Any) -> None:
    """By SQL of its own, in every table, whatever it sets; without a grant it may not even look."""
    import psycopg

    everything = rows_of(sql, schema)
    sql.execute(f"SET ROLE {ROLE}")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sql.execute(f'SELECT * FROM "{schema}".documents')
    workspace.stores.grant("b", ROLE)
    sql.execute("SELECT set_config('mdvec.collections', '1,2', false)")
    seen = rows_of(sql, schema)
    open_to_all = {"meta", "spaces", "unrelated"}
    both = {table for table, count in everything.items() if count} - open_to_all - {"access"}
    assert both >= {"collections", "documents", "contents", "chunks", "terms", "postings", "vectors", "names"}
    for table in both:
        assert 0 < seen[table] < everything[table] or (table == "labels" and seen[table] == 3), table
    terms = {row[0] for row in sql.execute(f'SELECT term FROM "{schema}".terms')}
    assert "garden" in terms
    assert "zeppelin" not in terms
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sql.execute(f"INSERT INTO \"{schema}\".access VALUES ('{ROLE}', 1)")


def test_a_role_that_reads_stops_no_writer(workspace: Workspace, schema: str, docs: Path, sql: Any) -> None:
    """It cannot take the lock of writers, and no lock that it can take is one."""
    import psycopg

    workspace.stores.grant("b", ROLE)
    with psycopg.connect(shared_server(), autocommit=True) as reader:
        reader.execute(f"SET SESSION AUTHORIZATION {ROLE}")
        with reader.transaction():
            reader.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (f"mdvec {schema}",))
            reader.execute(f"LOCK TABLE {schema}.meta IN ACCESS SHARE MODE")
            (docs / "b" / "new.md").write_text("# New\n")
            assert workspace.import_collection("b").added == 1
        with pytest.raises(psycopg.errors.InsufficientPrivilege), reader.transaction():
            reader.execute(f"LOCK TABLE {schema}.meta IN ROW SHARE MODE")


def test_a_role_that_may_not_read_all_has_no_vector_index(
    workspace: Workspace, schema: str, sql: Any, tmp_path: Path
) -> None:
    """An index would lack what the role does not see, and keep what it may not see any more."""
    workspace.stores.grant("b", ROLE)
    with pytest.raises(ConfigError, match="needs a role that may read every collection"):
        open_postgres(schema=schema, role=ROLE, vector_index=MemoryVectorIndex(str(tmp_path)))


def test_a_right_can_be_taken_back(workspace: Workspace, schema: str, sql: Any) -> None:
    """At once, also where a reader has searched before; an unknown role is an error with the next step."""
    workspace.stores.grant("a", ROLE)
    workspace.stores.grant("b", ROLE)
    with open_workspace(configured(schema, ROLE), embedder=HashingEmbedder(dimension=16)) as restricted:
        query = SearchQuery("zeppelin garden", mode=SearchMode.DENSE, limit=9, min_score=0)
        assert {hit.path for hit in restricted.search(query).hits} == {"a.md", "b.md"}
        workspace.stores.revoke("a", ROLE)
        workspace.stores.revoke("a", ROLE)
        assert {hit.path for hit in restricted.search(query).hits} == {"b.md"}
        workspace.stores.grant("a", ROLE)
        assert {hit.path for hit in restricted.search(query).hits} == {"a.md", "b.md"}
    with pytest.raises(NotFoundError, match="no role 'nobody'") as caught:
        workspace.stores.grant("a", "nobody")
    assert "CREATE ROLE" in caught.value.hint


def test_views_answer_the_queries_of_other_programs(workspace: Workspace, sql: Any) -> None:
    """Columns, types and meanings are those that programs for this schema know."""
    made = workspace.stores.make_views("b")
    assert made == [
        "raw.docs_github",
        "rag.documents_with_metadata",
        "rag.documents",
        "rag.chunks",
        "public.search_chunks",
    ]
    query = np.asarray(HashingEmbedder(dimension=16).embed_query("garden"), np.float32)
    vector = str(query.tolist())
    found = sql.execute(
        """SELECT c.id, c.heading, c.content, d.title, d.file_path, 1 - (c.embedding <=> %(q)s) AS similarity
        FROM rag.chunks c JOIN rag.documents d ON c.document_id = d.id
        WHERE d.tags && %(tags)s ORDER BY c.embedding <=> %(q)s LIMIT 5""",
        {"q": vector, "tags": ["public"]},
    ).fetchall()
    assert found
    assert {row[4] for row in found} == {"b.md"}
    assert all(isinstance(row[0], uuid.UUID) for row in found)
    assert "Garden" in {row[1] for row in found}
    aliased = sql.execute(
        """SELECT c.*, d.title FROM rag.chunks c JOIN rag.documents d ON c.document_id = d.id
        WHERE EXISTS (SELECT 1 FROM unnest(d.aliases) AS a WHERE a LIKE 'jira:%%')
        ORDER BY c.embedding <=> %s LIMIT 5""",
        (vector,),
    )
    assert [column.name for column in aliased.description] == [
        "id",
        "document_id",
        "chunk_index",
        "parent_heading",
        "heading",
        "content",
        "embedding",
        "created_at",
        "title",
    ]
    assert len(aliased.fetchall()) == len(found)
    called = sql.execute("SELECT * FROM search_chunks(%s, ARRAY['public'], 2, -1)", (vector,))
    names = [column.name for column in called.description]
    assert names == ["id", "title", "heading", "content", "file_path", "similarity"]
    rows = called.fetchall()
    assert [row[0] for row in rows] == [row[0] for row in found[:2]]
    assert [row[5] for row in rows] == pytest.approx([row[5] for row in found[:2]])
    assert sql.execute("SELECT * FROM search_chunks(%s, ARRAY['plan'])", (vector,)).fetchall() == []
    assert sql.execute("SELECT * FROM search_chunks(%s, NULL, 5, 1.1)", (vector,)).fetchall() == []
    raw = sql.execute("SELECT * FROM raw.docs_github")
    assert [column.name for column in raw.description] == [
        "id",
        "file_path",
        "frontmatter",
        "content",
        "content_hash",
        "fetched_at",
    ]
    ((_, path, frontmatter, content, content_hash, fetched_at),) = raw.fetchall()
    assert (path, frontmatter["title"], len(content_hash)) == ("b.md", "Open", 64)
    assert content.lstrip().startswith("# Open")
    assert fetched_at.tzinfo is not None
    assert sql.execute("SELECT 1 FROM raw.docs_github WHERE frontmatter->'tags' ?| ARRAY['x']").fetchall()


def test_views_hold_the_values_of_other_programs(schema: str, docs: Path, sql: Any) -> None:
    """The heading above or the note's name, the text below the heading, a hash of frontmatter and text."""
    head, text = "title: 宿\ntags: [旅]", "## 京都\n\n静かな宿。\n\n### 冬\n\n雪。\n"
    folder = docs / "vault"
    folder.mkdir()
    (folder / "titled.md").write_text(f"---\n{head}\n---\n{text}", "utf-8")
    (folder / "20251230_my-doc.md").write_text("## 三\n\n四。\n", "utf-8")
    (folder / "below.md").write_text("# 上\n\n## 下\n\n中。\n", "utf-8")
    with open_workspace(configured(schema), embedder=HashingEmbedder(dimension=16)) as workspace:
        workspace.add_collection("vault", "", str(folder), chunking=ChunkingSpec("vault"))
        workspace.import_collection("vault")
        workspace.stores.make_views("vault")
    rows = sql.execute("SELECT parent_heading, heading, content FROM rag.chunks ORDER BY heading").fetchall()
    assert rows == [
        ("my-doc", "三", "四。"),
        ("上", "下", "中。"),
        ("宿", "京都", "静かな宿。\n\n### 冬\n\n雪。"),
    ]
    hashes = dict(sql.execute("SELECT file_path, content_hash FROM rag.documents").fetchall())
    assert hashes == dict(sql.execute("SELECT file_path, content_hash FROM raw.docs_github").fetchall())
    for path, full_text in (
        ("titled.md", f"{head}\n---\n{text}"),
        ("20251230_my-doc.md", "\n---\n## 三\n\n四。\n"),
    ):
        assert hashes[path] == hashlib.sha256(full_text.encode()).hexdigest()


def test_views_show_a_role_what_it_may_read(workspace: Workspace, sql: Any) -> None:
    """They have the rights of who asks, not of who made them; those of another collection are replaced."""
    workspace.stores.grant("b", ROLE)
    workspace.stores.make_views("a")
    assert sql.execute("SELECT file_path FROM raw.docs_github").fetchall() == [("a.md",)]
    sql.execute(f"SET ROLE {ROLE}")
    assert sql.execute("SELECT count(*) FROM rag.chunks").fetchone() == (0,)
    workspace.stores.make_views("b")
    assert sql.execute("SELECT file_path FROM rag.documents").fetchall() == [("b.md",)]


def test_views_take_no_name_of_others(workspace: Workspace, sql: Any) -> None:
    """A table that another program made stays, and so do the views before it."""
    workspace.stores.make_views("b")
    sql.execute("DROP VIEW rag.documents; CREATE VIEW rag.documents AS SELECT 1 AS mine")
    try:
        with pytest.raises(StoreError, match=r"rag\.documents already exists"):
            workspace.stores.make_views("a")
        assert sql.execute("SELECT mine FROM rag.documents").fetchall() == [(1,)]
        assert sql.execute("SELECT file_path FROM raw.docs_github").fetchall() == [("b.md",)]
    finally:
        sql.execute("DROP VIEW rag.documents")


def test_a_file_cannot_be_shared_so(tmp_path: Path) -> None:
    """Neither rights nor views: the error says what is needed."""
    with (
        open_workspace(database=tmp_path / "i.sqlite") as workspace,
        pytest.raises(ConfigError, match="not on a server") as caught,
    ):
        workspace.stores.grant("a", "b")
    assert "postgresql://" in caught.value.hint
    open_postgres().close()
