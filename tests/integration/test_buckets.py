"""Publishing to S3, which a server on this machine plays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.fakes.s3_server import Fault, Flaky, S3Server
from tests.workspaces import workspace_of

from mdvec.config.schema import Config
from mdvec.errors import (
    ConfigError,
    DamagedDatabaseError,
    NotADatabaseError,
    StoreError,
    StoreUnavailableError,
)
from mdvec.stores.published import dataset
from mdvec.stores.published.places import open_place
from mdvec.stores.published.reader import PublishedSettings, PublishedStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchQuery
from mdvec.workspace import open_workspace

pytestmark = [pytest.mark.s3, pytest.mark.filterwarnings("ignore")]

PLACE = "s3://published/team/notes"
NEVER_S = 3600.0


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """A server with a bucket."""
    with S3Server("published") as started:
        yield started


@pytest.fixture
def endpoint(server: S3Server) -> str:
    """Its address."""
    return server.endpoint


def config(endpoint: str, cache: Path) -> Config:
    section = PublishedSettings(cache_dir=cache, refresh_s=NEVER_S, region="us-east-1", endpoint=endpoint)
    return Config(extension_sections={"store.published": section})


def test_a_bucket_is_published_to_and_followed(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version and the next; old ones go; and without the network what was fetched is searched."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Retry\n\nFive times.\n")
    settings = config(endpoint, tmp_path / "cache")
    embedder = HashingEmbedder()
    with workspace_of(
        tmp_path / "index.sqlite", {"notes": notes}, settings, embedder=embedder, description="Notes"
    ) as workspace:
        with pytest.raises(NotADatabaseError, match="nothing is published in s3://published/team/notes"):
            open_workspace(settings, database=PLACE).search(SearchQuery("retry"))
        assert workspace.stores.publish(PLACE).version == 1
        with open_workspace(settings, database=PLACE, embedder=embedder) as published:
            store = published._collections.store()
            assert isinstance(store, PublishedStore)
            assert [hit.path for hit in published.search(SearchQuery("retry")).hits] == ["a.md"]
            (notes / "b.md").write_text("# Backup\n\nRetry at night.\n")
            workspace.import_collection("notes")
            report = workspace.stores.publish(PLACE, keep=1)
            assert (report.version, report.removed) == (2, 1)
            store.refresh()
            assert {hit.path for hit in published.search(SearchQuery("retry")).hits} == {"a.md", "b.md"}
            assert published.status().database == PLACE
    place = open_place(PLACE, region="us-east-1", endpoint=endpoint)
    assert place.names("versions") == ["versions/0000000002.json"]
    assert not place.create("versions/0000000002.json", b"other"), "S3 refuses the second"
    assert dataset.latest(place) is not None
    assert place.get("parts/nothing", 10) is None
    with pytest.raises(DamagedDatabaseError, match="larger than 10 bytes"):
        place.get("versions/0000000002.json", 10)

    def unreachable(name: str) -> list[str]:
        raise StoreUnavailableError

    with monkeypatch.context() as patch:
        patch.setattr("mdvec.stores.published.places.BucketPlace.names", lambda self, name: unreachable(name))
        with open_workspace(settings, database=PLACE, embedder=embedder) as published:
            found = published.search(SearchQuery("retry"))
            assert len(found.hits) == 2
            assert "cannot tell whether there is a newer version than 2" in found.warnings[0]
        with pytest.raises(StoreUnavailableError):
            open_workspace(config(endpoint, tmp_path / "empty"), database=PLACE).search(SearchQuery("retry"))


def test_a_bucket_that_cannot_be_used(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No bucket, a bucket that is not there, and no server; messages hold no key."""
    for address in ("s3://", "s3:///path", "s3://me:secret@bucket/path"):
        with pytest.raises(ConfigError, match="names no bucket") as caught:
            open_place(address)
        assert "secret" not in str(caught.value)
    nowhere = "s3://nowhere/x"
    for use in (
        lambda: open_place(nowhere, endpoint=endpoint).put("parts/a", b""),
        lambda: open_workspace(config(endpoint, tmp_path), database=nowhere).status(),
    ):
        with pytest.raises(StoreError, match="there is no bucket 'nowhere'") as missing:
            use()
        assert "region and endpoint" in missing.value.hint
    monkeypatch.setattr("mdvec.net.buckets._MAX_TRIES", 1)
    with pytest.raises(StoreUnavailableError) as unavailable:
        open_place(PLACE, region="us-east-1", endpoint="http://127.0.0.1:9").names("versions")
    assert "testing" not in str(unavailable.value)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, and send many small parts."""
    monkeypatch.setattr("mdvec.net.buckets._FIRST_WAIT_S", 0.001)
    monkeypatch.setattr("mdvec.net.buckets._ANSWER_WITHIN", timedelta(seconds=1))
    monkeypatch.setattr(dataset, "_PART_BYTES", 8 * 4096)


@pytest.mark.usefixtures("hasty")
def test_a_flaky_server_loses_nothing(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of requests that fail one in four, publishing, following and pruning notice nothing but the time."""
    place = "s3://published/flaky"
    embedder = HashingEmbedder()
    settings = config(server.endpoint, tmp_path / "cache")
    (tmp_path / "notes").mkdir()
    with open_workspace(settings, database=tmp_path / "index.sqlite", embedder=embedder) as workspace:
        workspace.add_collection("notes", "Notes", str(tmp_path / "notes"))
        monkeypatch.setattr(server, "fault", Flaky(seed=19))
        for version in (1, 2, 3):
            for number in range(20):
                text = f"# Note {number}\n\nVersion {version}, number {number * version}.\n"
                (tmp_path / "notes" / f"{version}-{number}.md").write_text(text)
            workspace.import_collection("notes")
            assert workspace.stores.publish(place, keep=2).version == version
            if version == 1:
                published = open_workspace(settings, database=place, embedder=embedder)
                followed = published._collections.store()
            assert isinstance(followed, PublishedStore)
            followed.refresh()
            assert followed.published.number == version
            assert sorted(each.path for each in published.documents()) == sorted(
                each.path for each in workspace.documents()
            )
            assert followed.check() == []
        published.close()
        assert {*Flaky.kinds, Fault.SILENT} <= {*server.faults}
        # What is there is what two versions need: no part is missing, none is left over, none occurs twice.
        monkeypatch.setattr(server, "fault", lambda method, path: None)
        plain = open_place(place, endpoint=server.endpoint)
        kept = [dataset.read_manifest(plain, number) for number in dataset.numbers(plain)]
        assert [each.number for each in kept if each is not None] == [2, 3]
        needed = {f"parts/{part}" for each in kept if each for part in (*each.parts, each.pages)}
        assert plain.names("parts") == sorted(needed)
        assert len(needed) > 10
        for each in kept:
            assert each is not None
            dataset.fetch(plain, each, tmp_path / f"{each.number}", None)  # which compares the SHA-256
        # When it does not get better, that is an error, and the version before stays the newest.
        for broken in ("PUT", "GET"):
            monkeypatch.setattr(
                server, "fault", lambda method, path, broken=broken: Fault.ERROR if method == broken else None
            )
            with pytest.raises(StoreUnavailableError, match="s3://published/flaky cannot be used now"):
                workspace.stores.publish(place, full=True)
        monkeypatch.setattr(server, "fault", lambda method, path: None)
        assert dataset.latest(plain) == kept[-1]
        assert workspace.stores.publish(place, full=True).version == 4
