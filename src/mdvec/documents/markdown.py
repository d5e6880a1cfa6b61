"""Markdown: headings, blocks, links and inline tags, as CommonMark sees them."""

from __future__ import annotations

import html
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mdvec.documents.events import Event, MarkdownSource, Places, named, unpacked
from mdvec.documents.links import RAW_ADDRESS, WIKILINK, markdown_link, raw_address, wikilink
from mdvec.documents.tags import INLINE_TAG, is_inline_tag
from mdvec.text.links import MARKDOWN_SUFFIXES
from mdvec.types.document import Block, BlockKind, Heading, Link, Section

# A paragraph over a line of dashes is a heading in CommonMark, however long; this is for people.
_MAX_HEADING_CHARS = 1000

_HTML_HEADING = re.compile(
    r"^[ \t]*<h(?P<level>[1-6])\b[^<>]*>(?P<text>(?:(?!</?h[1-6]\b).){0,1000}+)</h(?P=level)>",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
ATTRIBUTES = re.compile(r"(?<!\\)\{:?[ \t]*(?:[#.:][^{}]*|-|[\w-]+=[^{}]*|data-[\w-]+[ \t]*)\}$")
"""Attributes at the end of a heading, as Kramdown, Pandoc and MkDocs write them."""

_HTML_TAG = re.compile(r"<[^<>]*>")

_CONTAINERS = frozenset({"List", "BlockQuote"})
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_KINDS = {"Paragraph": BlockKind.PARAGRAPH, "Heading": BlockKind.HEADING}
_LINKS = frozenset({"Link", "Image"})
_SPANS = _LINKS | {"Emphasis", "Strong"}


class MarkdownContent(Struct, frozen=True):
    """The contents of a Markdown text.

    Attributes:
        headings: The document's own headings, in order.
        blocks: In order, not overlapping; they cover all that is not blank. Each item of a list or a
            quotation is a block, and so is a fence inside it, so that a cut can avoid the fence.
        links: In order of appearance.
        tags: Inline tags as written without ``#``, in order of appearance, repetitions included.
    """

    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]


def read_markdown(body: str, *, content_start: int = 0) -> MarkdownContent:
    r"""Parse a Markdown text.

    Args:
        body: The whole file, line ends as ``\n``.
        content_start: The start of a line; the text before it is skipped.

    Returns:
        The contents; positions and lines are those of ``body``.
    """
    reader = _Reader(body, content_start)
    blocks = tuple(_blocks(body, content_start, reader.spans))
    links = tuple(link for _, link in reader.links)
    tags = tuple(tag for _, tag in reader.tags)
    return MarkdownContent(tuple(reader.headings), blocks, links, tags)


class Marks(Struct, frozen=True):
    """The headings, links and tags of a Markdown text by their first character.

    Attributes:
        headings: By the start of their line.
        links: All but those in the description of an image.
        tags: As written without ``#``, by that sign.
    """

    headings: Mapping[int, Heading]
    links: Mapping[int, Link]
    tags: Mapping[int, str]


def marks_in(body: str) -> Marks:
    """Return what :func:`read_markdown` finds in a text, by place."""
    reader = _Reader(body, 0)
    return Marks({each.start: each for each in reader.headings}, dict(reader.links), dict(reader.tags))


def code_blocks(body: str, *, content_start: int = 0) -> list[tuple[int, int]]:
    """Find fences and indented code; the arguments are those of :func:`read_markdown`.

    Returns:
        First character of each, and one past the last, in order.
    """
    places = Places(body, content_start)
    return [
        places.lines(start, end)
        for name, value, start, end in map(unpacked, MarkdownSource(body, content_start).events())
        if name == "Start" and "CodeBlock" in value
    ]


def one_line(heading: str) -> str:
    """Return a heading or title in one line of at most 1,000 characters."""
    text = " ".join(heading.split())
    return text if len(text) <= _MAX_HEADING_CHARS else f"{text[: _MAX_HEADING_CHARS - 1]}…"


# --- blocks ------------------------------------------------------------------------------------------


def _blocks(body: str, start: int, spans: deque[tuple[BlockKind, int, int]]) -> Iterator[Block]:
    """Cover the text with blocks; text that the parser skips (link definitions) becomes ``OTHER``.

    Spans are consumed, since there may be a million of them.
    """
    position = start
    spans.append((BlockKind.OTHER, len(body), len(body)))
    while spans:
        kind, first, last = spans.popleft()
        begin = max(first, position)
        if begin > position:
            yield from _block(body, BlockKind.OTHER, position, begin)
        if last > begin:
            yield from _block(body, kind, begin, last)
        position = max(begin, last)


def _block(body: str, kind: BlockKind, start: int, end: int) -> Iterator[Block]:
    text = body[start:end]
    stripped = text.rstrip()
    if stripped:
        # Indentation belongs to the block, blank lines before it do not.
        blank = len(stripped) - len(stripped.lstrip())
        lines_end = stripped.rfind("\n", 0, blank) + 1
        yield Block(kind, start + lines_end, start + len(stripped))


# --- headings, links and tags --------------------------------------------------------------------------


class _Reader:
    """Collects headings, blocks, links and tags from the parser's events.

    Args:
        body: The text.
        content_start: Where the parser starts.

    Attributes:
        spans: Kind, first character and one past the last of each block, in order.
        headings: The headings, in order.
        links: First character and link, in order.
        tags: First character and tag as written, in order; -1 for the character of one that is a link, too.
    """

    def __init__(self, body: str, content_start: int) -> None:
        self.spans: deque[tuple[BlockKind, int, int]] = deque()
        self.headings: list[Heading] = []
        self.links: list[tuple[int, Link]] = []
        self.tags: list[tuple[int, str]] = []
        self._body = body
        self._source = MarkdownSource(body, content_start)
        self._places = Places(body, content_start)
        self._open: list[str] = []  # names of the open elements
        self._texts: list[list[str]] = []  # of the open heading and links
        self._link_places: list[int] = []  # positions of the open links in `links`
        self._muted = 0  # number of open elements whose text is ignored
        self._begins_line = False
        self._footnotes_end = -1  # where one would begin that follows the last one
        self._item_start = 0  # of the part of a top container that has no block yet
        self._is_in_heading = False
        self._heading_end: float = math.inf  # where the anchor at a heading's end begins
        self._take_all(self._source.events())

    def _take_all(self, events: Iterable[Event]) -> None:
        take, texts = self._take, self._texts
        for event in events:
            what = event[0]
            if "Text" not in what or texts or "#" in what["Text"]:
                take(*unpacked(event))
            elif not self._muted:  # most events are text that nobody needs
                self._begins_line = False

    def _take(self, name: str, value: Any, start: int, end: int) -> None:
        """Take the next event."""
        match name:
            case "Text" | "Code" if not self._muted:
                self._text(value, start, end, is_code=name == "Code")
            case "Start":
                tag, details = named(value)
                self._begins_line = tag not in _SPANS
                if self._begins_line:
                    self._open_block(tag, details, start, end)
                elif tag in _LINKS:
                    tag = self._open_link(tag, details, start, end)
                self._open.append(tag)
            case "End":
                self._close(self._open.pop(), end)
            case "SoftBreak" | "HardBreak":
                self._show(" ")
                self._begins_line = True
            case "InlineMath" | "DisplayMath":
                self._show(f"${value}$")
                self._begins_line = False
            case "Rule" if not self._open:
                self.spans.append((BlockKind.OTHER, *self._places.lines(start, end)))
            case _:
                self._begins_line = False
                if "Html" in name:
                    self._find_html_links(value, self._places.character(start))

    def _text(self, text: str, start: int, end: int, *, is_code: bool) -> None:
        if self._texts and self._source.is_changed:
            text = self._source.restored(text, self._places.character(start), self._places.character(end))
        if self._heading_end < math.inf and self._places.character(end) > self._heading_end:
            is_cut = self._places.character(start) < self._heading_end
            text = text.rpartition("{")[0] if is_cut else ""
        self._show(text)
        if "#" in text and not is_code and _LINKS.isdisjoint(self._open):
            self._find_tags(self._places.character(start), self._places.character(end))
        self._begins_line = False

    def _show(self, text: str) -> None:
        for shown in self._texts:
            shown.append(text)

    def _find_tags(self, start: int, end: int) -> None:
        for match in INLINE_TAG.finditer(self._body, start):
            if match.start() >= min(end, self._heading_end):
                return
            if is_inline_tag(match, begins_line=self._begins_line and match.start() == start):
                self.tags.append((match.start(), match[1]))

    # --- blocks ------------------------------------------------------------------------------------------

    def _open_block(self, tag: str, details: Any, start: int, end: int) -> None:
        self._muted += tag in {"CodeBlock", "HtmlBlock"}
        is_fence = tag == "CodeBlock" and details != "Indented"
        if not self._open:
            first, last = self._places.lines(start, end)
            self._item_start = first
            if tag == "Heading":
                self._open_heading(first, last, int(details["level"][1:]))
            if tag == "HtmlBlock":
                self._find_html_headings(first, last)
            elif tag == "FootnoteDefinition":
                self._add_footnote(first, last)
            elif tag not in _CONTAINERS:
                kind = BlockKind.FENCE if is_fence else _KINDS.get(tag, BlockKind.OTHER)
                self.spans.append((kind, first, last))
        elif (
            is_fence
            or (tag == "Item" and len(self._open) == 1)
            or (tag == "Heading" and self._is_divided(start))
        ):
            first, last = self._places.lines(start, end)
            if self._item_start < first:
                self.spans.append((BlockKind.OTHER, self._item_start, first))
                self._item_start = first
            if tag != "Item":
                kind = BlockKind.FENCE if is_fence else BlockKind.HEADING
                self.spans.append((kind, self._item_start, last))
                self._item_start = last
            if tag == "Heading":
                self._open_heading(first, last, int(details["level"][1:]))

    def _add_footnote(self, first: int, last: int) -> None:
        """Add a footnote; those without a line between them are one block."""
        end = first + len(self._body[first:last].rstrip())
        if self.spans and self._footnotes_end == first:
            _, first, _ = self.spans.pop()
        self._footnotes_end = end + 1
        self.spans.append((BlockKind.PARAGRAPH, first, last))

    def _is_divided(self, start: int) -> bool:
        """Return True if a heading is in an item of an outline (Logseq), or in an admonition."""
        if self._open != ["BlockQuote"]:
            return self._open == ["List", "Item"]
        first, last = self._places.lines(start, start)
        return self._body[first:last].lstrip()[:1] != ">"

    def _find_html_headings(self, first: int, last: int) -> None:
        for found in _HTML_HEADING.finditer(self._body, first, last):
            text = one_line(html.unescape(_HTML_TAG.sub("", found["text"])))
            if text:
                self.spans.append((BlockKind.OTHER, first, found.start()))
                first = self._body.find("\n", found.end(), last) + 1 or last
                self.spans.append((BlockKind.HEADING, found.start(), first))
                self.headings.append(Heading(int(found["level"]), text, found.start()))
        self.spans.append((BlockKind.OTHER, first, last))

    def _open_heading(self, first: int, last: int, level: int) -> None:
        self.headings.append(Heading(level, "", first))
        self._texts.append([])
        self._heading_end, self._is_in_heading = attributes_start(self._body, first, last), True

    def _close(self, tag: str, end: int) -> None:
        match tag:
            case "Heading" if self._is_in_heading:
                text = _FOOTNOTE.sub("", "".join(self._texts.pop()))
                self.headings[-1] = replace(self.headings[-1], text=one_line(text))
                self._heading_end, self._is_in_heading = math.inf, False
            case "CodeBlock" | "HtmlBlock" | "Wikilink":
                self._muted -= 1
            case "Link":
                self._close_link()
            case "List" | "BlockQuote" if not self._open:
                self.spans.append((BlockKind.OTHER, self._item_start, self._places.line_end(end)))
            case _:
                pass

    # --- links -------------------------------------------------------------------------------------------

    def _open_link(self, tag: str, details: Any, start: int, end: int) -> str:
        """Record a link; return the name under which it is open."""
        at = self._places.character(start)
        is_wikilink = isinstance(details["link_type"], dict)
        if "Image" in self._open:  # a link there is only part of the description
            return "Emphasis"
        match = WIKILINK.match(self._body, at) if is_wikilink else None
        if match is not None:
            if self._body[at - 1 : at] == "#":  # Logseq's tag of several words
                self.tags.append((-1, match[2]))
            link = wikilink(match, line=self._places.line(at))
            self.links.append((at, link))
            self._show(link.text or match[2])
            self._muted += 1
            return "Wikilink"
        if is_wikilink:
            return "Emphasis"  # of signs that no file has in its name
        address = details["dest_url"]
        if self._source.is_changed:
            address = self._source.restored(address, at, self._places.character(end))
        if tag == "Link" or address.partition("#")[0].lower().endswith(MARKDOWN_SUFFIXES):
            tag = "Link"  # an image of a note is an embed
            address = f"mailto:{address}" if details["link_type"] == "Email" else address
            self._texts.append([])
            self._link_places.append(len(self.links))
            self.links.append((at, markdown_link(address, line=self._places.line(at))))
        return tag

    def _find_html_links(self, source: str, start: int) -> None:
        for found in RAW_ADDRESS.finditer(source):
            address = raw_address(found)
            if found[0][1] in "aA" and address:
                link = markdown_link(address, line=self._places.line(start))
                self.links.append((start + found.start(), link))

    def _close_link(self) -> None:
        place = self._link_places.pop()
        text = " ".join("".join(self._texts.pop()).split())
        start, link = self.links[place]
        self.links[place] = start, replace(link, text=text)


def attributes_start(body: str, first: int, last: int) -> float:
    """Return where attributes such as ``{#id .class}`` begin at a heading's end; infinity without any."""
    source = body[first:last].rstrip()
    is_underlined = not source.lstrip().startswith("#")
    content = (source.rpartition("\n")[0] if is_underlined else source.rstrip("#")).rstrip()
    found = ATTRIBUTES.search(content)
    return first + len(content[: found.start()].rstrip()) if found else math.inf


def build_sections(headings: Sequence[Heading], *, content_start: int, length: int) -> tuple[Section, ...]:
    """Arrange headings as a tree.

    A heading's parent is the nearest one before it with a smaller level, so a jump from level 1 to 4
    makes the fourth level a child of the first.

    Returns:
        Sections in document order, the root first; headings without text are left out of the paths.
    """
    subtree_ends = [length] * (len(headings) + 1)
    parents = [0]
    ancestors = [0]
    for ordinal, heading in enumerate(headings, start=1):
        while ancestors[-1] and headings[ancestors[-1] - 1].level >= heading.level:
            subtree_ends[ancestors.pop()] = heading.start
        parents.append(ancestors[-1])
        ancestors.append(ordinal)
    end = headings[0].start if headings else length
    sections = [Section(0, None, 0, "", (), content_start, end, length)]
    for ordinal, heading in enumerate(headings, start=1):
        parent = parents[ordinal]
        above = sections[parent].heading_path
        path = (*above, heading.text) if heading.text else above
        if path == sections[-1].heading_path:  # share the path: there may be a million equal headings
            path = sections[-1].heading_path
        end = headings[ordinal].start if ordinal < len(headings) else length
        sections.append(
            Section(
                ordinal, parent, heading.level, heading.text, path, heading.start, end, subtree_ends[ordinal]
            )
        )
    return tuple(sections)
