"""The files of the installed model: described, checked once, refused when altered."""

from __future__ import annotations

import hashlib
import os
import struct
from importlib.machinery import ModuleSpec
from io import BufferedReader
from pathlib import Path

import msgspec
import numpy as np
import pytest

from mdvec.embedding.builtin import model as model_module
from mdvec.embedding.builtin.model import FORMAT, ModelManifest, checked_model, dequantise
from mdvec.errors import EmbedderUnavailableError

_CONTENT = b"the published weights"


def test_dequantise() -> None:
    """The low halves of the bytes are the first 16 weights, the high halves the last; 8 is zero."""
    nibbles = [*range(16), *range(15, -1, -1)]
    packed = bytes(low | high << 4 for low, high in zip(nibbles[:16], nibbles[16:], strict=True))
    block = struct.pack("<e", 0.5) + packed
    rows = dequantise(np.frombuffer(block, dtype=np.uint8).reshape(1, 1, 18))
    assert rows.tolist() == [[(nibble - 8) * 0.5 for nibble in nibbles]]


def _describe(folder: Path, format_: int = FORMAT) -> None:
    """Write the description of a model of one file."""
    digest = hashlib.sha256(_CONTENT).hexdigest()
    manifest = ModelManifest(format_, "here", *(1,) * 8, tensors={}, files={"words.npy": digest})
    (folder / "model.json").write_bytes(msgspec.json.encode(manifest))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed package with a model of one file."""
    package = tmp_path / "site-packages" / "mdvec_e5"
    package.mkdir(parents=True)
    (package / "words.npy").write_bytes(_CONTENT)
    _describe(package)
    spec = ModuleSpec("mdvec_e5", None, is_package=True)
    spec.submodule_search_locations = [str(package)]
    monkeypatch.setattr(model_module, "find_spec", lambda _: spec)
    return package


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose digest was computed."""
    names: list[str] = []
    digest = hashlib.file_digest

    def record(file: BufferedReader, kind: str) -> object:
        names.append(Path(file.name).name)
        return digest(file, kind)

    monkeypatch.setattr(hashlib, "file_digest", record)
    return names


def test_the_files_are_read_once(package: Path, tmp_path: Path, reads: list[str]) -> None:
    """Their check is remembered in the cache folder, until one is written again."""
    for _ in range(3):
        assert checked_model(tmp_path / "cache").folder == package
    assert reads == ["words.npy"]
    (package / "words.npy").write_bytes(_CONTENT)
    os.utime(package / "words.npy", (0, 0))
    checked_model(tmp_path / "cache")
    assert len(reads) == 2


def test_a_cache_folder_that_cannot_be_written(package: Path, tmp_path: Path, reads: list[str]) -> None:
    """The files are checked each time."""
    (tmp_path / "file").touch()
    for _ in range(2):
        assert checked_model(tmp_path / "file" / "cache").folder == package
    assert len(reads) == 2


def test_an_altered_file_is_refused(package: Path, tmp_path: Path) -> None:
    """The error names the file and the command, although size and time are the old ones."""
    checked_model(tmp_path / "cache")
    file = package / "words.npy"
    before = file.stat()
    file.unlink()
    file.write_bytes(_CONTENT.replace(b"published", b"disguised"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        with pytest.raises(EmbedderUnavailableError, match=r"altered: words\.npy") as caught:
            checked_model(tmp_path / "cache")
        assert str(package) in str(caught.value)
        assert "pip install --force-reinstall mdvec-e5==" in caught.value.hint


def test_another_format_is_refused(package: Path, tmp_path: Path) -> None:
    """A package that this mdvec cannot read is an error that says which one it reads."""
    _describe(package, FORMAT + 1)
    with pytest.raises(EmbedderUnavailableError, match=f"format {FORMAT + 1}") as caught:
        checked_model(tmp_path / "cache")
    assert "mdvec-e5==" in caught.value.hint


@pytest.mark.parametrize("described", [b"", b"{}", b'{"format": "x"}', b"\xff"])
def test_a_description_that_cannot_be_read(package: Path, tmp_path: Path, described: bytes) -> None:
    """It is an error that says how to get a whole one."""
    (package / "model.json").write_bytes(described)
    with pytest.raises(EmbedderUnavailableError, match="cannot be read") as caught:
        checked_model(tmp_path / "cache")
    assert "pip install" in caught.value.hint


def test_a_missing_file(package: Path, tmp_path: Path) -> None:
    """It is an error that says how to get a whole model."""
    (package / "words.npy").unlink()
    with pytest.raises(EmbedderUnavailableError, match="cannot be read") as caught:
        checked_model(tmp_path / "cache")
    assert "pip install" in caught.value.hint
