"""``mdvec store`` on a real database with a vector index: what it prints, and the next step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mdvec.config import Config
from mdvec.interfaces.cli.main import run
from mdvec.testing.embedder import HashingEmbedder
from mdvec.workspace import Workspace, open_workspace

pytest.importorskip("sqlite_vec")

Store = Callable[..., str]


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Store:
    """Run a command of ``mdvec store`` on an index of two notes; returns its output, or its error message."""
    (tmp_path / "notes").mkdir()
    for name in ("tea", "milk"):
        (tmp_path / "notes" / f"{name}.md").write_text(f"# {name}\n\nA note about {name}.\n")

    def opener(config: Config | None = None, **_: object) -> Workspace:
        return open_workspace(config, database=tmp_path / "index.sqlite", embedder=HashingEmbedder())

    env = {"MDVEC_STORE_VECTORS": "sqlite-vec"}

    def call(*args: str, code: int = 0) -> str:
        assert run(("store", *args), env=env, cwd=tmp_path, opener=opener) == code
        output = capsys.readouterr()
        return output.err if code else output.out

    for args in (
        ("tool", "add", "-n", "notes", "-d", "Mine", "-s", str(tmp_path / "notes")),
        ("import", "--format", "json"),
    ):
        assert run(args, env=env, cwd=tmp_path, opener=opener) == 0
    capsys.readouterr()
    return call


def test_show_describes_the_store(store: Store, tmp_path: Path) -> None:
    """Its place, size, counts, vectors and the index beside it, also as JSON."""
    place, counts, vectors, index = store("show").splitlines()
    assert re.fullmatch(rf"sqlite: {tmp_path}/index.sqlite, \d\.\d MB", place)
    assert counts == "1 collection, 2 documents, 2 chunks"
    assert re.fullmatch(r"\d vectors of \S+", vectors)
    assert index.startswith(f"vector index: {tmp_path}/index.sqlite")
    assert json.loads(store("show", "--format", "json"))["chunks"] == 2


def test_move_names_the_next_step(store: Store, tmp_path: Path) -> None:
    """What was compared, and what to set."""
    target = tmp_path / "new.sqlite"
    assert re.match(
        rf"{target} holds the same 2 documents, 2 chunks and \d vectors \(checksum [0-9a-f]{{12}}\)\.\n"
        rf"To use it, set in the configuration:\n  \[store\]\n  location = '{target}'\n",
        store("move", str(target)),
    )
    again = json.loads(store("move", str(target), "--format", "json"))
    assert again["contents"]["documents"] == 2


@pytest.mark.parametrize("target", ["nope", "some/folder/"])
def test_a_bare_word_is_no_place_for_a_store(store: Store, tmp_path: Path, target: str) -> None:
    """A mistyped command would copy the whole database into a file of that name."""
    before = {*tmp_path.rglob("*")}
    assert f"Write a file such as {target.rstrip('/')}.sqlite" in store("move", target, code=2)
    assert {*tmp_path.rglob("*")} == before


def test_rebuild_counts_the_vectors(store: Store, tmp_path: Path) -> None:
    """And names the index."""
    assert re.fullmatch(rf"{tmp_path}/index\.sqlite\S* ?\S*: \d vectors\n", store("rebuild"))
