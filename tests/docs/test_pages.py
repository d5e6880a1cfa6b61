"""What the pages promise."""

from __future__ import annotations

import itertools
import re
import runpy
import tomllib
from collections.abc import Sequence
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


def test_every_test_is_run_and_in_ci_once() -> None:
    """In CI one step of both commands chooses it; elsewhere the second runs what the default leaves out."""
    check = runpy.run_path(str(ROOT / "scripts" / "check.py"))
    pytest_options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    left_out = re.findall(r"not (\w+)", pytest_options["addopts"][-1])
    assert left_out == ["torch", "node", "browser", "harness", "postgres", "lancedb", "chroma", "s3", "ray"]
    in_ci = [*check["steps"](in_ci=True).values(), *check["heavy_steps"](in_ci=True).values()]
    for marker, measured in itertools.product(("", *left_out), (True, False)):
        values = {each: each == marker for each in left_out} | {"measured": measured}
        assert sum("pytest" in each and eval(choice_of(each), {}, values) for each in in_ci) == 1
        elsewhere = [each for each in check["heavy_steps"](in_ci=False).values() if "pytest" in each]
        again = [each for each in elsewhere if eval(choice_of(each), {}, values)]
        assert len(again) == (1 if marker or measured else 0)


def choice_of(step: Sequence[str]) -> str:
    """Return the markers that a step of pytest chooses."""
    return [following for word, following in itertools.pairwise(step) if word == "-m"][-1]
