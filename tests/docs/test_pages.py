"""What the pages promise."""

from __future__ import annotations

import itertools
import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
COMMAND = re.compile(r"<!-- command: (\S+) -->\n```sh\n(.+?)\n```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_resolve(page: Path) -> None:
    """A relative link leads to a file of the project, and its anchor to a heading there."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        if not re.match(r"[a-z]+:", target):
            file = page.parent / target if target else page
            assert file.exists(), target
            assert not anchor or anchor in anchors_of(file), f"{target}#{anchor}"


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page: as GitHub makes them of headings, and those that are written."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)"', text))


def test_both_readmes_give_the_same_two_commands_of_one_line() -> None:
    """A newcomer pastes a line, whichever page he reads."""
    english, japanese = (
        dict(COMMAND.findall((ROOT / name).read_text(encoding="utf-8")))
        for name in ("README.md", "README.ja.md")
    )
    assert english == japanese
    assert list(english) == ["main-job", "tests"]
    assert all("\n" not in command for command in english.values())
    assert ".mdvec" not in english["main-job"]


def test_every_command_of_the_pages_is_run() -> None:
    """`.ci/run` runs each command that is marked on a page, and no other."""
    marked = [
        (page.name, name)
        for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
        for name, _ in COMMAND.findall(page.read_text(encoding="utf-8"))
    ]
    runs = re.findall(r"^run (\S+) (\S+)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert runs == marked


def test_every_decision_says_what_holds_and_why() -> None:
    """A page has a topic, and the same parts as all others; README.md lists them."""
    folder = ROOT / "docs" / "decisions"
    pages = sorted(page for page in folder.glob("*.md") if page.name != "README.md")
    index = (folder / "README.md").read_text(encoding="utf-8")
    for page in pages:
        parts = re.findall(r"^## (.+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert parts[:2] == ["What holds now", "Why"], page.name
        assert parts[2:] in ([], ["What was tried"]), page.name
        assert f"({page.name})" in index, page.name


def test_every_test_that_the_default_leaves_out_is_run() -> None:
    """Each marker that a test has is a step of `scripts/check.py --heavy`."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"][
        "addopts"
    ]
    left_out = re.findall(r"not (\w+)", options[-1])
    steps = runpy.run_path(str(ROOT / "scripts" / "check.py"))["HEAVY_STEPS"].values()
    chosen = {
        choice: step
        for step in steps
        for word, choice in itertools.pairwise(step)
        if word == "-m" and choice not in ("pytest", "coverage")
    }
    assert left_out == ["torch", "node", "browser", "harness", "postgres", "lancedb", "chroma", "s3", "ray"]
    for marker in left_out:
        [step, *_] = [
            step
            for choice, step in chosen.items()
            if choice == marker or (f"not {marker}" not in choice and "not " in choice)
        ]
        files = [
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / "tests").rglob("*.py")
            if f"pytest.mark.{marker}" in path.read_text(encoding="utf-8")
        ]
        folders = [word for word in step if word.startswith("tests/")] or ["tests"]
        assert all(file.startswith(tuple(folders)) for file in files), marker
