"""What a shell offers, from real indexes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from mdvec import open_workspace
from mdvec.interfaces.cli.commands import cli, run_command
from mdvec.interfaces.cli.session import Session
from mdvec.types.report import ImportOptions

WORDS_ONLY = ImportOptions(embed=False)


def offered(root: Path, *args: str, incomplete: str = "") -> list[str]:
    """Return what completes a command line."""
    database = ("--database", str(root / "i.sqlite"))
    shell = ShellComplete(cli, {"obj": Session({}, root)}, "mdvec", "_MDVEC_COMPLETE")
    return [item.value for item in shell.get_completions([*database, *args], incomplete)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with an index of two collections."""
    for name, tags in (("notes", "[travel, Trains]"), ("nature", "[birds]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"---\ntags: {tags}\n---\nA text.\n")
        with open_workspace(database=tmp_path / "i.sqlite") as workspace:
            workspace.add_collection(name, name, str(tmp_path / name))
            workspace.import_collection(name, WORDS_ONLY)
    return tmp_path


@pytest.mark.parametrize("command", ["search", "import", "status", "tags", "ls"])
def test_collections_are_offered(root: Path, command: str) -> None:
    """After ``-n``, those that start as what is typed."""
    assert offered(root, command, "-n") == ["nature", "notes"]
    assert offered(root, command, "-n", incomplete="no") == ["notes"]
    assert offered(root, "tool", "rename", incomplete="na") == ["nature"]


def test_tags_are_offered(root: Path) -> None:
    """Whatever their letters' case, and of the named collections alone."""
    assert offered(root, "search", "--tag", incomplete="TR") == ["Trains", "travel"]
    assert offered(root, "search", "-n", "nature", "--tag") == ["birds"]


def test_presets_are_offered(root: Path) -> None:
    """Those that come with mdvec."""
    assert offered(root, "tool", "add", "--preset", incomplete="vault") == ["vault", "vault-voyage"]
    assert offered(root, "preset", "show", incomplete="vault") == ["vault", "vault-voyage"]


def test_completion_makes_no_database(tmp_path: Path) -> None:
    """Where there is no index, nothing is offered and nothing is written."""
    assert offered(tmp_path, "search", "-n") == []
    assert offered(tmp_path, "search", "--tag") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".local/share/bash-completion/completions/mdvec"),
        ("zsh", ".local/share/zsh/site-functions/_mdvec"),
        ("fish", ".config/fish/completions/mdvec.fish"),
    ],
)
def test_scripts_are_written_where_shells_look(tmp_path: Path, shell: str, file: str) -> None:
    """A second time the file is replaced; nothing else is written."""
    for _ in range(2):
        assert run_command(["completion", shell], env={"HOME": str(tmp_path)}, cwd=tmp_path) == 0
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()] == [Path(file)]
    assert "_MDVEC_COMPLETE" in (tmp_path / file).read_text()


def test_bash_loads_the_script(tmp_path: Path) -> None:
    """After it, bash completes mdvec by the function of the script."""
    run_command(["completion", "bash"], env={"HOME": str(tmp_path)}, cwd=tmp_path)
    script = tmp_path / ".local/share/bash-completion/completions/mdvec"
    shown = subprocess.run(
        ["bash", "-c", f"source {script} && complete -p mdvec"], capture_output=True, text=True, check=True
    )
    assert "_mdvec_completion" in shown.stdout
