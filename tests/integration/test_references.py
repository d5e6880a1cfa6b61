"""What any door prints of a document can be given back to any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.workspaces import workspace_of, written

from mdvec import SearchQuery, Workspace
from mdvec.errors import DocumentNotFoundError, UsageError
from mdvec.interfaces import present
from mdvec.interfaces.mcp.places import address_of
from mdvec.types.query import Filters, SearchMode

TEXT = "".join(f"line {number}\n" for number in range(1, 31))
FILES = {
    "notes": {
        "Ideas/京都 trip.md": f"{TEXT}[[Unwritten]] [[Plan]]\n",
        "Plan.md": "plan of the notes",
        "a:12.md": "a name with a colon",
        "same/Twin.md": "one",
        "other/Twin.md": "two",
        "work/Plan B.md": "no collection, a folder",
        "Trips/ 旅 Lions .md": "spaces at both ends",
        "Tigers .md": "a space that nobody sees",
        "Tigers.md": "no space",
        "rail.md": "---\naliases: [Trips by night train]\n---\n# Sleeping on rails\n",
    },
    "work": {"Plan.md": "plan of work", "x.md": "x"},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of two collections."""
    folder = tmp_path_factory.mktemp("references").resolve()
    for name, files in FILES.items():
        written(folder / name, files)
    return folder


@pytest.fixture(scope="module")
def workspace(root: Path) -> Iterator[Workspace]:
    """Return a workspace of both."""
    with workspace_of(root / "index.sqlite", {name: root / name for name in FILES}) as opened:
        yield opened


@pytest.mark.parametrize(
    ("reference", "place"),
    [
        ("Ideas/京都 trip.md", "notes/Ideas/京都 trip.md"),
        ("./Ideas/京都 trip.md", "notes/Ideas/京都 trip.md"),
        ("notes/Ideas/京都 trip.md", "notes/Ideas/京都 trip.md"),
        ("notes: Ideas/京都 trip.md", "notes/Ideas/京都 trip.md"),
        ("mdvec://notes/Ideas/京都 trip.md", "notes/Ideas/京都 trip.md"),
        (address_of("notes", "Ideas/京都 trip.md"), "notes/Ideas/京都 trip.md"),
        ("{root}/notes/Ideas/京都 trip.md", "notes/Ideas/京都 trip.md"),
        ("file://{quoted}/notes/Ideas/%E4%BA%AC%E9%83%BD%20trip.md", "notes/Ideas/京都 trip.md"),
        ("ideas/京都 TRIP.MD", "notes/Ideas/京都 trip.md"),
        ("京都 trip", "notes/Ideas/京都 trip.md"),
        ("Notes/Ideas/京都 trip.md", "notes/Ideas/京都 trip.md"),
        ("[[京都 trip]]", "notes/Ideas/京都 trip.md"),
        ("Ideas/%E4%BA%AC%E9%83%BD%20trip.md", "notes/Ideas/京都 trip.md"),
        ("![[京都 trip|the trip]]", "notes/Ideas/京都 trip.md"),
        ("京都 Trip.md", "notes/Ideas/京都 trip.md"),
        ("旅 lions", "notes/Trips/ 旅 Lions .md"),
        ("旅 Lions ", "notes/Trips/ 旅 Lions .md"),
        ("Trips/旅 Lions.md", "notes/Trips/ 旅 Lions .md"),
        ("Tigers", "notes/Tigers.md"),
        ("Tigers .md", "notes/Tigers .md"),
        ("a:12.md", "notes/a:12.md"),
        ("work/Plan B.md", "notes/work/Plan B.md"),
        ("work/Plan.md", "work/Plan.md"),
        ("work/x", "work/x.md"),
        ("same/twin", "notes/same/Twin.md"),
        (" work/x.md", "work/x.md"),
    ],
)
def test_every_form_is_understood(workspace: Workspace, root: Path, reference: str, place: str) -> None:
    """One document is meant, also with the lines behind it as each door writes them."""
    given = reference.format(root=root, quoted=quote(str(root)))
    found = workspace.read(given)
    assert f"{found.collection}/{found.path}" == place
    assert workspace.links(f"{given}:1").path == found.path
    if found.path.startswith("Ideas"):
        for lines in (":14-21", ":14:21", "#L14-L21", "#L14-21"):
            assert workspace.read(given + lines).text == "".join(TEXT.splitlines(keepends=True)[13:21])
        assert workspace.read(f"{given}:14").text == workspace.read(f"{given}:14:").text == "line 14\n"
        assert workspace.read(f" {given}:14-14\n").text == "line 14\n"
        assert workspace.read(f"{given}:14", lines=(2, 2)).text == "line 2\n"


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ("Plan.md", "is in more than one collection: notes, work"),
        ("twin", "more than one document: notes/other/Twin.md, notes/same/Twin.md"),
    ],
)
def test_what_several_have_is_refused(workspace: Workspace, reference: str, named: str) -> None:
    """All that may be meant are named, with what to give instead."""
    with pytest.raises(UsageError, match=named):
        workspace.read(reference)
    assert workspace.read("Plan.md:1", collection="work").text == "plan of work"


@pytest.mark.parametrize(
    "reference",
    ["nothing.md", "notes/nothing.md:3", "/etc/passwd", "mdvec://zzz/a.md", "", "a%00.md", "a\0.md"],
)
def test_what_is_not_there_is_an_error(workspace: Workspace, reference: str) -> None:
    """No form reaches anything that is not indexed."""
    with pytest.raises(DocumentNotFoundError):
        workspace.read(reference)


def test_a_mistyped_name_is_answered_with_the_nearest(workspace: Workspace) -> None:
    """Also where the note lies in a folder, and its name alone was given."""
    with pytest.raises(DocumentNotFoundError) as caught:
        workspace.read("kyoto 京都 tripp")
    assert caught.value.hint == "Did you mean Ideas/京都 trip.md?"


@pytest.mark.parametrize("name", ["sleeping on Rails", "Trips by night train", "[[trips by night train]]"])
def test_a_title_or_an_alias_is_a_name(workspace: Workspace, name: str) -> None:
    """As a reader calls the note."""
    assert workspace.read(name).path == "rail.md"


def test_a_part_of_an_alias_or_of_a_path_leads_to_the_note(workspace: Workspace) -> None:
    """It is too little to be a name."""
    for name, path in {
        "Trips by": "rail.md",
        "Ideas": "Ideas/京都 trip.md",
        "ideas/京都": "Ideas/京都 trip.md",
    }.items():
        with pytest.raises(DocumentNotFoundError) as caught:
            workspace.read(name)
        assert caught.value.hint == f"Did you mean {path}?"


def test_what_a_search_prints_can_be_given_back(workspace: Workspace, root: Path) -> None:
    """The file of a hit is there, and every place that is printed is its own."""
    result = workspace.search(SearchQuery("line 14", mode=SearchMode.LEXICAL, limit=1))
    (hit,) = result.hits
    assert hit.file == str(root / "notes" / hit.path)
    assert hit.chunk_index == 0
    for printed in (*present.hit_paths(result), f"{hit.collection}/{hit.path}:{hit.start_line}"):
        assert workspace.read(printed).path == hit.path


@pytest.mark.parametrize("reference", ["notes/Plan.md", "{root}/notes/Plan.md", "notes: plan", "Plan.md:3"])
def test_a_filter_by_links_takes_the_same_forms(workspace: Workspace, root: Path, reference: str) -> None:
    """A document to be linked to is named as anywhere else."""
    filters = Filters(linked_to=reference.format(root=root))
    query = SearchQuery("line", collections=("notes",), filters=filters)
    assert [hit.path for hit in workspace.search(query).hits] == ["Ideas/京都 trip.md"]


def test_a_note_to_be_written_may_be_linked_to(workspace: Workspace) -> None:
    """The notes that mention it are found; a name that none mentions is an error."""
    filters = Filters(linked_to="unwritten")
    assert [hit.path for hit in workspace.search(SearchQuery("line", filters=filters)).hits] == [
        "Ideas/京都 trip.md"
    ]
    with pytest.raises(DocumentNotFoundError):
        workspace.search(SearchQuery("line", filters=Filters(linked_to="never mentioned")))
