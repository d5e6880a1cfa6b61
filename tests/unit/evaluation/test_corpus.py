"""Documents as files."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path

import pytest

from mdvec.documents.parse import parse_document
from mdvec.errors import UsageError
from mdvec.evaluation.corpus import archived_files, corpus_files, lay_out
from mdvec.evaluation.judgements import CorpusDocument
from mdvec.evaluation.naming import neutral_naming
from mdvec.types.document import TitleSource


def written(document: CorpusDocument) -> tuple[str, str]:
    """Return path and text of a document."""
    [(path, content)] = corpus_files([document], neutral_naming([document.id])).items()
    return path, content.decode()


def test_a_title_becomes_the_heading() -> None:
    """What is indexed as the title is the title, on one line."""
    path, text = written(CorpusDocument("doc1", "A\n title", "Some text."))
    assert text == "# A title\n\nSome text.\n"
    assert parse_document(path, text).title == "A title"


@pytest.mark.parametrize("text", ["plain", "---\ntitle: no\n---\nmore", "+++\na = 1\n+++\n", "\udce3\0"])
def test_a_text_without_a_title_says_nothing_else(text: str) -> None:
    """Its first lines are no frontmatter, its id is not in it, and nothing in it is no text."""
    path, content = written(CorpusDocument("doc1", "", text))
    document = parse_document(path, content)
    assert document.title_source is TitleSource.FILE_NAME
    assert document.frontmatter == {}
    assert "doc1" not in path + content
    assert "\0" not in content


def test_a_folder_holds_what_it_is_to_hold(tmp_path: Path) -> None:
    """A second time only what differs is written, and what is gone is removed."""
    folder = tmp_path / "home" / "documents"
    folder.parent.mkdir()
    lay_out({"a.md": b"a", "sub/b.md": b"b", "c.md": b"c"}, folder)
    before = (folder / "a.md").stat().st_mtime_ns
    lay_out({"a.md": b"a", "sub/b.md": b"B"}, folder)
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files == {"a.md": b"a", "sub/b.md": b"B"}
    assert (folder / "a.md").stat().st_mtime_ns == before
    assert [path.name for path in folder.parent.iterdir()] == ["documents"]


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def test_an_archive_is_read(tmp_path: Path) -> None:
    """Its files are there, without the folder around them; links are not followed."""
    link = tarfile.TarInfo("tree/link.md")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    path = archive(
        tmp_path / "tree.tar.gz",
        (tarfile.TarInfo("tree/a.md"), b"a"),
        (tarfile.TarInfo("./tree/sub/b.md"), b"b"),
        (link, b""),
    )
    assert archived_files(path) == {"a.md": b"a", "sub/b.md": b"b"}


@pytest.mark.parametrize("name", ["../a.md", "/a.md", "tree/../../a.md"])
def test_an_archive_writes_nowhere_else(tmp_path: Path, name: str) -> None:
    """A member that would leave the folder is an error that names it."""
    path = archive(tmp_path / "tree.tar.gz", (tarfile.TarInfo(name), b"a"))
    with pytest.raises(UsageError, match="leads outside"):
        archived_files(path)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    """The error names the file, whether it is cut off, damaged or something else."""
    path = archive(tmp_path / "tree.tar.gz", (tarfile.TarInfo("a.md"), b"a" * 5000))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UsageError, match="cannot be unpacked"):
        archived_files(path)
    # Damage in the middle of a file's content is met by zlib, not by tarfile.
    path = archive(path, (tarfile.TarInfo("a.md"), random.Random(1).randbytes(100_000)))
    content = path.read_bytes()
    path.write_bytes(content[:1_000] + bytes(80_000) + content[81_000:])
    with pytest.raises(UsageError, match="cannot be unpacked"):
        archived_files(path)
    path.write_bytes(b"no archive")
    with pytest.raises(UsageError, match="cannot be unpacked"):
        archived_files(path)
