"""The sections of pages, which the search of a site finds."""

from __future__ import annotations

import html
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from mdvec.interfaces.site.pages import SitePage

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# The text of the link that VitePress shows next to a heading.
_ZERO_WIDTH_SPACE = "\u200b"


def sections(page: SitePage, address: str) -> Iterator[dict[str, Any]]:
    """Yield the sections of a page as VitePress searches and shows them.

    Args:
        page: The page.
        address: Its address.

    Yields:
        Address, title, titles of the sections around it, and text. VitePress takes the titles for HTML.
    """
    reader = _Reader(page.title)
    reader.feed(page.html)
    reader.close()
    above: dict[int, str] = {}
    for section in reader.sections:
        title = html.escape(_plain(section.title) or page.title)
        above = {level: text for level, text in above.items() if level < section.level}
        text = _plain(section.text)
        if section.anchor:
            yield {
                "id": f"{address}#{section.anchor}",
                "title": title,
                "titles": [*above.values()],
                "text": text,
            }
            above[section.level] = title
        elif text:  # above the first heading
            yield {"id": address, "title": title, "titles": [], "text": text}


class _Section:
    def __init__(self, level: int, anchor: str) -> None:
        self.level = level
        self.anchor = anchor
        self.title: list[str] = []
        self.text: list[str] = []


class _Reader(HTMLParser):
    """Cuts HTML at the headings that have an id of their own."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.sections = [_Section(0, "")]
        self._anchors: set[str] = set()
        self._into = self.sections[0].text
        self.sections[0].title.append(title)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        anchor = dict(attrs).get("id")
        if tag in _HEADINGS and anchor and anchor not in self._anchors:
            self._anchors.add(anchor)
            self.sections.append(_Section(int(tag[1]), anchor))
            self._into = self.sections[-1].title
        self._into.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._into = self.sections[-1].text
        self._into.append(" ")

    def handle_data(self, data: str) -> None:
        self._into.append(data)


def _plain(parts: list[str]) -> str:
    return " ".join("".join(parts).replace(_ZERO_WIDTH_SPACE, "").split())
