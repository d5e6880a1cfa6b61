"""``mdvec tool`` on a real database: what a command changes, and what it leaves."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.commands import run_here

from mdvec import __version__
from mdvec.interfaces.cli import tool


class Shell:
    """A folder with notes, and the commands that are run there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "notes").mkdir()

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        env = {"HOME": str(self.folder), "MDVEC_STORE_LOCATION": str(self.folder / "index.sqlite")}
        return run_here(("tool", *args), cwd=self.folder, env=env)

    def collections(self) -> Mapping[str, dict[str, Any]]:
        """Return what is registered, by name, without the times."""
        found = json.loads(self.run("ls", "--all", "--format", "json").stdout)
        return {each["name"]: {**each, "created": "", "updated": ""} for each in found}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell where ``notes`` is a collection, and the next step was named."""
    shell = Shell(tmp_path)
    given = ("-n", "notes", "-d", "Mine", "-s", "notes", "--include", "*.md", "--exclude", "drafts/")
    done = shell.run("add", *given, "--chunker", "windows")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("next: mdvec import -n notes\n")
    return shell


@pytest.mark.parametrize("missing", ["-n", "-d", "-s"])
def test_a_collection_has_a_name_a_description_and_a_source(shell: Shell, missing: str) -> None:
    """Each of the three is required."""
    given = {"-n": "other", "-d": "Other", "-s": "notes"}
    del given[missing]
    assert shell.run("add", *(word for pair in given.items() for word in pair)).returncode == 2
    assert [*shell.collections()] == ["notes"]


@pytest.mark.parametrize(
    ("source", "is_reported"), [("notes", True), (".", True), ("push:", False), ("beside", False)]
)
def test_documents_in_two_collections_are_reported(shell: Shell, source: str, is_reported: bool) -> None:
    """Each hit in them would come twice: the folder of another collection, or one above or below it."""
    (shell.folder / "beside").mkdir()
    done = shell.run("add", "-n", "other", "-d", "Other", "-s", source)
    assert done.returncode == 0
    assert ("also in notes; a search of both may find them twice" in done.stderr) is is_reported


@pytest.mark.parametrize(
    ("args", "changes"),
    [
        (("update", "-n", "notes", "-d", "new"), {"description": "new"}),
        (("update", "-n", "notes", "-s", "."), {"source": "{folder}"}),
        (("update", "-n", "notes", "--include", "a/**"), {"include": ["a/**"]}),
        (("update", "-n", "notes", "--exclude", ""), {"exclude": []}),
        (("update", "-n", "notes", "--chunker", "headings"), {"chunker": "headings"}),
        (("update", "-n", "notes", "--per-document", "2"), {}),
        (("disable", "-n", "notes"), {"enabled": False}),
        (("enable", "-n", "notes"), {}),
        (("rename", "notes", "diary"), {"name": "diary"}),
    ],
)
def test_a_command_changes_what_is_given(shell: Shell, args: tuple[str, ...], changes: Any) -> None:
    """All else stays; what needs another import says so."""
    before = shell.collections()["notes"]
    done = shell.run(*args)
    assert (done.returncode, done.stdout) == (0, "")
    expected = before | {
        key: value.format(folder=shell.folder) if isinstance(value, str) else value
        for key, value in changes.items()
    }
    assert [*shell.collections().values()] == [expected]
    needs_import = {"source", "include", "exclude", "chunker"} & {*changes}
    assert ("next: mdvec import -n notes -m update" in done.stderr) is bool(needs_import)


def test_an_update_of_nothing_is_a_mistake(shell: Shell) -> None:
    """It says what can be changed."""
    done = shell.run("update", "-n", "notes")
    assert (done.returncode, "--per-document" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("args", "answer", "deleted"),
    [((), True, True), ((), False, False), ((), None, False), (("-y",), None, True)],
)
def test_a_collection_is_deleted_after_a_yes(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], answer: bool | None, deleted: bool
) -> None:
    """A no, or nobody to ask, exits with 1 and leaves everything as it is: what a script reads is no yes."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    if answer is not None:
        monkeypatch.setattr(tool, "ask", lambda _: answer)
    done = shell.run("delete", "-n", "notes", *args)
    assert (done.returncode, done.stdout) == (0 if deleted else 1, "")
    assert (not shell.collections()) is deleted


def test_a_wrong_name_is_told_before_anything_is_asked(shell: Shell) -> None:
    """There is nothing to confirm."""
    done = shell.run("delete", "-n", "nope")
    assert (done.returncode, "[y/N]" in done.stderr) == (1, False)
    assert done.stderr.startswith("error: ")


def test_collections_are_listed(shell: Shell) -> None:
    """Disabled ones with ``--all``, as a note says; names alone for scripts; without any, how to add one."""
    shell.run("add", "-n", "old", "-d", "Old", "-s", "notes")
    shell.run("disable", "-n", "old")
    enabled, everything = shell.run("ls"), shell.run("ls", "--all")
    assert [line.split()[0] for line in enabled.stdout.splitlines()] == ["NAME", "notes"]
    assert [line.split()[:2] for line in everything.stdout.splitlines()[1:]] == [
        ["notes", "yes"],
        ["old", "no"],
    ]
    noted = "not listed: 1 disabled collection; --all lists every collection\n"
    assert (enabled.stderr, everything.stderr) == (noted, "")
    assert shell.run("ls", "--all", "--names").stdout == "notes\nold\n"
    (notes,) = json.loads(shell.run("ls", "--format", "json").stdout)
    assert notes["app_version"] == __version__
    for name in ("notes", "old"):
        shell.run("delete", "-n", name, "-y")
    nothing = shell.run("ls")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "mdvec tool add" in nothing.stderr
    assert shell.run("ls", "--format", "json").stdout == "[]\n"
