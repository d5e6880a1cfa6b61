"""The command line over a workspace whose answers a test decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.interfaces.fake_workspace import FakeWorkspace

from mdvec.config import paths as config_paths
from mdvec.interfaces.cli.main import run


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


Mdvec = Callable[..., Outcome]


@pytest.fixture
def workspace() -> FakeWorkspace:
    """The workspace behind the command line."""
    return FakeWorkspace()


@pytest.fixture
def mdvec(
    workspace: FakeWorkspace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Mdvec:
    """Run a command line in ``tmp_path``; keyword arguments are environment variables."""
    monkeypatch.setattr(config_paths, "user_config_dir", lambda: tmp_path / "user")

    def call(*args: str, **env: str) -> Outcome:
        code = run(args, env=env, cwd=tmp_path, opener=workspace)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
