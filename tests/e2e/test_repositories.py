"""A repository, from the command line."""

from __future__ import annotations

from dataclasses import replace

from tests.e2e.conftest import Shell
from tests.fakes.git_repository import GitRepository
from tests.fakes.github_server import REPOSITORY, GithubServer

_FILES = {"docs/京都.md": "# 京都の旅\n\n四条の宿に泊まった。\n".encode(), "README.md": b"# Read me\n"}


def test_github_from_the_first_command_to_the_last(shell: Shell) -> None:
    """Registered, imported, found, named with its commit, brought up to date, refused with a hint."""
    with GithubServer() as server:
        commit = server.commit(_FILES)
        env = {name: value for name, value in shell.env.items() if name != "GITHUB_TOKEN"}
        shell = replace(shell, env={**env, "MDVEC_GITHUB_BASE_URL": server.base_url})
        location = f"github:{REPOSITORY}@main:docs"
        added = shell.run("tool", "add", "-n", "trips", "-d", "Trips", "-s", location)
        assert f"added trips: {location}" in added.stderr
        shell.run("import", "-n", "trips", "--no-embed")
        assert shell.run("search", "-n", "trips", "京都", "--format", "paths").stdout == "trips/京都.md\n"
        assert f"trips: {commit[:12]} of {location}" in shell.run("status").stdout
        (collection,) = shell.json("status")["collections"]
        assert (collection["source"], collection["revision"]) == (location, commit)
        server.commit({**_FILES, "docs/奈良.md": b"# Nara\n"})
        checked = shell.run("status", "--check", "--exit-code", code=1).stdout
        assert "new      奈良.md" in checked
        assert shell.json("import", "-n", "trips", "-m", "update", "--no-embed")["added"] == 1
        server.branches["trunk"] = server.branches.pop("main")
        failed = shell.run("import", "-n", "trips", "-m", "update", "--no-embed", code=1)
        assert "error: acme/notes on GitHub has no branch, tag or commit 'main'" in failed.stderr
        assert "hint: " in failed.stderr
        assert shell.run("search", "-n", "trips", "奈良 Nara", "--format", "paths").stdout.startswith(
            "trips/奈良.md\n"
        )


def test_git_from_the_first_command_to_the_last(shell: Shell) -> None:
    """The same for a repository on this machine, with Japanese in its address; a password is refused."""
    repository = GitRepository(shell.cwd / "倉庫.git")
    repository.commit(_FILES)
    shell.run("tool", "add", "-n", "trips", "-d", "Trips", "-s", f"git+{repository.url}:docs")
    shell.run("import", "-n", "trips", "--no-embed")
    assert shell.run("search", "-n", "trips", "京都", "--format", "paths").stdout == "trips/京都.md\n"
    repository.commit({"docs/奈良.md": b"# Nara\n"})
    report = shell.json("import", "-n", "trips", "-m", "update", "--no-embed")
    assert (report["added"], report["deleted"]) == (1, 1)
    refused = shell.run(
        "tool", "add", "-n", "secret", "-d", "", "-s", "git+https://me:s3cret@example.com/x", code=2
    )
    assert "s3cret" not in refused.stderr
    assert "credential helper" in refused.stderr
