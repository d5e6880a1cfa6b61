"""Globs over relative paths."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdvec.text.globs import compile_glob, is_bare, literal_prefix

_NAMES = st.text("ab*?.", min_size=1, max_size=4) | st.just("**")
_PATTERNS = st.lists(_NAMES, min_size=1, max_size=5).map("/".join)
_PATHS = st.lists(st.text("ab.", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join)


def _name_matches(pattern: str, name: str) -> bool:
    if not pattern.strip("*"):
        return bool(name)
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, name) is not None


def _matches(pattern: list[str], path: list[str]) -> bool:
    """The definition, word by word; slow."""
    if not pattern:
        return not path
    first, *rest = pattern
    if first == "**":
        if not rest:
            return bool(path)
        return any(_matches(rest, path[skipped:]) for skipped in range(len(path)))
    if first.startswith("**"):
        name = first.strip("*") and f"*{first.lstrip('*')}"
        return _matches(["**", *([name] if name else []), *rest], path)
    return bool(path) and _name_matches(first, path[0]) and _matches(rest, path[1:])


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.md", "a.md"),
        ("*.md", "docs/deep/a.md"),
        ("README.md", "docs/README.md"),
        ("/README.md", "README.md"),
        ("./docs/*.md", "docs/a.md"),
        ("docs/*.md", "docs/a.md"),
        ("docs/**", "docs/a/b.md"),
        ("docs/", "docs/a/b.md"),
        ("docs/**/b.md", "docs/b.md"),
        ("docs/**/b.md", "docs/x/y/b.md"),
        ("docs/**.md", "docs/x/y/b.md"),
        ("**/b.md", "b.md"),
        ("**", "a/b.md"),
        ("a?c.md", "abc.md"),
        ("[a-c]*.md", "beta.md"),
        ("[!a-c]*.md", "delta.md"),
        ("[]].md", "].md"),
        ("[draft] x.md", "notes/[draft] x.md"),
        ("**/[archive]/", "[archive]/a.md"),
        ("notes [2026]/**/[x]*.md", "notes [2026]/a/[x] y.md"),
        ("notes/[draft] x.md", "notes/[draft] x.md"),
        ("[", "["),
        ("日記/*.md", "日記/六月.md"),
        ("か\u3099*", "がん.md"),
        ("new\nline*", "new\nline.md"),
    ],
)
def test_matches(pattern: str, path: str) -> None:
    """Each form of pattern takes what it describes."""
    assert compile_glob(pattern)(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.md", "a.md/b.txt"),
        ("docs/*.md", "docs/a/b.md"),
        ("docs/*.md", "old/docs/a.md"),
        ("/README.md", "docs/README.md"),
        ("docs/", "docs.md"),
        ("docs/**", "docs"),
        ("docs/*", "docs/"),
        ("a?c.md", "a/c.md"),
        ("a[/]c", "a/c"),
        ("a[!b]c", "a/c"),
        ("[z-a].md", "b.md"),
        ("*.MD", "a.md"),
        ("", "a"),
        ("docs", "docs/a.md"),
    ],
)
def test_does_not_match(pattern: str, path: str) -> None:
    """``*``, ``?`` and sets stay inside one name, a pattern with ``/`` starts at the root, case counts."""
    assert not compile_glob(pattern)(path)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("docs/api/*.md", "docs/api/"),
        ("docs/", "docs/"),
        ("docs/**", "docs/"),
        ("docs/a.md", "docs/"),
        ("./docs/a.md", "docs/"),
        ("*/a.md", ""),
        ("do?s/x/*", ""),
        ("docs/[ab]/x/*", "docs/"),
        ("*.md", ""),
        ("README.md", ""),
        ("/README.md", ""),
        ("**/x/y", ""),
        ("", ""),
    ],
)
def test_literal_prefix(pattern: str, prefix: str) -> None:
    """The folder a pattern spells out, without wildcards."""
    assert literal_prefix(pattern) == prefix


@given(pattern=_PATTERNS, path=_PATHS)
@settings(max_examples=500, deadline=None)
def test_agrees_with_the_definition(pattern: str, path: str) -> None:
    """The fast expression takes exactly what the slow, literal reading of the rules takes."""
    segments, names = pattern.removeprefix("./").split("/"), path.split("/")
    expected = _matches(segments, names[-1:] if is_bare(pattern) else names)
    assert compile_glob(pattern)(path) == expected


@given(pattern=_PATTERNS, path=_PATHS)
@settings(max_examples=300, deadline=None)
def test_matches_lie_below_the_literal_prefix(pattern: str, path: str) -> None:
    """Looking only below the literal prefix loses nothing."""
    if compile_glob(pattern)(path):
        assert path.startswith(literal_prefix(pattern))


@given(pattern=_PATTERNS, folder=_PATHS, below=_PATHS)
@settings(max_examples=300, deadline=None)
def test_a_folder_that_matches_takes_all_below(pattern: str, folder: str, below: str) -> None:
    """Where a folder's path with a trailing slash matches, so does everything in it."""
    matches = compile_glob(pattern)
    if matches(f"{folder}/"):
        assert matches(f"{folder}/{below}")


@given(st.text("ab[]!-*?/\\^&|~#.", max_size=12), st.text("ab/[]!-\\", max_size=12))
@settings(max_examples=300, deadline=None)
def test_every_string_is_a_pattern(pattern: str, path: str) -> None:
    """Nothing that can be typed is an error."""
    assert compile_glob(pattern)(path) in {True, False}
    assert isinstance(literal_prefix(pattern), str)


def test_no_pattern_takes_exponential_time() -> None:
    """A pattern made to be slow is answered at once; backtracking through it would take years."""
    assert not compile_glob("a*" * 60 + "c")("a" * 4000 + "b")
    assert not compile_glob("**/a/" * 40 + "c")("a/" * 2000 + "b")
