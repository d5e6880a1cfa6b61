"""Ignore files mean what they mean to git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mdvec.sources.folder import FolderSource

_GIT = shutil.which("git")
_FILES = (
    "a.md",
    "b.md",
    "# c.md",
    "keep/a.md",
    "keep/b/a.md",
    "keep/b/c.md",
    "sub/a.md",
    "sub/keep/a.md",
    "sub/keep/b.md",
    "sub/b/deep/a.md",
    "sub/b/deep/keep/b.md",
)
_NAMES = st.sampled_from(
    [
        *(
            "a.md",
            "b.md",
            "b",
            "keep",
            "sub",
            "deep",
            "*",
            "*.md",
            "?.md",
            "**",
            "[ab].md",
            "k*p",
            "k**p",
            "**p",
        ),
        *(
            "[!a].md",
            "[^a]*",
            "[[:alpha:]].md",
            "[[:nope:]].md",
            "[]a].md",
            "[a",
            r"\[a].md",
            r"[\]a].md",
            "[a-]*",
        ),
        *("*a*", "*e*p", "?*", "*?.md", r"a\.md", "[b-a].md", "[a-b]*.m?", "a[/]a.md"),
    ]
)
_LINES = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "", "!"]),
        st.sampled_from(["", "", "/"]),
        st.lists(_NAMES, min_size=1, max_size=3).map("/".join),
        st.sampled_from(["", "", "/"]),
        st.sampled_from(["", " ", "\r"]),
    ),
) | st.sampled_from(["", "#a.md", r"\# c.md", "!", "/", "[", "a.md\\", r"\!a.md", "[z-a].md"])
_IGNORE_FILE = st.lists(_LINES, max_size=6)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty git repository with files in it."""
    if _GIT is None:
        pytest.skip("git is not installed")
    root = tmp_path_factory.mktemp("repository")
    subprocess.run([_GIT, "init", "--quiet", root], check=True)
    for path in _FILES:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("text")
    return root


def _listed_by_git(root: Path) -> set[str]:
    assert _GIT is not None
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = [_GIT, "-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard"]
    result = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
    return {path for path in result.stdout.decode().split("\0") if path.endswith(".md")}


@given(_IGNORE_FILE, _IGNORE_FILE)
@example(["*", "!*/", "!a.md"], [])
@example(["sub/*", "!sub/keep/"], [])
@example(["keep/**", "!keep/b/", "!keep/b/**"], [])
@example(["*.md"], ["!a.md", "!keep/b.md"])
@example(["sub"], ["!a.md"])
@example(["**/"], ["!*"])
@example(["/**", "!keep/"], [])
@example(["/**", "!*/"], ["**/keep/**", "!**/b.md"])
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_same_files_are_ignored_as_by_git(repository: Path, top: list[str], nested: list[str]) -> None:
    """Whatever two ignore files say, exactly the files that git would add are listed."""
    (repository / ".gitignore").write_text("\n".join(top), newline="")
    (repository / "sub" / ".gitignore").write_text("\n".join(nested), newline="")
    listed = {entry.path for entry in FolderSource(location=str(repository)).list().entries}
    assert listed == _listed_by_git(repository)
