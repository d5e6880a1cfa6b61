"""Which documents replace which."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping

import pytest
from msgspec.structs import replace
from tests.contract.store_world import World, make_document, put, read

from mdvec.stores.versions import find_versions
from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import DocumentId
from mdvec.types.links import PlacedLink, Versions


def found(links: list[tuple[str, str]]) -> Versions:
    """Resolve links that name a document by its whole path."""
    ids = {
        path: DocumentId(number)
        for number, path in enumerate(dict.fromkeys(path for link in links for path in link))
    }
    previous = [PlacedLink(ids[new], new, Link(LinkKind.PREVIOUS, old)) for new, old in links]
    return find_versions(previous, {path.removesuffix(".md"): {path: ids[path]} for path in ids})


def test_circles_are_told_apart_from_what_hangs_on_them() -> None:
    """A circle hides nothing; a document outside of it that it names, or that names it, counts as ever."""
    versions = found([("b.md", "a.md"), ("a.md", "b.md"), ("a.md", "old.md"), ("new.md", "b.md")])
    assert versions.cycles == (("a.md", "b.md"),)
    assert sorted(versions.older.values()) == [("b.md",), ("old.md",)]
    assert sorted(versions.newer.values()) == [("a.md",), ("new.md",)]


def test_documents_that_replace_each_other_in_a_circle_hide_none() -> None:
    """The circle is named, and only a link from outside of it hides one of its documents."""
    circles = [("b.md", "a.md"), ("a.md", "c.md"), ("c.md", "b.md"), ("self.md", "self.md")]
    versions = found(circles)
    assert sorted(versions.cycles) == [("a.md", "c.md", "b.md"), ("self.md",)]
    assert not versions.newer
    assert [*found([*circles, ("new.md", "b.md")]).newer.values()] == [("new.md",)]


def test_many_small_circles_are_looked_for_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each among the documents that it is linked with, not among all: that would take quadratic time."""
    sizes: list[int] = []
    sorter = graphlib.TopologicalSorter

    def counted(older: Mapping[str, Iterable[str]]) -> graphlib.TopologicalSorter[str]:
        sizes.append(len(older))
        return sorter(older)

    monkeypatch.setattr(graphlib, "TopologicalSorter", counted)
    pairs = [(f"a{number}.md", f"b{number}.md") for number in range(400)]
    versions = found([link for new, old in pairs for link in ((new, old), (old, new))])
    assert sorted(versions.cycles) == sorted(pairs)
    assert not versions.newer
    assert sizes == [2] * len(sizes)
    assert len(sizes) <= 3 * len(pairs)


def put_linked(world: World, path: str, *targets: str) -> None:
    """Write a document that names its older versions."""
    document, chunks = make_document(path, ["text"])
    links = tuple(Link(LinkKind.PREVIOUS, target) for target in targets)
    with world.store.write() as writer:
        put(writer, world.first.id, replace(document, links=links), chunks)


def versions_of(world: World) -> Versions:
    return read(world.store, lambda view: view.documents.versions(world.first.id))


def version_paths(world: World, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a document supersedes, and what supersedes it."""
    versions, document = versions_of(world), world.document_id(path)
    return versions.older.get(document, ()), versions.newer.get(document, ())


def test_versions_follow_every_change(world: World) -> None:
    """Which replaces which is as the documents say now: added, rewritten and deleted ones count at once."""
    put_linked(world, "v1.md")
    assert versions_of(world) == Versions()
    put_linked(world, "v2.md", "v1.md")
    put_linked(world, "v3.md", "v2", "v0.md")
    assert version_paths(world, "v1.md") == ((), ("v2.md",))
    assert version_paths(world, "v2.md") == (("v1.md",), ("v3.md",))
    assert version_paths(world, "v3.md") == (("v2.md",), ())
    assert [(each.path, each.link.target) for each in versions_of(world).dangling] == [("v3.md", "v0.md")]
    put_linked(world, "v0.md")
    assert versions_of(world).dangling == ()
    world.remove("v2.md")
    assert version_paths(world, "v1.md") == ((), ())


def test_versions_are_read_once_for_each_version_of_the_store(world: World) -> None:
    """As long as nothing changes, and for each collection apart."""
    put_linked(world, "new.md", "old.md")
    put_linked(world, "old.md")
    with world.store.read() as view:
        first = view.documents.versions(world.first.id)
        assert first.newer
        assert view.documents.versions(world.second.id) == Versions()
    with world.store.read() as view:
        assert view.documents.versions(world.first.id) is first
    world.remove("new.md")
    with world.store.read() as view:
        assert view.documents.versions(world.first.id) == Versions()
