"""A collection of the objects of a bucket, which a server on this machine holds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.fakes.s3_server import Fault, Flaky, S3Server

from mdvec.config.schema import Config
from mdvec.errors import (
    ConfigError,
    SourceError,
    SourceMissingError,
    SourceUnavailableError,
    UnreadableFileError,
)
from mdvec.settings import BucketSettings
from mdvec.sources.s3 import S3Source
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchQuery
from mdvec.types.report import ImportOptions, ImportReport
from mdvec.workspace import Workspace, open_workspace

pytestmark = [pytest.mark.s3, pytest.mark.filterwarnings("ignore")]

UPDATE = ImportOptions()


@pytest.fixture(scope="module")
def started() -> Iterator[S3Server]:
    """A server with a bucket."""
    with S3Server("documents") as server:
        yield server


@pytest.fixture
def server(started: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, whose bucket is empty."""
    monkeypatch.setattr("mdvec.net.buckets._FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(started, "fault", lambda method, path: None)
    started.clear()
    return started


@pytest.fixture
def workspace(server: S3Server, tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace that knows where the server is."""
    config = Config(extension_sections={"s3": BucketSettings(endpoint=server.endpoint)})
    with open_workspace(config, database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as opened:
        yield opened


def update(workspace: Workspace) -> ImportReport:
    return workspace.import_collection("docs", UPDATE)


def paths(workspace: Workspace) -> list[str]:
    return sorted(each.path for each in workspace.documents())


def source(server: S3Server, path: str = "") -> S3Source:
    return S3Source(location=f"//documents{path}", endpoint=server.endpoint)


def test_only_what_changed_is_read(server: S3Server, workspace: Workspace) -> None:
    """Objects that are new or have another ETag are read, once; a renamed one is not, nor one sent again."""
    server.put("guide/", "")
    server.put("guide/retry.md", "# Retry\n\nFive times.\n")
    server.put("guide/日本語/再試行.md", "# 再試行\n\n五回。\n")
    server.put("guide/sub/", "")
    server.put("guide/sub/backup.md", "# Backup\n\nAt night.\n")
    server.put("guide/sub/.mdvec-context", "What happens at night")
    server.put("guide/no-text.md", bytes(range(256)))
    server.put("guide/picture.png", b"\x89PNG")
    server.put("guide/drafts/new.md", "# New\n")
    server.put("guide/node_modules/x/readme.md", "# X\n")
    server.put("guide-2/other.md", "# Other\n")
    workspace.add_collection("docs", "Documents", "s3://documents/guide/", exclude=["drafts/"])
    assert str(workspace.collection("docs").source) == "s3://documents/guide"
    assert server.asked == [], "adding it asks nobody"

    report = workspace.import_collection("docs")
    assert (report.added, report.failed) == (3, 0)
    documents = ["retry.md", "sub/backup.md", "日本語/再試行.md"]
    assert paths(workspace) == documents
    assert len(server.read()) == 5
    found = workspace.search(SearchQuery("backup at night")).hits[0]
    assert found.path == "sub/backup.md"
    left_out = {
        each.path: each.reason
        for each in workspace.status("docs", files=True).collections[0].files
        if each.reason
    }
    assert left_out.keys() == {"no-text.md", "picture.png", "drafts/", "node_modules/"}

    server.forget()
    assert update(workspace).unchanged == 3
    server.put("guide/retry.md", "# Retry\n\nFive times.\n")
    assert update(workspace).unchanged == 3
    assert workspace.status("docs", check=True).collections[0].check is not None
    assert server.read() == []

    server.put("guide/retry.md", "# Retry\n\nSix times, see [backup](night/backup.md).\n")
    server.client.copy_object(
        Bucket="documents",
        Key="guide/night/backup.md",
        CopySource={"Bucket": "documents", "Key": "guide/sub/backup.md"},
    )
    server.delete("guide/sub/backup.md")
    server.delete("guide/日本語/再試行.md")
    server.delete("guide/no-text.md")
    server.forget()
    report = update(workspace)
    assert (report.updated, report.moved, report.deleted, report.added) == (1, 1, 1, 0)
    assert server.read() == ["guide/retry.md", "guide/sub/.mdvec-context"]
    assert paths(workspace) == ["night/backup.md", "retry.md"]
    assert "Six times" in workspace.read("retry.md").text
    assert [each.path for each in workspace.links("retry.md").links] == ["night/backup.md"]
    (hit,) = workspace.search(SearchQuery('"six times"')).hits
    assert hit.path == "retry.md"


def test_more_than_a_page_of_objects(server: S3Server) -> None:
    """A listing goes on after the thousand objects of an answer."""
    keys = [f"many/{number:05}.md" for number in range(1_100)]
    server.fill(keys)
    listing = source(server, "/many").list()
    assert [f"many/{entry.path}" for entry in listing.entries] == keys
    assert server.asked == [("GET", "/documents")] * 2


def test_what_changes_between_listing_and_reading(server: S3Server) -> None:
    """An object that is another one by then fails, and what was listed is not mixed with what is there."""
    server.put("a.md", "one")
    server.put("b.md", "two")
    opened = source(server)
    entries = opened.list().entries
    server.put("a.md", "three")
    server.delete("b.md")
    for entry in entries:
        with pytest.raises(UnreadableFileError, match="deleted or changed after it was listed"):
            opened.read(entry)
    (entry,) = opened.list().entries
    assert opened.read(entry) == b"three"


def test_a_bucket_that_cannot_be_read(
    server: S3Server, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each problem has its words, and a next step; what is indexed stays."""
    server.put("a.md", "# A\n")
    workspace.add_collection("docs", "Documents", "s3://documents")
    workspace.import_collection("docs")
    for fault, kind, words in (
        (Fault.DENIED, SourceError, r"may not be used with these credentials \(InvalidAccessKeyId\)"),
        (Fault.ERROR, SourceUnavailableError, "s3://documents cannot be used now"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(server, "fault", lambda method, path, fault=fault: fault)
            with pytest.raises(kind, match=words) as caught:
                update(workspace)
            assert caught.value.hint
            assert "testing" not in f"{caught.value} {caught.value.hint}"
    with monkeypatch.context() as patch:
        patch.delenv("AWS_SECRET_ACCESS_KEY")
        with pytest.raises(ConfigError, match="Missing SecretAccessKey") as half:
            update(workspace)
        assert "AWS_SECRET_ACCESS_KEY" in half.value.hint
        patch.delenv("AWS_ACCESS_KEY_ID")
        patch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
        with pytest.raises(SourceError, match="s3://documents may not be used without credentials"):
            update(workspace)
    workspace.add_collection("other", "", "s3://nowhere")
    with pytest.raises(SourceMissingError, match="there is no bucket 'nowhere'"):
        workspace.import_collection("other")
    server.put("x//y.md", "# Y\n")
    with pytest.raises(SourceError, match=r"cannot be listed: .*x//y\.md"):
        update(workspace)
    assert paths(workspace) == ["a.md"]
    for wrong in ("s3:documents", "s3://", "s3:///a", "s3://me:secret@documents", "s3://documents/../a"):
        with pytest.raises(ConfigError, match="s3:") as refused:
            workspace.add_collection("wrong", "", wrong)
        assert "secret" not in str(refused.value)
        assert "s3://BUCKET/PATH" in refused.value.hint


def test_a_flaky_server_loses_nothing(
    server: S3Server, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of requests that fail one in four, an import notices nothing; when all fail, what is there stays."""
    monkeypatch.setattr("mdvec.net.buckets._ANSWER_WITHIN", timedelta(seconds=1))
    texts = {f"{number:02}.md": f"# Note {number}\n\nNumber {number * 7}.\n" for number in range(60)}
    for key, text in texts.items():
        server.put(key, text)
    monkeypatch.setattr(server, "fault", Flaky(seed=19))
    server.faults.clear()
    workspace.add_collection("docs", "Documents", "s3://documents")
    report = workspace.import_collection("docs")
    assert (report.added, report.failed) == (60, 0)
    texts["00.md"] = "# Another\n"
    server.put("00.md", texts["00.md"])
    del texts["59.md"]
    server.delete("59.md")
    report = update(workspace)
    assert (report.updated, report.deleted, report.unchanged, report.failed) == (1, 1, 58, 0)
    assert {path: workspace.read(path).text for path in paths(workspace)} == texts
    assert {Fault.ERROR, Fault.SLOW_DOWN, Fault.RESET, Fault.TRUNCATED, Fault.SILENT} <= {*server.faults}

    server.put("00.md", "# Not read\n")
    monkeypatch.setattr(
        server, "fault", lambda method, path: Fault.SLOW_DOWN if path.endswith(".md") else None
    )
    with pytest.raises(SourceUnavailableError, match="503"):
        update(workspace)
    assert {path: workspace.read(path).text for path in paths(workspace)} == texts
