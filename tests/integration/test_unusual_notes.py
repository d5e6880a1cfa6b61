"""Notes that hold no ordinary text: properties alone, nothing at all, drawings, boards, templates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workspaces import written

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.document import DocumentState
from mdvec.types.query import Comparison, Filters, PropertyCondition, SearchMode

BOARD = {
    "nodes": [
        {"id": "3", "type": "text", "x": 0, "y": 300, "text": "Ripe quinces in October"},
        {"id": "1", "type": "text", "x": 400, "y": 0, "text": "second card"},
        {"id": "0", "type": "text", "x": 0, "y": 0, "text": "# Orchard plan\nfirst card"},
        {"id": "2", "type": "file", "x": 0, "y": 100, "file": "films/Blade Runner.md"},
        {"id": "g", "type": "group", "x": 0, "y": 200, "label": "Harvest"},
    ],
    "edges": [{"id": "e", "fromNode": "0", "toNode": "3", "label": "leads to"}, {"id": "f"}],
}
DRAWING = """---
excalidraw-plugin: parsed
tags: [excalidraw]
---
==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠==


# Excalidraw Data
## Text Elements
Greenhouse with a north wall ^aB3dE6gH

Rain barrel ^zzzzzzzz

%%
## Drawing
```compressed-json
N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATLZMzYBXUtiRoIACyhQ4zZAHoFAc0JRJQgEYA6
```
%%
"""
NOTES = {
    "films/Blade Runner.md": """---
aliases: [BR2019]
director: "[[Ridley Scott]]"
rating: 4.5
seen: 2026-05-01
tags: [film]
---
""",
    "films/Alien.md": (
        "---\ndirector: Ridley Scott\nrating: 3\nseen: 2026-06-02\n---\n"
        "In space, no superintendent can hear them.\n"
    ),
    "Empty ideas.md": "",
    "plan.canvas": json.dumps(BOARD),
    "Garden.excalidraw.md": DRAWING,
    "Hidden.md": "Visible lines.\n\n<!-- unlisted quux\n\nand more -->\n\n`<!-- shown -->` and <!-- open\n",
    "Templates/Daily.md": "---\ncreated: {{date}}\nup: [[{{title}}]]\n---\n# {{title}}\n",
    "Templates/Weekly.md": "---\ncreated: {{date}}\n---\nWeek\n",
    ".github/CONTRIBUTING.md": "How to contribute\n",
    ".obsidian/notes.md": "settings\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Return an imported vault of such notes."""
    folder = tmp_path_factory.mktemp("unusual")
    written(folder / "vault", NOTES)
    with open_workspace(database=folder / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("vault", "", str(folder / "vault"))
        report = workspace.import_collection("vault")
        (warning,) = report.warnings
        assert warning.startswith("Templates/Daily.md and 1 more: frontmatter has placeholders of a template")
        yield workspace


def found(
    workspace: Workspace, text: str, filters: Filters | None = None, mode: str = "lexical"
) -> list[str]:
    """Return the paths of the hits."""
    query = SearchQuery(text, mode=SearchMode(mode), filters=filters or Filters(), limit=9, min_score=0.0)
    return [hit.path for hit in workspace.search(query).hits]


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Blade Runner", "films/Blade Runner.md"),
        ("br2019", "films/Blade Runner.md"),
        ("empty ideas", "Empty ideas.md"),
        ("quinces", "plan.canvas"),
        ("north wall", "Garden.excalidraw.md"),
        ("Garden", "Garden.excalidraw.md"),
    ],
)
def test_every_note_is_found(vault: Workspace, text: str, path: str, mode: str) -> None:
    """By its title, an alias or its words, though it has no paragraph of its own."""
    assert found(vault, text, mode=mode)[0] == path


def test_properties_are_words_of_a_note(vault: Workspace) -> None:
    """Of one without text, and of one with text."""
    assert set(found(vault, "Ridley Scott")) == {"films/Blade Runner.md", "films/Alien.md"}


def test_the_text_of_a_note_of_properties_is_its_frontmatter(vault: Workspace) -> None:
    """It stands where the hit says; an empty note has an empty one."""
    hit = vault.search(SearchQuery("Blade Runner", mode=SearchMode.LEXICAL)).hits[0]
    assert (hit.start_line, hit.end_line) == (2, 6)
    body = NOTES[hit.path]
    assert hit.text == body[hit.start : hit.end] == body.removeprefix("---\n").removesuffix("\n---\n")
    (empty,) = [each for each in vault.chunks() if each.path == "Empty ideas.md"]
    assert (empty.text, empty.start_line, empty.end_line) == ("", 1, 1)


@pytest.mark.parametrize(
    ("key", "comparison", "value", "paths"),
    [
        ("Director", "=", "ridley scott", {"films/Blade Runner.md", "films/Alien.md"}),
        ("rating", ">=", "4", {"films/Blade Runner.md"}),
        ("seen", "<", "2026-06", {"films/Blade Runner.md"}),
        ("created", "=", "{{date}}", {"Templates/Daily.md", "Templates/Weekly.md"}),
    ],
)
def test_properties_filter(vault: Workspace, key: str, comparison: str, value: str, paths: set[str]) -> None:
    """Every document that meets the condition is found, and no other."""
    condition = PropertyCondition(key, Comparison(comparison), value)
    words = "film space week title runner created"
    assert set(found(vault, words, Filters(properties=(condition,)))) == paths


def test_any_value_of_a_property_is_a_star(vault: Workspace) -> None:
    """Notes with the property, and those without it."""
    has, lacks = (
        {
            each.path
            for each in vault.browse.newest(
                Filters(properties=(PropertyCondition("Rating", comparison, "*"),))
            )
        }
        for comparison in (Comparison.EQUAL, Comparison.UNEQUAL)
    )
    assert has == {"films/Blade Runner.md", "films/Alien.md"}
    assert "Hidden.md" in lacks
    assert not has & lacks


def test_the_name_of_a_property_is_no_unknown_word(vault: Workspace) -> None:
    """It is no word of the notes that have it, and still known, so no synonym replaces it."""
    for word, unknown in (("director", ()), ("Director", ()), ("conductor", ("conductor",))):
        found = vault.search(SearchQuery(f"quinces {word}", mode=SearchMode.LEXICAL))
        assert (found.unknown_words, found.corrections) == (unknown, ())


def test_a_drawing_shows_its_words_alone(vault: Workspace) -> None:
    """Its notice, its headings, the ids of its elements and its data are for the plug-in."""
    text = "\n".join(each.text for each in vault.chunks() if each.path == "Garden.excalidraw.md")
    assert text.split() == ["Greenhouse", "with", "a", "north", "wall", "Rain", "barrel"]
    assert vault.read("Garden.excalidraw.md").text == DRAWING
    assert vault.search(SearchQuery("north wall")).hits[0].title == "Garden"


def test_a_board_is_read_from_the_top(vault: Workspace) -> None:
    """Cards, groups and files stand in reading order, and a file on it is linked to."""
    text = vault.read("plan.canvas").text
    parts = ["Orchard plan", "first card", "second card", "Blade Runner", "Harvest", "quinces", "leads to"]
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)
    assert [each.path for each in vault.links("films/Blade Runner.md").backlinks] == ["plan.canvas"]


def test_comments_in_html_are_not_found(vault: Workspace) -> None:
    """Between the marks nothing is text; in code, or never closed, it is."""
    assert found(vault, "quux") == []
    assert found(vault, "shown") == found(vault, "open") == ["Hidden.md"]
    assert vault.read("Hidden.md").text == NOTES["Hidden.md"]


def test_hidden_folders_of_a_vault_are_left_out(vault: Workspace) -> None:
    """As in Obsidian; the state of the files says so."""
    (status,) = vault.status("vault", files=True).collections
    rules = {each.path: each.reason for each in status.files if each.state is DocumentState.EXCLUDED}
    assert rules[".github/"] == "hidden folder of a vault"
    assert found(vault, "contribute") == []


def test_placeholders_of_templates_stay_visible(vault: Workspace) -> None:
    """In the state of the file, and in the findings of doctor."""
    (status,) = vault.status("vault", files=True).collections
    reasons = {each.path: each.reason for each in status.files}
    assert "placeholders of a template" in reasons["Templates/Weekly.md"]
    [told] = [each.message for each in vault.doctor() if "Templates/Daily.md" in each.message]
    assert "placeholders of a template" in told
    (plain,) = vault.status("vault").collections
    assert plain.files == ()
    [remark] = plain.remarks  # files of which the same is said are one
    assert remark.startswith("Templates/Daily.md and 1 more: ")


def test_a_canvas_that_is_none_is_text(tmp_path: Path) -> None:
    """Nothing is lost of a file that does not hold what its name says."""
    (tmp_path / "a.canvas").write_text("no board at all", encoding="utf-8")
    with open_workspace(docs_dir=tmp_path, embedder=HashingEmbedder()) as workspace:
        assert found(workspace, "board") == ["a.canvas"]
