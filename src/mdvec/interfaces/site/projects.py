"""The files of a VitePress project: its programs are ours, and all that comes from notes is data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from mdvec.interfaces.site.addresses import NOTES, PAGES, TAGS, Anchors, SiteAddresses, address, page_names
from mdvec.interfaces.site.pages import (
    WORDS,
    SitePage,
    all_notes_page,
    home_page,
    note_page,
    sections,
    sidebar,
    tag_pages,
)
from mdvec.text.folding import fold_characters, nfc
from mdvec.types.links import LinkState
from mdvec.types.page import Page, PageEntry
from mdvec.workspace import Workspace

SETTINGS = ".vitepress/site.json"
"""The file with the settings for VitePress and the preview."""

_PACKAGES = ("package.json", "package-lock.json")
_PROGRAMS = ("config.mjs", "theme/index.js", "theme/mdvec.css", "theme/pages.js", "theme/search.js")
_STUB = (
    b"<!-- The text of this page is data, which theme/pages.js shows: no text of a note is a program. -->\n"
)


class SiteReport(Struct):
    """The outcome of a build.

    Attributes:
        pages: Pages of documents.
        tags: Pages of tags.
        files: Images and other files.
        written: Files of the folder that are new or changed.
        removed: Files of the folder that are gone.
        left_out: Documents that are drafts or replaced by others.
        dead_links: Links that lead to nothing: place, target.
        dead_list: The file that lists them, a line each.
        built: The folder of the finished site; None when Node was not run.
    """

    pages: int = 0
    tags: int = 0
    files: int = 0
    written: int = 0
    removed: int = 0
    left_out: int = 0
    dead_links: list[tuple[str, str]] = field(default_factory=list)
    dead_list: Path = Path()
    built: Path | None = None


def packages() -> dict[str, bytes]:
    """Return the files that pin the packages of a project, by name."""
    return {name: _program(name) for name in _PACKAGES}


def project_files(
    workspace: Workspace,
    collection: str,
    shown: Sequence[PageEntry],
    *,
    base: str,
    language: str,
    report: SiteReport,
) -> Iterator[tuple[str, bytes]]:
    """Yield the place and the content of each file of a project; the report is complete after the last.

    ``base`` is the path of the site on its host, with a slash at both ends.
    """
    titles = {entry.path: entry.title for entry in shown}
    names = page_names(titles)
    tagged = _by_tag(shown)
    addresses = SiteAddresses(workspace, base=base, pages=names, tags=tagged)
    described = workspace.collection(collection)
    searched: list[dict[str, Any]] = []

    def files_of(name: str, page: SitePage, *, is_found: bool = True) -> Iterator[tuple[str, bytes]]:
        """Yield the page that VitePress compiles, which is always the same, and the data that it shows."""
        yield f"pages/{name}.md", _STUB
        yield f"pages/public/{PAGES}/{name}.json", _json({"title": page.title, "html": page.html})
        if is_found:
            searched.extend(sections(page, address(base, name)))

    yield from packages().items()
    yield from ((f".vitepress/{name}", _program(name)) for name in _PROGRAMS)
    dead: list[tuple[str, str]] = []
    anchors = Anchors()
    for path, name in names.items():
        note = workspace.pages.read(path, collection, addresses)
        yield from files_of(name, note_page(note, titles, addresses, language))
        anchors.read(path, addresses.document(collection, path) or "", note.html)
        dead.extend(_dead_links(note, titles))
    for path, file in addresses.missing:
        text = workspace.read(path, collection=collection).text
        dead.extend((place, file) for place in _places_of(file, path, text))
    report.dead_links = sorted([*dead, *anchors.missing()], key=_in_reading_order)
    if "index" not in names.values():
        home = home_page(described.name, described.description, shown, addresses, language)
        yield from files_of("index", home)
    yield from files_of(NOTES, all_notes_page(titles, addresses, language), is_found=False)
    for name, page in tag_pages(tagged, collection, addresses, language).items():
        yield from files_of(name, page)
    report.tags, report.files = len(tagged), len(addresses.files)
    words = WORDS[language]
    icon = resources.files("mdvec.interfaces.web") / "static" / "icon.svg"  # of the page
    site = {
        "base": base,
        "language": language,
        "title": described.name,
        "description": described.description,
        "nav": [
            {"text": words["all"], "link": f"/{NOTES}.html"},
            *([{"text": words["tags"], "link": f"/{TAGS}/"}] if tagged else []),
        ],
        "sidebarAddress": addresses.add_file("sidebar.json", _json(sidebar(names, titles))),
        "iconAddress": addresses.add_file("icon.svg", icon.read_bytes()),
    }
    yield from ((f"pages/public/{place}", content) for place, content in addresses.files.items())
    yield ".vitepress/search.json", _json(searched)
    yield SETTINGS, _json(site)


def _by_tag(entries: Sequence[PageEntry]) -> dict[str, list[PageEntry]]:
    """Return the pages of each tag, in its first spelling."""
    tagged: dict[str, list[PageEntry]] = {}
    spelled: dict[str, str] = {}
    for entry in entries:
        for tag in entry.tags:
            tagged.setdefault(spelled.setdefault(fold_characters(tag), tag), []).append(entry)
    return tagged


def _dead_links(page: Page, titles: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for link in page.links.links:
        is_left_out = link.state is LinkState.DOCUMENT and link.path not in titles
        if is_left_out or link.state is LinkState.UNRESOLVED:
            yield f"{page.path}:{link.line}", link.target or f"#{link.fragment}"


def _places_of(file: str, path: str, text: str) -> list[str]:
    """Return the lines of a text that name a file: images are no links that the index knows."""
    lines = enumerate(text.splitlines(), 1)
    return [f"{path}:{number}" for number, line in lines if file in nfc(unquote(line))] or [path]


def _in_reading_order(link: tuple[str, str]) -> tuple[str, int, str]:
    place, target = link
    path, _, line = place.rpartition(":")
    return (path, int(line), target) if line.isdecimal() else (place, 0, target)


def _json(value: object) -> bytes:
    return encoded(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def encoded(text: str) -> bytes:
    """Return text as UTF-8, with a question mark for half a surrogate pair."""
    return text.encode(errors="replace")


def _program(name: str) -> bytes:
    return resources.files("mdvec.interfaces.site").joinpath("project", *name.split("/")).read_bytes()
