"""Renders text inside a block as HTML: wikilinks, tags, highlights, images, and marked words."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.token import Token

from mdvec.documents.links import WIKILINK, markdown_link, wikilink
from mdvec.documents.tags import INLINE_TAG, distinct_tags, is_inline_tag
from mdvec.documents.targets import Job, anchor_of
from mdvec.text.matches import match_spans
from mdvec.text.scripts import HIRAGANA, UNSPACED
from mdvec.types.document import LinkKind

_IMAGE_SIZE = re.compile(r"(\d{1,4})(?:x(\d{1,4}))?")
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
# An address ends before Japanese punctuation and particles, and before what ends a sentence.
_ADDRESS = re.compile(
    rf"https?://\w(?:[^\s<>\"'`|*()\[\]{{}}{HIRAGANA}\u3000-\u303f\uff01-\uff65]|\([^\s<>()]*\))*"
    r"(?<![.,;:!?_~])",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])https?\Z", re.IGNORECASE)
# Japanese with its punctuation.
_JAPANESE = re.compile(rf"[{UNSPACED}\u3000-\u303f\uff01-\uff65]")
# The address of an image or a link in raw HTML.
_RAW_ADDRESS = re.compile(
    r"""(?P<before><(?:img\b[^>]*?\ssrc|a\b[^>]*?\shref)\s*=\s*)"""
    r"""(?:"(?P<double>[^"<>]*)"|'(?P<single>[^'<>]*)'|(?P<bare>[^\s"'<>]+))""",
    re.IGNORECASE,
)


def add_inline_rules(parser: MarkdownIt) -> None:
    """Add the rules to a parser; they find the :class:`Job` in the environment's key ``job``."""
    parser.inline.ruler.before("link", "wikilink", _wikilink_rule)
    parser.inline.ruler.before("link", "hashtag", _hashtag_rule)
    parser.inline.ruler.before("emphasis", "highlight", _highlight_rule)
    parser.inline.ruler.at("emphasis", _emphasis_rule)
    parser.inline.ruler.before("newline", "bare_address", _bare_address_rule)
    parser.inline.ruler2.push("linked_images", _linked_images_rule)
    for name, rule in (
        ("wikilink", _render_wikilink),
        ("hashtag", _render_hashtag),
        ("image", _render_image),
        ("link_open", _render_link_open),
        ("text", _render_text),
        ("softbreak", _render_line_break),
        ("html_block", _render_raw),
        ("html_inline", _render_raw),
    ):
        parser.add_render_rule(name, rule)


def plain_parts(children: Sequence[Token]) -> Iterator[str]:
    """Yield the visible text of inline tokens, without markup."""
    for child in children:
        if child.type == "wikilink":
            yield child.meta["link"].text or child.meta["shown"]
        elif child.type in {"softbreak", "hardbreak"}:
            yield " "
        elif child.type == "math_inline":
            yield f"${child.content}$"
        elif child.type != "html_inline":
            yield child.content


# --- inline rules -----------------------------------------------------------------------------------------


def _wikilink_rule(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith(("[[", "![["), state.pos):
        return False
    match = WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.meta = {"link": wikilink(match, line=1), "shown": match[2]}
    state.pos = match.end()
    return True


def _hashtag_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "#" or state.linkLevel:
        return False
    match = INLINE_TAG.match(state.src, state.pos, state.posMax)
    if match is None or not is_inline_tag(match):
        return False
    if not silent:
        state.push("hashtag", "", 0).content = match[0]
    state.pos = match.end()
    return True


def _highlight_rule(state: StateInline, silent: bool) -> bool:
    """Parse ``==text==``."""
    start, end = state.pos + 2, state.src.find("==", state.pos + 2, state.posMax)
    if not state.src.startswith("==", state.pos) or end <= start or state.src[start].isspace():
        return False
    if not silent:
        state.push("highlight_open", "mark", 1)
        outer = state.posMax
        state.pos, state.posMax = start, end
        state.md.inline.tokenize(state)
        state.posMax = outer
        state.push("highlight_close", "mark", -1)
    state.pos = end + 2
    return True


def _emphasis_rule(state: StateInline, silent: bool) -> bool:
    """Parse emphasis; next to Japanese, punctuation does not keep it from beginning or ending.

    References:
        The specification of https://github.com/tats-u/markdown-cjk-friendly
    """
    start, known = state.pos, len(state.delimiters)
    if not emphasis.tokenize(state, silent):
        return False
    before, after = state.src[start - 1 : start] if start else "", state.src[state.pos : state.pos + 1]
    if state.src[start] == "*" and _JAPANESE.search(before + after):
        for delimiter in state.delimiters[known:]:
            delimiter.open, delimiter.close = bool(after.strip()), bool(before.strip())
    return True


def _bare_address_rule(state: StateInline, silent: bool) -> bool:
    """Parse an address without brackets: ``https://…``."""
    if state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    scheme = _SCHEME.search(state.pending)
    found = scheme and _ADDRESS.match(state.src, state.pos - len(scheme[0]), state.posMax)
    if not scheme or not found:
        return False
    if not silent:
        state.pending = state.pending[: scheme.start()]
        state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(found[0])}
        state.push("text", "", 0).content = found[0]
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def _linked_images_rule(state: StateInline) -> None:
    """Mark the images in the text of a link."""
    linked = False
    for token in state.tokens:
        if token.type in {"link_open", "link_close"}:
            linked = token.type == "link_open"
        elif token.type == "image":
            token.meta["linked"] = linked


# --- HTML of inline tokens --------------------------------------------------------------------------------


def _render_text(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    return with_marks(tokens[index].content, tokens[index].meta.get("query", ""))


def _render_line_break(
    _: object, tokens: Sequence[Token], index: int, __: object, env: dict[str, Job]
) -> str:
    if env["job"].keeps_breaks:
        return "<br>\n"
    # Wrapped Japanese continues without a space.
    around = [each.content[edge] for each, edge in _beside(tokens, index) if each.content]
    return "" if len(around) == 2 and all(map(_JAPANESE.match, around)) else "\n"


def _beside(tokens: Sequence[Token], index: int) -> list[tuple[Token, int]]:
    """Return the tokens before and after one, and which of their characters is the nearest."""
    return [(tokens[at], edge) for at, edge in ((index - 1, -1), (index + 1, 0)) if 0 <= at < len(tokens)]


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


def _render_hashtag(_: object, tokens: Sequence[Token], index: int, __: object, env: dict[str, Job]) -> str:
    tag = tokens[index].content
    [name] = distinct_tags([tag])
    href = env["job"].targets.tag(name)
    return f'<a class="tag" href="{html.escape(href)}">{html.escape(tag)}</a>'


def _render_wikilink(_: object, tokens: Sequence[Token], index: int, __: object, env: dict[str, Job]) -> str:
    targets = env["job"].targets
    link = targets.meant(tokens[index].meta["link"])
    if link.kind is LinkKind.EMBED and (source := targets.image(link)) is not None:
        size = _IMAGE_SIZE.fullmatch(link.text)
        width = f' width="{size[1]}"' if size else ""
        height = f' height="{size[2]}"' if size and size[2] else ""
        alt = link.target if size or not link.text else link.text
        return f'<img src="{html.escape(source)}" alt="{html.escape(alt)}"{width}{height} loading="lazy">'
    shown = html.escape(link.text or " › ".join(filter(None, (link.target, *link.fragment.split("#")))))
    href = targets.link(link)
    if href is None:
        return f'<a class="missing">{shown}</a>'
    fragment = anchor_of(link.fragment)
    return (
        f'<a class="internal" href="{html.escape(href + (f"#{fragment}" if fragment else ""))}">{shown}</a>'
    )


def _render_image(_: object, tokens: Sequence[Token], index: int, __: object, env: dict[str, Job]) -> str:
    token = tokens[index]
    address = str(token.attrGet("src") or "")
    alt = html.escape("".join(plain_parts(token.children or ())))
    remote = _REMOTE.match(address)  # a request would tell its host who reads what
    source = None if remote else env["job"].targets.image(markdown_link(address, line=1))
    if source is not None:
        return f'<img src="{html.escape(source)}" alt="{alt}" loading="lazy">'
    text = alt or html.escape(address)
    if token.meta["linked"]:  # a link cannot hold another one
        return text
    attributes = f'class="external" href="{html.escape(address)}"' if remote else 'class="missing"'
    return f"<a {attributes}>{text}</a>"


def _render_link_open(_: object, tokens: Sequence[Token], index: int, __: object, env: dict[str, Job]) -> str:
    address = str(tokens[index].attrGet("href") or "")
    if _REMOTE.match(address):
        return f'<a class="external" href="{html.escape(address)}">'
    link = markdown_link(address, line=1)
    href = env["job"].targets.link(link)
    if href is None:
        return '<a class="missing">'
    fragment = anchor_of(link.fragment)
    return f'<a class="internal" href="{html.escape(href + (f"#{fragment}" if fragment else ""))}">'


def _render_raw(_: object, tokens: Sequence[Token], index: int, __: object, env: dict[str, Job]) -> str:
    """Resolve the addresses in raw HTML; a missing image is replaced by its text."""
    targets = env["job"].targets

    def resolved(match: re.Match[str]) -> str:
        address = html.unescape(match["double"] or match["single"] or match["bare"] or "")
        if not address or address.startswith("#") or _REMOTE.match(address):
            return match[0]
        link = markdown_link(address, line=1)
        is_image = match["before"][1] in "iI"
        found = (targets.image(link) if is_image else targets.link(link)) or ""
        fragment = anchor_of(link.fragment) if found and not is_image else ""
        return f'{match["before"]}"{html.escape(found + (f"#{fragment}" if fragment else ""))}"'

    return _RAW_ADDRESS.sub(resolved, tokens[index].content)
