"""Adapters by name."""

from __future__ import annotations

from importlib import metadata

import pytest

from mdvec import registry
from mdvec.errors import ConfigError


def test_an_unknown_name_is_told_with_those_there_are() -> None:
    """The hint lists the adapters of the stage."""
    with pytest.raises(ConfigError, match="no chunking adapter named 'nope'") as caught:
        registry.load("chunking", "nope")
    assert "sections" in caught.value.hint


def test_a_broken_plugin_is_an_error_of_ours_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module or class that is not there is said by the plug-in's name; nobody else is disturbed."""
    broken = [
        metadata.EntryPoint("gone", "no_such_module:Thing", "mdvec.sources"),
        metadata.EntryPoint("bare", "json:NoSuchThing", "mdvec.sources"),
    ]

    def entry_points(*, group: str, name: str | None = None) -> list[metadata.EntryPoint]:
        return [point for point in broken if point.group == group and name in (None, point.name)]

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    for name in ("gone", "bare"):
        with pytest.raises(ConfigError, match=f"'{name}' cannot be loaded"):
            registry.load("sources", name)
    assert registry.names("sources") == ["folder", "github", "git", "bare", "gone"]
    assert registry.load("sources", "folder").__name__ == "FolderSource"
