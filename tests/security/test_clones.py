"""Clones are ours: git obeys no configuration that others prepared, and nothing is deleted through a link."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fakes.git_repository import GitRepository
from tests.security.conftest import Mdvec

from mdvec.errors import SourceError
from mdvec.sources.git.git_source import GitSource


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A repository with one document."""
    made = GitRepository(tmp_path / "origin" / "notes.git")
    made.commit({"a.md": b"# A\n"})
    return made


def read(repository: GitRepository, cache: Path) -> dict[str, bytes]:
    """Read a repository through a cache."""
    source = GitSource(location=repository.url, cache_dir=cache)
    entries = source.list().entries
    source.prefetch(entries)
    return {entry.path: source.read(entry) for entry in entries}


def clone_in(cache: Path) -> Path:
    """Return the only clone of a cache."""
    (clone,) = (each for each in (cache / "sources").iterdir() if each.is_dir())
    return clone


@pytest.mark.parametrize(
    "prepared",
    [
        '[core]\n\tsshCommand = {evil}\n[url "ssh://x@127.0.0.1:1/y"]\n\tinsteadOf = {url}\n',
        '[core]\n\tgitProxy = {evil}\n[url "git://127.0.0.1:1/y"]\n\tinsteadOf = {url}\n',
        '[remote "origin"]\n\tuploadpack = {evil}\n',
        '[remote "origin"]\n\tvcs = ext\n',
        "[core]\n\tfsmonitor = {evil}\n\talternateRefsCommand = {evil}\n",
        '[credential]\n\thelper = "!{evil}"\n[url "https://127.0.0.1:1/y"]\n\tinsteadOf = {url}\n',
        "[include]\n\tpath = {more}\n",
    ],
)
def test_a_prepared_configuration_runs_nothing(
    repository: GitRepository, tmp_path: Path, prepared: str
) -> None:
    """Programs that a clone's configuration names do not run, and addresses are not replaced."""
    cache, proof, more = tmp_path / "cache", tmp_path / "PWNED", tmp_path / "more"
    read(repository, cache)
    clone = clone_in(cache)
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {proof}\nexit 1\n")
    evil.chmod(0o755)
    more.write_text(f'[remote "origin"]\n\tuploadpack = {evil}\n')
    with (clone / "config").open("a") as file:
        file.write(prepared.format(evil=evil, url=repository.url, more=more))
    (clone / "objects" / "info").mkdir(exist_ok=True)
    (clone / "objects" / "info" / "alternates").write_text(f"{tmp_path / 'elsewhere'}\n")
    repository.commit({"a.md": b"# B\n"})
    assert read(repository, cache) == {"a.md": b"# B\n"}
    assert not proof.exists()
    assert str(evil) not in (clone / "config").read_text()
    assert not (clone / "objects" / "info" / "alternates").exists()


def test_a_configuration_elsewhere_is_not_read(repository: GitRepository, tmp_path: Path) -> None:
    """Neither a file that leads git to another repository nor a link in place of the configuration counts."""
    cache, proof = tmp_path / "cache", tmp_path / "PWNED"
    read(repository, cache)
    clone = clone_in(cache)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    evil = (
        f'[url "ext::touch {proof}"]\n\tinsteadOf = {repository.url}\n[remote "origin"]\n\turl = /nowhere\n'
    )
    (elsewhere / "config").write_text(evil)
    (clone / "commondir").write_text(f"{elsewhere}\n")
    (clone / "config").unlink()
    (clone / "config").symlink_to(elsewhere / "config")
    assert read(repository, cache) == {"a.md": b"# A\n"}
    assert (elsewhere / "config").read_text() == evil
    assert not proof.exists()


@pytest.mark.parametrize("linked", ["clone", "folder"])
def test_nothing_is_deleted_through_a_link(repository: GitRepository, tmp_path: Path, linked: str) -> None:
    """A link in place of a clone, or of the folder of all clones, is an error; files behind it stay."""
    cache, victim = tmp_path / "cache", tmp_path / "victim"
    read(repository, cache)
    clone = clone_in(cache)
    place = clone if linked == "clone" else clone.parent
    place.rename(tmp_path / "away")
    victim.mkdir()
    (victim / "poetry.lock").touch()
    place.symlink_to(victim)
    with pytest.raises(SourceError, match="is a link"):
        read(repository, cache)
    assert [each.name for each in victim.iterdir()] == ["poetry.lock"]


def test_a_cloned_project_runs_nothing(mdvec: Mdvec, folder: Path, tmp_path: Path) -> None:
    """A project with a prepared configuration, index and clone is refused before anything is opened."""
    proof = tmp_path / "PWNED"
    (folder / "mdvec.toml").write_text(
        '[store]\nlocation = "index.sqlite"\n[embedding]\ncache_dir = "assets"\n'
    )
    url = "https://127.0.0.1:1/docs/handbook.git"
    clone = GitSource(location=url, cache_dir=folder / "assets")._clone._directory
    clone.mkdir(parents=True)
    (clone / "config").write_text(
        f'[core]\n\tsshCommand = "touch {proof}; false"\n[url "ssh://x@127.0.0.1:1/y"]\n\tinsteadOf = {url}\n'
    )
    options = ("--database", folder / "index.sqlite", "--config", folder / "mdvec.toml")
    assert mdvec("tool", "add", "-n", "handbook", "-d", "x", "-s", f"git+{url}", *options).code == 0
    for command in (["doctor"], ["status", "--check"], ["import", "-n", "handbook"], ["search", "x"]):
        assert mdvec(*command).code == 2
    assert not proof.exists()
