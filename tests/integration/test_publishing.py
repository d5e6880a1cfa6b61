"""A workspace is published, and searched elsewhere without its folder: read-only, and always the newest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.commands import run_here
from tests.postgres_server import open_postgres
from tests.waiting import HANG_S, wait_until
from tests.workspaces import workspace_of, written

from mdvec.config.schema import Config
from mdvec.errors import (
    CollectionNotFoundError,
    DamagedDatabaseError,
    ForeignDatabaseError,
    NoIndexError,
    NotADatabaseError,
    ReadOnlyDatabaseError,
    StoreError,
    StoreUnavailableError,
)
from mdvec.stores.commits import await_commit
from mdvec.stores.interface import Store
from mdvec.stores.published.reader import PublishedSettings, PublishedStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchQuery
from mdvec.types.report import ImportOptions
from mdvec.workspace import Workspace, open_workspace
from mdvec.workspace.collections import PUBLISH_AGAIN
from mdvec.workspace.database import open_store
from mdvec.workspace.serving import RestrictedWorkspace

EMBEDDER = HashingEmbedder()
UPDATE = ImportOptions()
NEVER_S = 3600.0
SOON_S = 0.02


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two folders of notes, with what is nobody else's business."""
    notes = tmp_path / "Wohnzimmer" / "notes"
    (notes / "hidden-names").mkdir(parents=True)
    (notes / "retry.md").write_text("# Retry\n\nRetry five times. %%Ask Zebedee first.%%\n")
    (notes / "backup.md").write_text("---\ntags: [disk]\n---\n# Backup\n\nCopy the disk at night.\n")
    (notes / "hidden-names" / "Quetzalcoatl.md").write_text("# Left out\n")
    (notes / ".mdvecignore").write_text("hidden-names/\n")
    (notes / "broken-Xylophone.md").write_bytes(bytes(range(256)))
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "monday.md").write_text("# Monday\n\nWombat came by.\n")
    return notes


@pytest.fixture
def workspace(folder: Path, tmp_path: Path) -> Iterator[Workspace]:
    """Both folders, indexed; a document was deleted since."""
    (folder / "gone.md").write_text("# Gone\n\nUmbrella.\n")
    with open_workspace(database=tmp_path / "index.sqlite", embedder=EMBEDDER) as opened:
        opened.add_collection("notes", "Notes", str(folder), exclude=["secret-Rumpelstiltskin/"])
        opened.add_collection("diary", "Diary", str(tmp_path / "diary"))
        for name in ("notes", "diary"):
            opened.import_collection(name)
        (folder / "gone.md").unlink()
        opened.import_collection("notes", UPDATE)
        yield opened


def settings(tmp_path: Path, refresh_s: float = NEVER_S) -> Config:
    section = PublishedSettings(cache_dir=tmp_path / "cache", refresh_s=refresh_s)
    return Config(extension_sections={"store.published": section})


def follow(place: Path, tmp_path: Path, refresh_s: float = NEVER_S) -> PublishedStore:
    store = open_store(place, settings(tmp_path, refresh_s))
    assert isinstance(store, PublishedStore)
    return store


def paths(store: Store) -> list[str]:
    """Return the documents of the first collection."""
    with store.read() as view:
        return sorted(view.documents.known(view.collections.all()[0].id))


def add(workspace: Workspace, folder: Path, name: str) -> None:
    """Write a note, and publish it with the others."""
    (folder / name).write_text(f"# {name}\n\nAnother note.\n")
    workspace.import_collection("notes", UPDATE)


def test_it_is_searched_without_its_folder(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    """Hits are those of the workspace and none is stale; status shows the version; writing is refused."""
    report = workspace.stores.publish(str(tmp_path / "published"))
    assert (report.version, report.collections, report.documents) == (1, ("diary", "notes"), 3)
    query = SearchQuery("copy the disk", limit=10)
    expected = workspace.search(query)
    shutil.rmtree(folder.parent)
    with open_workspace(settings(tmp_path), database=tmp_path / "published", embedder=EMBEDDER) as published:
        found = published.search(query)
        assert [(hit.path, hit.score) for hit in found.hits] == [
            (hit.path, hit.score) for hit in expected.hits
        ]
        assert not any(hit.stale for hit in found.hits)
        assert found.warnings == ()
        assert [tag.tag for tag in published.tags()] == ["disk"]
        status = published.status(check=True)
        assert status.published is not None
        assert status.published.number == 1
        assert all(each.check is not None and each.check.in_sync for each in status.collections)
        assert published.generation() == 1
        for write in (
            lambda: published.import_collection("notes", UPDATE),
            lambda: published.add_collection("more", "More", str(tmp_path)),
            lambda: published.delete_collection("notes"),
            published.stores.compact,
        ):
            with pytest.raises(
                ReadOnlyDatabaseError, match="is a published copy and can only be searched"
            ) as caught:
                write()
            assert "mdvec publish" in caught.value.hint


def test_whoever_may_read_a_part_is_not_told_to_import(workspace: Workspace, tmp_path: Path) -> None:
    """An answer without vectors is completed where it is published, for restricted clients, too."""
    bare = written(tmp_path / "bare", {"a.md": "# Retry\n\nNever.\n"})
    workspace.add_collection("bare", "Bare", str(bare))
    workspace.import_collection("bare", ImportOptions(embed=False))
    workspace.stores.publish(str(tmp_path / "published"))
    with open_workspace(settings(tmp_path), database=tmp_path / "published", embedder=EMBEDDER) as published:
        for each in (published, RestrictedWorkspace(published, ["bare"])):
            said = " ".join(each.search(SearchQuery("retry", collections=("bare",))).warnings)
            assert PUBLISH_AGAIN in said
            assert "mdvec import" not in said


PRIVATE = [
    "Wohnzimmer",
    "Zebedee",
    "Quetzalcoatl",
    "Xylophone",
    "Rumpelstiltskin",
    "Wombat",
    "wombat",
    "monday",
    "umbrella",
    "diary",
]


def test_nothing_private_is_published(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    """Comments, places, names of other files, other collections and deleted words are in no byte of it."""
    workspace.status("notes", files=True)
    here = (tmp_path / "index.sqlite").read_bytes()
    wal = tmp_path / "index.sqlite-wal"
    here += wal.read_bytes() if wal.exists() else b""
    assert [
        word for word in ("Wohnzimmer", "Zebedee", "Rumpelstiltskin", "wombat") if word.encode() not in here
    ] == []
    report = workspace.stores.publish(str(tmp_path / "published"), ["notes"])
    assert (report.collections, report.documents) == (("notes",), 2)
    store = follow(tmp_path / "published", tmp_path)
    (copy,) = (tmp_path / "cache").rglob("*.sqlite")
    content = copy.read_bytes()
    assert b"Retry five times" in content
    assert [word for word in PRIVATE if word.encode() in content] == []
    assert str(tmp_path).encode() not in content
    with store.read() as view:
        (collection,) = view.collections.all()
        (space,) = view.spaces.all()
        assert view.collections.counts(collection.id, space.id).pending_chunks == 0
        assert space.vectors <= 2 * 3, "of two texts and their names"
    assert store.check() == [], "checksums are right"
    store.close()


def test_a_folder_of_documents_is_no_place(workspace: Workspace, folder: Path) -> None:
    """``mdvec publish docs`` may be meant to publish the folder; an empty one will do."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(StoreError, match="holds other files, such as"):
        workspace.stores.publish(str(folder))
    assert sorted(folder.rglob("*")) == before
    empty = folder.parent / "empty"
    empty.mkdir()
    assert workspace.stores.publish(str(empty)).version == 1
    assert workspace.stores.publish(str(empty), full=True).version == 2


def test_a_new_version_is_followed(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    """The next search sees it; one that has begun ends on its version; two copies stay on the disk."""
    place = tmp_path / "published"
    workspace.stores.publish(str(place), ["notes"])
    store = follow(place, tmp_path, SOON_S)
    before = ["backup.md", "retry.md"]
    assert paths(store) == before
    with store.read() as old:
        collection = old.collections.all()[0].id
        add(workspace, folder, "third.md")
        workspace.stores.publish(str(place), ["notes"], keep=1)
        assert await_commit(store, 1, timeout_s=HANG_S) == 2
        assert sorted(old.documents.known(collection)) == before
        assert old.version == 1
        assert paths(store) == [*before, "third.md"]
    add(workspace, folder, "until.md")
    report = workspace.stores.publish(str(place), ["notes"], keep=1)
    assert report.removed == 1
    wait_until(lambda: store.published.number == 3)
    assert len(paths(store)) == 4
    assert len([*(tmp_path / "cache").rglob("*.sqlite")]) == 2
    shutil.rmtree(place)
    unknown = f"newer version than 3: {place} does not exist"
    wait_until(lambda: any(unknown in warning for warning in store.warnings))
    assert len(paths(store)) == 4
    store.close()


def test_a_copy_that_another_process_removed(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    """A process that is behind fetches the newest version when the file it searched is gone."""
    place = tmp_path / "published"
    workspace.stores.publish(str(place), ["notes"])
    behind = follow(place, tmp_path)
    with behind.read() as first, behind.read():  # takes what is idle, and keeps it
        add(workspace, folder, "third.md")
        workspace.stores.publish(str(place), ["notes"])
        ahead = follow(place, tmp_path)
        for copy in (tmp_path / "cache").rglob("0000000001-*.sqlite"):
            copy.unlink()
        assert paths(behind) == paths(ahead) == ["backup.md", "retry.md", "third.md"]
        assert first.version == 1
    for each in (behind, ahead):
        each.close()


FOLLOWER = """
import faulthandler, sys
faulthandler.dump_traceback_later(120, exit=True)
from pathlib import Path
from mdvec.stores.commits import await_commit
from mdvec.stores.published.reader import PublishedStore

store = PublishedStore(Path(sys.argv[1]), cache_dir=Path(sys.argv[2]), refresh_s=0.05)
version = 0
while version < 3:
    with store.read() as view:
        version = view.version
        print(version, len(view.documents.known(view.collections.all()[0].id)), flush=True)
    sys.stdin.readline()
    await_commit(store, version, timeout_s=60 if version < 3 else 0)
store.close()
"""


@pytest.mark.harness
def test_two_processes_follow(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    """Servers that share nothing but the place, and two that share a cache, each show every version."""
    place = tmp_path / "published"
    workspace.stores.publish(str(place), ["notes"])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", FOLLOWER, str(place), str(tmp_path / cache)],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for cache in ("cache", "cache", "other-cache")
        ]
        for server in servers:
            stack.callback(server.kill)
        for version in (1, 2, 3):
            if version > 1:
                add(workspace, folder, f"note-{version}.md")
                workspace.stores.publish(str(place), ["notes"], keep=1)
            for server in servers:
                assert server.stdin is not None
                assert server.stdout is not None
                if version > 1:
                    server.stdin.write("\n")
                    server.stdin.flush()
                assert server.stdout.readline().split() == [str(version), str(1 + version)]
        for server in servers:
            server.communicate("\n", timeout=HANG_S)
        assert [server.returncode for server in servers] == [0, 0, 0]


def test_only_a_part_is_sent_again(workspace: Workspace, tmp_path: Path) -> None:
    """Of what did not change only the page with the version is sent, and digests."""
    first = workspace.stores.publish(str(tmp_path / "published"))
    workspace.update_collection("diary", description="My diary")
    second = workspace.stores.publish(str(tmp_path / "published"))
    assert (second.version, second.size_bytes, second.changed) == (2, first.size_bytes, True)
    parts = [*(tmp_path / "published" / "parts" / "0000000002").iterdir()]
    assert len(parts) == 2
    assert second.sent_bytes < 0.2 * first.sent_bytes


def test_nothing_is_published_when_nothing_has_changed(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    """An import without changes, and one of another collection, make no version; old ones still go."""
    place = tmp_path / "published"
    for note in ("third.md", "fourth.md"):
        workspace.stores.publish(str(place), ["notes"])
        add(workspace, folder, note)
    third = workspace.stores.publish(str(place), ["notes"])
    workspace.import_collection("notes", UPDATE)
    (tmp_path / "diary" / "tuesday.md").write_text("# Tuesday\n\nNobody came.\n")
    workspace.import_collection("diary", UPDATE)
    files = sorted(each for each in place.rglob("*") if each.is_file())
    again = workspace.stores.publish(str(place), ["notes"])
    assert third.changed
    assert (again.version, again.changed, again.sent_bytes) == (3, False, 0)
    assert sorted(each for each in place.rglob("*") if each.is_file()) == files
    assert workspace.stores.publish(str(place), ["notes"], keep=1).removed == 2
    assert workspace.stores.publish(str(place), ["notes", "diary"]).version == 4
    (folder / "third.md").unlink()
    workspace.import_collection("notes", UPDATE)
    assert workspace.stores.publish(str(place), ["notes", "diary"]).version == 5


def test_a_damaged_place_is_published_in_full(workspace: Workspace, tmp_path: Path) -> None:
    """A part or a version that is damaged is mended by sending everything, as the message says."""
    place = tmp_path / "published"
    workspace.stores.publish(str(place))
    for part in (place / "parts" / "0000000001").iterdir():
        part.write_bytes(b"x")
    with pytest.raises(DamagedDatabaseError) as caught:
        follow(place, tmp_path)
    assert "mdvec publish --full" in caught.value.hint
    assert workspace.stores.publish(str(place), full=True).version == 2
    (place / "versions" / "0000000002.json").write_text("{")
    with pytest.raises(DamagedDatabaseError) as caught:
        workspace.stores.publish(str(place))
    assert "mdvec publish --full" in caught.value.hint
    assert workspace.stores.publish(str(place), keep=2, full=True).removed == 1
    store = follow(place, tmp_path)
    assert store.published.number == 3
    assert paths(store) == ["monday.md"]
    store.close()


@pytest.mark.postgres
def test_other_stores_are_published_too(tmp_path: Path, folder: Path) -> None:
    """A store that writes no file is copied into one first."""
    with workspace_of(
        tmp_path / "index.sqlite", {"notes": folder}, embedder=EMBEDDER, description="Notes"
    ) as opened:
        store = open_postgres()
        from mdvec.indexing.transfer import copy_store

        copy_store(opened._collections.store(), store, wait_s=0)
        opened._collections.store().close()
        opened._collections._store = store
        report = opened.stores.publish(str(tmp_path / "published"))
        assert not opened.stores.publish(str(tmp_path / "published")).changed
    published = follow(tmp_path / "published", tmp_path)
    assert len(paths(published)) == report.documents == 2
    published.close()


def test_what_cannot_be_published_or_followed(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    """Unknown collections, an empty place, and a folder's index that is somebody's published workspace."""
    with pytest.raises(CollectionNotFoundError):
        workspace.stores.publish(str(tmp_path / "published"), ["nothing"])
    assert not (tmp_path / "published").exists()
    with open_workspace(database=tmp_path / "empty.sqlite") as empty, pytest.raises(NoIndexError):
        empty.stores.publish(str(tmp_path / "published"))
    (tmp_path / "published").mkdir()
    with pytest.raises(NotADatabaseError, match="nothing is published in") as caught:
        follow(tmp_path / "published", tmp_path)
    assert "mdvec publish" in caught.value.hint
    with pytest.raises(StoreUnavailableError, match="unmounted does not exist") as gone:
        PublishedStore(tmp_path / "unmounted", cache_dir=tmp_path / "cache")
    assert "Connect the disk" in gone.value.hint
    workspace.stores.publish(str(folder / ".mdvec" / "index.sqlite"))
    with (
        open_workspace(docs_dir=folder, embedder=EMBEDDER) as opened,
        pytest.raises(ForeignDatabaseError, match="is not a file"),
    ):
        opened.search(SearchQuery("retry"))


def test_a_damaged_copy_says_where_it_is(workspace: Workspace, tmp_path: Path) -> None:
    """The next step is to remove it."""
    workspace.stores.publish(str(tmp_path / "published"))
    store = follow(tmp_path / "published", tmp_path)
    (copy,) = (tmp_path / "cache").rglob("*.sqlite")
    content = copy.read_bytes()
    copy.write_bytes(content.replace(b"Copy the disk", b"Copy the dusk"))
    (problem,) = store.check()
    assert isinstance(problem, DamagedDatabaseError)
    assert problem.hint == f"Remove {copy.parent}: the next search fetches it again."
    store.close()


def test_nothing_is_left_of_a_version_that_cannot_be_fetched(workspace: Workspace, tmp_path: Path) -> None:
    """No half copy stays on the disk, and a store that was closed meanwhile opens no other one."""
    workspace.stores.publish(str(tmp_path / "published"))
    store = follow(tmp_path / "published", tmp_path)
    (folder,) = (tmp_path / "cache" / "published").iterdir()
    workspace.stores.publish(str(tmp_path / "published"), full=True)
    for part in (tmp_path / "published" / "parts" / "0000000002").iterdir():
        part.rename(part.with_suffix(".away"))
    with pytest.raises(StoreError, match="is gone"):
        store.refresh()
    assert sorted(each.suffix for each in folder.iterdir() if each.name != "lock") == [".json", ".sqlite"]
    for part in (tmp_path / "published" / "parts" / "0000000002").iterdir():
        part.rename(part.with_suffix(""))
    store.close()
    store.refresh()  # as the thread that follows may at this moment
    with pytest.raises(StoreError, match="has been closed"):
        paths(store)


def test_the_command(tmp_path: Path) -> None:
    """``mdvec publish`` prints what it sent, and other commands take the folder as a database."""
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path / "cache")}
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Retry\n\nFive times.\n")

    def mdvec(*args: str) -> subprocess.CompletedProcess[str]:
        return run_here(args, cwd=tmp_path, env=home)

    mdvec("tool", "add", "-n", "notes", "-d", "Notes", "-s", "notes")
    mdvec("import", "-n", "notes", "--no-embed")
    done = mdvec("publish", "-n", "notes", "team")
    assert done.returncode == 0, done.stderr
    assert "1 text of notes without a vector" in done.stderr
    assert "run 'mdvec import -n notes -m update', and publish again" in done.stderr
    assert done.stdout.startswith(f"version 1 of {tmp_path / 'team'}: notes (1 document, 1 chunk)\n")
    assert mdvec("publish", "team").stdout.startswith("nothing has changed since version 1 of ")
    refused = mdvec("publish", "")
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (
        2,
        "error: the place to publish to is empty",
    )
    told = json.loads(mdvec("publish", "team", "--full", "--keep", "1", "--format", "json").stdout)
    assert (told["version"], told["changed"], told["removed"], told["documents"]) == (2, True, 1, 1)
    found = json.loads(
        mdvec("search", "--database", "team", "--mode", "lexical", "retry", "--format", "json").stdout
    )
    assert [hit["path"] for hit in found["hits"]] == ["a.md"]
    for step in ("search retry", "doctor"):
        output = mdvec(*step.split(), "--database", "team")
        assert "mport where it is published, and publish again" in output.stdout + output.stderr
        assert "mdvec import" not in output.stdout + output.stderr
    status = mdvec("status", "--database", "team")
    assert "published: version 2, " in status.stdout
    told = json.loads(mdvec("status", "--database", "team", "--format", "json").stdout)
    assert told["published"]["version"] == 2
    refused = mdvec("import", "--database", "team", "-n", "notes", "-m", "update")
    assert refused.returncode == 1
    assert "is a published copy and can only be searched" in refused.stderr
    for command in (["serve", "--http", "127.0.0.1:0"], ["search", "retry"]):
        missing = mdvec(*command, "--database", "unmounted")
        assert missing.returncode == 1
        assert "unmounted does not exist: there is neither an index nor anything published" in missing.stderr
        assert "Connect the disk" in missing.stderr
    assert not (tmp_path / "unmounted").exists()
