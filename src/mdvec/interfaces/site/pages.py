"""The pages of a site: titles as text, bodies as finished HTML, and the sections that its search finds."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from mdvec.interfaces.site.addresses import TAGS, SiteAddresses, address
from mdvec.templates import Templates, html_templates
from mdvec.text.links import converter_of, names_other_file
from mdvec.types.page import Page, PageEntry

WORDS = {
    "en": {
        "backlinks": "Linked from",
        "created": "Created",
        "updated": "Updated",
        "tags": "Tags",
        "recent": "Recently changed",
        "all": "All notes",
        "original": "Open the file",
        "documents": "{} notes",
    },
    "ja": {
        "backlinks": "このノートへのリンク",
        "created": "作成",
        "updated": "更新",
        "tags": "タグ",
        "recent": "最近の更新",
        "all": "すべてのノート",
        "original": "元のファイルを開く",
        "documents": "{} 件",
    },
}
"""The words of the pages themselves, by language."""

SidebarItem = dict[str, object]
"""A page, or a folder with the items in it."""

_RECENT = 20
_HEADING = re.compile(r'<h([1-6])([^>]*?) id="([^"]+)"([^>]*)>(.*?)</h\1>', re.DOTALL)
_CREATED = ("created", "date")
_UPDATED = ("updated", "modified", "lastmod")


class SitePage(Struct, frozen=True):
    """A page of the site.

    Attributes:
        title: Text.
        html: Its body, sanitised.
    """

    title: str
    html: str


def note_page(page: Page, titles: Mapping[str, str], addresses: SiteAddresses, language: str) -> SitePage:
    """Return the page of a document."""
    sources = dict.fromkeys(link.path for link in page.links.backlinks if link.path in titles)
    has_original = page.file and converter_of(page.path) and names_other_file(page.path)
    return _page(
        "note.html",
        page.title,
        addresses,
        language,
        page=page,
        original=addresses.file(page.collection, page.path, "") if has_original else None,
        dates=list(_dates(page.properties)),
        backlinks=[(path, titles[path]) for path in sources],
    )


def tag_pages(
    tagged: Mapping[str, Sequence[PageEntry]], collection: str, addresses: SiteAddresses, language: str
) -> dict[str, SitePage]:
    """Return the page of each tag and the page of all tags, by their place on the site."""
    pages = {}
    for tag, documents in tagged.items():
        listed = [(each.path, each.title) for each in documents]
        page = _page("tag.html", f"#{tag}", addresses, language, tag=tag, documents=listed)
        pages[addresses.tag_page(tag) or ""] = page
    most_used_first = sorted(tagged.items(), key=lambda each: (-len(each[1]), each[0]))
    title = WORDS[language]["tags"]
    pages[f"{TAGS}/index"] = _page(
        "tags.html", title, addresses, language, collection=collection, tags=most_used_first
    )
    return pages


def home_page(
    title: str, description: str, documents: Iterable[PageEntry], addresses: SiteAddresses, language: str
) -> SitePage:
    """Return the first page of a site whose collection has none: the latest changes."""
    newest = sorted(documents, key=lambda each: (-each.updated_ns, each.path))[:_RECENT]
    listed = [(each.path, each.title) for each in newest]
    return _page("home.html", title, addresses, language, description=description, newest=listed)


def all_notes_page(titles: Mapping[str, str], addresses: SiteAddresses, language: str) -> SitePage:
    """Return the page that leads to every note, also without scripts."""
    listed = sorted(titles.items(), key=lambda each: (each[1].casefold(), each[0]))
    return _page("notes.html", WORDS[language]["all"], addresses, language, documents=listed)


def sidebar(pages: Mapping[str, str], titles: Mapping[str, str]) -> list[SidebarItem]:
    """Return the folders of the site as VitePress lists them: folders first, then pages by title.

    VitePress takes the texts for HTML.
    """
    listed: list[tuple[str, SidebarItem]] = []
    for path in sorted(pages, key=lambda each: (titles[each].casefold(), each)):
        page = pages[path]
        listed.append((page, {"text": html.escape(titles[path]), "link": unquote(address("/", page))}))
    return _folder_items(listed)


def _folder_items(listed: Sequence[tuple[str, SidebarItem]]) -> list[SidebarItem]:
    """Return the items of a folder; each page comes with its path below it."""
    pages: list[SidebarItem] = []
    folders: dict[str, list[tuple[str, SidebarItem]]] = {}
    for path, item in listed:
        folder, slash, below = path.partition("/")
        if slash:
            folders.setdefault(folder, []).append((below, item))
        else:
            pages.append(item)
    inner: list[SidebarItem] = [
        {"text": html.escape(name), "collapsed": True, "items": _folder_items(folders[name])}
        for name in sorted(folders, key=str.casefold)
    ]
    return [*inner, *pages]


def _page(template: str, title: str, addresses: SiteAddresses, language: str, **values: object) -> SitePage:
    filled = _templates().get_template(template)
    body = filled.render(values, title=title, addresses=addresses, words=WORDS[language])
    return SitePage(title, _with_anchors(body).strip())


@cache
def _templates() -> Templates:
    return html_templates("mdvec.interfaces.site")


def _with_anchors(body: str) -> str:
    """Give headings the links by which VitePress's search finds sections; each id counts once, as there."""
    seen: set[str] = set()

    def linked(match: re.Match[str]) -> str:
        level, before, anchor, after, text = match.groups()
        if anchor in seen:
            return f"<h{level}{before}{after}>{text}</h{level}>"
        seen.add(anchor)
        link = (
            f'<a class="header-anchor" href="#{anchor}" aria-hidden="true" tabindex="-1">&ZeroWidthSpace;</a>'
        )
        return f'<h{level}{before} id="{anchor}"{after} tabindex="-1">{text} {link}</h{level}>'

    return _HEADING.sub(linked, body)


def _dates(properties: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the dates of a document, each after the key of its word."""
    for names, word in ((_CREATED, "created"), (_UPDATED, "updated")):
        value = next((properties[name] for name in names if properties.get(name)), None)
        if isinstance(value, dt.date):
            value = value.isoformat()[:10]
        if isinstance(value, str):
            yield word, value[:40]


_TAG = re.compile(r"""<(?:"[^"]*"|[^">])*>""")
# The text of the link that VitePress shows next to a heading.
_ZERO_WIDTH_SPACE = "\u200b"


def sections(page: SitePage, address: str) -> Iterator[dict[str, Any]]:
    """Yield the sections of a page as VitePress searches and shows them, from each heading with an id on.

    Yields:
        Address, title, titles of the sections around it, and text. VitePress takes the titles for HTML.
    """
    headings = list(_HEADING.finditer(page.html))
    starts = [each.start() for each in headings] + [len(page.html)]
    if text := _plain(page.html[: starts[0]]):
        title = html.escape(" ".join(page.title.split()))
        yield {"id": address, "title": title, "titles": [], "text": text}
    above: dict[int, str] = {}
    for heading, end in zip(headings, starts[1:], strict=True):
        title = html.escape(_plain(heading[5]) or page.title)
        above = {level: each for level, each in above.items() if level < int(heading[1])}
        text = _plain(page.html[heading.end() : end])
        yield {
            "id": f"{address}#{html.unescape(heading[3])}",
            "title": title,
            "titles": [*above.values()],
            "text": text,
        }
        above[int(heading[1])] = title


def _plain(part: str) -> str:
    """Return the text of HTML."""
    return " ".join(html.unescape(_TAG.sub(" ", part)).replace(_ZERO_WIDTH_SPACE, "").split())
