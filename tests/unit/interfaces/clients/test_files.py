"""Replacing somebody else's file."""

from __future__ import annotations

import codecs
import os
import sys
from pathlib import Path

import pytest

from mdvec.errors import ClientFileBusyError, ClientFileError
from mdvec.interfaces.clients.edits import backup_path, read_file, replace_file

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither modes nor easy links")


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_byte_order_mark_and_line_ends_stay(tmp_path: Path, mark: bytes) -> None:
    """A file is written with the mark and the line ends it was read with."""
    path = tmp_path / "設定.json"
    path.write_bytes(mark + '{"名": 1}\r\n'.encode())
    file = read_file(path)
    assert file.text == '{"名": 1}\r\n'
    replace_file(file, file.text.replace("1", "2"))
    assert path.read_bytes() == mark + '{"名": 2}\r\n'.encode()


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are no text are an error with their line: they could not be written back."""
    path = tmp_path / "x.json"
    path.write_bytes(b"{}\n\xff\xfa")
    with pytest.raises(ClientFileError, match=r"x\.json: line 2 .*UTF-8"):
        read_file(path)


def test_every_content_is_kept_once(tmp_path: Path) -> None:
    """Each content that is replaced has a copy, none is overwritten, and none is kept twice."""
    path = tmp_path / "x.json"
    assert replace_file(read_file(path), "first") is None
    assert replace_file(read_file(path), "second") == tmp_path / "x.json.mdvec-backup"
    assert replace_file(read_file(path), "first") == tmp_path / "x.json.mdvec-backup.2"
    assert replace_file(read_file(path), None) == tmp_path / "x.json.mdvec-backup"
    assert not path.exists()
    assert [backup_path(path, number).read_text() for number in (1, 2)] == ["first", "second"]
    assert not backup_path(path, 3).exists()


@needs_modes
def test_mode_and_link_stay(tmp_path: Path) -> None:
    """A link still leads to the file; file and copy are as private as the file was."""
    target = tmp_path / "dotfiles" / "mcp.json"
    target.parent.mkdir()
    target.write_text("{}")
    target.chmod(0o600)
    link = tmp_path / "mcp.json"
    link.symlink_to(target)
    backup = replace_file(read_file(link), '{"a": 1}')
    assert link.is_symlink()
    assert target.read_text() == '{"a": 1}'
    assert backup == target.with_name("mcp.json.mdvec-backup")
    assert [each.stat().st_mode & 0o777 for each in (target, backup)] == [0o600, 0o600]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """What somebody wrote after the file was read is not overwritten, and nothing is left lying around."""
    path = tmp_path / "x.json"
    path.write_text("{}")
    file = read_file(path)
    path.write_text('{"theirs": 1}')
    for text in ("{}", None):
        with pytest.raises(ClientFileBusyError):
            replace_file(file, text)
    assert path.read_text() == '{"theirs": 1}'
    assert {each.name for each in tmp_path.iterdir()} == {"x.json"}


@needs_modes
def test_a_protected_file_is_left_alone(tmp_path: Path) -> None:
    """Its owner took the right to write away; replacing it would get around that."""
    path = tmp_path / "x.json"
    path.write_text("{}")
    path.chmod(0o444)
    for text in ('{"a": 1}', None):
        with pytest.raises(ClientFileError, match="write-protected"):
            replace_file(read_file(path), text)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["{}"]


@needs_modes
def test_a_new_file_is_private(tmp_path: Path) -> None:
    """Only the owner may read it: it may get keys."""
    path = tmp_path / "x.json"
    replace_file(read_file(path), "{}")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_file_gets_its_folder(tmp_path: Path) -> None:
    """Folders that lead to a file are made."""
    path = tmp_path / "a" / "b" / "mcp.json"
    replace_file(read_file(path), "{}")
    assert path.read_text() == "{}"


@needs_modes
def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full, the file is whole and there is no half-written one beside it."""
    path = tmp_path / "x.json"
    path.write_text("{}")
    file = read_file(path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(file, '{"a": 1}')
    assert path.read_text() == "{}"
    assert not [each for each in tmp_path.iterdir() if each.name.endswith(".tmp")]
