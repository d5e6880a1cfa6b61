"""Repositories on GitHub, read from a server that speaks its REST interface."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.fakes.fake_time import FakeTime, fake_time
from tests.fakes.github_server import (
    REPOSITORY,
    RESET,
    TOKEN,
    Files,
    GithubServer,
    Link,
    Submodule,
    problem,
)
from tests.fakes.http_server import DROPPED, Answer

from mdvec.errors import (
    ConfigError,
    ImportStoppedError,
    MdvecError,
    SourceError,
    SourceMissingError,
    SourceUnavailableError,
    UnreadableFileError,
)
from mdvec.sources.github.github_source import GithubSource
from mdvec.sources.selection import ScanSettings
from mdvec.types.change import Exclusion, Listing, SourceEntry

_FILES: Files = {
    "README.md": b"# Notes\n",
    "docs/a.md": b"# A\n",
    "docs/deep/b.md": b"# B\n",
    "x.png": b"\x89",
}
_MANY: Files = {f"d{number % 7}/n{number}.md": f"# りんご {number}\n".encode() for number in range(320)}


@pytest.fixture
def server() -> Iterator[GithubServer]:
    """A public repository with a few files."""
    with GithubServer() as made:
        made.commit(_FILES)
        yield made


@pytest.fixture
def time() -> Iterator[FakeTime]:
    with fake_time(RESET - 42) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


class _Make:
    """Makes sources that share a cache, as the imports of one user do."""

    def __init__(self, server: GithubServer, cache_dir: Path, time: FakeTime) -> None:
        self.server = server
        self.cache_dir = cache_dir
        self.time = time
        self.fetches = time.fetches

    def __call__(self, location: str = REPOSITORY, *, exclude_dirs: tuple[str, ...] = ()) -> GithubSource:
        return GithubSource(
            location=location,
            cache_dir=self.cache_dir,
            base_url=self.server.base_url,
            scan=ScanSettings(exclude_dirs=exclude_dirs),
            clock=self.time.clock,
        )


@pytest.fixture
def make(server: GithubServer, tmp_path: Path, time: FakeTime) -> _Make:
    return _Make(server, tmp_path / "cache", time)


def _paths(listing: Listing) -> list[str]:
    return [entry.path for entry in listing.entries]


def test_a_listing_is_two_calls_and_an_unchanged_one_is_one(make: _Make, server: GithubServer) -> None:
    """The commit and its tree; after that the commit alone, which GitHub does not count."""
    first = make().list()
    assert _paths(first) == ["README.md", "docs/a.md", "docs/deep/b.md"]
    assert first.revision == server.branches["main"]
    assert server.calls() == ["commits", "trees"]
    assert make().list() == first
    assert server.asked[0].headers["if-none-match"] == f'W/"{first.revision}"'
    assert server.calls() == ["commits"]


def test_a_lost_or_broken_cache_costs_a_call_and_nothing_else(make: _Make, server: GithubServer) -> None:
    """What is kept from the last time is never needed, nor is the place to keep it."""
    first = make().list()
    (kept,) = (make.cache_dir / "sources").iterdir()
    for content in (b"", b"{}", b'{"format": 1, "items": [1]}', kept.read_bytes()[:-5]):
        kept.write_bytes(content)
        server.calls()
        assert make().list() == first
        assert server.calls() == ["commits", "trees"]
    make.cache_dir = make.cache_dir / "sources" / kept.name / "below a file"
    assert make().list() == first


def test_the_tree_says_what_is_gone(make: _Make, server: GithubServer) -> None:
    """A force push to something unrelated, with renames and deletions, is listed as it is."""
    before = {entry.path: entry.content_hash for entry in make().list().entries}
    server.commit({"docs/z.md": b"# A\n", "new.md": b"new"})
    after = make().list()
    assert _paths(after) == ["docs/z.md", "new.md"]
    assert after.entries[0].content_hash == before["docs/a.md"]


def test_what_is_left_out_is_named(make: _Make, server: GithubServer) -> None:
    """The rules are those of a folder; links and submodules lead elsewhere and are left out."""
    server.commit(
        {
            **_FILES,
            "node_modules/x/readme.md": b"x",
            "link.md": Link("README.md"),
            "library": Submodule(),
            "large.md": b"x" * 10_000_001,
        }
    )
    assert make(exclude_dirs=("node_modules",)).list().exclusions == (
        Exclusion("large.md", "larger than 10 MB (10 MB)"),
        Exclusion("library/", "submodule"),
        Exclusion("link.md", "link"),
        Exclusion("node_modules/", "excluded folder name: node_modules"),
        Exclusion("x.png", "extension .png is not indexed"),
    )


def test_names_are_composed_and_read_as_they_are(make: _Make, server: GithubServer) -> None:
    """A name in NFD, as macOS commits it, has a path in NFC, and so has the folder that is asked for."""
    decomposed = unicodedata.normalize("NFD", "ガイド/プラグ.md")
    server.commit({decomposed: b"text"})
    source = make(f"{REPOSITORY}:ガイド")
    (entry,) = source.list().entries
    assert entry.path == "プラグ.md"
    assert entry.locator == decomposed
    assert source.read(entry) == b"text"


def test_a_path_is_the_root(make: _Make, server: GithubServer) -> None:
    """Paths are relative to it; one that is not there is named."""
    assert _paths(make(f"{REPOSITORY}@main:docs").list()) == ["a.md", "deep/b.md"]
    with pytest.raises(SourceMissingError, match="'docs/none'"):
        make(f"{REPOSITORY}:docs/none").list()
    with pytest.raises(SourceMissingError, match=r"'README\.md'"):
        make(f"{REPOSITORY}:README.md").list()


def test_a_ref_may_be_anything_that_names_a_commit(make: _Make, server: GithubServer) -> None:
    """A branch with slashes and other characters, or a commit."""
    old = server.branches["main"]
    server.commit({"b.md": b"b"}, branch="feature/#1 日本".replace(" ", "-"))
    assert _paths(make(f"{REPOSITORY}@feature/#1-日本").list()) == ["b.md"]
    server.commit({"c.md": b"c"})
    assert _paths(make(f"{REPOSITORY}@{old}").list()) == ["README.md", "docs/a.md", "docs/deep/b.md"]


def test_a_tree_that_is_cut_off_is_walked(make: _Make, server: GithubServer) -> None:
    """Where GitHub lists only a part, folders are asked for by themselves; the result is exact."""
    files = {**_MANY, "node_modules/x/readme.md": b"x", "top.md": b"top"}
    server.commit(files)
    whole = make(exclude_dirs=("node_modules",)).list()
    server.most_items = 60
    server.calls()
    make.cache_dir = make.cache_dir / "another"
    assert make(exclude_dirs=("node_modules",)).list() == whole
    assert server.calls() == ["commits", "trees", "trees", *["trees"] * 7]  # not that of node_modules
    assert make(exclude_dirs=("node_modules",)).list() == whole
    assert server.calls() == ["commits"]
    assert len(make(f"{REPOSITORY}:d3", exclude_dirs=("node_modules",)).list().entries) == 46
    assert server.calls() == ["commits", "trees", "trees", "trees"]


def test_a_folder_that_github_cannot_list_is_an_error(make: _Make, server: GithubServer) -> None:
    """A part of a folder is never taken for all of it: what is missing would look deleted."""
    cut_off = Answer(200, {"sha": "1", "tree": [], "truncated": True})
    server.failures += [Answer(200, server.branches["main"].encode()), cut_off, cut_off]
    with pytest.raises(SourceError, match="too many files") as caught:
        make().list()
    assert f"git+https://github.com/{REPOSITORY}" in caught.value.hint


def test_a_few_files_are_fetched_one_by_one(make: _Make, server: GithubServer) -> None:
    """Each is a call, and each is told."""
    source = make()
    entries = source.list().entries
    server.calls()
    source.prefetch(entries)
    assert [source.read(entry) for entry in entries] == [_FILES[entry.path] for entry in entries]
    assert server.calls() == ["blobs"] * 3
    assert make.fetches == [(1, 3), (2, 3), (3, 3)]


def test_many_files_are_fetched_as_an_archive(
    make: _Make, server: GithubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call, and one to where archives are, which is another host that is not given the token."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    server.public = False
    server.commit(_MANY)
    source = make()
    entries = source.list().entries
    server.calls()
    source.prefetch(entries)
    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in server.asked[1].headers
    assert server.asked[1].headers["host"].startswith("localhost:")
    assert all(source.read(entry) == _MANY[entry.path] for entry in entries)
    assert server.calls() == ["tarball", "codeload"]
    assert make.fetches == [(done, 320) for done in range(321)]


def test_what_an_archive_lacks_is_fetched_by_itself(make: _Make, server: GithubServer) -> None:
    """Attributes keep files out of archives or change them; the hash tells."""
    server.commit(_MANY)
    server.left_out = {"d0/n0.md", "d1/n1.md"}
    source = make()
    entries = source.list().entries
    source.prefetch(entries)
    server.calls()
    assert all(source.read(entry) == _MANY[entry.path] for entry in entries)
    assert server.calls() == ["blobs"] * 2


@pytest.mark.parametrize("failure", [problem(403, "Forbidden"), Answer(200, b"\x1f\x8b no archive")])
def test_without_an_archive_all_is_fetched_by_itself(
    make: _Make, server: GithubServer, failure: Answer
) -> None:
    """Some networks let nobody through to where archives are, or answer with a page of their own."""
    files = dict(list(_MANY.items())[:60])
    server.commit(files)
    source = make()
    entries = source.list().entries
    server.failures.append(failure)
    source.prefetch(entries)
    assert all(source.read(entry) == files[entry.path] for entry in entries)


def test_an_archive_of_mostly_other_things_is_not_fetched(
    make: _Make, server: GithubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a token, calls are cheaper than hundreds of megabytes of pictures."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    source = make()
    listing = source.list()
    items = [(name, "100644", name.encode().hex(), 3_000_000) for name in map(str, range(60))]
    tree = [
        {"path": f"{name}.png", "mode": mode, "sha": sha, "size": size} for name, mode, sha, size in items
    ]
    server.commit({})
    server.failures += [
        Answer(200, server.branches["main"].encode()),
        Answer(200, {"tree": tree, "truncated": False}),
    ]
    assert source.list().entries == ()
    server.calls()
    entry = listing.entries[0]
    source.prefetch([replace(entry, content_hash=bytes([number]) * 20) for number in range(51)])
    assert server.calls() == []


def test_a_damaged_content_is_not_taken(make: _Make, server: GithubServer) -> None:
    """Every content is checked against its hash; that one file fails, the others do not."""
    server.damaged.add("docs/a.md")
    source = make()
    first, damaged, third = source.list().entries
    with pytest.raises(UnreadableFileError, match="damaged"):
        source.read(damaged)
    assert (source.read(first), source.read(third)) == (b"# Notes\n", b"# B\n")
    server.damaged.clear()
    assert source.read(damaged) == b"# A\n"


def test_a_content_that_is_gone_is_one_files_failure(make: _Make) -> None:
    """After a force push GitHub may have dropped what was listed before."""
    source = make()
    entry = source.list().entries[0]
    with pytest.raises(UnreadableFileError, match="no longer on GitHub"):
        source.read(replace(entry, content_hash=b"\1" * 20))


def test_limits_are_waited_for(make: _Make, server: GithubServer, time: FakeTime) -> None:
    """As GitHub says: until the reset, for Retry-After, else a minute and twice that; with a countdown."""
    used_up = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(RESET)}
    secondary = problem(403, "You have exceeded a secondary rate limit.")
    for failures, waited_s in (
        ([problem(403, "API rate limit exceeded", used_up)], 42.0),
        ([problem(429, "Too many requests", {"retry-after": "7"})], 7.0),
        ([secondary, secondary], 60.0 + 120.0),
        ([problem(502, "Server Error"), Answer(DROPPED)], 0.5 + 1.0),
    ):
        server.failures += failures
        time.waits.clear()
        make().list()
        assert time.waited_s() == pytest.approx(waited_s)
        assert time.waits == sorted(time.waits, reverse=True) or len(failures) > 1
        assert len(time.waits) >= waited_s


def test_a_limit_that_lasts_ends_at_once(make: _Make, server: GithubServer, time: FakeTime) -> None:
    """Nobody waits an hour in front of a terminal; the error says how long, and what a token changes."""
    used_up = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(RESET + 3600)}
    server.failures.append(problem(403, "API rate limit exceeded for 203.0.113.7.", used_up))
    with pytest.raises(SourceUnavailableError, match="rate limit") as caught:
        make().list()
    assert time.waited_s() == 0
    assert "GITHUB_TOKEN" in caught.value.hint


def test_a_wait_can_be_cancelled(make: _Make, server: GithubServer, time: FakeTime) -> None:
    """Cancelling the run ends the waiting."""
    server.failures.append(problem(429, "Too many requests", {"retry-after": "7"}))
    time.cancels = True
    with pytest.raises(ImportStoppedError):
        make().list()


def test_a_wrong_token_is_named_and_not_shown(
    make: _Make, server: GithubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is in the message, its value nowhere; nothing is tried twice."""
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_wrong_token_0123")
    with pytest.raises(SourceError, match=r"GITHUB_TOKEN \(.*Bad credentials") as caught:
        make().list()
    assert not isinstance(caught.value, SourceMissingError)
    assert "wrong_token" not in f"{caught.value} {caught.value.hint}"
    assert len(server.asked) == 1


@pytest.mark.parametrize("token", ["two words", "日本", "line\nfeed"])
def test_what_is_no_token_is_not_sent(
    make: _Make, server: GithubServer, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    """It would break the request, or be shown in an error of the network library."""
    monkeypatch.setenv("GITHUB_TOKEN", token)
    with pytest.raises(SourceError, match="GITHUB_TOKEN") as caught:
        make().list()
    assert token not in str(caught.value)
    assert server.asked == []


def test_a_token_is_not_sent_in_the_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only to this machine may it go without encryption."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    source = GithubSource(location=REPOSITORY, cache_dir=tmp_path, base_url="http://ghe.example.com/api/v3")
    with pytest.raises(ConfigError, match=r"ghe\.example\.com without encryption"):
        source.list()


def test_a_hidden_repository_is_missing(make: _Make, server: GithubServer) -> None:
    """GitHub does not say whether it exists; the error names it and the variable for the token."""
    server.public = False
    with pytest.raises(SourceMissingError, match=f"{REPOSITORY} on GitHub, or the token") as caught:
        make().list()
    assert "GITHUB_TOKEN" in caught.value.hint


@pytest.mark.parametrize("status", [404, 422])
def test_a_renamed_branch_is_named(make: _Make, server: GithubServer, status: int) -> None:
    """The default branch is followed; one that was asked for by its old name is an error that says so."""
    server.branches["trunk"] = server.branches.pop("main")
    server.default_branch = "trunk"
    assert len(make().list().entries) == 3
    server.failures.append(problem(status, "Not Found"))
    with pytest.raises(SourceMissingError, match="no branch, tag or commit 'main'"):
        make(f"{REPOSITORY}@main").list()


def test_an_empty_repository_holds_nothing(make: _Make, server: GithubServer) -> None:
    """No commit is no error."""
    server.branches.clear()
    assert make().list() == Listing(())


@pytest.mark.parametrize(
    "answer", [Answer(200, b"<html>Log in to this network</html>"), Answer(200, {"sha": "1"})]
)
def test_an_answer_of_something_else_is_said_to_be_one(
    make: _Make, server: GithubServer, answer: Answer
) -> None:
    """A page of a hotel's network is no commit and no tree; the next import asks again."""
    server.failures.append(answer)
    with pytest.raises(SourceUnavailableError, match="GitHub answers with"):
        make().list()
    server.failures += [Answer(200, server.branches["main"].encode()), *[answer] * 6]
    with pytest.raises(SourceUnavailableError, match="GitHub answers with"):
        make().list()


@pytest.mark.parametrize(
    "item",
    [
        {"path": "a.md", "mode": "100644", "sha": "00" * 20, "size": "x"},
        {"path": "a.md", "mode": "100644", "sha": "00" * 20, "size": -1},
        {"path": 5, "mode": "100644", "sha": "00" * 20},
        {"path": "a.md", "mode": "100644", "sha": "zz"},
        "a.md",
        None,
    ],
)
def test_a_tree_of_something_else_is_said_to_be_one(make: _Make, server: GithubServer, item: object) -> None:
    """Sizes are numbers, ids are in hex; nothing is a traceback."""
    answer = Answer(200, {"tree": [item], "truncated": False})
    server.failures += [Answer(200, server.branches["main"].encode()), answer]
    with pytest.raises(SourceUnavailableError, match="something that is not a tree"):
        make().list()


def test_other_refusals_are_passed_on(make: _Make, server: GithubServer) -> None:
    """What GitHub says, such as that single sign-on is needed, is what the user has to read."""
    server.failures.append(problem(403, "Resource protected by organization SAML enforcement."))
    with pytest.raises(SourceError, match="SAML enforcement"):
        make().list()


def test_github_enterprise_has_another_address(tmp_path: Path, time: FakeTime) -> None:
    """What comes before the paths of its REST interface is kept."""
    with GithubServer(prefix="/api/v3") as server:
        server.commit(_FILES)
        source = _Make(server, tmp_path, time)()
        assert len(source.list().entries) == 3
        assert all(asked.path.startswith("/api/v3/repos/") for asked in server.asked)


def test_a_server_that_is_not_there_is_said_to_be_away(make: _Make, time: FakeTime) -> None:
    """It is tried a few times; then the next step is to come back later."""
    source = GithubSource(
        location=REPOSITORY, cache_dir=make.cache_dir, base_url="http://127.0.0.1:9", clock=time.clock
    )
    with pytest.raises(SourceUnavailableError, match="cannot be reached") as caught:
        source.list()
    assert caught.value.retry


def test_nothing_is_asked_before_it_is_needed(make: _Make, server: GithubServer) -> None:
    """A search opens the sources of its hits: that must cost nothing."""
    source = make()
    source.prefetch(())
    assert not source.differs(_entry_of(make))
    with pytest.raises(MdvecError):
        source.read(replace(_entry_of(make), content_hash=None))
    assert server.calls() == ["commits", "trees", "commits"]  # of the two listings above


def _entry_of(make: _Make) -> SourceEntry:
    return make().list().entries[0]
