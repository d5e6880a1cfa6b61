"""What every source has to do, whatever is behind it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.fakes.git_repository import GitRepository
from tests.fakes.github_server import REPOSITORY, GithubServer
from tests.fakes.s3_server import S3Server

from mdvec.errors import FileTooLargeError, SourceMissingError, UnreadableFileError
from mdvec.sources.folder import FolderSource
from mdvec.sources.git.git_source import GitSource
from mdvec.sources.github.github_source import GithubSource
from mdvec.sources.interface import Source
from mdvec.sources.s3 import S3Source
from mdvec.sources.selection import DEFAULT_MAX_FILE_BYTES
from mdvec.text.hashing import content_hash
from mdvec.types.change import SourceEntry

_FILES = {
    "b.md": b"# b\n",
    "a.md": b"",
    "docs/日本語.md": "本文\r\n".encode("cp932"),
    "docs/deep/c.txt": bytes(range(256)),
    "docs/picture.png": b"\x89PNG",
    "node_modules/x/readme.md": b"# x\n",
}

Make = Callable[[Mapping[str, bytes]], Source]


def _make_folder(root: Path, files: Mapping[str, bytes], _open: ExitStack) -> Source:
    for path, raw in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)
    return FolderSource(location=str(root))


def _make_github(root: Path, files: Mapping[str, bytes], opened: ExitStack) -> Source:
    server = opened.enter_context(GithubServer())
    server.commit(files)
    return GithubSource(location=REPOSITORY, cache_dir=root / "cache", base_url=server.base_url)


def _make_git(root: Path, files: Mapping[str, bytes], _open: ExitStack) -> Source:
    repository = GitRepository(root / "repository.git")
    repository.commit(files)
    return GitSource(location=repository.url, cache_dir=root / "cache")


def _make_s3(root: Path, files: Mapping[str, bytes], opened: ExitStack) -> Source:
    server = opened.enter_context(S3Server("contract"))
    for path, raw in files.items():
        server.put(f"docs/{path}", raw)
    return S3Source(location="//contract/docs", endpoint=server.endpoint)


_ADAPTERS = [
    pytest.param(_make_folder, id="folder"),
    pytest.param(_make_github, id="github"),
    pytest.param(_make_git, id="git"),
    pytest.param(_make_s3, id="s3", marks=[pytest.mark.s3, pytest.mark.filterwarnings("ignore")]),
]


@pytest.fixture(params=_ADAPTERS)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes a source that holds the given files."""
    adapter: Callable[[Path, Mapping[str, bytes], ExitStack], Source] = request.param
    with ExitStack() as opened:
        yield lambda files: adapter(tmp_path, files, opened)


def test_a_listing_is_sorted_and_unique(make: Make) -> None:
    """Entries and exclusions come in the order of paths, no path twice, all in NFC with slashes."""
    listing = make(_FILES).list()
    paths = [entry.path for entry in listing.entries]
    assert paths == ["a.md", "b.md", "docs/deep/c.txt", "docs/日本語.md"]
    assert [item.path for item in listing.exclusions] == ["docs/picture.png", "node_modules/"]
    assert all(unicodedata.is_normalized("NFC", path) for path in paths)


def test_listing_twice_gives_the_same(make: Make) -> None:
    """Nothing changes by looking."""
    source = make(_FILES)
    assert source.list() == source.list()


def test_read_returns_the_bytes_as_they_are(make: Make) -> None:
    """Reading neither decodes nor changes line ends; a size, where it is known, is that of the bytes."""
    source = make(_FILES)
    entries = source.list().entries
    source.prefetch(entries[:2])
    for entry in entries:
        raw = source.read(entry)
        assert raw == _FILES[entry.path]
        assert entry.size in {len(raw), 0}


def test_a_converted_file_may_be_larger_than_a_text(make: Make) -> None:
    """Also the same bytes under both names: the text is left out or refused, the other is read."""
    content = b"x" * (DEFAULT_MAX_FILE_BYTES + 1)
    source = make({"a.pdf": content, "b.md": content})
    entries = {entry.path: entry for entry in source.list().entries}
    source.prefetch([*entries.values()])
    assert source.read(entries["a.pdf"]) == content
    if "b.md" in entries:
        with pytest.raises(FileTooLargeError, match="larger than 10 MB"):
            source.read(entries["b.md"])


def test_a_content_has_one_name(make: Make) -> None:
    """Where a source says what identifies a content, it is the same for the same bytes alone."""
    files = {"a.md": b"one", "b.md": b"one", "c.md": b"two"}
    names = [entry.content_hash for entry in make(files).list().entries]
    if names[0] is not None:
        assert names[0] == names[1] != names[2]
    assert [name is None for name in names] in ([True] * 3, [False] * 3)


def test_what_was_just_read_does_not_differ(make: Make) -> None:
    """A file is as it was listed and read until somebody changes it."""
    source = make(_FILES)
    for entry in source.list().entries:
        identity = entry.content_hash or content_hash(source.read(entry))
        assert not source.differs(replace(entry, content_hash=identity))


def test_what_is_gone_cannot_be_read(make: Make) -> None:
    """Reading a file that is not there is the error that a reader expects, also when many were announced."""
    source = make(_FILES)
    source.prefetch([SourceEntry("gone.md", "gone.md", 0, 0)])
    with pytest.raises(UnreadableFileError):
        source.read(SourceEntry("gone.md", "gone.md", 0, 0))


def test_an_empty_source_is_no_error(make: Make) -> None:
    """Whether nothing can be believed is for others to decide."""
    assert make({}).list().entries == ()


def test_a_missing_root_is_named(tmp_path: Path) -> None:
    """A root that is not there is the one error of a listing, and says which root."""
    with pytest.raises(SourceMissingError, match="nowhere"):
        FolderSource(location=str(tmp_path / "nowhere")).list()


def test_files_with_context_are_listed_apart(make: Make) -> None:
    """They are no documents, and can be read; one that is too large, where that is known, is left out."""
    source = make({**_FILES, ".mdvec-context": b"All.", "docs/.mdvec-context": b"Docs."})
    listing = source.list()
    assert [each.path for each in listing.context_files] == [".mdvec-context", "docs/.mdvec-context"]
    assert [source.read(each) for each in listing.context_files] == [b"All.", b"Docs."]
    others = [*(each.path for each in listing.entries), *(each.path for each in listing.exclusions)]
    assert not any(path.endswith("context") for path in others)
