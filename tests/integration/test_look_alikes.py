"""Paths, names, headings and tags are found as they look: without accents, or in the other kana."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.workspaces import workspace_of, written

from mdvec import SearchQuery, Workspace
from mdvec.errors import DocumentNotFoundError, UsageError
from mdvec.types.query import Filters, SearchMode, TagMatch

FILES = {
    "Résumé Åsa.md": "# CV\nWork in Gothenburg.\n\n## Études à Paris\n\nTwo years.\n",
    "ネコの世話.md": "---\ntags: [ネコ/食事, café]\n---\n餌は朝と夕方。[[Résumé Åsa]]\n",
    "髙橋/ヴァイオリン.md": "弓と弦。[[Resume Asa]]\n",
    "Projects [2026]/shed.md": "Plan of the shed.\n",
    "both/naive.md": "without points\n",
    "both/naïve.md": "with points\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Return a workspace of one collection, ``vault``."""
    folder = tmp_path_factory.mktemp("look-alikes").resolve()
    written(folder / "vault", FILES)
    with workspace_of(folder / "index.sqlite", {"vault": folder / "vault"}) as opened:
        yield opened


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("Resume Asa.md", "Résumé Åsa.md"),
        ("resume asa", "Résumé Åsa.md"),
        ("Re\u0301sume\u0301 A\u030asa.md", "Résumé Åsa.md"),
        ("vault/RESUME ASA.md", "Résumé Åsa.md"),
        ("[[Re\u00adsumé Asa]]", "Résumé Åsa.md"),
        ("ねこの世話.md", "ネコの世話.md"),
        ("ﾈｺの世話", "ネコの世話.md"),
        ("高橋/バイオリン.md", "髙橋/ヴァイオリン.md"),
        ("both/naive.md", "both/naive.md"),
        ("both/naïve.md", "both/naïve.md"),
    ],
)
def test_a_document_is_found_as_its_name_looks(vault: Workspace, typed: str, path: str) -> None:
    """The path as it is given comes first."""
    assert vault.read(typed).path == path
    assert vault.browse.outline(typed).path == path
    assert vault.links(typed).path == path


def test_two_that_look_the_same_are_named(vault: Workspace) -> None:
    """Neither of them is chosen."""
    with pytest.raises(UsageError, match=r"vault/both/naive\.md, vault/both/naïve\.md"):
        vault.read("naivë")


@pytest.mark.parametrize("typed", ["Resume Osa", "ネコの世", "ume Asa"])
def test_another_name_is_another_document(vault: Workspace, typed: str) -> None:
    """A part of a name is no name."""
    with pytest.raises(DocumentNotFoundError):
        vault.read(typed)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("Resume Asa.md", {"Résumé Åsa.md"}),
        ("resume*", {"Résumé Åsa.md"}),
        ("vault/Resume Asa.md", {"Résumé Åsa.md"}),
        ("ねこ*.md", {"ネコの世話.md"}),
        ("高橋", {"髙橋/ヴァイオリン.md"}),
        ("高橋/*バイオリン*", {"髙橋/ヴァイオリン.md"}),
        ("projects [2026]", {"Projects [2026]/shed.md"}),
        ("**/naive.md", {"both/naive.md"}),
        ("**/naivë.md", {"both/naive.md", "both/naïve.md"}),
        ("Resume", set()),
    ],
)
def test_paths_filter_as_they_look(vault: Workspace, pattern: str, paths: set[str]) -> None:
    """A pattern that matches as it is given does so alone; filters and the operator mean the same."""
    assert {each.path for each in vault.browse.newest(Filters(path=pattern))} == paths
    found = vault.search(
        SearchQuery(f'path:"{pattern}" shed', mode=SearchMode.LEXICAL, min_score=0, all_similar=True)
    )
    assert {each.path for each in found.hits} <= paths
    assert bool(found.hits) == ("Projects [2026]/shed.md" in paths)


@pytest.mark.parametrize("tag", ["ねこ", "ネコ/食事", "ねこ/食事", "#CAFE"])
def test_tags_filter_as_they_look(vault: Workspace, tag: str) -> None:
    """A tag above those of a document is found, too."""
    assert [each.path for each in vault.browse.newest(Filters(tags=(tag,)))] == ["ネコの世話.md"]
    all_of = Filters(tags=("café", tag), tag_match=TagMatch.ALL)
    assert [each.path for each in vault.browse.newest(all_of)] == ["ネコの世話.md"]
    hits = vault.search(SearchQuery(f"tag:{tag} 餌", mode=SearchMode.LEXICAL)).hits
    assert [each.path for each in hits] == ["ネコの世話.md"]
    hits = vault.search(SearchQuery(f"-tag:{tag} 餌", mode=SearchMode.LEXICAL)).hits
    assert hits == ()


def test_a_heading_is_found_as_it_looks(vault: Workspace) -> None:
    """In a path with a heading and as the section of a document."""
    assert (
        vault.read("Resume Asa#etudes a paris").text
        == vault.read("Résumé Åsa.md", section="Études à Paris").text
    )
    with pytest.raises(DocumentNotFoundError):
        vault.read("Résumé Åsa.md", section="etudes a Rome")


def test_a_link_of_a_note_means_what_its_program_means(vault: Workspace) -> None:
    """Obsidian makes a new note of a name without accents, so such a link leads nowhere."""
    assert [each.path for each in vault.links("ヴァイオリン").links] == [None]
    listed = vault.browse.newest(Filters(linked_to="Résumé Åsa"))
    assert [each.path for each in listed] == ["ネコの世話.md"]
    listed = vault.browse.newest(Filters(linked_to="Resume Asa"))
    assert [each.path for each in listed] == ["ネコの世話.md"]
