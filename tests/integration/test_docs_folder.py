"""A folder is indexed as its user chooses without registering it; a reading command makes no index."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from mdvec import SearchQuery, open_workspace
from mdvec.config import paths as config_paths
from mdvec.config.presets import load_preset
from mdvec.errors import ConfigError
from mdvec.interfaces.cli.main import run
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import ChunkingSpec
from mdvec.workspace import FolderChoice

APPLES = SearchQuery("apples")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with two notes about apples."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nApples are red.\n", encoding="utf-8")
    (folder / "b.txt").write_text("Apples are green.\n", encoding="utf-8")
    return folder


def found(docs: Path, embedder: HashingEmbedder, choice: FolderChoice | None = None) -> list[str]:
    """Search as a new process does."""
    with open_workspace(docs_dir=docs, embedder=embedder, choice=choice) as workspace:
        return sorted(hit.path for hit in workspace.search(APPLES).hits)


def test_a_choice_holds_until_another_is_made(docs: Path, tmp_path: Path) -> None:
    """A changed one imports what it must before the search answers; an unchanged one writes nothing."""
    embedder = HashingEmbedder()
    markdown = FolderChoice(include=("*.md",))
    assert found(docs, embedder, markdown) == ["a.md"]
    assert found(docs, embedder) == ["a.md"]
    with open_workspace(docs_dir=docs, embedder=embedder, choice=markdown) as workspace:
        before = workspace.generation()
    with open_workspace(docs_dir=docs, embedder=embedder, choice=markdown) as workspace:
        assert workspace.generation() == before
        assert workspace.collection("docs").last_indexed_ms is not None
    done = len(embedder.embedded)
    assert found(docs, embedder, FolderChoice(include=())) == ["a.md", "b.txt"]
    assert embedder.embedded[done:]
    assert not any("red" in text for text in embedder.embedded[done:])
    assert found(docs, embedder, FolderChoice(exclude=("a.*",))) == ["b.txt"]


@pytest.mark.parametrize("waits", [True, None, False])
def test_a_refused_import_leaves_the_index_in_use(docs: Path, waits: bool | None) -> None:
    """A pattern that no file matches ends no search; without an index there is nothing to answer from."""
    embedder = HashingEmbedder()
    nothing = FolderChoice(include=("*.rst",))
    assert found(docs, embedder) == ["a.md", "b.txt"]
    with open_workspace(docs_dir=docs, embedder=embedder, choice=nothing) as workspace:
        result = workspace.search(APPLES, wait_for_vectors=waits)
    assert sorted(hit.path for hit in result.hits) == ["a.md", "b.txt"]
    assert any(each.startswith("docs is no longer updated: ") for each in result.warnings)


def test_commands_in_warnings_name_the_folder(
    docs: Path, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pasted, they work on its index."""
    search = ("search", "apples", "--mode", "lexical", "--docs-dir", str(docs))
    assert command(tmp_path, *search) == 0
    for name in ("a.md", "b.txt"):
        (docs / name).unlink()
    assert command(tmp_path, *search) == 0
    assert f"--allow-empty --docs-dir {docs}'" in capsys.readouterr().err


def test_it_is_searched_beside_what_programs_write(docs: Path) -> None:
    """Its documents are found even while another choice of files makes it due for an import."""
    embedder = HashingEmbedder()
    with open_workspace(docs_dir=docs, embedder=embedder) as workspace:
        workspace.import_collection("docs")
        workspace.add_collection("pushed", "Pushed", "push:")
    assert found(docs, embedder, FolderChoice(include=("*.md", "*.txt"))) == ["a.md", "b.txt"]


def test_a_preset_and_a_chunker_cut_again(docs: Path, tmp_path: Path) -> None:
    """A preset sets all that it has; a chunker that is in use already keeps its sizes."""
    embedder = HashingEmbedder()
    found(docs, embedder, FolderChoice(preset=load_preset("token-windows", cwd=tmp_path)))
    with open_workspace(
        docs_dir=docs, embedder=embedder, choice=FolderChoice(chunker="windows")
    ) as workspace:
        collection = workspace.collection("docs")
        assert (collection.chunking.strategy, collection.preset) == ("windows", "token-windows")
        assert collection.chunking.max_tokens is not None
    found(docs, embedder, FolderChoice(chunker="headings"))
    with open_workspace(docs_dir=docs, embedder=embedder) as workspace:
        assert workspace.collection("docs").chunking == ChunkingSpec("headings")
        assert workspace.status("docs", check=True).collections[0].check is not None
    with (
        pytest.raises(ConfigError),
        open_workspace(docs_dir=docs, embedder=embedder, choice=FolderChoice(chunker="no")) as workspace,
    ):
        workspace.search(APPLES)


def command(tmp_path: Path, *args: str) -> int:
    """Run a command in a home of its own."""
    opener = partial(open_workspace, embedder=HashingEmbedder())
    return run(args, env={}, cwd=tmp_path, opener=opener)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An account that has never used mdvec."""
    place = tmp_path / "home"
    monkeypatch.setattr(config_paths, "user_data_dir", lambda: place / "data")
    monkeypatch.setattr(config_paths, "user_config_dir", lambda: place / "config")
    return place


def test_the_command_line_takes_the_choices(
    docs: Path, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As 'mdvec tool add' spells them; without a folder they are an error."""
    at = ("--docs-dir", str(docs))
    assert command(tmp_path, "search", "apples", *at, "--include", "*.txt", "--format", "json") == 0
    assert [hit["path"] for hit in json.loads(capsys.readouterr().out)["hits"]] == ["b.txt"]
    assert command(tmp_path, "import", *at, "--include", "", "--exclude", "*.txt", "--preset", "vault") == 0
    assert command(tmp_path, "tool", "ls", *at, "--format", "json") == 0
    [shown] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (shown["include"], shown["exclude"], shown["chunker"]) == ([], ["*.txt"], "vault")
    assert command(tmp_path, "search", "apples", "--chunker", "vault") == 2
    assert "--chunker needs --docs-dir" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ("status", 0, "hint: Register a folder"),
        ("tool ls", 0, "hint: Register a folder"),
        ("tool ls --names", 0, ""),
        ("model ls", 0, ""),
        ("doctor", 0, ""),
        ("import", 0, "hint: Register a folder"),
        ("search apples", 1, "hint: Register a folder"),
        ("ls", 1, "hint: Register a folder"),
        ("tags", 1, "hint: Register a folder"),
        ("get a.md", 1, "hint: Register a folder"),
        ("get a.md --links", 1, "hint: Register a folder"),
        ("related a.md", 1, "hint: Register a folder"),
        ("store show", 1, "hint: Register a folder"),
        ("store ls", 0, ""),
        ("import -n x", 1, "hint: Register a folder"),
        ("tool rename a b", 1, "hint: Register a folder"),
        ("tool delete -n a -y", 1, "hint: Register a folder"),
        ("status --docs-dir docs", 0, "docs' indexes the folder."),
        ("tool ls --docs-dir docs", 0, "docs' indexes the folder."),
        ("get a.md --docs-dir docs", 1, "mdvec import --docs-dir"),
        ("get a.md --docs-dir docs --data-dir index", 1, "index.sqlite' creates it."),
    ],
)
def test_a_reading_command_makes_nothing(
    docs: Path,
    tmp_path: Path,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    args: str,
    code: int,
    said: str,
) -> None:
    """Where there is no index it says how to make one."""
    assert command(tmp_path, *args.split()) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert not home.exists()
    assert sorted(path.name for path in docs.iterdir()) == ["a.md", "b.txt"]
