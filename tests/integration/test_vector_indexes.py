"""A vector index from the configuration to the hits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mdvec.config import load_config
from mdvec.config.schema import Config, StoreSettings
from mdvec.errors import ConfigError
from mdvec.registry import install_command
from mdvec.run import Run, bound
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import Workspace, open_workspace

QUERY = SearchQuery("old harbour", SearchMode.DENSE)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Three documents."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("harbour", "mountain", "river"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nThe old {name} is quiet.\n")
    return folder


def open_with(vectors: str | None, database: Path) -> Workspace:
    """Open a workspace whose vectors are searched in an index."""
    config = Config(store=StoreSettings(vectors=vectors))
    return open_workspace(config, database=database, embedder=HashingEmbedder())


@pytest.mark.parametrize("place", ["", "other/vectors.db"])
def test_sqlite_vec(docs: Path, tmp_path: Path, place: str) -> None:
    """The index lies beside the database or where it is named, and gives the hits of the matrix."""
    database = tmp_path / "index.sqlite"
    path = tmp_path / place if place else tmp_path / "index.sqlite.sqlite-vec"
    with open_with(f"sqlite-vec:{path}" if place else "sqlite-vec", database) as workspace:
        workspace.add_collection("docs", "Docs", str(docs))
        workspace.import_collection("docs")
        found = workspace.search(QUERY).hits
    assert path.is_file()
    with open_with(None, database) as workspace:
        expected = workspace.search(QUERY).hits
    assert [each.path for each in found] == [each.path for each in expected]
    assert found[0].path == "harbour.md"
    assert found[0].similarity == pytest.approx(expected[0].similarity, abs=1e-5)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "name",
    [
        "sqlite-vec",
        pytest.param("lancedb", marks=pytest.mark.lancedb),
        pytest.param("chroma", marks=pytest.mark.chroma),
    ],
)
def test_beside_postgresql(docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The index is among the user's data, one for each schema; its hits are those of the server."""
    from tests.postgres_server import new_schema, shared_server

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    places, used = [], list[object]()

    def note(name: str, elapsed_ms: float, **details: object) -> None:
        used.append(details.get("used"))

    for schema in (new_schema(), new_schema()):
        env = {"MDVEC_STORE_LOCATION": shared_server(), "MDVEC_STORE_POSTGRES_SCHEMA": schema}
        hits = {}
        for vectors in (name, ""):
            config = load_config(cwd=tmp_path, env=env | {"MDVEC_STORE_VECTORS": vectors} if vectors else env)
            used.clear()
            with (
                open_workspace(config.config, embedder=HashingEmbedder()) as workspace,
                bound(Run(on_step=note)),
            ):
                if vectors:
                    workspace.add_collection("docs", "Docs", str(docs))
                    workspace.import_collection("docs")
                    places.append(workspace.stores.rebuild_vector_index().location)
                hits[vectors] = [(each.path, each.start) for each in workspace.search(QUERY).hits]
                problems = [each for each in workspace.doctor() if each.severity == "problem"]
                assert problems == []
            assert (True in used) == bool(vectors)
        assert hits[name] == hits[""]
        assert hits[name][0][0] == "harbour.md"
    assert len({*places}) == 2
    assert all(each.startswith(str(tmp_path / "data")) for each in places)


@pytest.mark.parametrize(
    ("name", "library", "module"),
    [
        ("sqlite-vec", "sqlite_vec", "sqlite_vec"),
        ("lancedb", "lancedb", "lancedb"),
        ("chroma", "chromadb", "chroma"),
    ],
)
def test_without_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str, module: str
) -> None:
    """The error names the command that installs it, before anything is written."""
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"mdvec.stores.vectors.{module}", raising=False)
    with (
        open_with(name, tmp_path / "index.sqlite") as workspace,
        pytest.raises(ConfigError, match=f"'{name}' is not installed") as caught,
    ):
        workspace.add_collection("docs", "Docs", str(tmp_path))
    assert install_command(name) in caught.value.hint
    assert not (tmp_path / "index.sqlite").exists()


def test_rebuild(docs: Path, tmp_path: Path) -> None:
    """What is rebuilt holds every text and name; without an index there is nothing to rebuild."""
    database = tmp_path / "index.sqlite"
    with open_with("sqlite-vec", database) as workspace:
        workspace.add_collection("docs", "Docs", str(docs))
        chunks = workspace.import_collection("docs").embedded_chunks
        rebuilt = workspace.stores.rebuild_vector_index()
    assert rebuilt.location == f"{database}.sqlite-vec"
    assert rebuilt.vectors > chunks
    with open_with(None, database) as workspace, pytest.raises(ConfigError, match="no vector index"):
        workspace.stores.rebuild_vector_index()
