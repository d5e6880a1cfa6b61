"""Rules of ignore files, where git is not needed to know what is right."""

from __future__ import annotations

import pytest

from mdvec.sources.ignore import IgnoreRules, parse_ignore_file

_MANY = 40


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a" * _MANY + "*b", "a" * 250),
        ("*a" * _MANY + "*b", "/".join(["a" * 250] * 16)),
        ("**/a/" * _MANY + "b", "a/" * 1_000 + "a"),
        ("**/*a*a*a*a*b/" * _MANY + "b", ("a" * 100 + "/") * 20 + "a"),
        ("*[a]" * _MANY + "*b", "a" * 250),
        ("*?" * _MANY + "*b", "a" * 250),
    ],
)
def test_no_line_takes_long(line: str, path: str) -> None:
    """Many stars, and a name that almost matches: with backtracking this would not end."""
    rules = IgnoreRules(git=(parse_ignore_file(line.encode(), name=".gitignore", folder=""),))
    assert rules.rule(path, is_folder=False) is None
    assert rules.rule("x" * 250, is_folder=True) is None


def test_a_line_that_no_path_can_match_is_skipped() -> None:
    """One of a megabyte is not compiled."""
    file = parse_ignore_file(b"*a" * 500_000 + b"\na.md", name=".gitignore", folder="")
    assert [line.text for line in file.lines] == ["a.md"]
