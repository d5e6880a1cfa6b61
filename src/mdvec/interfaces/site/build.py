"""Writes a VitePress project from a collection, and has Node build it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mdvec.errors import UsageError
from mdvec.interfaces.site.addresses import Anchors, SiteAddresses
from mdvec.interfaces.site.names import NOTES, TAGS, page_names
from mdvec.interfaces.site.node import find_node
from mdvec.interfaces.site.output import Output
from mdvec.interfaces.site.pages import WORDS, all_notes_page, home_page, note_page, sidebar, tag_pages
from mdvec.text.folding import fold_characters, nfc
from mdvec.text.scripts import holds_unspaced
from mdvec.types.links import LinkState
from mdvec.types.page import Page, PageEntry

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

_TEMPLATE = {
    "package.json": "package.json",
    "package-lock.json": "package-lock.json",
    ".vitepress/config.mjs": "config.mjs",
    ".vitepress/theme/index.js": "theme/index.js",
    ".vitepress/theme/mdvec.css": "theme/mdvec.css",
}
_LANGUAGES = tuple(WORDS)
_DEAD_LINKS = "dead-links.txt"
SETTINGS = ".vitepress/site.json"
"""Of a project: what VitePress and the preview need to know."""
_BASE_PART = re.compile(r"[-_.]*[A-Za-z0-9][-\w.]*", re.ASCII)


@dataclass(slots=True)
class SiteReport:
    """The outcome of a build.

    Attributes:
        pages: Pages of documents.
        tags: Pages of tags.
        files: Images and other files.
        written: Files of the project that are new or changed.
        removed: Files of the project that are gone.
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


def build_site(
    workspace: Workspace,
    collection: str,
    folder: Path,
    *,
    base: str,
    language: str | None,
    project_only: bool,
    note: Callable[[str], None],
) -> SiteReport:
    """Write the project, and build it.

    Args:
        workspace: Holds the collection.
        collection: Its name.
        folder: Of the project: empty, or one that an earlier build wrote.
        base: The path of the site on its host.
        language: Of the site's own words: ``en`` or ``ja``; that of most titles when None.
        project_only: Whether to leave Node alone.
        note: Shows a line of progress.

    Raises:
        CollectionNotFoundError: If there is no such collection.
        UsageError: If ``base`` is no path, the language is unknown, or the collection holds no page.
        SiteError: If the folder is another's, or Node is missing or fails.
    """
    base = _checked_base(base)
    if language is not None and language not in _LANGUAGES:
        msg = f"no words for the language {language!r}"
        raise UsageError(msg, hint=f"Known: {', '.join(_LANGUAGES)}.")
    node = None if project_only else find_node()  # before anything is written
    entries = workspace.pages.entries(collection)
    shown = [entry for entry in entries if not (entry.superseded or _is_draft(entry.properties))]
    if not shown:
        msg = f"{collection} has no document for a site"
        raise UsageError(msg, hint=f"Run: mdvec import -n {collection}")
    language = language or _language_of(shown)
    report = SiteReport(pages=len(shown), left_out=len(entries) - len(shown), dead_list=folder / _DEAD_LINKS)
    with Output(folder) as output:
        output.write(".mdvecignore", b"*\n")  # the project may lie in the folder it is made of
        for place, source in _TEMPLATE.items():
            output.write(place, _template(source))
        _write_pages(workspace, collection, shown, base, language, output, report)
    report.written, report.removed = output.written, output.removed
    if node is not None:
        note(f"{report.pages} pages written to {folder}; building the site")
        node.install(folder)
        node.build(folder)
        report.built = folder / "dist"
    return report


def _write_pages(
    workspace: Workspace,
    collection: str,
    shown: Sequence[PageEntry],
    base: str,
    language: str,
    output: Output,
    report: SiteReport,
) -> None:
    titles = {entry.path: entry.title for entry in shown}
    names = page_names(titles)
    tagged = _by_tag(shown)
    addresses = SiteAddresses(workspace, base=base, pages=names, tags=tagged)
    described = workspace.collection(collection)
    report.dead_links = _write_notes(workspace, collection, titles, names, addresses, language, output)
    if "index" not in names.values():
        home = home_page(described.name, described.description, shown, addresses, language)
        output.write("pages/index.md", home.encode())
    output.write(f"pages/{NOTES}.md", all_notes_page(titles, addresses, language).encode())
    for place, text in tag_pages(tagged, collection, addresses, language).items():
        output.write(f"pages/{place}.md", text.encode())
    report.tags, report.files = len(tagged), len(addresses.files)
    folders = json.dumps(sidebar(names, titles), ensure_ascii=False).encode()
    words = WORDS[language]
    site = {
        "base": base,
        "language": language,
        "title": described.name,
        "description": described.description,
        "nav": [
            {"text": words["all"], "link": f"/{NOTES}.html"},
            *([{"text": words["tags"], "link": f"/{TAGS}/"}] if tagged else []),
        ],
        "sidebarAddress": addresses.add_file("sidebar.json", folders),
        "iconAddress": addresses.add_file("icon.svg", _icon()),
    }
    for place, content in addresses.files.items():
        output.write(f"pages/public/{place}", content)
    output.write(SETTINGS, json.dumps(site, ensure_ascii=False, indent=1).encode())


def _by_tag(entries: Sequence[PageEntry]) -> dict[str, list[PageEntry]]:
    """Return the pages of each tag, in its first spelling."""
    tagged: dict[str, list[PageEntry]] = {}
    spelled: dict[str, str] = {}
    for entry in entries:
        for tag in entry.tags:
            tagged.setdefault(spelled.setdefault(fold_characters(tag), tag), []).append(entry)
    return tagged


def _write_notes(
    workspace: Workspace,
    collection: str,
    titles: Mapping[str, str],
    names: Mapping[str, str],
    addresses: SiteAddresses,
    language: str,
    output: Output,
) -> list[tuple[str, str]]:
    """Write the page of each note, and list the links that lead to nothing."""
    dead: list[tuple[str, str]] = []
    anchors = Anchors()
    for path, name in names.items():
        page = workspace.pages.read(path, collection, addresses)
        output.write(f"pages/{name}.md", note_page(page, titles, addresses, language).encode())
        anchors.read(path, addresses.document(collection, path) or "", page.html)
        dead.extend(_dead_links(page, titles))
    for path, file in addresses.missing:
        text = workspace.read(path, collection=collection).text
        dead.extend((place, file) for place in _places_of(file, path, text))
    dead.extend(anchors.missing())
    dead.sort(key=_in_reading_order)
    if dead:
        listed = "".join(f"{place}\t{target}\n" for place, target in dead)
        output.write(_DEAD_LINKS, listed.encode())
    return dead


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


def _template(name: str) -> bytes:
    return resources.files("mdvec.interfaces.site").joinpath("project", *name.split("/")).read_bytes()


def _icon() -> bytes:
    """Return the icon of the page, which is that of the site."""
    return resources.files("mdvec.interfaces.web").joinpath("static", "icon.svg").read_bytes()


def _checked_base(base: str) -> str:
    inner = base.strip("/")
    if inner and not all(map(_BASE_PART.fullmatch, inner.split("/"))):
        msg = f"{base!r} is not the path of a site"
        raise UsageError(msg, hint="Write it as in the address of the site, such as /notes/.")
    return f"/{inner}/" if inner else "/"


def _is_draft(properties: Mapping[str, object]) -> bool:
    return properties.get("draft") is True or properties.get("publish") is False


def _language_of(entries: Sequence[PageEntry]) -> str:
    japanese = sum(holds_unspaced(entry.title) for entry in entries)
    return "ja" if japanese * 2 > len(entries) else "en"
