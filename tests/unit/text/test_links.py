"""Where links lead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mdvec.text.links import file_key, link_key, linked_path, names_other_file, resolve
from mdvec.types.document import Link, LinkKind

NOTES = ("Note.md", "a/Note.md", "a/b/Note.md", "z/note.txt")


@pytest.mark.parametrize(
    ("target", "from_path", "path"),
    [
        ("Note", "a/x.md", "Note.md"),  # exactly that path, from anywhere
        ("a/Note", "", "a/Note.md"),
        ("b/Note", "x.md", "a/b/Note.md"),  # the end of a path
        ("NOTE.md", "x.md", "Note.md"),
        ("./Note", "a/b/x.md", "a/b/Note.md"),
        ("../Note", "a/b/x.md", "a/Note.md"),
        ("../../Note", "a/b/x.md", "Note.md"),
        ("../../../Note", "a/b/x.md", None),  # outside
        ("../z/note", "a/x.md", "z/note.txt"),
        ("/Note", "a/x.md", "Note.md"),
        ("/b/Note", "a/x.md", None),  # from the root there is none
        ("note.txt", "a/x.md", "z/note.txt"),
        ("ote", "x.md", None),  # names are whole
        ("", "a/x.md", "a/x.md"),  # [[#heading]]
        ("https://x.example/Note", "a/x.md", None),
    ],
)
def test_a_wikilink_leads_where_obsidian_goes(target: str, from_path: str, path: str | None) -> None:
    """Exact path, then ends of paths; ``./`` counts from the folder, ``/`` from the root; case never."""
    assert resolve(Link(LinkKind.WIKI, target), from_path, NOTES) == path


def test_notes_below_the_own_folder_come_before_shorter_paths() -> None:
    """Without an exact path the own folder counts first, then the length of the path."""
    notes = ("a/Note.md", "long/folder/Note.md", "b/c/Note.md")
    link = Link(LinkKind.WIKI, "Note")
    assert resolve(link, "long/x.md", notes) == "long/folder/Note.md"
    assert resolve(link, "elsewhere/x.md", notes) == "a/Note.md"
    assert resolve(link, "lo/x.md", notes) == "a/Note.md"  # a folder is not the beginning of its name


def test_equal_paths_are_told_apart_by_case_and_then_by_order() -> None:
    """Two files whose names differ in case alone are both reached; the order they come in decides nothing."""
    notes = ["a/Note.md", "b/note.md"]
    assert resolve(Link(LinkKind.WIKI, "note"), "", notes) == "b/note.md"
    assert resolve(Link(LinkKind.WIKI, "Note"), "", notes) == "a/Note.md"
    assert resolve(Link(LinkKind.WIKI, "NOTE"), "", notes[::-1]) == "a/Note.md"


def test_markdown_comes_before_plain_text() -> None:
    """A target without a suffix means a note, however short the path of the text is."""
    notes = ("x.txt", "long/folder/x.md")
    assert resolve(Link(LinkKind.WIKI, "x"), "", notes) == "long/folder/x.md"
    assert resolve(Link(LinkKind.WIKI, "x.txt"), "", notes) == "x.txt"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("proj/shed", "pages/proj___shed.md"),  # Logseq
        ("shed", "pages/proj___shed.md"),
        ("proj/roof", "pages/proj%2Froof.md"),
        ("202601051011", "z/202601051011 Compost.md"),
        ("202601051011 Compost", "z/202601051011 Compost.md"),
        ("202601051011 Heap", None),
        ("20260105", None),  # a day is no id
    ],
)
def test_pages_of_logseq_and_ids_of_notes_are_names(target: str, path: str | None) -> None:
    """A page's name may have slashes, which its file has not; an id stands for the whole name."""
    notes = ("pages/proj___shed.md", "pages/proj%2Froof.md", "z/202601051011 Compost.md", "20260105 Day.md")
    link = Link(LinkKind.WIKI, target)
    assert resolve(link, "", [each for each in notes if file_key(each) == link_key(link)]) == path


@pytest.mark.parametrize(
    ("target", "path"),
    [("/guide/setup", "docs/guide/setup.md"), ("/guide/setup/", "docs/guide/setup.md"), ("/a", "a.md")],
)
def test_the_root_of_a_site_may_be_a_folder(target: str, path: str) -> None:
    """An address from there leads to a file of that path; one at the root of the folder comes first."""
    notes = ("docs/guide/setup.md", "other/setup.md", "docs/a.md", "a.md")
    link = Link(LinkKind.MARKDOWN, target)
    assert resolve(link, "x.md", [each for each in notes if file_key(each) == link_key(link)]) == path
    assert resolve(Link(LinkKind.WIKI, "/guide/setup"), "x.md", notes) is None


@pytest.mark.parametrize("kind", [LinkKind.MARKDOWN, LinkKind.PREVIOUS])
def test_markdown_links_and_versions_count_from_their_folder(kind: LinkKind) -> None:
    """The document beside comes before the one at that path from the root, and that before others."""
    assert resolve(Link(kind, "Note.md"), "a/x.md", NOTES) == "a/Note.md"
    assert resolve(Link(kind, "b/Note.md"), "a/x.md", NOTES) == "a/b/Note.md"
    assert resolve(Link(kind, "a/Note.md"), "z/x.md", NOTES) == "a/Note.md"
    assert resolve(Link(kind, "/Note.md"), "a/x.md", NOTES) == "Note.md"


class _Unlisted(dict[str, None]):
    """Answers whether there is a path, and does not list its paths."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError


@pytest.mark.parametrize(
    ("link", "path"),
    [
        (Link(LinkKind.MARKDOWN, "Note.md"), "a/Note.md"),
        (Link(LinkKind.PREVIOUS, "Note"), "a/Note.md"),
        (Link(LinkKind.MARKDOWN, "../z/note.txt"), "z/note.txt"),
        (Link(LinkKind.WIKI, "a/b/Note"), "a/b/Note.md"),
        (Link(LinkKind.WIKI, "Note"), "Note.md"),
    ],
)
def test_a_link_that_spells_out_a_path_does_not_look_at_the_others(link: Link, path: str) -> None:
    """Else a collection of many README files, each with links to others, took quadratic time."""
    assert resolve(link, "a/x.md", _Unlisted.fromkeys(NOTES)) == path
    assert resolve(link, "a/x.md", [each for each in NOTES if each != path]) != path


@pytest.mark.parametrize(
    ("kind", "target", "path"),
    [
        (LinkKind.MARKDOWN, "a%20b%2Fc.md", "a b/c.md"),
        (LinkKind.MARKDOWN, "%E7%8C%AB.md", "猫.md"),
        (LinkKind.MARKDOWN, "mailto:me@x.example", None),
        (LinkKind.MARKDOWN, "//x.example/a.md", None),
        (LinkKind.MARKDOWN, "c:/notes.md", "c:/notes.md"),  # a drive
        (LinkKind.WIKI, "100%20", "100%20"),  # a name may hold a percent sign
        (LinkKind.WIKI, "Re: plan", "Re: plan"),
        (LinkKind.WIKI, "obsidian://open", None),
        (LinkKind.WIKI, "か\u3099", "が"),
        (LinkKind.WIKI, "a\\b", "a/b"),
        (LinkKind.WIKI, "dendron://vault/a.b", "a.b"),
        (LinkKind.MARKDOWN, "@/blog/a.md", "blog/a.md"),
        (LinkKind.MARKDOWN, "a.md?plain=1", "a.md"),
        (LinkKind.MARKDOWN, "Who%3F.md", "Who?.md"),
        (LinkKind.MARKDOWN, "Why?.md", "Why?.md"),
        (LinkKind.MARKDOWN, "@site/docs/a.md", "docs/a.md"),
    ],
)
def test_what_a_link_names(kind: LinkKind, target: str, path: str | None) -> None:
    """Markdown links are percent-decoded, addresses are outside, and names are in NFC."""
    assert linked_path(Link(kind, target)) == path


def test_other_files_are_known_by_their_suffix() -> None:
    """An image is no missing note; a note with a dot in its name is one."""
    assert names_other_file("x/Image.PNG")
    assert names_other_file("board.canvas")
    assert not names_other_file("v1.2")
    assert not names_other_file("Dr. Who")
