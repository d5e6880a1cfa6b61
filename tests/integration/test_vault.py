"""A vault: tags, aliases, dates, links, older versions and comments, from the files to the answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.workspaces import written

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config.presets import load_preset
from mdvec.config.schema import Config, DocumentSettings
from mdvec.errors import DocumentNotFoundError, UsageError
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.links import LinkState
from mdvec.types.query import Expansion, Filters, SearchMode, TagMatch
from mdvec.types.report import Severity

WITH_VERSIONS = Config(documents=DocumentSettings(versions=True))
NOTES = {
    "京都.md": """---
aliases: [Kyoto, "jira:TRIP-1"]
tags: [旅行/国内, 2026/春]
updated: 2026-05-01
previous: ["[[京都 下書き]]", archive/京都.md]
up: "[[Index]]"
---
# 京都

旅の plan。[[宿#四条|四条の宿]] と [[宿#^block]]、![[地図.png]]、[[まだない]]、![[ない.png]]。
""",
    "京都 下書き.md": "---\ntags: 旅行/国内\n---\n旅の plan、下書き。\n",
    "archive/京都.md": "旅の plan、前の年。[[京都]] [here](../旅行/宿.md)\n",
    "旅行/宿.md": """---
tags: [旅行, Lodging]
Aliases: jira:TRIP-2
modified: 2026-04-01T10:00:00+09:00
---
## 四条

宿の plan ^block

> [!tip] 朝は静か
> [[京都|町]] の朝。

%% 内緒: パスワードは tsukiyo #秘密 [[京都]] %%
""",
    "work/宿.md": """---
tags: ['#work', 'lodging']
---
Hotels for the plan. ![[旅行/宿]] [[宿]] [x](https://x.example)
""",
    "Index.md": "#index Plan. [[京都]] [[KYOTO]] [[旅行/宿.md]] [宿](work/%E5%AE%BF.md) [[京都.md#宿]]\n",
}
# Older versions.
NOT_EMBEDDED = {"京都 下書き.md", "archive/京都.md"}

# What a person reads out of the notes above.
TAGS = {
    "旅行": {"京都.md", "京都 下書き.md", "旅行/宿.md"},
    "旅行/国内": {"京都.md", "京都 下書き.md"},
    "2026": {"京都.md"},
    "2026/春": {"京都.md"},
    "lodging": {"旅行/宿.md", "work/宿.md"},
    "LODGING": {"旅行/宿.md", "work/宿.md"},
    "#work": {"work/宿.md"},
    "index": {"Index.md"},
    "旅": set(),
    "秘密": set(),
}
BACKLINKS = {
    "京都.md": [("Index.md", 1), ("Index.md", 1), ("archive/京都.md", 1), ("旅行/宿.md", 11)],
    "旅行/宿.md": [
        ("Index.md", 1),
        ("archive/京都.md", 1),
        ("work/宿.md", 4),
        ("京都.md", 10),
        ("京都.md", 10),
    ],
    "work/宿.md": [("Index.md", 1), ("work/宿.md", 4)],
    "Index.md": [("京都.md", 6)],
    "京都 下書き.md": [],
    "archive/京都.md": [],
}
UNRESOLVED = {("京都.md", "まだない"), ("京都.md", "ない.png"), ("Index.md", "KYOTO")}

Found = Callable[..., set[str]]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The notes above, imported; their files are all of the same day."""
    folder = tmp_path_factory.mktemp("vault")
    written(folder, NOTES)
    (folder / "絵").mkdir()
    (folder / "絵/地図.png").write_bytes(b"\x89PNG")
    moment = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
    for path in NOTES:
        os.utime(folder / path, (moment, moment))
    with opened(folder) as workspace:
        yield workspace


def opened(folder: Path) -> Workspace:
    """Make a workspace of a folder, and import it."""
    workspace = open_workspace(
        WITH_VERSIONS, database=folder.parent / "vault.sqlite", embedder=HashingEmbedder()
    )
    workspace.add_collection("vault", "", str(folder))
    workspace.import_collection("vault")
    return workspace


def paths(
    workspace: Workspace, filters: Filters | None = None, *, text: str = "plan", mode: str = "hybrid"
) -> set[str]:
    """Return the documents that a search for all of them finds."""
    query = SearchQuery(text, mode=SearchMode(mode), filters=filters or Filters(), limit=50, min_score=0.0)
    return {hit.path for hit in workspace.search(query).hits}


EVERYTHING = Filters(include_superseded=True)


@pytest.mark.parametrize("mode", SearchMode)
@pytest.mark.parametrize("tag", TAGS)
def test_every_tag_finds_its_files(vault: Workspace, tag: str, mode: SearchMode) -> None:
    """By words and by meaning a tag keeps exactly its files, those of the tags below it, in any case."""
    found = paths(vault, Filters(tags=(tag,), include_superseded=True), mode=mode)
    assert found == TAGS[tag] - (NOT_EMBEDDED if mode is SearchMode.DENSE else set())


def test_several_tags_are_any_or_all(vault: Workspace) -> None:
    """One of them will do, or all are needed; nesting counts in both."""
    both = ("旅行", "lodging")
    some = Filters(tags=both, include_superseded=True)
    every = Filters(tags=both, tag_match=TagMatch.ALL, include_superseded=True)
    assert paths(vault, some) == TAGS["旅行"] | TAGS["lodging"]
    assert paths(vault, every) == TAGS["旅行"] & TAGS["lodging"]


def test_tags_are_counted_without_older_versions(vault: Workspace) -> None:
    """Each tag has the number of files that carry it; comments carry none."""
    counted = {each.tag.casefold(): each.documents for each in vault.tags()}
    assert counted == {"旅行/国内": 1, "2026/春": 1, "旅行": 1, "lodging": 2, "work": 1, "index": 1}


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("jira:", {"京都.md", "旅行/宿.md"}),
        ("JIRA:trip-1", {"京都.md"}),
        ("kyo", {"京都.md"}),
        ("rip", set()),
    ],
)
def test_aliases_are_found_by_how_they_begin(vault: Workspace, prefix: str, found: set[str]) -> None:
    """A prefix keeps the notes with an alias that starts so, in any case."""
    assert paths(vault, Filters(alias_prefix=prefix)) == found


def ns(text: str) -> int:
    """Return a moment in nanoseconds since 1970."""
    return int(datetime.fromisoformat(text).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("since", "until", "found"),
    [
        ("2026-04-01T01:00:00Z", None, {"旅行/宿.md", "京都.md"}),
        ("2026-04-01T01:00:01Z", None, {"京都.md"}),
        (None, "2026-04-01T01:00:00Z", {"work/宿.md", "Index.md"}),
        ("2020-01-01T00:00:00Z", "2026-05-01T00:00:00Z", {"work/宿.md", "Index.md", "旅行/宿.md"}),
        ("2026-05-01T00:00:00Z", "2026-05-01T00:00:01Z", {"京都.md"}),
    ],
)
def test_documents_are_found_by_when_they_were_updated(
    vault: Workspace, since: str | None, until: str | None, found: set[str]
) -> None:
    """Frontmatter counts before the time of the file; the beginning belongs to a range, its end does not."""
    filters = Filters(
        updated_since_ns=ns(since) if since else None, updated_until_ns=ns(until) if until else None
    )
    assert paths(vault, filters) == found


def test_a_range_of_time_must_not_end_before_it_begins(vault: Workspace) -> None:
    """Such a range is an error, not an empty answer."""
    with pytest.raises(UsageError, match="not later"):
        paths(vault, Filters(updated_since_ns=5, updated_until_ns=5))


@pytest.mark.parametrize("path", BACKLINKS)
def test_backlinks_are_those_a_reader_sees(vault: Workspace, path: str) -> None:
    """Links in text, frontmatter and embeds count, each with its line; comments and ``previous`` do not."""
    assert [(each.path, each.line) for each in vault.links(path).backlinks] == BACKLINKS[path]


@pytest.mark.parametrize("path", BACKLINKS)
def test_filter_by_link_agrees_with_backlinks(vault: Workspace, path: str) -> None:
    """``linked_to`` keeps exactly the documents that backlinks name."""
    found = paths(vault, Filters(linked_to=path, include_superseded=True))
    assert found == {source for source, _ in BACKLINKS[path]}


def test_links_say_where_they_lead(vault: Workspace) -> None:
    """Notes by path, images as files, addresses as outside, and nothing as unresolved."""
    links = [
        (each.line, each.target, each.fragment, each.state, each.path)
        for each in vault.links("京都.md").links
    ]
    assert links == [
        (6, "Index", "", LinkState.DOCUMENT, "Index.md"),
        (10, "宿", "四条", LinkState.DOCUMENT, "旅行/宿.md"),
        (10, "宿", "^block", LinkState.DOCUMENT, "旅行/宿.md"),
        (10, "地図.png", "", LinkState.FILE, None),
        (10, "まだない", "", LinkState.UNRESOLVED, None),
        (10, "ない.png", "", LinkState.UNRESOLVED, None),
    ]
    unresolved = {
        (path, link.target)
        for path in NOTES
        for link in vault.links(path).links
        if link.state is LinkState.UNRESOLVED
    }
    assert unresolved == UNRESOLVED
    assert LinkState.OUTSIDE in {link.state for link in vault.links("work/宿.md").links}


@pytest.mark.parametrize("name", ["京都", "./京都.md", "京都.MD"])
def test_a_document_to_be_linked_to_may_be_named_as_in_a_link(vault: Workspace, name: str) -> None:
    """Its path will do in any spelling, and so will its name."""
    assert paths(vault, Filters(linked_to=name)) == {"Index.md", "旅行/宿.md"}


def test_nothing_links_to_what_is_not_there(vault: Workspace) -> None:
    """A path without a document is an error that names the nearest ones."""
    with pytest.raises(DocumentNotFoundError, match="宿り") as caught:
        paths(vault, Filters(linked_to="旅行/宿り.md"))
    assert "旅行/宿.md" in caught.value.hint


@pytest.mark.parametrize("mode", SearchMode)
def test_older_versions_are_found_when_asked_for(vault: Workspace, mode: SearchMode) -> None:
    """They are in no result otherwise, found by words alone, and can be read all along."""
    assert paths(vault, mode=mode) == NOTES.keys() - NOT_EMBEDDED
    left_out = NOT_EMBEDDED if mode is SearchMode.DENSE else set()
    assert paths(vault, EVERYTHING, mode=mode) == NOTES.keys() - left_out
    for path in NOT_EMBEDDED:
        assert vault.read(path).text == NOTES[path]
        assert path in {each.path for each in vault.documents()}


def test_hits_name_versions(vault: Workspace) -> None:
    """A hit says what its document supersedes, and, when older ones are asked for, what supersedes it."""
    hits = {
        hit.path: hit
        for hit in vault.search(SearchQuery("旅の plan", filters=EVERYTHING, limit=50, min_score=0.0)).hits
    }
    assert hits["京都.md"].supersedes == ("京都 下書き.md", "archive/京都.md")
    assert hits["archive/京都.md"].superseded_by == ("京都.md",)
    assert (hits["Index.md"].supersedes, hits["Index.md"].superseded_by) == ((), ())
    links = vault.links("京都 下書き.md")
    assert (links.supersedes, links.superseded_by) == ((), ("京都.md",))


@pytest.mark.parametrize("expand", Expansion)
@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.LEXICAL])
def test_comments_are_not_found_and_not_shown(vault: Workspace, expand: Expansion, mode: SearchMode) -> None:
    """However much is returned around a hit, a comment is not in it; reading the note shows it."""
    assert paths(vault, text="tsukiyo", mode="lexical") == set()
    hits = vault.search(SearchQuery("朝は静か", mode=mode, expand=expand, min_score=0.0)).hits
    assert hits[0].path == "旅行/宿.md"
    assert not any("内緒" in hit.text for hit in hits)
    assert vault.read("旅行/宿.md").text == NOTES["旅行/宿.md"]
    assert "tsukiyo" in vault.read("旅行/宿.md", section="四条").text


def test_callouts_are_text(vault: Workspace) -> None:
    """Title and text of a callout are found."""
    assert paths(vault, text="朝は静か", mode="lexical") == {"旅行/宿.md"}


def test_links_follow_the_notes(tmp_path: Path) -> None:
    """A note that is added later is where links to it lead, without their notes being touched."""
    folder = tmp_path / "vault"
    written(folder, {"a/x.md": "text [[Note]]", "b/Note.md": "text"})
    with opened(folder) as workspace:
        (link,) = workspace.links("a/x.md").links
        assert link.path == "b/Note.md"
        written(folder, {"a/Note.md": "text"})
        workspace.import_collection("vault")
        (link,) = workspace.links("a/x.md").links
        assert link.path == "a/Note.md"
        assert workspace.links("b/Note.md").backlinks == ()
        (folder / "a/Note.md").unlink()
        (folder / "b/Note.md").unlink()
        workspace.import_collection("vault")
        (link,) = workspace.links("a/x.md").links
        assert link.state is LinkState.UNRESOLVED


def test_doctor_names_versions_that_cannot_be(tmp_path: Path) -> None:
    """A ``previous`` that leads nowhere and a circle are named; of the circle every note is found."""
    folder = tmp_path / "vault"
    written(
        folder,
        {
            "a.md": "---\nprevious: b.md\n---\ntext",
            "b.md": "---\nprevious: '[[a]]'\n---\ntext",
            "c.md": "---\ntitle: C\nprevious: gone.md\n---\ntext",
        },
    )
    with opened(folder) as workspace:
        notes = [
            each for each in workspace.doctor() if each.severity is Severity.NOTE and each.subject == "vault"
        ]
        assert ["c.md:3 names 'gone.md'" in each.message for each in notes] == [True, False]
        assert "a.md → b.md → a.md" in notes[1].message
        assert all("previous" in each.hint for each in notes)
        assert paths(workspace, text="text") == {"a.md", "b.md", "c.md"}
        written(folder, {"b.md": "text", "c.md": "text"})
        workspace.import_collection("vault")
        assert [
            each for each in workspace.doctor() if each.subject == "vault" and each.severity != "ok"
        ] == []
        assert paths(workspace, text="text") == {"a.md", "c.md"}


def test_versions_of_one_collection_hide_nothing_of_another(tmp_path: Path) -> None:
    """``previous`` is about the notes of its own collection."""
    written(tmp_path / "one", {"new.md": "---\nprevious: old.md\n---\ntext", "old.md": "text"})
    written(tmp_path / "two", {"old.md": "text", "x.md": "text [[old]]"})
    with opened(tmp_path / "one") as workspace:
        workspace.add_collection("second", "", str(tmp_path / "two"))
        workspace.import_collection("second")
        hits = workspace.search(SearchQuery("text", limit=9, min_score=0.0)).hits
        assert {(hit.collection, hit.path) for hit in hits} == {
            ("vault", "new.md"),
            ("second", "old.md"),
            ("second", "x.md"),
        }
        assert paths(workspace, Filters(linked_to="old.md"), text="text") == {"x.md"}


def test_a_vault_without_its_own_folder_has_no_dot_folders_either(tmp_path: Path) -> None:
    """A repository may leave out ``.obsidian``; what is in ``.github`` is still no note."""
    written(
        tmp_path / "v",
        {"a.md": "# A\n", "b/.hidden/c.md": "# C\n", ".github/pull.md": "# P\n", "b/d.md": "# D\n"},
    )
    with open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("v", "", str(tmp_path / "v"), preset=load_preset("vault", cwd=tmp_path))
        workspace.import_collection("v")
        assert sorted(each.path for each in workspace.browse.newest(Filters())) == ["a.md", "b/d.md"]


def test_tags_of_older_versions_alone_are_not_listed(tmp_path: Path) -> None:
    """A search with such a tag finds nothing."""
    (tmp_path / "new.md").write_text("---\ntags: [now]\nprevious: old.md\n---\nText.\n", "utf-8")
    (tmp_path / "old.md").write_text("---\ntags: [then, now]\n---\nText.\n", "utf-8")
    with open_workspace(
        WITH_VERSIONS, database=tmp_path / "i.sqlite", embedder=HashingEmbedder()
    ) as workspace:
        workspace.add_collection("v", "", tmp_path)
        workspace.import_collection("v")
        assert [(each.tag, each.documents) for each in workspace.tags()] == [("now", 1)]


def test_a_note_without_text_is_no_text_for_a_service(tmp_path: Path) -> None:
    """The chunker for vaults neither embeds nor finds it; it is listed, read and linked to all the same."""
    (tmp_path / "empty.md").write_text("---\ntitle: 空\naliases: [nothing]\ntags: [void]\n---\n", "utf-8")
    (tmp_path / "note.md").write_text("## 宿\n\n静かな宿。[[empty]]\n", "utf-8")
    with open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("v", "", tmp_path, chunking=load_preset("vault", cwd=tmp_path).chunking)
        report = workspace.import_collection("v")
        assert (report.added, report.embedded_chunks, report.embedded_names) == (2, 1, 1)
        assert workspace.import_collection("v").unchanged == 2
        for query in ("空", "nothing", "tag:void"):
            assert "empty.md" not in {hit.path for hit in workspace.search(SearchQuery(query)).hits}
        assert ("void", 1) in [(each.tag, each.documents) for each in workspace.tags()]
        listed = "Only notes without text have the tag 'void': they are listed, but not searched."
        by_option = SearchQuery("宿", filters=Filters(tags=("void",)))
        for search in (SearchQuery("tag:void"), SearchQuery("tag:void 宿"), by_option):
            assert workspace.search(search).hint == listed
        assert workspace.links("empty.md").backlinks[0].path == "note.md"
        [check] = [each.check for each in workspace.status("v", check=True).collections]
        assert check is not None
        assert check.in_sync
