"""Renders Markdown as HTML: Obsidian's links, embeds and callouts resolved, and nothing that can run."""

from __future__ import annotations

import functools
import html
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from mdvec.documents.inline import add_inline_rules, plain_parts, with_marks
from mdvec.documents.links import WIKILINK, wikilink, with_plain_addresses
from mdvec.documents.markdown import ATTRIBUTES
from mdvec.documents.sanitising import sanitised
from mdvec.documents.targets import Job, Targets, slug
from mdvec.text.cells import cell_width, char_width
from mdvec.text.matches import match_spans
from mdvec.types.page import ANCHOR_PREFIX, PASSAGE_ANCHOR, Marked, OutlineHeading, RenderedDocument

# A note in a note in a note; deeper ones are links.
_MAX_EMBEDDING = 3
_MAX_NESTING = 40
_CALLOUT = re.compile(r"\[!(?P<kind>[\w-]+)[^\]]*\](?P<fold>[+-]?)[ \t]*(?P<title>[^\n]*)\n?")
_BLOCK_ID = re.compile(r"(?:^|[ \t\n])\^([A-Za-z0-9-]+)\Z")
_TASK = re.compile(r"\[(?P<mark>[^\]\n])\][ \t]")
_PLAIN_BLOCK = re.compile(r"^[^\S\n]*\S.*(?:\n[^\S\n]*\S.*)*", re.MULTILINE)
# The parser takes quadratic time in the markup characters of a paragraph; one with more is shown as text.
_MAX_SIGNS = 3_000
_SIGNS = re.compile(r"[!#$%&*+:<=>@\[\\\]^_`{}~-]")
_LEVEL_IN_ITEM = 2  # of a block in an item of a list at the top
# Blocks of text; blocks that contain others are not marked as a whole.
_LEAVES = frozenset(
    {"paragraph_open", "heading_open", "fence", "code_block", "tr_open", "math_block", "embed"}
)

# Lines that an editor or a person fills end between these columns.
_SHORTEST, _LONGEST = 50, 130
# Of the breaks of a wrapped text, a few are meant.
_WRAPPED_SHARE = 0.8


def render_markdown(
    text: str, targets: Targets, *, first_line: int = 1, marked: Marked | None = None
) -> RenderedDocument:
    """Render Markdown: CommonMark with tables, footnotes, code in colour, and Obsidian's own syntax.

    Formulas are shown as source. Line breaks are kept, as Obsidian does, unless the lines are only wrapped.
    HTML in the text is kept if it is harmless: scripts, styles, forms, event handlers and requests to other
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
    for block in _PLAIN_BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        inside = marked is not None and _overlaps(line, line + block[0].count("\n"), marked)
        classes = "plain passage" if inside else "plain"
        anchor = f' id="{PASSAGE_ANCHOR}"' if inside and first else ""
        first = first and not inside
        shown = with_marks(block[0], marked.query) if inside and marked else html.escape(block[0])
        parts.append(f'<p class="{classes}" data-line="{line}"{anchor}>{shown}</p>')
    return RenderedDocument(sanitised("\n".join(parts)), ())


def _html(text: str, job: Job) -> str:
    return str(_parser().render(with_plain_addresses(text), {"job": job}))


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _MAX_NESTING}).enable(
        ["table", "strikethrough"]
    )
    parser.use(footnote_plugin)
    parser.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False)
    add_inline_rules(parser)
    parser.add_render_rule("made", lambda _, tokens, index, *__: tokens[index].content)
    parser.add_render_rule("fence", _render_fence)
    parser.add_render_rule("embed", _render_embed)
    parser.add_render_rule("math_inline", _render_formula)
    parser.add_render_rule("math_block", _render_formula_block)
    parser.core.ruler.before("inline", "obsidian", _mark_up_blocks)
    parser.core.ruler.push("places", _place)
    return parser


def _render_fence(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    job: Job = env["job"]
    changed: Any = {**options, "highlight": job.highlighter}
    return renderer.fence(tokens, index, OptionsDict(changed), env)


def _render_formula(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    return f'<span class="math">{html.escape(f"${tokens[index].content}$")}</span>'


def _render_formula_block(renderer: RendererHTML, tokens: Sequence[Token], index: int, *_: object) -> str:
    token = tokens[index]
    token.attrJoin("class", "math")
    return f"<pre{renderer.renderAttrs(token)}>{html.escape(f'$${token.content}$$')}</pre>\n"


def _render_embed(renderer: RendererHTML, tokens: Sequence[Token], index: int, *_: object) -> str:
    token = tokens[index]
    token.attrJoin("class", "embed")
    return f"<div{renderer.renderAttrs(token)}>{token.content}</div>"


# --- blocks: callouts, tasks, embeds and block ids, before the text in them is parsed -------------------


def _mark_up_blocks(state: StateCore) -> None:
    job: Job = state.env["job"]
    tokens = state.tokens
    job.keeps_breaks = not _is_hard_wrapped(each.content for each in tokens if each.type == "inline")
    done: list[Token] = []
    closing: list[str] = []  # the tags of open quotations: HTML of callouts
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.type == "blockquote_open":
            callout = _callout(tokens, index)
            closing.append("" if callout is None else callout[1])
            done += [token] if callout is None else callout[0]
        elif token.type == "blockquote_close":
            end = closing.pop()
            done.append(_made(end) if end else token)
        elif token.type == "inline" and _is_overfull(token.content):
            done.append(_made(html.escape(token.content)))
        elif token.type == "inline":
            if done and done[-1].type == "heading_open" and (found := ATTRIBUTES.search(token.content)):
                token.content = token.content[: found.start()].rstrip()
            _set_block_id(token, done)
            embed = _sole_embed(token, job) if done and done[-1].type == "paragraph_open" else None
            if embed is None:
                _set_task(token, done)
                done.append(token)
            else:
                done[-1] = embed
                index += 1  # its paragraph ends here
        else:
            done.append(token)
        index += 1
    state.tokens = list(_without_empty_paragraphs(done))


def _is_overfull(text: str) -> bool:
    return len(text) > _MAX_SIGNS and len(_SIGNS.findall(text)) > _MAX_SIGNS


def _callout(tokens: Sequence[Token], index: int) -> tuple[list[Token], str] | None:
    """Return the opening and the closing HTML of a quotation that is a callout; None for any other."""
    if index + 2 >= len(tokens) or tokens[index + 2].type != "inline":
        return None
    inline = tokens[index + 2]
    match = _CALLOUT.match(inline.content)
    if match is None:
        return None
    inline.content = inline.content[match.end() :]
    kind = match["kind"].lower()
    title = Token("inline", "", 0, content=match["title"] or kind.capitalize(), children=[], block=True)
    title.map = tokens[index].map
    opened = " open" if match["fold"] == "+" else ""
    outer, inner = ("details", "summary") if match["fold"] else ("div", "div")
    begin = f'<{outer} class="callout callout-{html.escape(kind)}"{opened}><{inner} class="callout-title">'
    return [_made(begin), title, _made(f"</{inner}>")], f"</{outer}>"


def _made(content: str) -> Token:
    """Return a token of generated HTML; its addresses belong to the page and are not resolved."""
    return Token("made", "", 0, content=content, block=True)


def _set_block_id(inline: Token, before: Sequence[Token]) -> None:
    match = _BLOCK_ID.search(inline.content)
    if match and before:
        inline.content = inline.content[: match.start()].rstrip()
        before[-1].attrSet("id", f"^{match[1]}")


def _set_task(inline: Token, before: Sequence[Token]) -> None:
    """Turn an item that begins with ``[ ]`` or ``[x]`` into a task."""
    if len(before) < 2 or before[-2].type != "list_item_open":
        return
    match = _TASK.match(inline.content)
    if match:
        inline.content = inline.content[match.end() :]
        before[-2].attrJoin("class", "task" if match["mark"] == " " else "task done")


def _sole_embed(inline: Token, job: Job) -> Token | None:
    """Return a token of the embedded document if a paragraph is a single embed; None otherwise."""
    match = WIKILINK.fullmatch(inline.content.strip())
    if match is None or not match[1] or job.depth == _MAX_EMBEDDING:
        return None
    found = job.targets.embedded(wikilink(match, line=1))
    if found is None:
        return None
    inner = _html(found.text, Job(found.targets, depth=job.depth + 1, highlighter=job.highlighter))
    link = f'<a href="{html.escape(found.href)}">{html.escape(found.title)}</a>'
    embed = Token("embed", "div", 0, content=f'<div class="embed-title">{link}</div>{inner}', block=True)
    embed.map = inline.map
    return embed


def _without_empty_paragraphs(tokens: Sequence[Token]) -> Iterator[Token]:
    """Leave out paragraphs that became empty."""
    skip = 0
    for index, token in enumerate(tokens):
        if skip:
            skip -= 1
            continue
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        is_empty = following is not None and following.type == "inline" and not following.content.strip()
        if token.type == "paragraph_open" and is_empty and not token.attrs:
            skip = 2
            continue
        yield token


# --- places: lines, headings and the marked passage -----------------------------------------------------


def _place(state: StateCore) -> None:
    """Give blocks their lines, headings their ids, and the marked passage its marks."""
    job: Job = state.env["job"]
    if job.depth:
        return
    query = job.marked.query if job.marked else ""
    sections: list[int] = []  # where those of the passage begin
    texts: dict[int, str] = {}
    outer = ""  # the block that is open at the top
    for index, token in enumerate(state.tokens):
        if token.map is None or token.nesting < 0:
            continue
        first, last = token.map[0] + job.first_line, token.map[1] + job.first_line - 1
        inside = job.marked is not None and _overlaps(first, max(first, last), job.marked)
        if token.type == "inline":
            for child in token.children or ():
                child.meta["query"] = query if inside else ""
            texts[index] = token.content if inside else ""
            continue
        token.attrSet("data-line", str(first))
        outer = outer if token.level else token.type
        if token.type == "heading_open":
            _set_heading_id(token, state.tokens[index + 1], job, outer)
        if inside and token.type in _LEAVES:
            # The paragraph of a tight list is not written: its item is marked.
            block = state.tokens[index - 1] if token.hidden else token
            block.attrJoin("class", "passage")
            if not sections or token.type == "heading_open":
                sections.append(index)
    if sections:
        # A passage may be several screens long. A heading keeps its own id, so the anchor is before it.
        best = _best_section(query, sections, texts)
        state.tokens.insert(best, _made(f'<span id="{PASSAGE_ANCHOR}"></span>'))


def _best_section(query: str, sections: Sequence[int], texts: Mapping[int, str]) -> int:
    """Return where the section begins that has the most of the words of a query; the first without any."""
    matched = dict.fromkeys(sections, 0)
    for index, text in texts.items():
        section = sections[bisect(sections, index) - 1]
        matched[section] += sum(end - start for start, end in match_spans(query, text))
    return max(matched, key=matched.__getitem__)


def _overlaps(first: int, last: int, marked: Marked) -> bool:
    return first <= marked.last and last >= marked.first


def _set_heading_id(token: Token, inline: Token, job: Job, outer: str) -> None:
    text = " ".join("".join(plain_parts(inline.children or ())).split())
    name = slug(text) or "section"
    number = job.anchors.get(name, 0)
    job.anchors[name] = number + 1
    anchor = f"{name}-{number}" if number else name
    token.attrSet("id", anchor)
    # As in the index: what is quoted, or in a nested list, is no heading of the document.
    if token.level == (_LEVEL_IN_ITEM if outer.endswith("list_open") else 0):
        job.outline.append(OutlineHeading(int(token.tag[1]), text, f"{ANCHOR_PREFIX}{anchor}"))


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
