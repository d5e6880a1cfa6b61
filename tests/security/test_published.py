"""A follower believes nothing of a published database but its documents: anybody may have written it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest
from starlette.testclient import TestClient
from tests.bugs import reported_bugs
from tests.workspaces import workspace_of

from mdvec.config import Config
from mdvec.errors import DamagedDatabaseError, OtherVersionError
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.stores.published.dataset import publish
from mdvec.stores.published.places import open_place
from mdvec.stores.published.reader import PublishedSettings
from mdvec.stores.sqlite.schema import UNRELEASED
from mdvec.testing.embedder import HashingEmbedder
from mdvec.workspace import Workspace, open_workspace

NEVER_S = 3600.0
Tamper = Callable[[apsw.Connection], object]
Publish = Callable[[Tamper], None]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the publisher writes."""
    return tmp_path / "published"


@pytest.fixture
def publisher(tmp_path: Path, place: Path) -> Publish:
    """Publish a note as version 1, in a database that somebody has changed by hand."""

    def publish_changed(tamper: Tamper) -> None:
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "n.md").write_text("# Launch\n\n![p](private/photo.png) [k](private/key.pdf)\n")
        with workspace_of(
            tmp_path / "index.sqlite", {"pub": tmp_path / "notes"}, description="Notes"
        ) as opened:
            opened.stores.publish(str(tmp_path / "honest"))
        with follow(tmp_path / "honest", tmp_path / "first") as followed:
            assert followed.collections()
        (file,) = (tmp_path / "first").rglob("*.sqlite")
        with closing(apsw.Connection(str(file))) as connection:
            tamper(connection)
        publish(open_place(place), file, 1, ["pub"], None)

    return publish_changed


@contextmanager
def follow(place: Path, cache: Path) -> Iterator[Workspace]:
    settings = PublishedSettings(cache_dir=cache, refresh_s=NEVER_S)
    config = Config(extension_sections={"store.published": settings})
    with open_workspace(config, database=place, embedder=HashingEmbedder()) as opened:
        yield opened


def test_a_published_collection_leads_to_no_file_of_this_machine(
    publisher: Publish, place: Path, tmp_path: Path
) -> None:
    """Whatever its source and its files that were left out are called, the follower has none of them."""
    victim = tmp_path / "victim"
    (victim / "private").mkdir(parents=True)
    (victim / "private" / "photo.png").write_bytes(b"\x89PNG private")
    (victim / "private" / "key.pdf").write_bytes(b"private")

    def tamper(connection: apsw.Connection) -> None:
        source = "json_set(source, '$.kind', 'folder', '$.location', ?)"
        connection.execute(f"UPDATE collections SET source = {source}", (str(victim),))
        for table in ("exclusions", "failures"):
            for name in ("private/photo.png", "private/key.pdf"):
                connection.execute(f"INSERT INTO {table} SELECT id, ?, 'x' FROM collections", (name,))

    publisher(tamper)
    with reported_bugs() as bugs, follow(place, tmp_path / "cache") as opened:
        assert [str(each.source) for each in opened.collections()] == ["push:"]
        (status,) = opened.status("pub", files=True, check=True).collections
        assert "private" not in repr(status)
        app = build_app(opened, Config(), server_options("127.0.0.1:80", env={}), 80)
        with TestClient(app, base_url="http://127.0.0.1") as client:
            assert client.get("/doc/pub/n.md").status_code == 200
            assert client.get("/file/pub/private/photo.png").status_code == 404
    assert not bugs


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER evil AFTER UPDATE ON collections BEGIN SELECT 1; END",
        "CREATE VIEW evil AS SELECT * FROM collections",
        "DROP TRIGGER chunks_deleted;"
        "CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN SELECT 1; END",
        "ALTER TABLE failures RENAME TO evil; CREATE VIEW failures AS SELECT * FROM evil",
        "CREATE VIRTUAL TABLE evil USING fts5(text)",
    ],
)
def test_a_published_database_runs_nothing(
    publisher: Publish, place: Path, tmp_path: Path, statement: str
) -> None:
    """Triggers, views and virtual tables other than mdvec's own are refused, and no copy stays."""
    publisher(lambda connection: connection.execute(statement))
    with (
        pytest.raises(DamagedDatabaseError, match="that mdvec does not make"),
        follow(place, tmp_path / "cache") as opened,
    ):
        opened.collections()
    assert not [*(tmp_path / "cache").rglob("*.sqlite")]


def test_another_version_is_neither_rebuilt_nor_used(publisher: Publish, place: Path, tmp_path: Path) -> None:
    """What follows has no sources to rebuild it from; the error names both versions, and no copy stays."""
    publisher(lambda connection: connection.pragma("user_version", UNRELEASED))
    with (
        pytest.raises(OtherVersionError, match="has format 7, and this mdvec uses format 1"),
        follow(place, tmp_path / "cache") as opened,
    ):
        opened.collections()
    assert not [*(tmp_path / "cache").rglob("*.sqlite*")]


def said(workspace: Workspace) -> list[str]:
    return [each for each in workspace.status().warnings if "gone back" in each]


def test_going_back_is_said(publisher: Publish, place: Path, tmp_path: Path) -> None:
    """Who follows version 2 and finds version 1 is told, also after a restart, until there is a version 3."""
    publisher(lambda _: None)
    cache = tmp_path / "cache"
    (file,) = (tmp_path / "first").rglob("*.sqlite")
    later = place / "versions" / "0000000002.json"
    publish(open_place(place), file, 2, ["pub"], None)
    with follow(place, cache) as opened:
        assert not said(opened)
    later.rename(tmp_path / "later.json")
    for _ in range(2):
        with follow(place, cache) as opened:
            (warning,) = said(opened)
            assert "from version 2 to version 1" in warning
    publish(open_place(place), file, 3, ["pub"], None)
    with follow(place, cache) as opened:
        assert not said(opened)
