"""Markdown: headings, blocks, links and inline tags, as CommonMark sees them."""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt, rules_inline
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from mdvec.documents.links import WIKILINK, markdown_link, wikilink
from mdvec.documents.tags import INLINE_TAG, is_inline_tag
from mdvec.documents.tree import Heading
from mdvec.types.document import Block, BlockKind, Link

# Lists in lists count two levels each; deeper ones stay text of the block they are in.
_MAX_NESTING = 40
# A paragraph over a line of dashes is a heading in CommonMark, however long; this is for people.
_MAX_HEADING_CHARS = 1000

# Only text that has one of these can hold a link or a tag; parsing the rest would find nothing.
_LINK_OR_TAG = re.compile(r"[\[#]|<[A-Za-z]")
# Only headings that have one of these differ from their source.
_MARKUP = re.compile(r"[\\`*_\[\]<&!#]")


@dataclass(frozen=True, slots=True)
class MarkdownContent:
    """The contents of a Markdown text.

    Attributes:
        headings: Those of the document itself, in order.
        blocks: In order, not overlapping; they cover all that is not blank. Each item of a list or a
            quotation is a block, and so is a fence inside it, so that cutting can spare it.
        links: In order of appearance.
        tags: Inline tags as written without ``#``, in order of appearance, repetitions included.
    """

    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]


def read_markdown(body: str, *, content_start: int = 0) -> MarkdownContent:
    r"""Read a Markdown text.

    Args:
        body: The whole file, line ends as ``\n``.
        content_start: Where to start, at the start of a line; what is before is skipped.

    Returns:
        The contents; positions and lines are those of ``body``.
    """
    parser = _parser()
    environment: dict[str, object] = {}
    tokens: list[Token] = []
    parser.block.parse(body[content_start:], parser, environment, tokens)
    line_starts = [content_start, *(match.end() for match in re.finditer("\n", body[content_start:]))]
    first_line = body.count("\n", 0, content_start) + 1
    if content_start:
        line_starts = [line_starts[0], *(start + content_start for start in line_starts[1:])]
    line_starts.append(len(body) + 1)

    headings: list[Heading] = []
    links: list[Link] = []
    tags: list[str] = []
    level = 0
    heading_line = 0
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1]) if token.level == 0 else 0
            heading_line = token.map[0] if token.map else 0
        elif token.type == "inline":
            content = _without_anchor(token.content) if level else token.content
            children: Sequence[Token] = ()
            if (_MARKUP if level else _LINK_OR_TAG).search(content):
                children = _inline_tokens(parser, content, environment)
                line = first_line + (token.map[0] if token.map else 0)
                links.extend(_links(children, content, line))
                tags.extend(child.content[1:] for child in children if child.type == _HASHTAG)
            if level:
                text = _plain_text(children) if children else content
                headings.append(Heading(level, one_line(text), line_starts[heading_line]))
                level = 0
    blocks = tuple(_blocks(body, tokens, line_starts))
    return MarkdownContent(tuple(headings), blocks, tuple(links), tuple(tags))


def code_blocks(body: str, *, content_start: int = 0) -> list[tuple[int, int]]:
    """Find fences and indented code.

    Args:
        body: As for :func:`read_markdown`.
        content_start: Likewise.

    Returns:
        First character of each, and one past the last, in order.
    """
    parser = _parser()
    tokens: list[Token] = []
    parser.block.parse(body[content_start:], parser, {}, tokens)
    starts = [content_start, *(match.end() for match in re.compile("\n").finditer(body, content_start))]
    starts.append(len(body))
    lines = (token.map for token in tokens if token.type in _CODE and token.map)
    return [(starts[first], starts[min(last, len(starts) - 1)]) for first, last in lines]


# --- blocks ------------------------------------------------------------------------------------------

_CODE = frozenset({"fence", "code_block"})
_CONTAINERS = frozenset({"bullet_list_open", "ordered_list_open", "blockquote_open"})


def _blocks(body: str, tokens: Iterable[Token], line_starts: Sequence[int]) -> Iterator[Block]:
    """Cover the text with blocks; what has no token (link definitions) becomes ``OTHER``."""
    line = 0
    last_line = len(line_starts) - 1
    for kind, first, last in _block_lines(tokens):
        begin = max(first, line)
        if begin > line:
            yield from _block(body, BlockKind.OTHER, line_starts[line], line_starts[begin])
        if last > begin:
            yield from _block(body, kind, line_starts[begin], line_starts[last])
            line = last
    if line < last_line:
        yield from _block(body, BlockKind.OTHER, line_starts[line], line_starts[last_line])


def _block(body: str, kind: BlockKind, start: int, end: int) -> Iterator[Block]:
    text = body[start:end]
    stripped = text.rstrip()
    if stripped:
        # Indentation belongs to the block, blank lines before it do not.
        blank = len(stripped) - len(stripped.lstrip())
        lines_end = stripped.rfind("\n", 0, blank) + 1
        yield Block(kind, start + lines_end, start + len(stripped))


def _block_lines(tokens: Iterable[Token]) -> Iterator[tuple[BlockKind, int, int]]:
    """Yield (kind, first line, one past the last line) in order."""
    container_end = cursor = 0
    for token in tokens:
        if token.map is None or token.nesting < 0 or token.type == "inline":
            continue
        first, last = token.map
        if token.level == 0:
            if cursor < container_end:
                yield BlockKind.OTHER, cursor, container_end
            if token.type in _CONTAINERS:
                cursor, container_end = first, last
            else:
                cursor = container_end = last
                yield _kind(token), first, last
        elif token.type == "fence" or (token.type == "list_item_open" and token.level == 1):
            if cursor < first:
                yield BlockKind.OTHER, cursor, first
                cursor = first
            if token.type == "fence":
                yield BlockKind.FENCE, cursor, last
                cursor = last
    if cursor < container_end:
        yield BlockKind.OTHER, cursor, container_end


def _kind(token: Token) -> BlockKind:
    match token.type:
        case "paragraph_open":
            return BlockKind.PARAGRAPH
        case "heading_open":
            return BlockKind.HEADING
        case "fence":
            return BlockKind.FENCE
        case _:
            return BlockKind.OTHER


# --- headings ----------------------------------------------------------------------------------------


def _without_anchor(text: str) -> str:
    """Drop ``{#id}``, ``{: #id}`` or ``{/*id*/}`` from the end of a heading."""
    text = text.rstrip()
    if text.endswith("}"):
        opening = text.rfind("{")
        if text[opening + 1 :].lstrip().startswith(("#", ":", "/*")):
            return text[:opening].rstrip()
    return text


def _plain_text(children: Iterable[Token]) -> str:
    parts = []
    for child in children:
        if child.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif child.type == _WIKILINK:
            parts.append(child.meta["link"].text or child.meta["shown"])
        elif child.type != "html_inline":
            parts.append(child.content)
    return "".join(parts)


def one_line(heading: str) -> str:
    """Return a heading or title in one line of at most 1,000 characters."""
    text = " ".join(heading.split())
    return text if len(text) <= _MAX_HEADING_CHARS else f"{text[: _MAX_HEADING_CHARS - 1]}…"


# --- links and tags: rules of the inline parser -------------------------------------------------------

_WIKILINK = "wikilink"
_HASHTAG = "hashtag"
_InlineRule = Callable[[StateInline, bool], bool]


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table")
    # Targets stay as written, and of any scheme: nothing is rendered here.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # noqa: ARG005
    parser.inline.ruler.at("link", _with_position(rules_inline.link))
    parser.inline.ruler.at("autolink", _with_position(rules_inline.autolink))
    parser.inline.ruler.before("link", _WIKILINK, _wikilink_rule)
    parser.inline.ruler.before("link", _HASHTAG, _hashtag_rule)
    return parser


def _inline_tokens(parser: MarkdownIt, content: str, environment: dict[str, object]) -> list[Token]:
    tokens: list[Token] = []
    parser.inline.parse(content, parser, environment, tokens)
    return tokens


def _wikilink_rule(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith(("[[", "![["), state.pos):
        return False
    match = WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push(_WIKILINK, "", 0)
        token.meta = {"position": state.pos, "link": wikilink(match, line=1), "shown": match[2]}
    state.pos = match.end()
    return True


def _hashtag_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "#" or state.linkLevel:
        return False
    match = INLINE_TAG.match(state.src, state.pos, state.posMax)
    if match is None or not is_inline_tag(match):
        return False
    if not silent:
        state.push(_HASHTAG, "", 0).content = match[0]
    state.pos = match.end()
    return True


def _with_position(rule: _InlineRule) -> _InlineRule:
    """Wrap a rule for links so that it records the position of the link in the text."""

    def recording(state: StateInline, silent: bool) -> bool:
        position, known = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent:
            opening = next(token for token in state.tokens[known:] if token.type == "link_open")
            opening.meta["position"] = position
        return True

    return recording


def _links(children: Sequence[Token], content: str, line: int) -> Iterator[Link]:
    line_ends = [match.start() for match in re.finditer("\n", content)]
    for index, child in enumerate(children):
        if child.type not in {_WIKILINK, "link_open"}:
            continue
        at = line + bisect.bisect_left(line_ends, child.meta["position"])
        if child.type == _WIKILINK:
            link: Link = child.meta["link"]
            yield Link(link.kind, link.target, link.fragment, link.text, at)
        else:
            following = (children[after] for after in range(index + 1, len(children)))
            inner = itertools.takewhile(lambda token: token.type != "link_close", following)
            yield markdown_link(str(child.attrGet("href") or ""), _plain_text(inner), line=at)
