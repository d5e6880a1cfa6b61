"""Documents without a query: lists by what is known of them, outlines, and what is about the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workspaces import workspace_of, written

from mdvec import Workspace, open_workspace
from mdvec.config.schema import Config, DocumentSettings
from mdvec.errors import CollectionExistsError, DocumentNotFoundError, InvalidNameError, UsageError
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.outline import OutlineSection
from mdvec.types.query import Comparison, Filters, PropertyCondition, SearchMode, SearchQuery, SortBy

_DAY_NS = 24 * 3600 * 10**9
LONG = """---
tags: [seedling]
previous: old
---
Lead text.

# Garden

## Tomatoes

Tomatoes need sun and water.

#### Varieties

Many of them.

## Compost
"""
FILES = {
    "garden/Long note.md": LONG,
    "garden/Watering.md": "---\ntags: [seedling/new]\nstatus: done\n---\nTomatoes need sun, water.\n",
    "Cooking.md": "Tomatoes need salt. [[Long note]]\n",
    "Trains.md": "Timetables of trains.\n",
    "old.md": "Superseded.\n",
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Return a workspace of notes that were written a day apart."""
    folder = tmp_path_factory.mktemp("listing")
    written(folder / "notes", FILES)
    for day, path in enumerate(FILES):
        os.utime(folder / "notes" / path, ns=(day * _DAY_NS, day * _DAY_NS))
    config = Config(documents=DocumentSettings(versions=True))
    with workspace_of(folder / "x.sqlite", {"notes": folder / "notes"}, config) as opened:
        yield opened


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (Filters(), ["Trains.md", "Cooking.md", "garden/Watering.md", "garden/Long note.md"]),
        (Filters(include_superseded=True, updated_since_ns=4 * _DAY_NS), ["old.md"]),
        (Filters(tags=("seedling",)), ["garden/Watering.md", "garden/Long note.md"]),
        (Filters(path="garden"), ["garden/Watering.md", "garden/Long note.md"]),
        (Filters(path="garden/"), ["garden/Watering.md", "garden/Long note.md"]),
        (Filters(path="Trains.md"), ["Trains.md"]),
        (Filters(updated_since_ns=2 * _DAY_NS), ["Trains.md", "Cooking.md"]),
        (Filters(linked_to="notes/garden/Long note.md"), ["Cooking.md"]),
        (
            Filters(properties=(PropertyCondition("status", Comparison.EQUAL, "Done"),)),
            ["garden/Watering.md"],
        ),
    ],
)
def test_documents_are_listed_by_filters(workspace: Workspace, filters: Filters, paths: list[str]) -> None:
    """The last updated first, without a query; older versions only when they are asked for."""
    assert [each.path for each in workspace.browse.newest(filters)] == paths
    assert [each.path for each in workspace.browse.newest(filters, limit=1)] == paths[:1]


def test_a_list_of_collections_may_be_one_name(workspace: Workspace) -> None:
    """As in a search: its letters are no names."""
    every = workspace.browse.newest(Filters())
    assert workspace.browse.newest(Filters(), "notes") == every
    assert workspace.browse.facets(Filters(), "notes") == workspace.browse.facets(Filters(), ["notes"])


def test_a_wrong_filter_is_an_error(workspace: Workspace) -> None:
    """As in a search."""
    with pytest.raises(UsageError):
        workspace.browse.newest(Filters(properties=(PropertyCondition("status", Comparison.LESS, "done"),)))
    with pytest.raises(DocumentNotFoundError):
        workspace.browse.newest(Filters(linked_to="nowhere"))


def test_an_outline_has_every_section(workspace: Workspace) -> None:
    """With its lines, its place in the tree and its size; what it names can be read."""
    outline = workspace.browse.outline("long note")
    assert (outline.collection, outline.path) == ("notes", "garden/Long note.md")
    assert outline.sections == (
        OutlineSection(0, None, 0, "", 5, 5, 3),
        OutlineSection(1, 0, 1, "Garden", 7, 7, 3),
        OutlineSection(2, 1, 2, "Tomatoes", 9, 11, 11),
        OutlineSection(3, 2, 3, "Varieties", 13, 15, 10),
        OutlineSection(4, 1, 2, "Compost", 17, 17, 4),
    )
    for each in outline.sections:
        text = workspace.read(f"{outline.path}:{each.start_line}-{each.end_line}").text
        assert each.heading in text
        assert text == text.strip() + "\n"


def test_an_outline_leaves_out_what_holds_no_text(workspace: Workspace) -> None:
    """A document that begins with a heading has no section above it."""
    (section,) = workspace.browse.outline("Trains.md").sections
    assert (section.order, section.depth, section.heading) == (0, 0, "")


def test_related_documents_are_about_the_same(workspace: Workspace) -> None:
    """The document itself is not among them, and ranks count from 1."""
    result = workspace.browse.related("notes/garden/Long note.md", limit=2)
    assert {hit.path for hit in result.hits} == {"garden/Watering.md", "Cooking.md"}
    assert [hit.rank for hit in result.hits] == [1, 2]


def test_what_is_related_is_judged_without_the_document_itself(tmp_path: Path) -> None:
    """Beside a text that equals the question nothing seems near; and no sign in it is an operator."""
    texts = {
        "a": 'title: soup, path:none -water "tomato soup"\n\nTomatoes need sun.\n',
        "b": "Tomatoes need sun and water.\n",
        "c": "Timetables of trains.\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    with workspace_of(tmp_path / "x.sqlite", {"notes": tmp_path}) as workspace:
        result = workspace.browse.related("a.md", limit=100)
    assert [hit.path for hit in result.hits] == ["b.md", "c.md"]
    assert result.hits[0].score > 0.5
    assert result.query == "a"


def test_a_collection_is_renamed(tmp_path: Path) -> None:
    """Its index stays, nothing is embedded again, and a name that is taken or none is refused."""
    (tmp_path / "a.md").write_text("Tomatoes need sun.", encoding="utf-8")
    embedder = HashingEmbedder()
    with open_workspace(database=tmp_path / "x.sqlite", embedder=embedder) as workspace:
        for name in ("one", "two"):
            workspace.add_collection(name, "", str(tmp_path))
            workspace.import_collection(name)
        embedder.forget()
        assert workspace.update_collection("one", new_name="garden").name == "garden"
        assert workspace.read("garden/a.md").collection == "garden"
        assert [each.name for each in workspace.collections()] == ["garden", "two"]
        with pytest.raises(CollectionExistsError):
            workspace.update_collection("two", new_name="garden")
        with pytest.raises(InvalidNameError):
            workspace.update_collection("two", new_name="No name")
        assert workspace.update_collection("two", new_name="two").name == "two"
        assert embedder.embedded == []


def test_hits_have_dates_and_tags_and_may_come_newest_first(workspace: Workspace) -> None:
    """The order is that of these hits alone: the best ones are the same."""
    best = workspace.search(SearchQuery("Tomatoes", mode=SearchMode.LEXICAL)).hits
    newest = workspace.search(SearchQuery("Tomatoes", mode=SearchMode.LEXICAL, sort=SortBy.DATE)).hits
    days = {hit.path: (hit.updated_ms or 0) // 86_400_000 for hit in best}
    assert days == {"garden/Long note.md": 0, "garden/Watering.md": 1, "Cooking.md": 2}
    assert [hit.path for hit in newest] == ["Cooking.md", "garden/Watering.md", "garden/Long note.md"]
    assert [hit.rank for hit in newest] == [1, 2, 3]
    assert {hit.path: hit.tags for hit in best} == {
        "garden/Long note.md": ("seedling",),
        "garden/Watering.md": ("seedling/new",),
        "Cooking.md": (),
    }
