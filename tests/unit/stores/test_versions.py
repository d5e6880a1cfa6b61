"""Which documents replace which."""

from __future__ import annotations

import time

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


def test_many_small_circles_do_not_take_quadratic_time() -> None:
    """Each is looked for among the documents that it is linked with, not among all."""
    pairs = [(f"a{number}.md", f"b{number}.md") for number in range(4000)]
    started = time.process_time()
    versions = found([link for new, old in pairs for link in ((new, old), (old, new))])
    assert time.process_time() - started < 30
    assert sorted(versions.cycles) == sorted(pairs)
    assert not versions.superseded
