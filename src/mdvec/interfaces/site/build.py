"""Writes a VitePress project of a collection, and has Node build it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mdvec.errors import SiteError, UsageError
from mdvec.interfaces.site.addresses import Anchors, SiteAddresses
from mdvec.interfaces.site.names import NOTES, PAGES, TAGS, address, page_names
from mdvec.interfaces.site.node import Node, find_node
from mdvec.interfaces.site.output import Output
from mdvec.interfaces.site.pages import (
    WORDS,
    SitePage,
    all_notes_page,
    home_page,
    note_page,
    sidebar,
    tag_pages,
)
from mdvec.interfaces.site.sections import sections
from mdvec.text.folding import fold_characters, nfc
from mdvec.text.scripts import holds_unspaced
from mdvec.types.links import LinkState
from mdvec.types.page import Page, PageEntry

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

_PACKAGES = ("package.json", "package-lock.json")
_PROGRAMS = ("config.mjs", "theme/index.js", "theme/mdvec.css", "theme/pages.js", "theme/search.js")
_STUB = (
    b"<!-- The text of this page is data, which theme/pages.js shows: no text of a note is a program. -->\n"
)
_LANGUAGES = tuple(WORDS)
_DEAD_LINKS = "dead-links.txt"
# Of a folder of the user's: what is no part of a project.
_NOT_OWN = ("node_modules/", "dist/", ".git/", ".vitepress/cache/", ".vitepress/dist/")
BUILT = "dist"
"""The folder of the finished site."""
SETTINGS = ".vitepress/site.json"
"""What VitePress and the preview need to know."""
_OWN_SETTINGS = ".vitepress/site.local.mjs"
_BASE_PART = re.compile(r"[-_.]*[A-Za-z0-9][-\w.]*", re.ASCII)


@dataclass(slots=True)
class SiteReport:
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


def build_site(
    workspace: Workspace,
    collection: str,
    folder: Path,
    *,
    base: str,
    language: str | None,
    project_only: bool,
    note: Callable[[str], None],
    custom: Path | None = None,
) -> SiteReport:
    """Build a site, or write the project that VitePress builds it from.

    Args:
        workspace: Holds the collection.
        collection: Its name.
        folder: Of the site or the project: empty, or one that an earlier build wrote.
        base: The path of the site on its host.
        language: Of the site's own words: ``en`` or ``ja``; that of most titles when None.
        project_only: Whether to write the project, and leave Node alone.
        note: Shows a line of progress.
        custom: A folder of the user's with files to add to the project. Its programs run.

    Raises:
        CollectionNotFoundError: If there is no such collection.
        UsageError: If ``base`` is no path, the language is unknown, or the collection holds no page.
        SiteError: If the folder is another's, or Node is missing or fails.
    """
    base = checked_base(base)
    if language is not None and language not in _LANGUAGES:
        msg = f"no words for the language {language!r}"
        raise UsageError(msg, hint=f"Known: {', '.join(_LANGUAGES)}.")
    node = None if project_only else find_node()  # before anything is written
    entries = workspace.pages.entries(collection)
    shown = [entry for entry in entries if not (entry.superseded or _is_draft(entry.properties))]
    if not shown:
        msg = f"{collection} has no document for a site"
        raise UsageError(msg, hint=f"Run: mdvec import -n {collection}")
    report = SiteReport(pages=len(shown), left_out=len(entries) - len(shown), dead_list=folder / _DEAD_LINKS)
    with Output(folder) as output:
        output.write(".mdvecignore", b"*\n")  # the site may lie in the folder it is made of
        files = _Project(workspace, collection, shown, base, language or _language_of(shown), report).files()
        if node is None:
            for place, content in _with_own(files, custom):
                output.write(place, content)
        else:
            if custom is None and (folder / _OWN_SETTINGS).exists():
                note(f"{folder / _OWN_SETTINGS} is not used: name a folder with your settings by --custom")
            _build(node, _with_own(files, custom), output, report, note)
            report.built = folder / BUILT
        if report.dead_links:
            listed = "".join(f"{place}\t{target}\n" for place, target in report.dead_links)
            output.write(_DEAD_LINKS, _encoded(listed))
    report.written, report.removed = output.written, output.removed
    return report


def _build(
    node: Node,
    files: Iterator[tuple[str, bytes]],
    output: Output,
    report: SiteReport,
    note: Callable[[str], None],
) -> None:
    """Write the project into a folder of ours, have Node build it, and take over the result."""
    with node.project({name: _program(name) for name in _PACKAGES}) as project:
        for place, content in files:
            path = project / PurePosixPath(place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        note(f"building the site of {report.pages} pages")
        built = node.build(project)
        for path in sorted(built.rglob("*")):
            if path.is_file():
                output.write(f"{BUILT}/{path.relative_to(built).as_posix()}", path.read_bytes())
        output.write(SETTINGS, (project / SETTINGS).read_bytes())
    output.empty(BUILT)


def _with_own(files: Iterator[tuple[str, bytes]], custom: Path | None) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a project, then those of the user's.

    Raises:
        SiteError: If one of the user's has the name of another, or cannot be read.
    """
    taken = set()
    for place, content in files:
        taken.add(place.casefold())
        yield place, content
    for path in sorted(custom.rglob("*")) if custom is not None else ():
        place = path.relative_to(custom or path).as_posix()
        if path.is_dir() or place.startswith(_NOT_OWN):
            continue
        if place.casefold() in taken:
            msg = f"{path} would replace a file of mdvec's"
            raise SiteError(msg, hint="Rename it.")
        try:
            yield place, path.read_bytes()
        except OSError as error:
            msg = f"{path} cannot be read: {error.strerror or error}"
            raise SiteError(msg) from error


class _Project:
    """The project of a site, whose programs are ours: all that comes from notes is data."""

    def __init__(
        self,
        workspace: Workspace,
        collection: str,
        shown: Sequence[PageEntry],
        base: str,
        language: str,
        report: SiteReport,
    ) -> None:
        self._workspace = workspace
        self._collection = collection
        self._shown = shown
        self._base = base
        self._language = language
        self._report = report
        self._sections: list[dict[str, Any]] = []

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the place and the content of each file; the report is complete after the last."""
        yield from ((name, _program(name)) for name in _PACKAGES)
        yield from ((f".vitepress/{name}", _program(name)) for name in _PROGRAMS)
        titles = {entry.path: entry.title for entry in self._shown}
        names = page_names(titles)
        tagged = _by_tag(self._shown)
        language = self._language
        addresses = SiteAddresses(self._workspace, base=self._base, pages=names, tags=tagged)
        described = self._workspace.collection(self._collection)
        yield from self._notes(titles, names, addresses)
        if "index" not in names.values():
            home = home_page(described.name, described.description, self._shown, addresses, language)
            yield from self._page("index", home)
        yield from self._page(NOTES, all_notes_page(titles, addresses, language), is_found=False)
        for name, page in tag_pages(tagged, self._collection, addresses, language).items():
            yield from self._page(name, page)
        self._report.tags, self._report.files = len(tagged), len(addresses.files)
        words = WORDS[language]
        site = {
            "base": self._base,
            "language": language,
            "title": described.name,
            "description": described.description,
            "nav": [
                {"text": words["all"], "link": f"/{NOTES}.html"},
                *([{"text": words["tags"], "link": f"/{TAGS}/"}] if tagged else []),
            ],
            "sidebarAddress": addresses.add_file("sidebar.json", _json(sidebar(names, titles))),
            "iconAddress": addresses.add_file("icon.svg", _icon()),
        }
        for place, content in addresses.files.items():
            yield f"pages/public/{place}", content
        yield ".vitepress/search.json", _json(self._sections)
        yield SETTINGS, _json(site)

    def _page(self, name: str, page: SitePage, *, is_found: bool = True) -> Iterator[tuple[str, bytes]]:
        """Yield what VitePress compiles, which is the same for every page, and the data that is shown."""
        yield f"pages/{name}.md", _STUB
        yield f"pages/public/{PAGES}/{name}.json", _json({"title": page.title, "html": page.html})
        if is_found:
            self._sections += sections(page, address(self._base, name))

    def _notes(
        self, titles: Mapping[str, str], names: Mapping[str, str], addresses: SiteAddresses
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the pages of the notes, and report the links in them that lead to nothing."""
        workspace, collection = self._workspace, self._collection
        dead: list[tuple[str, str]] = []
        anchors = Anchors()
        for path, name in names.items():
            page = workspace.pages.read(path, collection, addresses)
            yield from self._page(name, note_page(page, titles, addresses, self._language))
            anchors.read(path, addresses.document(collection, path) or "", page.html)
            dead.extend(_dead_links(page, titles))
        for path, file in addresses.missing:
            text = workspace.read(path, collection=collection).text
            dead.extend((place, file) for place in _places_of(file, path, text))
        dead.extend(anchors.missing())
        self._report.dead_links = sorted(dead, key=_in_reading_order)


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
    return _encoded(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")  # halves of surrogate pairs


def _program(name: str) -> bytes:
    return resources.files("mdvec.interfaces.site").joinpath("project", *name.split("/")).read_bytes()


def _icon() -> bytes:
    """Return the icon of the page, which is that of the site."""
    return resources.files("mdvec.interfaces.web").joinpath("static", "icon.svg").read_bytes()


def checked_base(base: str) -> str:
    """Return the path of a site with a slash at both ends.

    Raises:
        UsageError: If it is no path.
    """
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
