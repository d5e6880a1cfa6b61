"""Links of a vault: what is some steps away, what stands alone, and what leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdvec import Workspace, open_workspace
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import Filters, LinkFilter, SearchQuery

NOTES = {
    "a.md": "# A\n\n[[b]] and [[a]], [[a#A]].\n",
    "b.md": "# B\n\n[c](c.md)\n",
    "c.md": "# C\n\nNothing.\n",
    "d.md": "# D\n\n[[c]], [[b]]\n",
    "e.md": "# E\n\n[[d]]\n",
    "alone.md": "# Alone\n\n[site](https://example.com) and ![[picture.png]]\n",
    "broken.md": "# Broken\n\n[[nowhere]] and [[a]]\n",
    "lost.md": "# Lost\n\n[[a]] ![[gone.png]]\n",
    "new.md": "---\nprevious: alone.md\n---\n# New\n\nA newer version of alone.\n",
}
OTHERS = {"a.md": "# A\n\n[[nowhere else]]\n", "c.md": "# C\n"}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Workspace]:
    """An index of the notes, and another collection that has the same names."""
    made = open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder())
    with made as workspace:
        for name, notes in (("vault", NOTES), ("other", OTHERS)):
            folder = tmp_path / name
            folder.mkdir()
            (folder / "picture.png").write_bytes(b"\x89PNG")
            for path, text in notes.items():
                (folder / path).write_text(text, encoding="utf-8")
            workspace.add_collection(name, "", str(folder))
            workspace.import_collection(name)
        yield workspace


def listed(workspace: Workspace, links: LinkFilter, *collections: str) -> set[str]:
    filters = Filters(links=links, include_superseded=True)
    return {f"{each.collection}/{each.path}" for each in workspace.browse.newest(filters, collections)}


def test_documents_some_links_away(vault: Workspace) -> None:
    """In either direction, each once, by the shortest way; its own links are one step and listed as such."""
    near = {}
    for steps in (1, 2, 3):
        found = vault.links("a.md", collection="vault", steps=steps).near
        near[steps] = [(each.path, each.steps, each.via) for each in found]
    assert near[1] == []
    assert near[2] == [("c.md", 2, "b.md"), ("d.md", 2, "b.md")]
    assert near[3] == [*near[2], ("e.md", 3, "d.md")]


def test_orphans_have_no_link_from_or_to_another_document(vault: Workspace) -> None:
    """Links to oneself, to addresses, to other files and to older versions are no links between documents."""
    assert listed(vault, LinkFilter.ORPHAN, "vault") == {"vault/alone.md", "vault/new.md"}
    assert listed(vault, LinkFilter.ORPHAN) == {"vault/alone.md", "vault/new.md", "other/a.md", "other/c.md"}


def test_documents_with_a_link_that_leads_to_nothing(vault: Workspace) -> None:
    """They can be listed and searched; files that are no documents and addresses are not missed."""
    assert listed(vault, LinkFilter.UNRESOLVED) == {"vault/broken.md", "vault/lost.md", "other/a.md"}
    hits = vault.search(SearchQuery("broken", filters=Filters(links=LinkFilter.UNRESOLVED), min_score=0)).hits
    assert {hit.path for hit in hits} == {"broken.md", "lost.md", "a.md"}
    both = Filters(links=LinkFilter.UNRESOLVED, linked_to="a.md")
    assert {each.path for each in vault.browse.newest(both, ("vault",))} == {"lost.md", "broken.md"}
    none = Filters(links=LinkFilter.UNRESOLVED, path="b.md")
    assert "all the filters" in vault.browse.unmet(none, ("vault",))
