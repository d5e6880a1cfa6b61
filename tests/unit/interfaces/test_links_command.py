"""``mdvec get --links``, and what hits say of versions."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import HIT, RESULT, FakeWorkspace

from mdvec.interfaces.answers import to_json
from mdvec.interfaces.mcp.wording import search_text
from mdvec.types.document import LinkKind
from mdvec.types.links import Backlink, DocumentLinks, LinkState, NearDocument, OutgoingLink

LINKED = DocumentLinks(
    collection="notes",
    path="a.md",
    title="A",
    links=(
        OutgoingLink(LinkKind.WIKI, "宿", "四条", "shown", 3, LinkState.DOCUMENT, "旅行/宿.md"),
        OutgoingLink(LinkKind.EMBED, "x.png", "", "", 4, LinkState.FILE, None),
        OutgoingLink(LinkKind.MARKDOWN, "https://x.example", "", "site", 5, LinkState.OUTSIDE, None),
        OutgoingLink(LinkKind.WIKI, "no\x1b[31m", "", "", 6, LinkState.UNRESOLVED, None),
    ),
    backlinks=(
        Backlink("b.md", 7, LinkKind.WIKI, "Part", "see"),
        Backlink("c.md", 8, LinkKind.EMBED, "", ""),
    ),
    supersedes=("old/a.md",),
    superseded_by=("new.md", "newer.md"),
)


def test_links_are_listed_for_people(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Each link with its line and where it leads, then links to the document, then its versions."""
    workspace.found_links = LINKED
    outcome = mdvec("get", "a.md", "-n", "notes", "--links")
    assert workspace.calls == [("links", {"path": "a.md", "collection": "notes", "steps": 1})]
    assert (outcome.code, outcome.err) == (0, "")
    assert "\x1b" not in outcome.out
    lines = outcome.out.splitlines()
    assert lines[:4] == [
        "links (4)",
        "  3: [[宿#四条|shown]] → 旅行/宿.md",
        "  4: ![[x.png]] → a file, not a document",
        "  5: [site](https://x.example) → outside",
    ]
    assert lines[4].endswith("→ unresolved")
    assert lines[5:] == [
        "backlinks (2)",
        "  b.md:7 #Part see",
        "  c.md:8",
        "supersedes (1)",
        "  old/a.md",
        "superseded by (2)",
        "  new.md",
        "  newer.md",
    ]


def test_links_are_followed_further(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """What is two or three links away is named with the way to it."""
    workspace.found_links = replace(LINKED, near=(NearDocument("far.md", 3, "b.md"),))
    lines = mdvec("get", "a.md", "--links", "--steps", "3").out.splitlines()
    assert lines[-2:] == ["near (1)", "  far.md (3 links away, by way of b.md)"]
    assert ("links", {"path": "a.md", "collection": None, "steps": 3}) in workspace.calls


def test_a_document_without_links_says_so(mdvec: Mdvec) -> None:
    """The result is empty, and a note says why."""
    outcome = mdvec("get", "a.md", "--links")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "no links\n")


def test_links_as_json(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """One object with the documented keys."""
    workspace.found_links = LINKED
    found = json.loads(mdvec("get", "a.md", "--links", "--format", "json").out)
    keys = ["collection", "path", "title", "links", "backlinks", "supersedes", "superseded_by", "near"]
    assert list(found) == keys
    assert found["links"][0] == {
        "kind": "wiki",
        "target": "宿",
        "fragment": "四条",
        "text": "shown",
        "line": 3,
        "state": "document",
        "path": "旅行/宿.md",
    }
    assert found["backlinks"][1] == {"path": "c.md", "line": 8, "kind": "embed", "fragment": "", "text": ""}
    assert (found["supersedes"], found["superseded_by"]) == (["old/a.md"], ["new.md", "newer.md"])


@pytest.mark.parametrize("other", [("--lines", "1:2"), ("--section", "A")])
def test_links_are_those_of_a_whole_document(mdvec: Mdvec, other: tuple[str, str]) -> None:
    """With a part of it they are a usage error."""
    outcome = mdvec("get", "a.md", "--links", *other)
    assert outcome.code == 2
    assert "--links applies to a whole document" in outcome.err


def test_a_document_is_printed_as_it_is_unless_json_is_asked_for(
    mdvec: Mdvec, workspace: FakeWorkspace
) -> None:
    """A setting of the usual format does not count: a document is no list."""
    read = json.loads(mdvec("get", "a.md", "--format", "json").out)
    assert (read["path"], read["text"]) == (workspace.passage.path, workspace.passage.text)
    assert mdvec("get", "a.md", "--format", "text").out == workspace.passage.text


VERSIONED = replace(
    RESULT, hits=(replace(HIT, supersedes=("v1.md", "v2.md")), replace(HIT, superseded_by=("n.md",)))
)


@pytest.mark.parametrize("output", ["text", "md"])
def test_hits_name_versions_for_people(mdvec: Mdvec, workspace: FakeWorkspace, output: str) -> None:
    """Text and Markdown say what a hit supersedes, and what supersedes it; others say nothing of it."""
    workspace.result = VERSIONED
    out = mdvec("search", "宿", "--format", output).out
    assert "supersedes v1.md, v2.md" in out
    assert "superseded by n.md" in out
    workspace.result = RESULT
    assert "supersede" not in mdvec("search", "宿", "--format", output).out


def test_hits_name_versions_for_programs(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """JSON has both lists, empty where there is nothing to say."""
    workspace.result = VERSIONED
    hits = json.loads(mdvec("search", "宿", "--format", "json").out)["hits"]
    assert [(hit["supersedes"], hit["superseded_by"]) for hit in hits] == [
        (["v1.md", "v2.md"], []),
        ([], ["n.md"]),
    ]


def test_hits_name_versions_for_agents() -> None:
    """An agent reads both in the text, and what is superseded in the data."""
    text = search_text(VERSIONED)
    assert "supersedes v1.md, v2.md" in text
    assert "superseded by n.md" in text
    hits = to_json(VERSIONED, "mcp")["hits"]
    assert isinstance(hits, list)
    assert [hit["supersedes"] for hit in hits] == [["v1.md", "v2.md"], []]
