"""The lock files and the page of dependencies agree with `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mdvec.embedding.builtin.model import REQUIREMENT

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODEL = tomllib.loads((ROOT / "packages" / "mdvec-e5" / "pyproject.toml").read_text(encoding="utf-8"))
BUILD = [*PROJECT["build-system"]["requires"], *MODEL["build-system"]["requires"]]
HOOK = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]
CORE = HOOK["dependencies"]
EXTRAS = [line for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines]
OURS = {"mdvec", "mdvec-e5"}
LEFT_OUT = {"torch", "sentence-transformers"}  # torch's builds differ by machine


def required(lines: list[str]) -> list[Requirement]:
    """Return requirements of packages of others."""
    return [each for each in map(Requirement, lines) if each.name not in OURS]


def locked(name: str) -> dict[str, str]:
    """Return the version of each package in a lock file; every entry has a hash."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    entries = re.split(r"^(?=[^\s#])", text, flags=re.MULTILINE)[1:]
    versions = {}
    for entry in entries:
        head = re.match(r"([\w.-]+)==(\S+)", entry)
        assert head, entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
        assert canonicalize_name(head[1]) not in versions
        versions[str(canonicalize_name(head[1]))] = head[2]
    return versions


@pytest.mark.parametrize(
    ("name", "lines"), [("core.txt", CORE), ("build.txt", BUILD), ("ci.txt", [*CORE, *BUILD, *EXTRAS])]
)
def test_the_lock_files_hold_what_the_project_needs(name: str, lines: list[str]) -> None:
    """Each direct dependency has one version, in its range, with hashes; torch and its user are left out."""
    versions = locked(name)
    for requirement in required(lines):
        if requirement.name not in LEFT_OUT:
            version = versions[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: {version}"
    assert LEFT_OUT.isdisjoint(versions)


@pytest.mark.parametrize("name", ["core.txt", "build.txt"])
def test_all_lock_files_have_the_same_versions(name: str) -> None:
    """CI tests what an image installs."""
    assert locked(name).items() <= locked("ci.txt").items()


def test_mdvec_requires_its_model_of_this_tree() -> None:
    """A release of both fits together, and the message that tells how to install it names it."""
    requirement = f"mdvec-e5=={MODEL['project']['version']}"
    assert requirement == HOOK["model"] == REQUIREMENT


@pytest.mark.parametrize("name", ["core.txt", "build.txt", "ci.txt"])
def test_lock_files_name_no_host(name: str) -> None:
    """Each machine chooses its own registry."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash)", text, re.MULTILINE)


def test_the_page_lists_every_dependency() -> None:
    """Each has one row; no row is of another package."""
    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w-]+) \| (?!for \|)", page, re.MULTILINE)
    assert sorted(rows) == sorted({each.name for each in required([*CORE, *BUILD, *EXTRAS])})
