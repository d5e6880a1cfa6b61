"""Adapters by name."""

from __future__ import annotations

import importlib.util
import sys
from importlib import metadata
from pathlib import Path

import pytest

from mdvec import registry
from mdvec.errors import ConfigError
from mdvec.text.addresses import without_password
from mdvec.types.change import SourceEntry
from mdvec.types.collection import SourceSpec


def test_an_unknown_name_is_told_with_those_there_are() -> None:
    """The hint lists the adapters of the stage."""
    with pytest.raises(ConfigError, match="no chunker 'nope'") as caught:
        registry.load("chunking", "nope")
    assert "sections" in caught.value.hint


def test_an_extra_is_installed_by_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command works wherever mdvec comes from: it does not name mdvec. Other extras are left out."""
    info = tmp_path / "mdvec-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: mdvec\nVersion: 9\nRequires-Dist: click>=8\n"
        'Requires-Dist: torch>=2.6; extra == "transformers"\nRequires-Dist: a; extra == "transformers-2"\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.install_command("transformers") == "pip install 'torch>=2.6'"


@pytest.mark.parametrize(
    ("stage", "name"), [key for key, (_, *modules) in registry._EXTRAS.items() if modules]
)
def test_an_adapter_needs_what_it_imports(stage: str, name: str) -> None:
    """``store ls`` looks for these, and for nothing that is not used."""
    found = importlib.util.find_spec(registry._BUILTIN[stage][name].partition(":")[0])
    assert found is not None
    assert found.origin is not None
    beside = Path(found.origin).parent.glob("*.py")
    imported = {
        line.split()[1].partition(".")[0]
        for each in ([Path(found.origin)] if stage == "vector_indexes" else beside)
        for line in each.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(("import ", "from "))
    }
    assert imported >= {*registry._EXTRAS[stage, name][1:]}


def test_a_bucket_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding one says how to install what is missing; a collection that is there can be opened without it."""
    monkeypatch.delitem(sys.modules, "mdvec.net.buckets", raising=False)
    for name in ("obstore", "obstore.exceptions", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)
    source = registry.load("sources", "s3")
    assert source(location="//bucket/docs").differs(SourceEntry("a.md", "a.md", 0, 0)) is False
    with pytest.raises(ConfigError, match="'s3' is not installed") as caught:
        source.parse("//bucket/docs")
    assert caught.value.hint.startswith("Install it: pip install ")


def test_a_broken_plugin_is_an_error_of_ours_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module or class that is not there is said by the plug-in's name; nobody else is disturbed."""
    broken = [
        metadata.EntryPoint("gone", "no_such_module:Thing", "mdvec.sources"),
        metadata.EntryPoint("bare", "json:NoSuchThing", "mdvec.sources"),
    ]

    monkeypatch.setattr(registry, "_entry_points", lambda stage: broken if stage == "sources" else ())
    for name in ("gone", "bare"):
        with pytest.raises(ConfigError, match=f"'{name}' cannot be loaded"):
            registry.load("sources", name)
    assert registry.names("sources") == ["folder", "github", "git", "s3", "push", "bare", "gone"]
    assert registry.load("sources", "folder").__name__ == "FolderSource"


@pytest.mark.parametrize(
    ("kind", "place", "spelled"),
    [
        ("folder", "/notes", "/notes"),
        ("folder", "/a:b/c+d", "/a:b/c+d"),
        ("github", "acme/notes@main:docs", "github:acme/notes@main:docs"),
        ("git", "https://h.example/x.git@main:docs", "git+https://h.example/x.git@main:docs"),
        ("s3", "//bucket/docs", "s3://bucket/docs"),
        ("git", "git@h.example:team/x.git", "git+git@h.example:team/x.git"),
        ("git", "file:///srv/x.git", "git+file:///srv/x.git"),
    ],
)
def test_what_is_shown_of_a_source_can_be_written(kind: str, place: str, spelled: str) -> None:
    """Databases hold kind and place; both follow from the spelling, whichever of ':' and '+' it has."""
    assert str(SourceSpec(kind, place)) == spelled
    assert registry.named_source(spelled) == (kind, place)
    if kind != "folder":
        assert registry.named_source(f"{kind}:{place}") == registry.named_source(f"{kind}+{place}")


@pytest.mark.parametrize("location", ["./github:acme", "C:\\notes", "notes", "gitlab:acme/x", "~/a", "Git+x"])
def test_anything_else_is_a_folder(location: str) -> None:
    """A name that no source has is no prefix."""
    assert registry.named_source(location) == ("folder", location)


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("/x/index.sqlite", "sqlite"),
        ("C:\\x.sqlite", "sqlite"),
        ("postgresql:/u@h", "sqlite"),
        ("postgresql://u@h/db", "postgres"),
        ("POSTGRES://h/db", "postgres"),
    ],
)
def test_a_location_names_its_store(location: str, name: str) -> None:
    """An address by its scheme; all else is the path of a file."""
    assert registry.named_store(location) == name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:p@ss/w@h/db", "postgresql://me:***@h/db"),
        ("postgresql://me:p w@h/db", "postgresql://me:***@h/db"),
        ("postgresql://me@h/db", "postgresql://me@h/db"),
        ("postgresql://p:a/s:s@h", "postgresql://p:***@h"),
        ("postgresql://s/e:c@h", "postgresql://***@h"),
        ("git+https://token@h/x", "git+https://***@h/x"),
        ("see postgresql://me:pw@h/db and https://t@h", "see postgresql://me:***@h/db and https://***@h"),
        (
            "postgresql://h/db?user=me&password=x&sslmode=on",
            "postgresql://h/db?user=me&password=***&sslmode=on",
        ),
        ("/a/b@c", "/a/b@c"),
    ],
)
def test_passwords_are_hidden(text: str, shown: str) -> None:
    """Wherever in an address they stand."""
    assert without_password(text) == shown
