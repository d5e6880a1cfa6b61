"""Repositories as users write them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdvec.errors import UsageError
from mdvec.sources.location import GithubLocation, GitLocation, parse_git, parse_github

_NAME_CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\")
_PART = st.text(_NAME_CHARACTERS, min_size=1, max_size=8).filter(lambda name: name not in {".", ".."})
_PATHS = st.just("") | st.lists(_PART, min_size=1, max_size=3).map("/".join)
_REF_PART = st.text(st.sampled_from("aZ09-_.@#+日本"), min_size=1, max_size=6).filter(
    lambda part: not part.startswith((".", "-")) and not part.endswith((".", ".lock")) and ".." not in part
)
_REFS = st.just("") | st.lists(_REF_PART, min_size=1, max_size=3).map("/".join).filter(lambda ref: ref != "@")
_URLS = st.sampled_from(
    [
        "https://git.example.com/team/notes.git",
        "http://[::1]:8080/notes",
        "ssh://git@git.example.com:2222/~me/notes.git",
        "git://example.com/a%40b",
        "file:///srv/倉庫/notes.git",
        "file:///C:/work/notes.git",
        "git@github.com:acme/notes.git",
        "host.example:notes",
        "me@[::1]:notes",
    ]
)


@given(st.sampled_from(["acme/notes", "a/b", "A-1/x.y_z-"]), _REFS, _PATHS)
@settings(max_examples=300, deadline=None)
def test_a_place_on_github_is_read_as_it_is_written(name: str, ref: str, path: str) -> None:
    """Refs with slashes and @, paths with colons, spaces and Japanese: each part comes back."""
    owner, _, repo = name.partition("/")
    location = GithubLocation(owner, repo, ref, path)
    assert parse_github(str(location)) == location


@given(_URLS, _REFS, _PATHS)
@settings(max_examples=300, deadline=None)
def test_a_place_of_git_is_read_as_it_is_written(url: str, ref: str, path: str) -> None:
    """So does a URL of any transport, with ports and users, and the short form of ssh."""
    location = GitLocation(url, ref, path)
    assert parse_git(str(location)) == location


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_place_or_an_error(text: str) -> None:
    """What is read is read again in the same way; all else is the user's mistake, and said to be one."""
    for parse in (parse_github, parse_git):
        with contextlib.suppress(UsageError):
            location = parse(text)
            assert parse(str(location)) == location


def test_other_spellings_become_one() -> None:
    """The suffix of a clone's address and slashes around a path do not make another place."""
    assert str(parse_github("acme/notes.git@main:/docs/")) == "acme/notes@main:docs"
    assert str(parse_git("https://h.example/x:/docs/")) == "https://h.example/x:docs"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "acme",
            "acme/",
            "/notes",
            "acme/notes/docs",
            "acme/..",
            "-acme/notes",
            "https://github.com/a/b",
        ),
        *("acme/notes@", "acme/notes@-x", "acme/notes@a..b", "acme/notes@a b", "acme/notes@x.lock"),
        *("acme/notes:", "acme/notes:a/../b", "acme/notes:a//b", "acme/no tes", "acme/notes@a\n"),
    ],
)
def test_what_is_no_place_on_github(text: str) -> None:
    """Incomplete ones, options in disguise, and refs and paths that git does not have."""
    with pytest.raises(UsageError):
        parse_github(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "/srv/notes.git",
            "./notes",
            "C:/notes",
            "C:\\notes",
            "https://",
            "https://host",
            "https://host/",
        ),
        *("ext::sh -c 'touch x'", "fd::17", "ext://x/y", "ftp://host/x", "file://host/x", "https:///x"),
        *("-u:x", "--upload-pack=x:y", "host.example:-x", "-o@host.example:x", "ssh://-oProxyCommand=x/y"),
        *(
            "https://host/a b",
            "https://host/a\n",
            "https://host/a@-x",
            "https://host/a?b=c",
            "https://host/a#b",
        ),
    ],
)
def test_what_git_is_not_given(text: str) -> None:
    """Folders without a scheme, transports that run programs, options in disguise."""
    with pytest.raises(UsageError):
        parse_git(text)


@pytest.mark.parametrize(
    "text",
    [
        *("https://user:s3cret@host/x", "https://s3cret@host/x", "ssh://git:s3cret@host/x"),
        *("http://s3cret@host/x@main:docs", "ftp://me:s3cret@host/x", "https://host/x?token=s3cret"),
    ],
)
def test_a_password_is_refused_and_not_repeated(text: str) -> None:
    """It would be kept in the index; the error does not show it either."""
    with pytest.raises(UsageError) as caught:
        parse_git(text)
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"
