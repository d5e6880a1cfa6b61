"""Preparing a release."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import tomllib
from pathlib import Path

import yaml
from scripts.release import DIGESTS, PLACES, cut, notes, versions, write_packaging

from mdvec import __version__

_ROOT = Path(__file__).resolve().parents[2]
_CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- New.\n\n## [0.9.0] - 2026-01-01\n\n- Old.\n"


def test_every_file_has_the_same_version() -> None:
    """Each place that a release writes names the version of the package."""
    found = versions()
    assert {name for name, _ in found} == {name for name, _ in PLACES}
    assert {version for _, version in found} == {__version__}
    # The address of a release has its version twice: in the tag, and in the name of the file.
    assert sum(name.endswith("mdvec.rb") for name, _ in found) == 3
    assert sum(name.endswith("installer.yaml") for name, _ in found) == 3


def test_the_changelog_is_cut() -> None:
    """What was unreleased gets the version's heading, and is what its notes say."""
    text = cut(_CHANGELOG, "1.0.0rc1", datetime.date(2026, 12, 1))
    assert "## [Unreleased]\n\n## [1.0.0rc1] - 2026-12-01\n\n### Added\n\n- New.\n" in text
    assert notes(text, "1.0.0rc1") == "### Added\n\n- New."
    assert notes(text, "0.9.0") == "- Old."


def test_the_registry_of_servers_finds_the_package() -> None:
    """The README, which becomes the package's description, names the server."""
    server = json.loads((_ROOT / "server.json").read_text(encoding="utf-8"))
    assert f"mcp-name: {server['name']}" in (_ROOT / "README.md").read_text(encoding="utf-8")
    assert len(server["description"]) <= 100


def test_what_package_managers_read_has_the_digests(tmp_path: Path) -> None:
    """The formula and the manifests name files of the release, each with the digest of what was built."""
    names = (
        f"mdvec-{__version__}.tar.gz",
        "mdvec_e5-1.0.0-py3-none-any.whl",
        f"mdvec-{__version__}-windows-x64.zip",
    )
    for name in names:
        (tmp_path / name).write_text(name, encoding="utf-8")
    write_packaging(tmp_path, tmp_path / "extra")
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "extra").rglob("*.*")]
    assert not [word for word in DIGESTS for text in texts if word in text]
    for name in names:
        digest = hashlib.sha256(name.encode()).hexdigest()
        assert [text for text in texts if f"/v{__version__}/{name}" in text and digest in text], name


def test_the_manifests_for_winget_describe_the_package() -> None:
    """All three are of one package, in the version, with the licence and the description of pyproject."""
    folder = _ROOT / "packaging" / "winget"
    manifests = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.iterdir()}
    assert {each["ManifestType"] for each in manifests.values()} == {"version", "installer", "defaultLocale"}
    assert {(each["PackageIdentifier"], each["PackageVersion"]) for each in manifests.values()} == {
        ("mdvec.mdvec", __version__)
    }
    assert all(name.startswith("mdvec.mdvec.") for name in manifests)
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert manifests["mdvec.mdvec.locale.en-US.yaml"]["License"] == project["license"]


def test_the_release_publishes_what_the_formula_and_the_manifests_name() -> None:
    """The workflow builds the zip and the packaging, and nothing is published before both."""
    workflow = yaml.safe_load((_ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    steps = {
        job: " ".join(str(step.get("run", "")) for step in body.get("steps", []))
        for job, body in workflow["jobs"].items()
    }
    assert re.search(r"windows_zip.py dist/.*release.py --packaging", steps["windows"], re.DOTALL)
    assert workflow["jobs"]["publish"]["needs"] == ["test", "build", "windows"]
    assert {"packaging/mdvec.rb", "packaging/*.zip", "packaging/winget/*"} <= {*steps["github"].split()}


def test_no_release_without_the_tests_on_all_systems() -> None:
    """The workflow of a release runs that of the tests, which has macOS and Windows; the page says why."""
    folder = _ROOT / ".github" / "workflows"
    jobs = yaml.safe_load((folder / "release.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/ci.yml"
    tests = (folder / "ci.yml").read_text(encoding="utf-8")
    assert "workflow_call:" in tests
    matrix = yaml.safe_load(tests)["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["system"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    page = (_ROOT / "docs" / "reference" / "platforms.md").read_text(encoding="utf-8")
    assert "mdvec has never run on macOS or Windows" in page
