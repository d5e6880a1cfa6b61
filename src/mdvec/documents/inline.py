"""Renders text inside a block as HTML: links, tags, images, footnotes and marked words."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from mdvec.documents.events import JAPANESE
from mdvec.documents.links import RAW_ADDRESS, markdown_link, raw_address
from mdvec.documents.tags import distinct_tags
from mdvec.documents.targets import Targets, anchor_of
from mdvec.documents.tree import Element, plain
from mdvec.text.matches import match_spans
from mdvec.types.document import Link, LinkKind

_IMAGE_SIZE = re.compile(r"(\d{1,4})(?:x(\d{1,4}))?")
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_JAPANESE = re.compile(JAPANESE)
_TAGS = {"Emphasis": "em", "Strong": "strong", "Strikethrough": "s", "Highlight": "mark"}


class Inline(Struct):
    """The writer of text inside blocks.

    Attributes:
        targets: Where links lead.
        footnote: Returns the HTML of a reference, given the label of a footnote or its own node.
        keeps_breaks: Whether the breaks of lines are shown.
        query: Its words are marked.
    """

    targets: Targets
    footnote: Callable[[str | Element], str]
    keeps_breaks: bool = True
    query: str = ""

    def rendered(self, nodes: Sequence[Element], *, linked: bool = False) -> str:
        """Return the HTML of nodes.

        Args:
            nodes: Of one block, in order.
            linked: Whether they are the text of a link, which cannot hold another one.
        """
        return "".join(self._html(nodes, index, linked) for index in range(len(nodes)))

    def _html(self, nodes: Sequence[Element], index: int, linked: bool) -> str:
        node = nodes[index]
        if node.name == "SoftBreak":
            return self._line_break(nodes, index)
        if node.name in {"Link", "Image"}:
            return self._link(node, linked)
        write = _WRITERS.get(node.name)
        if write is not None:
            return write(self, node)
        inside = self.rendered(node.children, linked=linked)
        tag = _TAGS.get(node.name)
        return f"<{tag}>{inside}</{tag}>" if tag and inside else inside

    def _tag(self, node: Element) -> str:
        [name] = distinct_tags([node.text])
        return f'<a class="tag" href="{html.escape(self.targets.tag(name))}">{html.escape(node.text)}</a>'

    def _line_break(self, nodes: Sequence[Element], index: int) -> str:
        if self.keeps_breaks:
            return "<br>\n"
        # Wrapped Japanese continues without a space.
        around = plain(nodes[max(0, index - 1) : index])[-1:] + plain(nodes[index + 1 : index + 2])[:1]
        return "" if len(around) == len("語語") and all(map(_JAPANESE.match, around)) else "\n"

    # --- links and images --------------------------------------------------------------------------------

    def _link(self, node: Element, linked: bool) -> str:
        address, link = str(node.details["dest_url"]), node.details["mark"]
        if isinstance(node.details.get("link_type"), dict):
            return self._wikilink(link) if link else self._brackets(node, linked)
        if node.name == "Image":
            return self._image(address, html.escape(plain(node.children)), linked)
        shown = self.rendered(node.children, linked=True)
        if linked:
            return shown
        if _REMOTE.match(address) or node.details.get("link_type") == "Email":
            scheme = "" if _REMOTE.match(address) else "mailto:"
            return f'<a class="external" href="{html.escape(scheme + address)}">{shown}</a>'
        return self._anchor(link or markdown_link(address, line=1), shown)

    def _brackets(self, node: Element, linked: bool) -> str:
        """Return what looks like a wikilink, of signs that no file has in its name."""
        sign = "![[" if node.name == "Image" else "[["
        return f"{sign}{self.rendered(node.children, linked=linked)}]]"

    def _anchor(self, link: Link, shown: str) -> str:
        href = self.targets.link(link)
        if href is None:
            return f'<a class="missing">{shown}</a>'
        fragment = anchor_of(link.fragment)
        address = html.escape(href + (f"#{fragment}" if fragment else ""))
        return f'<a class="internal" href="{address}">{shown}</a>'

    def _wikilink(self, link: Link) -> str:
        link = self.targets.meant(link)
        if link.kind is LinkKind.EMBED and (source := self.targets.image(link)) is not None:
            size = _IMAGE_SIZE.fullmatch(link.text)
            width = f' width="{size[1]}"' if size else ""
            height = f' height="{size[2]}"' if size and size[2] else ""
            alt = link.target if size or not link.text else link.text
            return f'<img src="{html.escape(source)}" alt="{html.escape(alt)}"{width}{height} loading="lazy">'
        shown = link.text or " › ".join(filter(None, (link.target, *link.fragment.split("#"))))
        return self._anchor(link, html.escape(shown))

    def _image(self, address: str, alt: str, linked: bool) -> str:
        remote = _REMOTE.match(address)  # a request would tell its host who reads what
        source = None if remote else self.targets.image(markdown_link(address, line=1))
        if source is not None:
            return f'<img src="{html.escape(source)}" alt="{alt}" loading="lazy">'
        text = alt or html.escape(address)
        if linked:
            return text
        attributes = f'class="external" href="{html.escape(address)}"' if remote else 'class="missing"'
        return f"<a {attributes}>{text}</a>"


_WRITERS: Mapping[str, Callable[[Inline, Element], str]] = {
    "Text": lambda inline, node: with_marks(node.text, inline.query),
    "Code": lambda _, node: f"<code>{html.escape(node.text)}</code>",
    "InlineMath": lambda _, node: f'<span class="math">{html.escape(f"${node.text}$")}</span>',
    "DisplayMath": lambda _, node: f'<span class="math">{html.escape(f"$${node.text}$$")}</span>',
    "InlineHtml": lambda inline, node: resolved(node.text, inline.targets),
    "HardBreak": lambda *_: "<br>\n",
    "FootnoteReference": lambda inline, node: inline.footnote(node.text),
    "Note": lambda inline, node: inline.footnote(node),
    "Tag": Inline._tag,
}


def with_marks(text: str, query: str) -> str:
    """Escape a text, and mark the words of a query in it."""
    parts: list[str] = []
    position = 0
    for start, end in match_spans(query, text) if query else ():
        parts += (
            html.escape(text[position:start]),
            f'<mark class="word">{html.escape(text[start:end])}</mark>',
        )
        position = end
    return "".join((*parts, html.escape(text[position:])))


def resolved(raw: str, targets: Targets) -> str:
    """Resolve the addresses in raw HTML; a missing image is replaced by its text."""

    def address_of(match: re.Match[str]) -> str:
        address = raw_address(match)
        if not address or address.startswith("#") or _REMOTE.match(address):
            return match[0]
        link = markdown_link(address, line=1)
        is_image = match["before"][1] in "iI"
        found = (targets.image(link) if is_image else targets.link(link)) or ""
        fragment = anchor_of(link.fragment) if found and not is_image else ""
        return f'{match["before"]}"{html.escape(found + (f"#{fragment}" if fragment else ""))}"'

    return RAW_ADDRESS.sub(address_of, raw)
