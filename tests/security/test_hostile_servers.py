"""Servers of sources that send without end, or something else than they said."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest
from tests.fakes.http_server import Answer, Asked, HttpServer

from mdvec.errors import ImportStoppedError, SourceError, UnreadableFileError
from mdvec.run import Run, bound
from mdvec.sources import blobs
from mdvec.sources.github import api
from mdvec.sources.github.github_source import GithubSource

_COMMIT = "1" * 40
_SAID, _SENT = 5, 5_000_000  # bytes of an object


class EndlessFolders(HttpServer):
    """GitHub, where each folder holds one more, and no list is whole."""

    def answer(self, asked: Asked) -> Answer:
        if "/commits/" in asked.path:
            return Answer(200, _COMMIT.encode())
        folder = {"path": "deeper", "mode": "040000", "type": "tree", "sha": _COMMIT}
        return Answer(200, json.dumps({"truncated": "recursive" in asked.path, "tree": [folder]}).encode())


class HostileBucket(HttpServer):
    """S3 whose list does not end, and whose objects are larger than it says, whatever their ETag is."""

    is_endless = True

    def answer(self, asked: Asked) -> Answer:
        if "list-type" not in asked.path:
            headers = {"ETag": '"2"', "Last-Modified": "Fri, 01 May 2026 00:00:00 GMT"}
            return Answer(200, b"x" * _SENT, headers)
        more = "<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>"
        entry = f"""<Contents><Key>note.md</Key><LastModified>2026-05-01T00:00:00.000Z</LastModified>
            <ETag>"1"</ETag><Size>{_SAID}</Size></Contents>"""
        found = f"<ListBucketResult>{more if self.is_endless else ''}{entry}</ListBucketResult>"
        return Answer(200, found.encode(), {"Content-Type": "application/xml"})


def test_folders_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository on GitHub whose folders would be asked for for ever is refused."""
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.setattr(api, "_MAX_FOLDERS", 20)
    with EndlessFolders() as server:
        source = GithubSource(location="acme/notes", cache_dir=tmp_path, base_url=server.url)
        with pytest.raises(SourceError, match="acme/notes has more than 20 folders") as caught:
            source.list()
        assert "git+https://github.com/acme/notes" in caught.value.hint
        assert len(server.asked) < 50


def archive_of(*contents: bytes) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for content in contents:
            member = tarfile.TarInfo("a.md")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    packed.seek(0)
    return packed


def test_an_archive_that_becomes_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a limit is unpacked; what stands before it is there, and the rest is fetched by itself."""
    monkeypatch.setattr(blobs, "_MAX_UNPACKED_BYTES", 1_000_000)
    like = b"\0" * 20
    first, last = blobs.blob_id(b"first", like), blobs.blob_id(b"last!", like)
    wanted = {first: 5, last: 5}
    for bomb, is_found in ((b"", True), (bytes(2_000_000), False)):
        fetched = blobs.FetchedBlobs()
        blobs.take_wanted(archive_of(b"first", bomb, b"last!"), wanted, fetched, lambda: None)
        assert (first in fetched, last in fetched) == (True, is_found)


def test_unpacking_an_archive_can_be_cancelled() -> None:
    """Whoever waits for one that is large, or a bomb, can give up."""
    running = Run()
    running.cancel()
    with bound(running), pytest.raises(ImportStoppedError):
        blobs.take_wanted(archive_of(b"first"), {b"\1" * 20: 5}, blobs.FetchedBlobs(), lambda: None)


@pytest.mark.s3
@pytest.mark.filterwarnings("ignore")
def test_a_bucket_that_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list without end is refused; an object that is larger than it was said to be is not read."""
    from mdvec.net import buckets
    from mdvec.sources.s3 import S3Source

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setattr(buckets, "_MAX_OBJECTS", 20)
    with HostileBucket() as server:
        source = S3Source(location="//documents", endpoint=server.url, region="us-east-1")
        with pytest.raises(SourceError, match="lists more than 20 objects"):
            source.list()
        assert len(server.asked) < 200
        server.is_endless = False
        [entry] = source.list().entries
        assert entry.size == _SAID
        with pytest.raises(UnreadableFileError, match="changed after it was listed"):
            source.read(entry)
