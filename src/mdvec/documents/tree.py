"""The tree of a Markdown text, for people: the parser's elements, and the links and tags of the index."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct, field

from mdvec.documents.events import MarkdownSource, named, unpacked
from mdvec.documents.markdown import Marks, marks_in
from mdvec.text.scripts import HIRAGANA

_MAX_NESTING = 40
"""Text that is deeper is shown at this depth."""

# An address ends before Japanese punctuation and particles, and before the end of a sentence. The others are
# signs around marked and struck text, and around a footnote in its place.
_SIGN = re.compile(
    rf"(?P<address>(?<![A-Za-z0-9+.-])https?://\w"
    rf"(?:[^\s<>\"'`|*()\[\]{{}}{HIRAGANA}\u3000-\u303f\uff01-\uff65]|\([^\s<>()]*\))*(?<![.,;:!?_~]))"
    r"|={2,}|~{2,}|\^\[|[\[\]]",
    re.IGNORECASE,
)
_LINK_TAG = re.compile(r"<(/?)a[\s>]", re.IGNORECASE)
_PAIRS = {"==": "Highlight", "~~": "Strikethrough"}
_VALUES = frozenset({"Text", "Code", "InlineMath", "DisplayMath", "Html", "InlineHtml"})
_SPANS = frozenset({"Emphasis", "Strong", "Link", "Image", "Highlight", "Strikethrough", "Note"})
_NESTED = frozenset({"BlockQuote", "List", "Emphasis", "Strong", "Image"})
_BREAKS = frozenset({"SoftBreak", "HardBreak"})
INLINE = (_VALUES - {"Html"}) | _SPANS | _BREAKS | {"Tag", "FootnoteReference"}
"""The names of the nodes inside a line of text."""

_CONTINUES = [int(byte & 0xC0 != 0x80) for byte in range(256)]


class Element(Struct, gc=False):
    """An element of a Markdown text.

    Attributes:
        name: As the parser calls it; ``Tag``, ``Highlight``, ``Strikethrough`` and ``Note`` (a footnote in
            its place) are not the parser's.
        start: Its first character.
        end: One past its last.
        details: What the parser knows of it.
        text: Of one that has no children, as the text has it.
        children: In order.
    """

    name: str
    start: int
    end: int
    details: Any = None
    text: str = ""
    children: list[Element] = field(default_factory=list)


class Tree(Struct, frozen=True):
    """A Markdown text as a tree.

    Attributes:
        text: The text.
        blocks: The elements at the top.
        footnotes: The definitions of footnotes by their folded labels.
        marks: The headings, links and tags that the index has.
    """

    text: str
    blocks: Sequence[Element]
    footnotes: Mapping[str, Element]
    marks: Marks


def parse_tree(text: str) -> Tree:
    """Parse a Markdown text; addresses are plain (:func:`~mdvec.documents.links.with_plain_addresses`)."""
    return _Builder(text).built()


def plain(nodes: Sequence[Element]) -> str:
    """Return the visible text of nodes, without markup."""
    return "".join(_plain_parts(nodes))


def without(nodes: Sequence[Element], start: int, end: int) -> list[Element]:
    """Return nodes without what is between two characters."""
    left: list[Element] = []
    for node in nodes:
        if node.end <= start or node.start >= end:
            left.append(node)
        elif node.name == "Text" and len(node.text) == node.end - node.start:
            for first, last in ((node.start, start), (end, node.end)):
                if first < last:
                    shown = node.text[first - node.start : last - node.start]
                    left.append(Element("Text", first, last, text=shown))
        elif node.start < start or node.end > end:
            node.children = without(node.children, start, end)
            left.append(node)
    return left


def trimmed(nodes: Sequence[Element]) -> list[Element]:
    """Return nodes without breaks and white space at either end."""
    left = [*nodes]
    for at in (0, -1):
        while left and (left[at].name in _BREAKS or (left[at].name == "Text" and left[at].text.isspace())):
            left.pop(at)
    return left


def runs(nodes: Sequence[Element]) -> Iterator[Element]:
    """Yield blocks.

    Text between them, as in an item of a tight list, becomes a block ``Run``, and formulas that have their
    lines for themselves are blocks ``Formula``.
    """
    run: list[Element] = []
    for node in (*nodes, None):
        if node and node.name in INLINE:
            run.append(node)
            continue
        if run:
            yield from _divided(Element("Run", run[0].start, run[-1].end, children=run))
            run = []
        if node:
            yield from _divided(node)


def _divided(node: Element) -> Iterator[Element]:
    """Divide a block of text at formulas."""
    if node.name not in {"Paragraph", "Run"} or all(each.name != "DisplayMath" for each in node.children):
        yield node
        return
    part: list[Element] = []
    for before, child, after in zip(
        [None, *node.children], node.children, [*node.children[1:], None], strict=False
    ):
        around = [each for each in (before, after) if each and each.name not in _BREAKS]
        if child.name != "DisplayMath" or around:
            part.append(child)
            continue
        yield from _part(node, part)
        part = []
        yield Element("Formula", child.start, child.end, text=child.text)
    yield from _part(node, part)


def _part(node: Element, children: Sequence[Element]) -> Iterator[Element]:
    left = trimmed(children)
    if left:
        yield Element(node.name, left[0].start, left[-1].end, children=left)


def _plain_parts(nodes: Sequence[Element]) -> Iterator[str]:
    for node in nodes:
        match node.name:
            case "SoftBreak" | "HardBreak":
                yield " "
            case "InlineMath":
                yield f"${node.text}$"
            case "InlineHtml" | "Note":
                pass
            case _:
                yield node.text
                yield from _plain_parts(node.children)


class _Builder:
    """Makes the tree from the parser's events.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._source = MarkdownSource(text)
        self._text = text
        self._marks = marks_in(text)
        self._tags = sorted(each for each in self._marks.tags if each >= 0)
        self._root = Element("Root", 0, len(text))
        self._open = [self._root]
        self._links = 0  # open links and images, in which no address is looked for
        self._footnotes: dict[str, Element] = {}
        raw = text.encode("utf-8", "replace")
        self._places = None if text.isascii() else array("L", accumulate(map(_CONTINUES.__getitem__, raw)))

    def built(self) -> Tree:
        """Return the tree."""
        for event in self._source.events(merge_text=False):
            name, value, start, end = unpacked(event)
            self._take(name, value, self._character(start), self._character(end))
        return Tree(self._text, self._root.children, self._footnotes, self._marks)

    def _character(self, byte: int) -> int:
        if self._places is None:
            return byte
        return self._places[byte] - 1 if byte < len(self._places) else len(self._text)

    def _take(self, name: str, value: Any, start: int, end: int) -> None:
        parent = self._open[-1]
        match name:
            case "Start":
                self._start(*named(value), start, end)
            case "End":
                self._end()
            case "Text" if self._source.is_verbatim(value, start, end):
                last = parent.children[-1] if parent.children else None
                shown = self._text[start:end]
                if last and last.name == "Text" and last.end == start == last.start + len(last.text):
                    last.text, last.end = last.text + shown, end
                else:
                    parent.children.append(Element("Text", start, end, text=shown))
            case _:
                text = self._source.restored(value, start, end) if name in _VALUES else value or ""
                parent.children.append(Element(name, start, end, text=text))

    def _start(self, name: str, details: Any, start: int, end: int) -> None:
        parent = self._open[-1]
        is_deep = len(self._open) > _MAX_NESTING and name in _NESTED
        if is_deep or (name == "Item" and parent.name != "List"):
            self._open.append(parent)
            return
        if name in {"Link", "Image"}:
            address = self._source.restored(details["dest_url"], start, end)
            details = {**details, "dest_url": address, "mark": self._marks.links.get(start)}
            self._links += 1
        if name in {"List", "Item"}:  # a nested one begins with the end of the line above
            start += self._text[start : start + 1] == "\n"
        node = Element(name, start, end, details)
        if name == "FootnoteDefinition":
            self._footnotes.setdefault(details.casefold(), node)
        else:
            parent.children.append(node)
        self._open.append(node)

    def _end(self) -> None:
        node = self._open.pop()
        if node is self._open[-1]:
            return
        if node.name != "CodeBlock" and any(each.name == "Text" for each in node.children):
            node.children = _paired(self._text, list(self._with_signs(node.children)))
        self._links -= node.name in {"Link", "Image"}

    def _with_signs(self, nodes: Sequence[Element]) -> Iterator[Element]:
        """Divide text at tags, addresses and signs; there is no markup inside the first two."""
        covered = 0
        linked = False  # by HTML
        for whole in nodes:
            if whole.name == "InlineHtml" and (tag := _LINK_TAG.match(whole.text)):
                linked = not tag[1]
            for node in without([whole], whole.start, covered) if whole.start < covered else [whole]:
                position = node.start
                for found in () if linked else self._found(node):
                    if found.start >= position:
                        if found.start > position:
                            yield self._shown(position, found.start)
                        yield found
                        position = covered = found.end
                if position == node.start:
                    yield node
                elif position < node.end:
                    yield self._shown(position, node.end)

    def _found(self, node: Element) -> list[Element]:
        """Return the tags, addresses and signs that begin in a node, in order."""
        if node.name != "Text" or len(node.text) != node.end - node.start:
            return []
        found: list[Element] = []
        for at in self._tags[bisect_left(self._tags, node.start) : bisect_left(self._tags, node.end)]:
            end = at + 1 + len(self._marks.tags[at])
            found.append(Element("Tag", at, end, text=self._text[at:end]))
        for match in _SIGN.finditer(self._text, node.start, node.end):
            start, end = match.span()
            if not match["address"]:
                is_escaped = start == node.start and self._text[start - 1 : start] == "\\"
                if end - start <= len("==") and not is_escaped:
                    found.append(Element("Sign", start, end, text=match[0]))
            elif not self._links and (whole := _SIGN.match(self._text, start)):
                address = Element("Link", start, whole.end(), {"dest_url": whole[0], "mark": None})
                address.children = [Element("Text", start, whole.end(), text=whole[0])]
                found.append(address)
        return sorted(found, key=lambda each: each.start)

    def _shown(self, start: int, end: int) -> Element:
        return Element("Text", start, end, text=self._text[start:end])


def _paired(text: str, nodes: Sequence[Element]) -> list[Element]:
    """Return nodes in which what is between two signs is one node; other signs are text."""
    done: list[Element] = []
    opened: dict[str, int] = {}
    brackets: list[int] = []
    for node in nodes:
        done.append(node)
        if node.name != "Sign":
            continue
        sign, node.name = node.text, "Text"
        if sign in {"[", "^["}:
            brackets.append(len(done) - 1)
        elif sign == "]":
            at = brackets.pop() if brackets else None
            if at is not None and done[at].text == "^[":
                _wrap(done, at, "Note")
                opened = {each: place for each, place in opened.items() if place < at}
        elif (at := opened.get(sign)) is not None and not text[node.start - 1].isspace():
            if at < len(done) - 2:
                _wrap(done, at, _PAIRS[sign])
            opened = {each: place for each, place in opened.items() if place < at}
            while brackets and brackets[-1] > at:
                brackets.pop()
        elif text[node.end : node.end + 1].strip():
            opened.setdefault(sign, len(done) - 1)
    return done


def _wrap(nodes: list[Element], at: int, name: str) -> None:
    """Make the nodes from a place on, without the first and the last, the children of one node."""
    inside = nodes[at + 1 : -1]
    nodes[at:] = [Element(name, nodes[at].start, nodes[-1].end, children=inside)]
