"""A user with a home of their own, and folders that others made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mdvec import open_workspace
from mdvec.interfaces.cli.main import run
from mdvec.testing.embedder import HashingEmbedder


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command."""

    code: int
    out: str
    err: str


Mdvec = Callable[..., Outcome]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home, where everything of mdvec goes by default."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    for name, folder in (("DATA", "data"), ("CONFIG", "config"), ("CACHE", "cache")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(place / folder))
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one document."""
    place = tmp_path / "folder"
    place.mkdir()
    (place / "a.md").write_text("# Setup\n\nRun make install first.\n", encoding="utf-8")
    return place


@pytest.fixture
def mdvec(home: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> Mdvec:
    """Run a command line in a folder; keyword arguments are environment variables."""
    opener = functools.partial(open_workspace, embedder=HashingEmbedder())

    def call(*args: str | Path, cwd: Path = folder, **env: str) -> Outcome:
        capsys.readouterr()
        code = run([str(each) for each in args], env={"HOME": str(home), **env}, cwd=cwd, opener=opener)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def index(mdvec: Mdvec, folder: Path, tmp_path: Path) -> Path:
    """A database with one document."""
    file = tmp_path / "index" / "index.sqlite"
    assert mdvec("tool", "add", "-n", "notes", "-d", "x", "-s", folder, "--database", file).code == 0
    assert mdvec("import", "-n", "notes", "--database", file).code == 0
    return file
