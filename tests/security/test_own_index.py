"""The index of the folder one works in is used, if it was made here."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.security.conftest import Mdvec

QUERY = ("search", "install", "--mode", "lexical", "--format", "paths")


def test_a_folder_with_an_index_is_searched_from_inside(mdvec: Mdvec, folder: Path) -> None:
    """From anywhere below it, and by all commands that read; a line says so."""
    inner = folder / "deep" / "er"
    inner.mkdir(parents=True)
    assert mdvec(*QUERY).out == ""  # nothing is registered, and there is no index yet
    mdvec("search", "--docs-dir", folder, "install")
    for cwd in (folder, inner):
        outcome = mdvec(*QUERY, cwd=cwd)
        assert outcome.out.endswith("a.md\n"), outcome.err
        assert f"using the index in {folder}" in outcome.err
        assert "Run make install" in mdvec("get", "a.md", cwd=cwd).out
        assert "docs" in mdvec("status", cwd=cwd).out
        assert f"'mdvec import --docs-dir {folder}' updates the index here" in mdvec("import", cwd=cwd).err


def test_what_is_named_is_used_instead(mdvec: Mdvec, folder: Path, tmp_path: Path) -> None:
    """A collection, a database or another folder."""
    mdvec("search", "--docs-dir", folder, "install")
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("install something else\n")
    mdvec("tool", "add", "-n", "other", "-d", "x", "-s", other)
    mdvec("import", "-n", "other")
    database = tmp_path / "home" / "data" / "mdvec" / "mdvec.sqlite"
    for named in (("-n", "other"), ("--database", database), ("--docs-dir", other)):
        outcome = mdvec(*QUERY, *named)
        assert outcome.out.endswith("o.md\n"), outcome.err
        assert "using the index" not in outcome.err
    assert mdvec(*QUERY, "-n", "docs").out.endswith("a.md\n")
    assert "no collection 'docs'" in mdvec(*QUERY, "-n", "docs", "-n", "other").err


def test_an_index_that_came_with_a_folder_is_not_used(mdvec: Mdvec, folder: Path, home: Path) -> None:
    """It stays as it is, with a warning; in a folder that the user trusts it is used."""
    mdvec("search", "--docs-dir", folder, "install")
    shutil.rmtree(home / "data")
    index = folder / ".mdvec" / "index.sqlite"
    before = index.read_bytes()
    outcome = mdvec(*QUERY)
    assert outcome.out == ""
    assert "was not made by mdvec here" in outcome.err
    assert f"mdvec trust {folder}" in outcome.err
    assert index.read_bytes() == before
    assert sorted(each.name for each in index.parent.iterdir() if "foreign" in each.name) == []
    mdvec("trust", folder)
    assert mdvec(*QUERY).out.endswith("a.md\n")


def test_an_index_behind_a_link_is_not_used(mdvec: Mdvec, folder: Path, tmp_path: Path) -> None:
    """Nor is anything written there."""
    mdvec("search", "--docs-dir", folder, "install")
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / ".mdvec").symlink_to(folder / ".mdvec")
    outcome = mdvec(*QUERY, cwd=victim)
    assert outcome.out == ""
    assert "is a symbolic link" in outcome.err
