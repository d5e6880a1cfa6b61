"""Publishing to S3, which a server on this machine plays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdvec.config.schema import Config
from mdvec.errors import ConfigError, NotADatabaseError, StoreError, StoreUnavailableError
from mdvec.stores.published import dataset
from mdvec.stores.published.followed import PublishedSettings, PublishedStore
from mdvec.stores.published.places import open_place
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchQuery
from mdvec.types.report import ImportMode, ImportOptions
from mdvec.workspace import open_workspace

pytestmark = [pytest.mark.s3, pytest.mark.filterwarnings("ignore")]

PLACE = "s3://published/team/notes"
NEVER_S = 3600.0


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a server with a bucket."""
    import boto3
    from moto.server import ThreadedMotoServer

    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        server.start()
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        boto3.client("s3", endpoint_url=address, region_name="us-east-1").create_bucket(Bucket="published")
        yield address
        server.stop()


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
    with open_workspace(settings, database=tmp_path / "index.sqlite", embedder=embedder) as workspace:
        workspace.add_collection("notes", "Notes", str(notes))
        workspace.import_collection("notes")
        with pytest.raises(NotADatabaseError, match="nothing is published in s3://published/team/notes"):
            open_workspace(settings, database=PLACE).search(SearchQuery("retry"))
        assert workspace.stores.publish(PLACE).version == 1
        with open_workspace(settings, database=PLACE, embedder=embedder) as published:
            store = published._collections.store()
            assert isinstance(store, PublishedStore)
            assert [hit.path for hit in published.search(SearchQuery("retry")).hits] == ["a.md"]
            (notes / "b.md").write_text("# Backup\n\nRetry at night.\n")
            workspace.import_collection("notes", ImportOptions(mode=ImportMode.UPDATE))
            report = workspace.stores.publish(PLACE, keep=1)
            assert (report.version, report.removed) == (2, 1)
            store.refresh()
            assert {hit.path for hit in published.search(SearchQuery("retry")).hits} == {"a.md", "b.md"}
            assert published.status().database == PLACE
    place = open_place(PLACE, region="us-east-1", endpoint=endpoint)
    assert place.names("versions") == ["versions/0000000002.json"]
    assert not place.create("versions/0000000002.json", b"other"), "S3 refuses the second"
    assert dataset.latest(place) is not None
    assert place.get("parts/nothing") is None

    def unreachable(name: str) -> list[str]:
        raise StoreUnavailableError

    with monkeypatch.context() as patch:
        patch.setattr("mdvec.stores.published.buckets.Bucket.names", lambda self, name: unreachable(name))
        with open_workspace(settings, database=PLACE, embedder=embedder) as published:
            found = published.search(SearchQuery("retry"))
            assert len(found.hits) == 2
            assert "whether there is a newer version than 2 is not known" in found.warnings[0]
        with pytest.raises(StoreUnavailableError):
            open_workspace(config(endpoint, tmp_path / "empty"), database=PLACE).search(SearchQuery("retry"))


def test_a_bucket_that_cannot_be_used(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No bucket, a bucket that is not there, and no server; messages hold no key."""
    for address in ("s3://", "s3:///path", "s3://me:secret@bucket/path"):
        with pytest.raises(ConfigError, match="names no bucket") as caught:
            open_place(address)
        assert "secret" not in str(caught.value)
    with pytest.raises(StoreError, match="s3://nowhere/x cannot be used now"):
        open_place("s3://nowhere/x", region="us-east-1", endpoint=endpoint).put("parts/a", b"")
    monkeypatch.setattr("mdvec.stores.published.buckets._MOST_RETRIES", 0)
    with pytest.raises(StoreUnavailableError) as unavailable:
        open_place(PLACE, region="us-east-1", endpoint="http://127.0.0.1:9").names("versions")
    assert "testing" not in str(unavailable.value)
