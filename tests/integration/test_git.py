"""Repositories anywhere, fetched by the program git."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

import pytest
from tests.fakes.git_repository import GitRepository
from tests.fakes.github_server import Files, Link, Submodule

from mdvec import run
from mdvec.config.schema import Config, EmbeddingSettings, ScannerSettings
from mdvec.errors import (
    ImportStoppedError,
    SourceError,
    SourceMissingError,
    SourceUnavailableError,
    UnreadableFileError,
)
from mdvec.sources.git.git_source import GitSource
from mdvec.sources.git.program import GitFailedError, GitProgram
from mdvec.sources.selection import ScanSettings
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.change import Exclusion, Listing
from mdvec.types.document import DocumentState
from mdvec.workspace import open_workspace

_FILES: Files = {
    "README.md": b"# Notes\n",
    "日本 語/メモ.md": "# メモ\n".encode(),
    "docs/a.md": b"# A\n",
    "code.py": b"print()\n" * 1000,
}


@pytest.fixture(params=[True, False], ids=["partial", "whole"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> GitRepository:
    """A repository at a place with Japanese in its name, that allows partial clones or does not."""
    made = GitRepository(tmp_path / "倉庫" / "notes.git", allows_filter=request.param)
    made.commit(_FILES)
    return made


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def _read(source: GitSource) -> dict[str, bytes]:
    entries = source.list().entries
    source.prefetch(entries)
    return {entry.path: source.read(entry) for entry in entries}


def _clone(cache: Path) -> Path:
    (clone,) = (path for path in (cache / "sources").iterdir() if path.is_dir())
    return clone


def test_documents_are_fetched_and_nothing_else(tmp_path: Path, cache: Path) -> None:
    """The clone has names of everything, contents of documents alone, and no history."""
    repository = GitRepository(tmp_path / "r.git")
    commit = repository.commit(_FILES)
    fetched: list[tuple[int, int]] = []
    source = GitSource(location=repository.url, cache_dir=cache)
    listing = source.list()
    assert listing.revision == commit
    assert [entry.path for entry in listing.entries] == ["README.md", "docs/a.md", "日本 語/メモ.md"]
    assert listing.exclusions == (Exclusion("code.py", "extension .py is not indexed"),)
    with run.bound(run.Run(on_progress=lambda _stage, done, total, _="": fetched.append((done, total)))):
        source.prefetch(listing.entries)
    assert [source.read(entry) for entry in listing.entries] == [
        _FILES[entry.path] for entry in listing.entries
    ]
    assert (fetched[-2], fetched[-1]) == ((0, 3), (3, 3))
    objects = GitProgram(_clone(cache)).run("cat-file", "--batch-check=%(objecttype)", "--batch-all-objects")
    assert sorted(objects.split()) == [b"blob"] * 3 + [b"commit"] + [b"tree"] * 3


def test_changes_are_followed(repository: GitRepository, cache: Path) -> None:
    """All documents of a commit, whatever the server allows; a force push with other files gives those."""
    first = _read(GitSource(location=repository.url, cache_dir=cache))
    assert first == {path: content for path, content in _FILES.items() if path != "code.py"}
    after: Files = {"b.md": b"# A\n", "c.md": b"new\n"}
    repository.commit(after)
    assert _read(GitSource(location=repository.url, cache_dir=cache)) == after
    repository.commit(_FILES)
    assert _read(GitSource(location=repository.url, cache_dir=cache)) == first


def test_refs_and_paths(repository: GitRepository, cache: Path) -> None:
    """A branch with a slash, a tag, a commit and a folder; collections of one repository share a clone."""
    old = repository.git("rev-parse", "main")
    repository.git("tag", "-a", "v1", "-m", "first", "main")
    repository.commit({"x/y.md": b"y"}, branch="feature/x@y")
    for location, paths in (
        ("@feature/x@y", ["x/y.md"]),
        ("@feature/x@y:x", ["y.md"]),
        ("@v1:日本 語", ["メモ.md"]),
        (f"@{old}:docs", ["a.md"]),
        ("", ["README.md", "docs/a.md", "日本 語/メモ.md"]),
    ):
        listing = GitSource(location=repository.url + location, cache_dir=cache).list()
        assert [entry.path for entry in listing.entries] == paths
    assert _clone(cache).is_dir()


def test_names_are_composed_and_odd_ones_are_read(repository: GitRepository, cache: Path) -> None:
    """Names in NFD, with quotes, line feeds and tabs; links and submodules are left out."""
    decomposed = unicodedata.normalize("NFD", "ガ/ギ.md")
    repository.commit({decomposed: b"1", 'a "b"\t.md': b"2", "l.md": Link("x"), "sub": Submodule()})
    source = GitSource(location=repository.url, cache_dir=cache)
    assert _read(source) == {"ガ/ギ.md": b"1", 'a "b"\t.md': b"2"}
    assert source.list().exclusions == (Exclusion("l.md", "link"), Exclusion("sub/", "submodule"))


def test_large_files_are_not_unpacked(
    repository: GitRepository, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A blob of 3 MB that is 3 kB in the clone never gets its size on the disk, and it alone fails."""
    sizes: list[int] = []
    run_into = GitProgram.run_into

    def measured(program: GitProgram, output: BinaryIO, *arguments: str, stdin: bytes = b"") -> None:
        run_into(program, output, *arguments, stdin=stdin)
        sizes.append(os.fstat(output.fileno()).st_size)

    repository.commit({"large.md": b"x" * 3_000_000, "small.md": b"# Small\n"})
    source = GitSource(location=repository.url, cache_dir=cache, scan=ScanSettings(max_file_bytes=1_000_000))
    monkeypatch.setattr(GitProgram, "run_into", measured)
    large, small = source.list().entries
    source.prefetch([large, small])
    assert source.read(small) == b"# Small\n"
    with pytest.raises(UnreadableFileError, match=r"larger than 1 MB \(3 MB\)"):
        source.read(large)
    assert sizes
    assert max(sizes) < 10_000


def test_a_large_file_is_excluded(tmp_path: Path) -> None:
    """As in a folder: the import succeeds, also the next one; a document that has grown is removed."""
    repository = GitRepository(tmp_path / "r.git")
    config = Config(
        scanner=ScannerSettings(max_file_mb=0.001), embedding=EmbeddingSettings(cache_dir=tmp_path)
    )
    with open_workspace(config, database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", "Notes", f"git+{repository.url}")
        repository.commit({"large.md": b"x" * 900, "small.md": b"# Small\n"})
        assert workspace.import_collection("notes").added == 2
        for size in (2_000, 3_000):
            repository.commit({"large.md": b"x" * size, "small.md": b"# Small\n"})
            report = workspace.import_collection("notes")
            assert (report.total_documents, report.excluded, report.failed) == (1, 1, 0)
        (status,) = workspace.status("notes", files=True).collections
        assert [(each.path, each.state, each.reason) for each in status.files] == [
            ("large.md", DocumentState.EXCLUDED, "larger than 1 kB (3 kB)"),
            ("small.md", DocumentState.READY, ""),
        ]


def test_a_repository_may_name_things_by_sha256(tmp_path: Path, cache: Path) -> None:
    """Its clone does too, and the contents are checked all the same."""
    repository = GitRepository(tmp_path / "r.git", object_format="sha256")
    repository.commit({"a.md": b"a"})
    for _ in range(2):
        assert _read(GitSource(location=repository.url, cache_dir=cache)) == {"a.md": b"a"}


def test_an_empty_repository_holds_nothing(tmp_path: Path, cache: Path) -> None:
    """No commit is no error; a HEAD that leads nowhere beside other branches is one."""
    repository = GitRepository(tmp_path / "r.git")
    assert GitSource(location=repository.url, cache_dir=cache).list() == Listing(())
    repository.commit({"a.md": b"a"}, branch="trunk")
    with pytest.raises(SourceMissingError, match="HEAD"):
        GitSource(location=repository.url, cache_dir=cache).list()


@pytest.mark.parametrize(
    ("location", "what"),
    [("@nope", "no branch, tag or commit 'nope'"), (":nope", "no folder 'nope'"), (".none", "no repository")],
)
def test_what_is_missing_is_named(repository: GitRepository, cache: Path, location: str, what: str) -> None:
    """A ref, a folder and a repository."""
    with pytest.raises(SourceMissingError, match=what) as caught:
        GitSource(location=repository.url + location, cache_dir=cache).list()
    assert caught.value.hint


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x.git", "git://127.0.0.1:9/x.git"])
def test_a_host_that_is_away_may_come_back(cache: Path, url: str) -> None:
    """The error says so, and that a retry can help."""
    with pytest.raises(SourceUnavailableError, match=r"127\.0\.0\.1"):
        GitSource(location=url, cache_dir=cache).list()


def test_without_git_the_error_says_so(
    repository: GitRepository, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The one program that is needed is named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="git is not installed") as caught:
        GitSource(location=repository.url, cache_dir=cache).list()
    assert "Install git" in caught.value.hint


def test_git_asks_nobody(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a name and a password are wanted, it fails at once and says what to set up."""
    with _serving(tmp_path, status=401) as address, pytest.raises(SourceError, match="credentials") as caught:
        GitSource(location=f"{address}/private.git", cache_dir=cache).list()
    assert "credential helper" in caught.value.hint


@pytest.mark.parametrize(
    ("chosen", "given"),
    [(None, "-o BatchMode=yes"), ("GIT_SSH_COMMAND", "-o Mine=yes")],
    ids=["ours", "theirs"],
)
def test_ssh_asks_nobody(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None, given: str
) -> None:
    """It is run so that it fails where it would ask, unless the user says how it is run."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(
        f"#!/bin/sh\necho \"$@\" > '{tmp_path}/asked'\necho 'Permission denied (publickey).' >&2\nexit 255\n"
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("GIT_SSH_COMMAND", raising=False)
    if chosen is not None:
        monkeypatch.setenv(chosen, f"ssh {given}")
    with pytest.raises(SourceError, match="credentials"):
        GitSource(location="git@host.example:team/notes.git@main", cache_dir=cache).list()
    assert (tmp_path / "asked").read_text().startswith(given)


def test_a_clone_outlives_a_server_that_fails(tmp_path: Path, cache: Path) -> None:
    """What is fetched is fetched; only a clone that git itself cannot use is made again."""
    repository = GitRepository(tmp_path / "served" / "r.git")
    repository.commit(_FILES)
    repository.git("update-server-info")
    with _serving(tmp_path / "served") as address:
        _read(GitSource(location=f"{address}/r.git", cache_dir=cache))
        (_clone(cache) / "mark").touch()
        (tmp_path / "served" / "r.git").rename(tmp_path / "served" / "gone")
        with pytest.raises(SourceMissingError):
            GitSource(location=f"{address}/r.git", cache_dir=cache).list()
    assert (_clone(cache) / "mark").exists()


def test_a_server_of_plain_files_will_do(tmp_path: Path, cache: Path) -> None:
    """Such a one knows neither partial nor shallow clones."""
    repository = GitRepository(tmp_path / "served" / "r.git")
    repository.commit(_FILES)
    repository.git("update-server-info")
    with _serving(tmp_path / "served") as address:
        for _ in range(2):
            assert len(_read(GitSource(location=f"{address}/r.git", cache_dir=cache))) == 3


def test_nothing_is_stored_of_credentials_that_git_was_given(
    repository: GitRepository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule of the user's that puts a token into addresses leaves no trace in errors or the clone."""
    config = tmp_path / "gitconfig"
    config.write_text('[url "http://user:s3cret@127.0.0.1:9/"]\n  insteadOf = https://example.invalid/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    with pytest.raises(SourceError) as caught:
        GitSource(location="https://example.invalid/x.git", cache_dir=cache).list()
    assert "s3cret" not in f"{caught.value}{caught.value.hint}"
    kept = [path.read_bytes() for path in cache.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"s3cret" in content for content in kept)


def test_no_program_of_a_repositorys_is_run(
    repository: GitRepository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither hooks that a template or a setting brings, nor transports that run commands."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    hook = hooks / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    hook.chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[core]\n hooksPath = {hooks}\n[protocol "ext"]\n allow = always\n'
        f'[url "ext::touch {tmp_path}/ran "]\n insteadOf = https://example.invalid/\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert _read(GitSource(location=repository.url, cache_dir=cache))
    with pytest.raises(SourceError, match="'ext' not allowed"):
        GitSource(location="https://example.invalid/x", cache_dir=cache).list()
    assert not (tmp_path / "ran").exists()


def test_it_works_inside_a_hook(
    repository: GitRepository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What git tells its hooks about their own repository does not lead ours astray."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert _read(GitSource(location=repository.url, cache_dir=cache))


def test_imports_at_the_same_time_share_a_clone(repository: GitRepository, cache: Path) -> None:
    """They fetch one after the other; each reads all of its documents."""
    together = threading.Barrier(4)

    def import_once(_: int) -> dict[str, bytes]:
        together.wait()
        return _read(GitSource(location=repository.url, cache_dir=cache))

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(import_once, range(4)))
    assert all(result == results[0] and len(result) == 3 for result in results)


def test_a_killed_or_broken_clone_is_mended(repository: GitRepository, cache: Path) -> None:
    """Locks that nobody holds are removed, and a clone that git cannot use is made again."""
    first = _read(GitSource(location=repository.url, cache_dir=cache))
    clone = _clone(cache)
    for name in ("shallow.lock", "config.lock", "HEAD.lock"):
        (clone / name).touch()
    assert _read(GitSource(location=repository.url, cache_dir=cache)) == first
    (clone / "config").write_text("[broken")
    assert _read(GitSource(location=repository.url, cache_dir=cache)) == first
    for pack in (clone / "objects" / "pack").iterdir():
        pack.chmod(0o600)
        pack.write_bytes(b"broken")
    assert _read(GitSource(location=repository.url, cache_dir=cache)) == first


def test_a_link_in_place_of_a_clone_is_refused(
    repository: GitRepository, cache: Path, tmp_path: Path
) -> None:
    """Locks are deleted in a clone: elsewhere they belong to others."""
    _read(GitSource(location=repository.url, cache_dir=cache))
    clone = _clone(cache)
    shutil.rmtree(clone)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "poetry.lock").touch()
    clone.symlink_to(tmp_path / "project")
    with pytest.raises(SourceError, match="is a link"):
        GitSource(location=repository.url, cache_dir=cache).list()
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["poetry.lock"]


def test_who_waits_for_git_can_give_up(tmp_path: Path) -> None:
    """Cancelling the run ends git, and what git has started."""
    started = tmp_path / "started"
    program = GitProgram(tmp_path / "r.git")
    alias = f"alias.wait=!echo $$ > '{started}'; sleep 60"

    def cancel(*_: object) -> None:
        if started.exists() and started.read_text():
            watched.cancel()

    watched = run.Run(on_progress=cancel)
    with run.bound(watched), pytest.raises(ImportStoppedError):
        program.run("-c", alias, "wait")
    pid = int(started.read_text())
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    assert listed.stdout[:1] in {"", "Z"}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no signal that cannot be handled")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_git_ends_with_the_process_that_started_it(tmp_path: Path, number: signal.Signals) -> None:
    """A killed import leaves nothing that still writes to the clone: neither git nor what git started."""
    started = tmp_path / "started"
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom mdvec.sources.git.program import GitProgram\n"
        "GitProgram(Path(sys.argv[1])).run('-c', sys.argv[2], 'wait')"
    )
    alias = f"alias.wait=!echo $$ > '{started}'; sleep 600"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "r.git"), alias])
    while not (started.exists() and started.read_text().endswith("\n")):
        assert process.poll() is None
        time.sleep(0.02)
    group = os.getpgid(int(started.read_text()))
    assert group != os.getpgid(0)
    process.send_signal(number)
    process.wait()
    while _is_running(group):
        time.sleep(0.02)


def _is_running(group: int) -> bool:
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True)
    states = [line.split() for line in listed.stdout.splitlines()]
    return any(pgid == str(group) and not state.startswith("Z") for pgid, state in states)


def test_what_git_says_is_kept_short(tmp_path: Path) -> None:
    """Its verdict is passed on; advice that suits nobody here is not."""
    program = GitProgram(tmp_path / "r.git")
    with pytest.raises(GitFailedError) as caught:
        program.run("rev-parse", "HEAD")
    assert str(caught.value).startswith("fatal: not a git repository")


class _serving:  # noqa: N801 - used like a function
    """Serves a folder over HTTP, or nothing but a status."""

    def __init__(self, folder: Path, *, status: int = 200) -> None:
        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                if status == 200:
                    super().do_GET()
                    return
                self.send_response(status)
                self.send_header("WWW-Authenticate", 'Basic realm="private"')
                self.send_header("Content-Length", "0")
                self.end_headers()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
