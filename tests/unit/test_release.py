"""Preparing a release."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from scripts.release import PLACES, cut, notes, versions

from mdvec import __version__

_ROOT = Path(__file__).resolve().parents[2]
_CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- New.\n\n## [0.9.0] - 2026-01-01\n\n- Old.\n"


def test_every_file_has_the_same_version() -> None:
    """Each place that a release writes names the version of the package."""
    found = versions()
    assert {name for name, _ in found} == {name for name, _ in PLACES}
    assert {version for _, version in found} == {__version__}


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
