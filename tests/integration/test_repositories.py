"""Collections made from repositories: registered, imported and searched like folders."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import apsw
import msgspec
import pytest
from tests.fakes.git_repository import GitRepository
from tests.fakes.github_server import REPOSITORY, RESET, TOKEN, Files, GithubServer, problem
from tests.fakes.runs import noting

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.config.schema import EmbeddingSettings
from mdvec.errors import (
    CollectionNotEmptyError,
    SourceMissingError,
    SourceUnavailableError,
    UsageError,
)
from mdvec.run import Stage
from mdvec.sources.github.github_source import GithubSettings
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.document import DocumentState
from mdvec.types.report import ImportMode, ImportOptions, ImportReport, Severity

NAME = "notes"
_FILES: Files = {
    "README.md": b"# Read me\n\nTomatoes need sun.\n",
    "旅行/京都.md": "# 京都の旅\n\n四条の宿に泊まった。 %%hidden #secret%%\n".encode(),
    "data.txt": bytes(range(256)) * 4,
    "old.md": b"# Old\n\nCarrots need water.\n",
}

_USED_UP = problem(
    403, "API rate limit exceeded", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(RESET * 2)}
)


@dataclass
class _Place:
    """A repository, wherever it is.

    Attributes:
        location: As given to ``tool add -s``.
        commit: Points the default branch to a commit with these files, and returns its id.
        remove: Takes the default branch away.
        config: What finds it.
    """

    location: str
    commit: Callable[[Files], str]
    remove: Callable[[], object]
    config: Config


def _config(tmp_path: Path, github: GithubSettings | None = None) -> Config:
    return Config(
        embedding=EmbeddingSettings(cache_dir=tmp_path / "cache"),
        extension_sections={"github": github or GithubSettings()},
    )


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


@pytest.fixture
def server() -> Iterator[GithubServer]:
    with GithubServer() as made:
        made.commit(_FILES)
        yield made


def _on_github(server: GithubServer, tmp_path: Path) -> _Place:
    return _Place(
        f"github:{REPOSITORY}@main",
        server.commit,
        lambda: server.branches.update(trunk=server.branches.pop("main")),
        _config(tmp_path, GithubSettings(base_url=server.base_url)),
    )


@pytest.fixture(params=["github", "git"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[_Place]:
    """One on GitHub, and one that git fetches."""
    with ExitStack() as opened:
        if request.param == "github":
            server = opened.enter_context(GithubServer())
            server.commit(_FILES)
            yield _on_github(server, tmp_path)
        else:
            repository = GitRepository(tmp_path / "倉庫.git")
            repository.commit(_FILES)
            yield _Place(
                f"git+{repository.url}@main",
                repository.commit,
                lambda: repository.git("branch", "-m", "main", "trunk"),
                _config(tmp_path),
            )


def _open(tmp_path: Path, place: _Place) -> Workspace:
    return open_workspace(place.config, database=tmp_path / "i.sqlite", embedder=HashingEmbedder())


@pytest.fixture
def workspace(tmp_path: Path, place: _Place) -> Iterator[Workspace]:
    """The repository as a collection, imported."""
    with _open(tmp_path, place) as made:
        made.add_collection(NAME, "Notes", place.location)
        made.import_collection(NAME)
        yield made


@pytest.fixture
def on_github(tmp_path: Path, server: GithubServer) -> Iterator[Workspace]:
    """The repository on GitHub as a collection, imported; calls are counted from here on."""
    place = _on_github(server, tmp_path)
    with _open(tmp_path, place) as made:
        made.add_collection(NAME, "Notes", place.location)
        made.import_collection(NAME)
        server.calls()
        yield made


def _update(workspace: Workspace, *, allow_empty: bool = False) -> ImportReport:
    return workspace.import_collection(NAME, ImportOptions(allow_empty=allow_empty))


def _paths(workspace: Workspace) -> list[str]:
    return [document.path for document in workspace.documents(NAME)]


def test_a_repository_is_a_collection_like_any_other(workspace: Workspace, place: _Place) -> None:
    """It is found by words, read, listed with its sizes, and its state names files and the commit."""
    hit = workspace.search(SearchQuery("京都の宿")).hits[0]
    assert (hit.path, hit.stale) == ("旅行/京都.md", False)
    assert "Tomatoes" in workspace.read("README.md").text
    assert {each.path: each.size for each in workspace.documents(NAME)} == {
        path: len(raw) for path, raw in _FILES.items() if path != "data.txt" and isinstance(raw, bytes)
    }
    (status,) = workspace.status(NAME, files=True, check=True).collections
    assert str(status.collection.source) == place.location
    assert status.check is not None
    assert status.check.in_sync
    assert {(each.path, each.state) for each in status.files if each.state is not DocumentState.READY} == {
        ("data.txt", DocumentState.EXCLUDED)
    }
    with pytest.raises(CollectionNotEmptyError):
        workspace.import_collection(NAME, ImportOptions(mode=ImportMode.NEW))


def test_an_update_does_what_changed(workspace: Workspace, place: _Place) -> None:
    """New, changed, moved and gone ones are counted as for a folder, and the new commit is named."""
    first = workspace.collection(NAME).revision
    assert _update(workspace).unchanged == 3
    changed: Files = {
        "README.md": b"# Read me\n\nTomatoes need water.\n",
        "国内/京都.md": _FILES["旅行/京都.md"],
        "new.md": b"# New\n",
    }
    commit = place.commit(changed)
    (status,) = workspace.status(check=True).collections
    assert status.check is not None
    assert status.check.moved == (("旅行/京都.md", "国内/京都.md"),)
    report = _update(workspace)
    assert (report.added, report.updated, report.moved, report.deleted) == (1, 1, 1, 1)
    assert _paths(workspace) == ["README.md", "new.md", "国内/京都.md"]
    assert workspace.collection(NAME).revision == commit != first


def test_a_branch_that_is_gone_takes_nothing_with_it(workspace: Workspace, place: _Place) -> None:
    """The import says which ref is missing; all stays as it was until someone says that it is true."""
    place.remove()
    with pytest.raises(SourceMissingError, match="'main'"):
        _update(workspace)
    assert len(_paths(workspace)) == 3
    (status,) = workspace.status(check=True).collections
    assert "'main'" in status.check_error
    assert _update(workspace, allow_empty=True).deleted == 3


def test_a_repository_out_of_reach_is_no_problem_once_it_is_indexed(
    on_github: Workspace, server: GithubServer
) -> None:
    """``doctor`` says that what was indexed is searched, and what to run later; before, it is a problem."""
    on_github.add_collection("later", "Later", str(on_github.collection(NAME).source))
    server.answer = lambda asked: _USED_UP  # type: ignore[method-assign]
    found = {each.subject: each for each in on_github.doctor()}
    assert found[NAME].severity is Severity.NOTE
    assert found[NAME].message.startswith("cannot be reached now; searches use what was indexed: ")
    assert found[NAME].hint == (
        f"Run 'mdvec import -n notes -m update --database {on_github.database}' when it can be reached again."
    )
    assert found["later"].severity is Severity.PROBLEM
    assert "GITHUB_TOKEN" in found["later"].hint


def test_answers_say_that_a_private_repository_is_no_longer_updated(
    on_github: Workspace, server: GithubServer
) -> None:
    """With the reason and what to set, until it was read again: who asks through an agent sees no log."""
    on_github.import_collection(NAME)
    server.public = False
    with pytest.raises(SourceMissingError):
        on_github.import_collection(NAME)
    [warning] = on_github.search(SearchQuery("tomatoes")).warnings
    assert warning.startswith("notes is no longer updated: ")
    assert "GITHUB_TOKEN" in warning
    assert on_github.status().warnings == (warning,)
    server.public = True
    on_github.import_collection(NAME)
    assert on_github.search(SearchQuery("tomatoes")).warnings == ()


def test_git_out_of_reach_is_no_problem_once_it_is_indexed(workspace: Workspace) -> None:
    """Whoever asks: a network that is gone takes nothing with it."""
    workspace.update_collection(NAME, location="git+http://127.0.0.1:1/nobody.git")
    (finding,) = [each for each in workspace.doctor() if each.subject == NAME]
    assert (finding.severity, "cannot be reached now" in finding.message) == (Severity.NOTE, True)


def test_git_out_of_reach_is_told_where_an_import_is_due(workspace: Workspace) -> None:
    """An import that was broken off and a database of an older form need both: the network and an import."""
    workspace.update_collection(NAME, location="git+http://127.0.0.1:1/nobody.git")
    with closing(sqlite3.connect(workspace.database)) as connection, connection:
        connection.execute("UPDATE collections SET last_indexed_ms = NULL")
    found = [each for each in workspace.doctor() if each.subject == NAME]
    assert [(each.severity, each.message[:16]) for each in found] == [
        (Severity.NOTE, "cannot be reache"),
        (Severity.NOTE, "never imported"),
    ]
    assert {each.hint[:26] for each in found} == {"Run 'mdvec import -n notes"}


def test_a_branch_that_is_gone_is_a_problem_even_where_it_is_indexed(
    workspace: Workspace, place: _Place
) -> None:
    """Waiting does not help then: ``doctor`` says what does."""
    place.remove()
    (finding,) = [each for each in workspace.doctor() if each.subject == NAME]
    assert finding.severity is Severity.PROBLEM
    assert "mdvec tool update" in finding.hint


def test_a_collection_can_be_pointed_elsewhere(workspace: Workspace, place: _Place, tmp_path: Path) -> None:
    """From a repository to a folder of it, to a folder of this machine, and back."""
    workspace.update_collection(NAME, location=f"{place.location}:旅行")
    assert workspace.collection(NAME).revision == ""
    report = _update(workspace)
    assert (report.moved, report.deleted) == (1, 2)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "here.md").write_bytes(b"# Here\n")
    workspace.update_collection(NAME, location=str(folder))
    _update(workspace)
    assert _paths(workspace) == ["here.md"]
    assert workspace.collection(NAME).revision == ""
    workspace.update_collection(NAME, location=place.location)
    _update(workspace)
    assert len(_paths(workspace)) == 3


def test_an_unchanged_repository_costs_one_call(on_github: Workspace, server: GithubServer) -> None:
    """The binary file that looks new every time is not fetched again either, nor by looking."""
    report = _update(on_github)
    assert (report.unchanged, report.excluded) == (3, 1)
    assert server.calls() == ["commits"]
    (status,) = on_github.status(check=True).collections
    assert status.check is not None
    assert status.check.in_sync
    assert server.calls() == ["commits"]


def test_looking_at_a_new_collection_fetches_no_document(on_github: Workspace, server: GithubServer) -> None:
    """What an import would do is told by the tree."""
    on_github.add_collection("more", "", f"github:{REPOSITORY}")
    (status,) = on_github.status("more", check=True).collections
    assert status.check is not None
    assert len(status.check.new) == 4
    assert server.calls() == ["commits", "trees"]


def test_a_search_asks_nobody(on_github: Workspace, server: GithubServer) -> None:
    """What is elsewhere is as new as the last import."""
    on_github.search(SearchQuery("tomatoes"))
    on_github.read("README.md")
    assert server.calls() == []


def test_what_only_moved_or_is_cut_anew_is_not_fetched(on_github: Workspace, server: GithubServer) -> None:
    """The store has the text, comments included; the result is that of reading the file."""
    on_github.import_collection(NAME, ImportOptions(max_tokens=8))
    assert server.calls() == ["commits"]
    cut_anew = [chunk.text for chunk in on_github.chunks()]
    assert on_github.import_collection(NAME, ImportOptions(mode=ImportMode.REPLACE)).added == 3
    assert [chunk.text for chunk in on_github.chunks()] == cut_anew
    server.commit({f"moved/{path}": content for path, content in _FILES.items()})
    server.calls()
    assert _update(on_github).moved == 3
    assert server.calls() == ["commits", "trees", "blobs"]  # the binary file, under its new name
    assert [chunk.text for chunk in on_github.chunks()] == cut_anew


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE contents SET body = replace(body, 'sun', 'fun')",
        "UPDATE contents SET comments = replace(comments, 'secret', 'sacred')",
        "UPDATE chunks SET context = 'x' WHERE document_id = 1",
        "UPDATE contents SET frontmatter = '{' WHERE document_id = 1",
        "UPDATE documents SET title = CAST(x'ff' AS TEXT) WHERE id = 1",
    ],
)
@pytest.mark.parametrize("moves", [True, False], ids=["moved", "cut anew"])
def test_what_is_damaged_in_the_store_is_fetched(
    on_github: Workspace, server: GithubServer, tmp_path: Path, damage: str, *, moves: bool
) -> None:
    """Nothing damaged is written again as if it were right; what is intact is not fetched."""
    with closing(apsw.Connection(str(tmp_path / "i.sqlite"))) as connection:
        connection.execute(damage)
        assert connection.changes()
    folder = "moved/" if moves else ""
    if moves:
        server.commit({f"{folder}{path}": content for path, content in _FILES.items()})
    on_github.import_collection(NAME, ImportOptions(max_tokens=None if moves else 8))
    assert server.calls().count("blobs") == 1 + moves  # the binary file looks new under its new name
    for path in _paths(on_github):
        assert on_github.read(path).text.encode() == _FILES[path.removeprefix(folder)]
    (finding,) = (each for each in on_github.doctor() if each.subject == "database")
    assert finding.severity is Severity.OK


def test_what_was_guessed_is_said_again_when_it_is_cut_anew(
    on_github: Workspace, server: GithubServer
) -> None:
    """The stored text does not show it, so the file is fetched."""
    server.commit({**_FILES, "old.txt": "東京都庁舎の\n".encode("cp932")[:-3]})
    assert any("is a guess: shift_jis" in each for each in _update(on_github).warnings)
    server.calls()
    report = on_github.import_collection(NAME, ImportOptions(max_tokens=8))
    assert any("is a guess: shift_jis" in each for each in report.warnings)
    assert server.calls() == ["commits", "blobs"]


def test_an_estimate_fetches_nothing_that_is_here(on_github: Workspace, server: GithubServer) -> None:
    """Neither what is cut anew, nor the binary file that looks new every time."""
    assert on_github.models.estimate(NAME, ImportOptions(max_tokens=8)).documents == 3
    assert on_github.models.estimate(NAME).documents == 0
    assert server.calls() == ["commits", "commits"]


def test_a_damaged_file_fails_alone_and_heals(on_github: Workspace, server: GithubServer) -> None:
    """The old text of it stays searchable, the rest is imported, and the next run tries again."""
    server.commit({**_FILES, "old.md": b"# Old\n\nCarrots need rain.\n", "new.md": b"# New\n"})
    server.damaged.add("old.md")
    report = _update(on_github)
    assert (report.failed, report.added) == (1, 1)
    assert any("old.md: the downloaded data is damaged" in each for each in report.warnings)
    assert "water" in on_github.read("old.md").text
    server.damaged.clear()
    report = _update(on_github)
    assert (report.failed, report.updated) == (0, 1)
    assert "rain" in on_github.read("old.md").text


def test_a_limit_in_the_middle_loses_nothing(on_github: Workspace, server: GithubServer) -> None:
    """What was committed is kept; the next import goes on behind it."""
    files = {f"d/n{number:03}.md": f"# {number}\n".encode() for number in range(150)}
    server.commit(files)
    server.archive_status = 403
    ask = server.answer
    asked: list[str] = []

    def refuse_after_120(request):  # type: ignore[no-untyped-def]
        asked.append(request.path)
        return _USED_UP if len([path for path in asked if "/blobs/" in path]) > 120 else ask(request)

    server.answer = refuse_after_120  # type: ignore[method-assign]
    with pytest.raises(SourceUnavailableError, match="rate limit") as caught:
        _update(on_github)
    assert "Run again in" in caught.value.hint
    assert len(_paths(on_github)) == 100
    server.answer = ask  # type: ignore[method-assign]
    server.calls()
    report = _update(on_github)
    assert (report.added, report.unchanged) == (50, 100)
    assert server.calls().count("blobs") == 50


def test_an_import_says_what_it_waits_for(on_github: Workspace, server: GithubServer) -> None:
    """Seconds left of a limit, and files fetched."""
    server.commit({**_FILES, "new.md": b"# New\n"})
    server.failures.append(problem(429, "Too many requests", {"retry-after": "1"}))
    with noting() as watched:
        _update(on_github)
    assert (Stage.LIMIT, 1, 0) in watched.reports
    assert (Stage.FETCH, 2, 2) in watched.reports


def test_a_listener_is_told_of_its_own_call_alone(on_github: Workspace, server: GithubServer) -> None:
    """What the same thread waits for afterwards is nothing to who listened to the import."""
    with noting() as watched:
        _update(on_github)
    watched.reports.clear()
    server.failures.append(problem(429, "Too many requests", {"retry-after": "0.1"}))
    on_github.status(check=True)
    assert not server.failures
    assert watched.reports == []


def test_a_token_is_kept_nowhere(
    tmp_path: Path, server: GithubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the database nor in the cache."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    server.public = False
    place = _on_github(server, tmp_path)
    with _open(tmp_path, place) as workspace:
        workspace.add_collection(NAME, "Notes", place.location)
        assert workspace.import_collection(NAME).added == 3
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"Tomatoes" in content for content in kept)
    assert not any(TOKEN.encode() in content for content in kept)


@pytest.mark.parametrize(
    "location",
    ["github:", "github:acme", "git+https://user:s3cret@example.com/x", "git+ext::sh -c x", "git+/srv/x"],
)
def test_what_is_no_repository_is_refused_at_once(tmp_path: Path, location: str) -> None:
    """The form is checked when it is registered, and a password gets nowhere near the database."""
    with open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        with pytest.raises(UsageError) as caught:
            workspace.add_collection(NAME, "", location)
        assert workspace.collections() == []
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"
    assert not any(b"s3cret" in path.read_bytes() for path in tmp_path.iterdir())


def test_an_address_alone_gets_a_hint(tmp_path: Path) -> None:
    """Who pastes what the browser shows is told what to put in front of it."""
    with (
        open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace,
        pytest.raises(SourceMissingError) as caught,
    ):
        workspace.add_collection(NAME, "", "https://github.com/acme/notes")
    assert "github:OWNER/REPO" in caught.value.hint


def test_a_folder_may_be_called_like_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ./ in front of it."""
    (tmp_path / "github:acme").mkdir()
    (tmp_path / "github:acme" / "a.md").write_bytes(b"# A\n")
    monkeypatch.chdir(tmp_path)
    with open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection(NAME, "", "./github:acme")
        assert workspace.import_collection(NAME).added == 1


def test_settings_of_github_are_read() -> None:
    """From a file or variables, like all others; a token in the file is an unknown key."""
    assert (
        msgspec.convert({"base_url": "https://ghe.example.com/api/v3"}, GithubSettings).token_env
        == "GITHUB_TOKEN"
    )
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"token": TOKEN}, GithubSettings)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"token_env": TOKEN}, GithubSettings)
