"""The pages of a site as Markdown files whose body is finished HTML.

Nothing of a note reaches the Markdown or the templates of VitePress: a body is sanitised HTML inside
``v-pre``, on lines none of which is blank, so that it stays one block.
"""

from __future__ import annotations

import datetime as dt
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from mdvec.interfaces.site.names import TAGS
from mdvec.types.page import Page, PageEntry

if TYPE_CHECKING:
    from mdvec.interfaces.site.addresses import SiteAddresses

WORDS = {
    "en": {
        "backlinks": "Linked from",
        "created": "Created",
        "updated": "Updated",
        "tags": "Tags",
        "notes": "Notes",
        "recent": "Recently changed",
        "documents": "{} notes",
    },
    "ja": {
        "backlinks": "このノートへのリンク",
        "created": "作成",
        "updated": "更新",
        "tags": "タグ",
        "notes": "ノート",
        "recent": "最近の更新",
        "documents": "{} 件",
    },
}
"""What the pages themselves say, by language."""

_RECENT = 20
_HEADING = re.compile(r'<h([1-6])([^>]*?) id="([^"]+)"([^>]*)>(.*?)</h\1>', re.DOTALL)
_NEWLINE_BEFORE_BLANK = re.compile(r"\n(?=[ \t]*(?:\n|$))")
_BETWEEN_TAGS = re.compile(r"(<pre\b.*?</pre>)|(?<=>)\s*\n\s*(?=<)", re.DOTALL)
_CREATED = ("created", "date")
_UPDATED = ("updated", "modified", "lastmod")


def note_page(page: Page, titles: Mapping[str, str], addresses: SiteAddresses, language: str) -> str:
    """Return the page of a document."""
    words = WORDS[language]
    begins_with_title = page.html.lstrip().startswith("<h1")
    parts = [] if begins_with_title else [f'<h1 id="title">{html.escape(page.title)}</h1>']
    head = [*_dates(page.properties, words), *(_tag(tag, page.collection, addresses) for tag in page.tags)]
    if head:
        parts.append(f'<p class="note-head">{" ".join(head)}</p>')
    parts.append(page.html)
    sources = dict.fromkeys(link.path for link in page.links.backlinks if link.path in titles)
    if sources:
        items = (_item(addresses.document("", path), titles[path]) for path in sources)
        title = html.escape(words["backlinks"])
        parts.append(
            f'<section class="backlinks"><h2 id="backlinks">{title}</h2><ul>{"".join(items)}</ul></section>'
        )
    return _page(page.title, "\n".join(parts))


def tag_pages(
    tagged: Mapping[str, Sequence[PageEntry]], collection: str, addresses: SiteAddresses, language: str
) -> dict[str, str]:
    """Return the page of each tag and that of all of them, by their place on the site."""
    words = WORDS[language]
    pages = {}
    for tag, documents in tagged.items():
        items = (_item(addresses.document("", each.path), each.title) for each in documents)
        body = f'<h1 id="tag">{html.escape(f"#{tag}")}</h1><ul>{"".join(items)}</ul>'
        pages[addresses.tag_page(tag) or ""] = _page(f"#{tag}", body)
    every = (
        f"<li>{_tag(tag, collection, addresses)} {words['documents'].format(len(documents))}</li>"
        for tag, documents in sorted(tagged.items(), key=lambda each: (-len(each[1]), each[0]))
    )
    pages[f"{TAGS}/index"] = _page(
        words["tags"], f'<h1 id="tags">{html.escape(words["tags"])}</h1><ul>{"".join(every)}</ul>'
    )
    return pages


def home_page(
    title: str, description: str, documents: Iterable[PageEntry], addresses: SiteAddresses, language: str
) -> str:
    """Return the first page of a site whose collection has none: what changed last."""
    words = WORDS[language]
    newest = sorted(documents, key=lambda each: (-each.modified_ns, each.path))[:_RECENT]
    items = "".join(_item(addresses.document("", each.path), each.title) for each in newest)
    body = f'<h1 id="home">{html.escape(title)}</h1>'
    if description:
        body += f"<p>{html.escape(description)}</p>"
    body += f'<h2 id="recent">{html.escape(words["recent"])}</h2><ul>{items}</ul>'
    return _page(title, body)


def sidebar(pages: Mapping[str, str], titles: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the folders of the site as VitePress lists them: folders first, then pages by title."""
    root: dict[str, dict[str, object]] = {}
    folders: dict[str, list[dict[str, object]]] = {"": []}
    for path in sorted(pages, key=lambda each: (titles[each].casefold(), each)):
        page = pages[path]
        folder = page.rpartition("/")[0]
        _open_folder(folder, folders, root)
        link = "/" + page.removesuffix("index") if page.endswith("index") else f"/{page}.html"
        folders[folder].append({"text": titles[path], "link": link})
    return _sorted_items(folders[""])


def _open_folder(
    folder: str, folders: dict[str, list[dict[str, object]]], known: dict[str, dict[str, object]]
) -> None:
    if folder in folders:
        return
    parent, _, name = folder.rpartition("/")
    _open_folder(parent, folders, known)
    folders[folder] = []
    known[folder] = {"text": name, "collapsed": True, "items": folders[folder]}
    folders[parent].append(known[folder])


def _sorted_items(items: list[dict[str, object]]) -> list[dict[str, object]]:
    inner = [each for each in items if "items" in each]
    for folder in inner:
        below = folder["items"]
        folder["items"] = _sorted_items(below) if isinstance(below, list) else below
    inner.sort(key=lambda each: str(each["text"]).casefold())
    return [*inner, *(each for each in items if "items" not in each)]


def _page(title: str, body: str) -> str:
    # Vue drops white space between two tags if it holds a newline, also where it parts two words.
    spaced = _BETWEEN_TAGS.sub(lambda match: match[1] or " ", _with_anchors(body).strip())
    one_block = _NEWLINE_BEFORE_BLANK.sub("&#10;", spaced)
    # JSON is YAML.
    frontmatter = f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n---\n\n"
    return f'{frontmatter}<div v-pre class="note">{one_block}</div>\n'


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


def _dates(properties: Mapping[str, object], words: Mapping[str, str]) -> list[str]:
    found = []
    for names, word in ((_CREATED, "created"), (_UPDATED, "updated")):
        value = next((properties[name] for name in names if properties.get(name)), None)
        if isinstance(value, dt.date):
            value = value.isoformat()[:10]
        if isinstance(value, str):
            found.append(f'<span class="date">{html.escape(words[word])} {html.escape(value[:40])}</span>')
    return found


def _tag(tag: str, collection: str, addresses: SiteAddresses) -> str:
    href = html.escape(addresses.tag(collection, tag))
    return f'<a class="tag" href="{href}">{html.escape(f"#{tag}")}</a>'


def _item(href: str | None, title: str) -> str:
    return f'<li><a href="{html.escape(href or "")}">{html.escape(title)}</a></li>'
