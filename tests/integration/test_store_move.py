"""A workspace is copied between stores with its vectors, and then answers the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.contract.attached_world import PostgresPlace
from tests.postgres_server import open_postgres
from tests.workspaces import workspace_of

from mdvec import run
from mdvec.errors import ImportStoppedError, StoreError
from mdvec.indexing.transfer import copy_store, describe
from mdvec.stores.interface import Store
from mdvec.stores.records import VectorKind
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.hit import SearchHit
from mdvec.types.query import Filters, SearchMode, SearchQuery, Where
from mdvec.types.report import ImportOptions
from mdvec.workspace import Workspace, open_workspace

UPDATE = ImportOptions()
QUERIES = ("harbour", "古い 港", "mountain path", "quiet")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Two collections of notes in two languages: links, tags, aliases, comments, a file that is left out."""
    for name in ("notes", "more"):
        folder = tmp_path / name
        folder.mkdir()
        for number in range(130 if name == "notes" else 3):
            (folder / f"{number}.md").write_text(
                f"---\ntags: [{'rare' if number == 7 else 'often'}]\naliases: [note {number}]\n---\n"
                f"# Harbour {number}\n\nThe old harbour [[{number + 1}]] is quiet. %% hidden %%\n\n"
                f"## 港 {number}\n\n古い港は静かだ。{'山道' * (number % 5)}\n",
                encoding="utf-8",
            )
        # A hidden older version, and a text with some letters of another encoding, which the import tells.
        (folder / "plan.md").write_text(
            "---\nprevious: '[[plan v1]]'\n---\nThe new plan.\n", encoding="utf-8"
        )
        (folder / "plan v1.md").write_text("The old plan.\n", encoding="utf-8")
        mixed = "A text in UTF-8, plain and long enough: 檸檬の木\n".encode() + "ソフト\n".encode("cp932")
        (folder / "mixed.txt").write_bytes(mixed)
        (folder / "binary.md").write_bytes(b"\x00\x01\x02" * 50)
    folders = {name: tmp_path / name for name in ("notes", "more")}
    with workspace_of(tmp_path / "index.sqlite", folders, description="日本語も") as made:
        for name in folders:
            made.folders.set_context(name, "x", f"What {name} hold.")
        yield made


def copy(source: Store, target: Store) -> None:
    copy_store(source, target, wait_s=0)


def assert_equal(first: Store, second: Store) -> None:
    """Both hold the same, and rank the same by words and by vectors."""
    with first.read() as one, second.read() as other:
        assert describe(one) == describe(other)
        first_space, *_ = one.spaces.all()
        space_id, other_id = first_space.id, other.spaces.find(first_space.space)
        assert other_id is not None
        for text in QUERIES:
            rankings = []
            for view, own in ((one, space_id), (other, other_id)):
                where = Where(tuple(each.id for each in view.collections.all()), Filters(tags=("often",)))
                vector = HashingEmbedder().embed_query(text)
                found = [
                    *view.words.bm25(text.split(), where, 20),
                    *view.vectors.nearest(VectorKind.TEXT, own, vector, where, 20),
                ]
                chunks = view.chunks.get([key for key, _ in found])
                rankings.append(
                    [
                        (round(score, 5), chunks[key].collection, chunks[key].path, chunks[key].ordinal)
                        for key, score in found
                    ]
                )
            assert rankings[0] == rankings[1]


@pytest.mark.postgres
def test_there_and_back(workspace: Workspace, tmp_path: Path) -> None:
    """From SQLite to PostgreSQL and to SQLite again everything stays, and nothing is embedded."""
    source = SqliteStore(tmp_path / "index.sqlite")
    server, last = open_postgres(), SqliteStore(tmp_path / "last.sqlite")
    copy(source, server)
    copy(server, last)
    assert_equal(source, server)
    assert_equal(source, last)
    for each in (source, server, last):
        each.close()


def assert_same_hits(found: Sequence[SearchHit], expected: Sequence[SearchHit]) -> None:
    """Assert that both are the same hits; two databases add the numbers of a score in another order."""
    assert [each.path for each in found] == [each.path for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], rel=1e-6)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_copy_that_was_interrupted_is_resumed(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    """What was copied stays, and is not copied again; the result is the same."""
    source = SqliteStore(tmp_path / "index.sqlite")
    target: Store = open_postgres() if kind == "postgres" else SqliteStore(tmp_path / "target.sqlite")
    reported: list[tuple[int, int]] = []

    def stop(stage: run.Stage, done: int, total: int, detail: str = "") -> None:
        reported.append((done, total))
        if len(reported) == 2:
            running.cancel()

    running = run.Run(stop)
    with run.bound(running), pytest.raises(ImportStoppedError):
        copy(source, target)
    with target.read() as view:
        begun = sum(len(view.documents.known(each.id)) for each in view.collections.all())
    assert 0 < begun < 139
    resumed: list[tuple[int, int]] = []
    with run.bound(run.Run(lambda stage, done, total, detail="": resumed.append((done, total)))):
        copy(source, target)
    assert resumed[0] == (begun, 139)
    assert_equal(source, target)
    for each in (source, target):
        each.close()


def test_a_later_copy_takes_over_changes(workspace: Workspace, tmp_path: Path) -> None:
    """Documents that changed or went since an earlier copy change and go there, too."""
    source, target = (SqliteStore(tmp_path / name) for name in ("index.sqlite", "target.sqlite"))
    copy(source, target)
    (tmp_path / "notes" / "5.md").unlink()
    (tmp_path / "notes" / "6.md").write_text("# Changed\n\nNow a lighthouse.\n")
    workspace.import_collection("notes", UPDATE)
    copy(source, target)
    assert_equal(source, target)
    for each in (source, target):
        each.close()


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_store_is_not_moved_to_itself(
    workspace: Workspace, tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    """By whatever path: the old one could be deleted then, which is the new one."""
    other = tmp_path / "other.sqlite"
    link(other, tmp_path / "index.sqlite")
    (tmp_path / "folder").symlink_to(tmp_path)
    for place in (other, tmp_path / "folder" / "index.sqlite"):
        with pytest.raises(StoreError, match="is already there"):
            workspace.stores.move(str(place))


def test_a_copy_is_refused_where_both_addresses_are_one_store(workspace: Workspace, tmp_path: Path) -> None:
    """Claims of the source are seen in the target then, also on a server."""
    file = tmp_path / "index.sqlite"
    with (
        closing(SqliteStore(file)) as one,
        closing(SqliteStore(file)) as other,
        pytest.raises(StoreError, match="by another address"),
    ):
        copy(one, other)


def test_vectors_that_are_gone_since_are_dropped(workspace: Workspace, tmp_path: Path) -> None:
    """A copy that an earlier one has begun becomes equal, whatever was removed meanwhile."""
    with (
        closing(SqliteStore(tmp_path / "index.sqlite")) as source,
        closing(SqliteStore(tmp_path / "target.sqlite")) as target,
    ):
        copy(source, target)
        for number in range(100):
            (tmp_path / "notes" / f"{number}.md").unlink()
        workspace.import_collection("notes")
        workspace.stores.compact()
        copy(source, target)
        assert_equal(source, target)


def test_a_place_with_other_collections_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    """Nothing is mixed with what was there before."""
    other = tmp_path / "other.sqlite"
    with open_workspace(database=other, embedder=HashingEmbedder()) as theirs:
        theirs.add_collection("theirs", "", str(tmp_path / "more"))
    source, target = SqliteStore(tmp_path / "index.sqlite"), SqliteStore(other)
    with pytest.raises(StoreError, match="contains other collections: theirs"):
        copy(source, target)
    with target.read() as view:
        assert [each.name for each in view.collections.all()] == ["theirs"]
    for each in (source, target):
        each.close()


def test_a_difference_is_noticed(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target that does not hold what was written fails the check at the end."""
    source, target = SqliteStore(tmp_path / "index.sqlite"), SqliteStore(tmp_path / "target.sqlite")

    def lose(_: object, store: Store) -> None:
        with store.write() as writer:
            (first, *_) = writer.collections.all()
            writer.documents.delete(first.id, ["1.md"])

    monkeypatch.setattr("mdvec.indexing.transfer._copy_vectors", lose)  # the last step
    with pytest.raises(StoreError, match="differs from"):
        copy(source, target)
    source.close()
    target.close()


def test_a_workspace_is_moved(workspace: Workspace, tmp_path: Path) -> None:
    """The copy answers as before, by another workspace that finds nothing to embed."""
    moved = workspace.stores.move(str(tmp_path / "moved.sqlite"))
    assert (moved.contents.collections, moved.contents.documents) == (2, 139)
    assert moved.location == str(tmp_path / "moved.sqlite")
    query = SearchQuery("old harbour", SearchMode.HYBRID, limit=10, min_score=0.0)
    expected = workspace.search(query).hits
    with open_workspace(database=tmp_path / "moved.sqlite", embedder=HashingEmbedder()) as other:
        report = other.import_collection("notes", UPDATE)
        assert (report.embedded_chunks, report.added, report.updated) == (0, 0, 0)
        assert_same_hits(other.search(query).hits, expected)
    with pytest.raises(StoreError, match="is already there"):
        workspace.stores.move(str(tmp_path / "index.sqlite"))


@pytest.mark.postgres
def test_a_workspace_is_moved_to_a_server_and_back(workspace: Workspace, tmp_path: Path) -> None:
    """By address; nothing is embedded on the way, answers stay, and the last copy is the first store."""
    server, last = PostgresPlace().address, tmp_path / "last.sqlite"
    there = workspace.stores.move(server)
    embedder, query = (
        HashingEmbedder(),
        SearchQuery("old harbour", SearchMode.HYBRID, limit=10, min_score=0.0),
    )
    with open_workspace(database=server, embedder=embedder) as team:
        back = team.stores.move(str(last))
        first, second = SqliteStore(tmp_path / "index.sqlite"), SqliteStore(last)
        assert_equal(first, second)
        for each in (first, second):
            each.close()
        report = team.import_collection("notes", UPDATE)
        assert (report.embedded_chunks, report.added, report.updated, report.pending_chunks) == (0, 0, 0, 0)
        assert_same_hits(team.search(query).hits, workspace.search(query).hits)
    assert back.contents == there.contents
    assert (there.contents.collections, there.contents.documents) == (2, 139)
    assert there.contents.vectors > 139
