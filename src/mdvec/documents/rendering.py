"""Renders Markdown as HTML: Obsidian's links, embeds and callouts resolved, and nothing that can run."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from mdvec.documents.events import Places
from mdvec.documents.inline import Inline, resolved, with_marks
from mdvec.documents.links import WIKILINK, wikilink, with_plain_addresses
from mdvec.documents.markdown import attributes_start, one_line
from mdvec.documents.parse import PARAGRAPH
from mdvec.documents.sanitising import sanitised
from mdvec.documents.targets import Job, Targets, numbered, slug
from mdvec.documents.tree import Element, Tree, parse_tree, plain, runs, trimmed, without
from mdvec.text.cells import cell_width, char_width
from mdvec.text.matches import match_spans
from mdvec.types.page import ANCHOR_PREFIX, PASSAGE_ANCHOR, Marked, OutlineHeading, RenderedDocument

# A note in a note in a note; deeper ones are links.
_MAX_EMBEDDING = 3
_CALLOUT = re.compile(r"\[!(?P<kind>[\w-]+)[^\]]*\](?P<fold>[+-]?)[ \t]*(?P<title>[^\n]*)")
_ADMONITION = re.compile(
    r"(?:!!!|(?P<fold>\?\?\?\+?)|===!?)[ \t]+(?P<kind>[\w-]*)[^\"\n]*(?:\"(?P<title>[^\"\n]*)\")?"
)
_BLOCK_ID = re.compile(r"(?:^|[ \t\n])\^([A-Za-z0-9-]+)\Z")
_TASK = re.compile(r"\[(?P<mark>[^\]\n])\][ \t]")
_CONTINUED = re.compile(r"\n[ \t>]*")
# Blocks of text without blocks in them.
_TEXTS = frozenset({"Paragraph", "Heading", "Run", "TableCell"})

# Lines that an editor or a person fills end between these columns.
_SHORTEST, _LONGEST = 50, 130
# A few breaks of a wrapped text are meant.
_WRAPPED_SHARE = 0.8


def render_markdown(
    text: str, targets: Targets, *, first_line: int = 1, marked: Marked | None = None
) -> RenderedDocument:
    """Render Markdown: CommonMark with tables, footnotes, code in colour, and Obsidian's own syntax.

    Formulas are shown as source. Line breaks are shown, as in Obsidian, unless the lines are only wrapped.
    HTML in the text stays if it is harmless: scripts, styles, forms, event handlers and requests to other
    hosts are removed. Blocks have the attribute ``data-line``.

    Args:
        text: Without frontmatter.
        targets: Where its links lead.
        first_line: The line of the file in which the text begins.
        marked: The passage whose blocks get the class ``passage``, with :data:`PASSAGE_ANCHOR` before
            its section that has the most of the query.
    """
    job = Job(targets, first_line, marked)
    return RenderedDocument(sanitised(_html(text, job)), tuple(job.outline))


def render_plain(text: str, *, marked: Marked | None = None) -> RenderedDocument:
    """Render plain text, one ``p`` a paragraph; see :func:`render_markdown`."""
    parts: list[str] = []
    first = True
    places = Places(text, 0)
    for block in PARAGRAPH.finditer(text):
        line = places.line(block.start())
        inside = marked is not None and _overlaps(line, line + block[0].count("\n"), marked)
        classes = "plain passage" if inside else "plain"
        anchor = f' id="{PASSAGE_ANCHOR}"' if inside and first else ""
        first = first and not inside
        shown = with_marks(block[0], marked.query) if inside and marked else html.escape(block[0])
        parts.append(f'<p class="{classes}" data-line="{line}"{anchor}>{shown}</p>')
    return RenderedDocument(sanitised("\n".join(parts)), ())


def _html(text: str, job: Job) -> str:
    return _Writer(parse_tree(with_plain_addresses(text)), job).written()


class _Footnote(Struct):
    """A footnote that is shown.

    Attributes:
        number: Counted from 1.
        blocks: What it says.
        references: How many there are.
    """

    number: int
    blocks: Sequence[Element]
    references: int = 0


class _Writer:
    """Writes a tree as HTML.

    Args:
        tree: What to write.
        job: The state of the rendering.
    """

    def __init__(self, tree: Tree, job: Job) -> None:
        self._tree = tree
        self._text = tree.text
        self._job = job
        self._line_ends = [match.start() for match in re.finditer("\n", tree.text)]
        self._headings = sorted(tree.marks.headings)
        self._footnotes: dict[str | int, _Footnote] = {}
        keeps_breaks = not _is_hard_wrapped(_paragraphs(self._text, tree.blocks))
        self._inline = Inline(job.targets, self._reference, keeps_breaks)
        self._parts: list[str] = []
        # Where the sections of the passage begin in the parts, and how much of the query each has.
        self._sections: dict[int, int] = {}

    def written(self) -> str:
        """Return the HTML."""
        self._write_all(self._tree.blocks)
        self._write_footnotes()
        if self._sections:
            # A passage may be several screens long. A heading keeps its own id, so the anchor is before it.
            best = max(self._sections, key=self._sections.__getitem__)
            self._parts[best] = f'<span id="{PASSAGE_ANCHOR}"></span>'
        return "".join(self._parts)

    # --- places ------------------------------------------------------------------------------------------

    def _begin(self, node: Element) -> str:
        """Begin a block of text; return its class."""
        marked = None if self._job.depth else self._job.marked
        last = max(node.start, node.end - 1)
        self._inline.query = ""
        if marked is None or not _overlaps(self._line(node.start), self._line(last), marked):
            return ""
        self._inline.query = marked.query
        if not self._sections or node.name == "Heading":
            self._sections[len(self._parts)] = 0
            self._parts.append("")
        found = match_spans(marked.query, self._text[node.start : node.end])
        self._sections[next(reversed(self._sections))] += sum(end - start for start, end in found)
        return "passage"

    def _line(self, character: int) -> int:
        return self._job.first_line + bisect_left(self._line_ends, character)

    def _attributes(self, node: Element, *classes: str, anchor: str = "") -> str:
        names = " ".join(filter(None, classes))
        line = "" if self._job.depth else f' data-line="{self._line(node.start)}"'
        class_ = f' class="{html.escape(names)}"' if names else ""
        return line + class_ + (f' id="{html.escape(anchor)}"' if anchor else "")

    # --- blocks ------------------------------------------------------------------------------------------

    def _write_all(self, nodes: Sequence[Element]) -> None:
        blocks = [*runs(nodes)]
        done: Element | None = None
        for node, following in pairwise([*blocks, Element("End", 0, 0)]):
            if node is done:
                continue
            opening = _ADMONITION.match(self._text, node.start) if node.name == "Paragraph" else None
            if opening and following.name == "BlockQuote" and self._text[following.start] != ">":
                fold = {"???": "-", "???+": "+"}.get(opening["fold"], "")
                title = _between(node.children, *opening.span("title"))
                self._write_callout(opening["kind"] or "tab", fold, title, following.children)
                done = following
            else:
                self._write(node)

    def _write(self, node: Element) -> None:
        write = _WRITERS.get(node.name)
        if write is None:
            self._write_all(node.children)
        else:
            write(self, node)

    def _write_rule(self, node: Element) -> None:
        self._parts.append(f"<hr{self._attributes(node)}>\n")

    def _write_formula(self, node: Element) -> None:
        attributes = self._attributes(node, self._begin(node), "math")
        self._parts.append(f"<pre{attributes}>{html.escape(f'$${node.text}$$')}</pre>\n")

    def _write_paragraph(self, node: Element) -> None:
        anchor = self._take_block_id(node)
        if not node.children and not anchor:
            return
        passage = self._begin(node)
        if embedded := self._embedded(node):
            attributes = self._attributes(node, passage, "embed", anchor=anchor)
            self._parts.append(f"<div{attributes}>{embedded}</div>")
        else:
            attributes = self._attributes(node, passage, anchor=anchor)
            self._parts.append(f"<p{attributes}>{self._inline.rendered(node.children)}</p>\n")

    def _write_run(self, node: Element) -> None:
        embedded = self._embedded(node)
        shown = f'<div class="embed">{embedded}</div>' if embedded else self._inline.rendered(node.children)
        self._parts.append(shown)

    def _take_block_id(self, node: Element) -> str:
        """Take ``^id`` off the end of a block; return it, with its sign."""
        found = _BLOCK_ID.search(self._text[node.start : node.end].rstrip())
        if found is None:
            return ""
        node.children = trimmed(without(node.children, node.start + found.start(), node.end))
        return f"^{found[1]}"

    def _embedded(self, node: Element) -> str:
        """Return the HTML of the document that is all of a paragraph; empty if it is none."""
        found = WIKILINK.fullmatch(self._text[node.start : node.end].strip())
        if not found or not found[1] or self._job.depth == _MAX_EMBEDDING:
            return ""
        embedded = self._job.targets.embedded(wikilink(found, line=1))
        if embedded is None:
            return ""
        job = Job(embedded.targets, depth=self._job.depth + 1, highlighter=self._job.highlighter)
        link = f'<a href="{html.escape(embedded.href)}">{html.escape(embedded.title)}</a>'
        return f'<div class="embed-title">{link}</div>{_html(embedded.text, job)}'

    def _write_heading(self, node: Element) -> None:
        line_start = self._text.rfind("\n", 0, node.start) + 1
        at = int(min(node.end, attributes_start(self._text, line_start, node.end)))
        node.children = trimmed(without(node.children, at, node.end))
        block_id = self._take_block_id(node)
        anchor = block_id if self._job.depth else self._heading_id(line_start, node)
        passage = self._begin(node)
        tag = node.details["level"].lower()
        shown = self._inline.rendered(node.children)
        self._parts.append(f"<{tag}{self._attributes(node, passage, anchor=anchor)}>{shown}</{tag}>\n")

    def _heading_id(self, at: int, node: Element | None = None) -> str:
        """Return the id of a heading; it is in the outline if it is in the index."""
        heading = self._tree.marks.headings.get(at)
        text = heading.text if heading else one_line(plain(node.children if node else ()))
        anchor = numbered(slug(text) or "section", self._job.anchors)
        if heading:
            self._job.outline.append(OutlineHeading(heading.level, text, f"{ANCHOR_PREFIX}{anchor}"))
        return anchor

    def _write_quotation(self, node: Element) -> None:
        first = node.children[0] if node.children else None
        found = _CALLOUT.match(self._text, first.start) if first and first.name == "Paragraph" else None
        if found and first:
            title = _between(first.children, *found.span("title"))
            first.children = trimmed(without(first.children, first.start, found.end()))
            self._write_callout(found["kind"], found["fold"], title, node.children)
            return
        self._parts.append(f"<blockquote{self._attributes(node)}>\n")
        self._write_all(node.children)
        self._parts.append("</blockquote>\n")

    def _write_callout(
        self, kind: str, fold: str, title: Sequence[Element], blocks: Sequence[Element]
    ) -> None:
        kind = kind.lower()
        opened = " open" if fold == "+" else ""
        outer, inner = ("details", "summary") if fold else ("div", "div")
        self._parts.append(f'<{outer} class="callout callout-{html.escape(kind)}"{opened}>')
        if title:
            self._begin(Element("Title", title[0].start, title[-1].end))
        shown = self._inline.rendered(title) or html.escape(kind.capitalize())
        self._parts.append(f'<{inner} class="callout-title">{shown}</{inner}>')
        self._write_all(blocks)
        self._parts.append(f"</{outer}>")

    def _write_list(self, node: Element) -> None:
        tag = "ul" if node.details is None else "ol"
        start = "" if node.details in {None, 1} else f' start="{node.details}"'
        self._parts.append(f"<{tag}{self._attributes(node)}{start}>\n")
        for item in node.children:
            self._write_item(item)
        self._parts.append(f"</{tag}>\n")

    def _write_item(self, node: Element) -> None:
        blocks = [*runs(node.children)]
        first = blocks[0] if blocks and blocks[0].name in {"Paragraph", "Run"} else None
        task = passage = anchor = ""
        at = len(self._parts)
        self._parts.append("")
        if first and (found := _TASK.match(self._text, first.start)):
            task = "task" if found["mark"] == " " else "task done"
            first.children = without(first.children, first.start, found.end())
        if first and first.name == "Run":
            # The paragraph of a tight list is not written: its item is marked.
            anchor = self._take_block_id(first)
            passage = self._begin(first)
        self._parts[at] = f"<li{self._attributes(node, task, passage, anchor=anchor)}>"
        for block in blocks:
            if block.name == "Run" and block is not first:
                self._begin(block)
            self._write(block)
        self._parts.append("</li>\n")

    def _write_code(self, node: Element) -> None:
        code = "".join(each.text for each in node.children)
        if node.details == "Indented":
            attributes = self._attributes(node, self._begin(node))
            self._parts.append(f"<pre{attributes}><code>{html.escape(code)}</code></pre>\n")
            return
        language = next(iter(node.details["Fenced"].split()), "")
        shown = self._job.highlighter(code, language) or html.escape(code)
        named = f"language-{language}" if language else ""
        attributes = self._attributes(node, self._begin(node), named)
        self._parts.append(f"<pre><code{attributes}>{shown}</code></pre>\n")

    def _write_html(self, node: Element) -> None:
        first, last = (bisect_left(self._headings, at) for at in (node.start, node.end))
        raw = "".join(each.text for each in node.children)
        if first < last and not self._job.depth:
            parts = [self._text[node.start : self._headings[first]]]
            for start, end in pairwise([*self._headings[first:last], node.end]):
                parts += (f'<span id="{self._heading_id(start)}"></span>', self._text[start:end])
            raw = "".join(parts)
        self._parts.append(resolved(raw, self._job.targets))

    def _write_table(self, node: Element) -> None:
        self._parts.append(f"<table{self._attributes(node)}>\n")
        for index, row in enumerate(node.children):
            if index < len(("head", "body")):
                self._parts.append(
                    f"<tbody{self._attributes(row)}>\n" if index else f"<thead{self._attributes(row)}>\n"
                )
            self._write_row(row, node.details)
            if not index:
                self._parts.append("</thead>\n")
        self._parts.append("</tbody>\n</table>\n" if node.children[1:] else "</table>\n")

    def _write_row(self, node: Element, alignments: Sequence[str]) -> None:
        tag = "th" if node.name == "TableHead" else "td"
        self._parts.append(f"<tr{self._attributes(node, self._begin(node))}>\n")
        for cell, alignment in zip(node.children, alignments, strict=False):
            anchor = self._take_block_id(cell)
            align = "" if alignment == "None" else f' align="{alignment.lower()}"'
            shown = self._inline.rendered(cell.children)
            named = f' id="{anchor}"' if anchor else ""
            self._parts.append(f"<{tag}{align}{named}>{shown}</{tag}>\n")
        self._parts.append("</tr>\n")

    # --- footnotes ---------------------------------------------------------------------------------------

    def _reference(self, what: str | Element) -> str:
        """Return the HTML of a reference to a footnote."""
        if isinstance(what, str):
            key: str | int = what.casefold()
            definition = self._tree.footnotes.get(what.casefold())
            if definition is None:
                return html.escape(f"[^{what}]")
            blocks: Sequence[Element] = definition.children
        else:
            key = what.start
            blocks = [Element("Paragraph", what.start, what.end, children=what.children)]
        note = self._footnotes.setdefault(key, _Footnote(len(self._footnotes) + 1, blocks))
        note.references += 1
        again = f":{note.references - 1}" if note.references > 1 else ""
        return (
            f'<sup class="footnote-ref"><a href="#fn{note.number}" id="fnref{note.number}{again}">'
            f"[{note.number}{again}]</a></sup>"
        )

    def _write_footnotes(self) -> None:
        if not self._footnotes and not self._tree.footnotes:
            return
        self._parts.append(
            '<hr class="footnotes-sep">\n<section class="footnotes">\n<ol class="footnotes-list">\n'
        )
        written = 0
        while written < len(self._footnotes) or self._add_uncited():  # one may cite others
            self._write_footnote([*self._footnotes.values()][written])
            written += 1
        self._parts.append("</ol>\n</section>\n")

    def _add_uncited(self) -> bool:
        """Add the next footnote without a reference; return True if there is one."""
        for label, node in self._tree.footnotes.items():
            if label not in self._footnotes:
                self._footnotes[label] = _Footnote(len(self._footnotes) + 1, node.children)
                return True
        return False

    def _write_footnote(self, note: _Footnote) -> None:
        self._parts.append(f'<li id="fn{note.number}" class="footnote-item">')
        self._write_all(note.blocks)
        links = "".join(
            f' <a href="#fnref{note.number}{f":{each}" if each else ""}" class="footnote-backref">↩︎</a>'
            for each in range(note.references)
        )
        last = self._parts.pop()
        end = "</p>\n" if last.endswith("</p>\n") else ""
        self._parts.append(f"{last.removesuffix(end)}{links}{end}</li>\n")


_WRITERS: Mapping[str, Callable[[_Writer, Element], None]] = {
    "BlockQuote": _Writer._write_quotation,
    "CodeBlock": _Writer._write_code,
    "Formula": _Writer._write_formula,
    "Heading": _Writer._write_heading,
    "HtmlBlock": _Writer._write_html,
    "List": _Writer._write_list,
    "Paragraph": _Writer._write_paragraph,
    "Rule": _Writer._write_rule,
    "Run": _Writer._write_run,
    "Table": _Writer._write_table,
}


def _between(nodes: Sequence[Element], start: int, end: int) -> list[Element]:
    """Return the nodes between two characters."""
    return trimmed([each for each in without(nodes, 0, start) if each.start < end])


def _paragraphs(text: str, nodes: Sequence[Element]) -> Iterator[str]:
    """Yield the source of each block of text, without the marks of what it is in."""
    for node in runs(nodes):
        if node.name in _TEXTS:
            shown = node.children or [node]
            yield _CONTINUED.sub("\n", text[shown[0].start : shown[-1].end].strip())
        elif node.name != "CodeBlock":
            yield from _paragraphs(text, node.children)


def _overlaps(first: int, last: int, marked: Marked) -> bool:
    return first <= marked.last and last >= marked.first


def _is_hard_wrapped(paragraphs: Iterable[str]) -> bool:
    """Return True if the lines of paragraphs are filled up to a width, so that their breaks mean nothing.

    A line is filled if the first word of the next one would make it the longest of its paragraph.

    Args:
        paragraphs: Their source, with line feeds between the lines.
    """
    breaks = filled = 0
    for paragraph in paragraphs:
        lines = paragraph.split("\n")
        longest = max(map(cell_width, lines))
        breaks += len(lines) - 1
        if _SHORTEST <= longest <= _LONGEST:
            filled += sum(
                cell_width(line) + 1 + _first_width(following) > longest
                for line, following in pairwise(lines)
            )
    return filled > _WRAPPED_SHARE * breaks


def _first_width(line: str) -> int:
    """Return the columns of what cannot be divided at the start of a line: a word, or a wide character."""
    first = line.lstrip()[:1]
    return 2 if first and char_width(first) > 1 else cell_width(line.split(maxsplit=1)[0] if first else "")
