"""Parses links in Markdown text: note or address, fragment, shown text."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from msgspec.structs import replace

from mdvec.types.document import Link, LinkKind

WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
"""A wikilink or an embed. File names in Obsidian contain no brackets, so neither does a target."""

RAW_ADDRESS = re.compile(
    r"""(?P<before><(?:img\b[^<>]*?\ssrc|a\b[^<>]*?\shref)\s*=\s*)"""
    r"""(?:"(?P<double>[^"<>]*)"|'(?P<single>[^'<>]*)'|(?P<bare>[^\s"'<>]+))""",
    re.IGNORECASE,
)
"""The address of an image or a link in raw HTML; :func:`raw_address` returns it."""

_DENDRON = frozenset({"id", "desc"})

# The ways in which Hugo and Jekyll name the file that a Markdown link leads to.
_SHORTCODE = re.compile(
    r"(?<=\]\()(?:\{\{[^{}\n]*\}\})?(?:\{\{[<%]\s*(?:rel)?ref\s+(?:path=)?|\{%-?\s*(?:link|post_url)\s+)"
    r"[\"']?/?(?P<target>[^\s\"'{}<>]+)[^{}\n]*\}\}?(?=\))"
)


def with_plain_addresses(text: str) -> str:
    """Write the targets of Hugo's and Jekyll's links as addresses, in as many bytes."""
    return _SHORTCODE.sub(_plain_address, text)


def _plain_address(found: re.Match[str]) -> str:
    blank = len(found[0].encode()) - len(found["target"].encode()) - len("<>")
    return f"<{found['target']}{' ' * blank}>"


def wikilink(match: re.Match[str], *, line: int) -> Link:
    """Parse a wikilink.

    Returns:
        ``[[target#fragment|text]]`` in its parts.
    """
    address, _, text = match[2].partition("|")
    # Inside a table the bar is written \| and the backslash stays before it.
    target, fragment = split_fragment(address.rstrip("\\"))
    kind = LinkKind.EMBED if match[1] else LinkKind.WIKI
    return Link(kind, target, fragment, text.strip(), line)


def text_first(link: Link, path: str, frontmatter: Mapping[str, object]) -> Link:
    """Return a link of a document as Dendron means it, if that wrote it: ``[[text|target]]``.

    All of its notes have an ``id`` and a ``desc``; the names of others may look like its names.
    """
    first = path.rpartition("/")[2].partition(".")[0]
    is_its_name = link.text.startswith(f"{first}.") and " " not in link.text and " " in link.target
    if not link.text or link.kind is not LinkKind.WIKI or not ({*frontmatter} >= _DENDRON or is_its_name):
        return link
    target, fragment = split_fragment(link.text)
    return replace(link, target=target, fragment=fragment, text=link.target)


def raw_address(found: re.Match[str]) -> str:
    """Return what a match of :data:`RAW_ADDRESS` leads to."""
    return html.unescape(found["double"] or found["single"] or found["bare"] or "")


def markdown_link(address: str, *, line: int) -> Link:
    """Parse the address of a Markdown link."""
    target, fragment = split_fragment(address)
    is_name = target and "://" not in target and not target.lower().endswith(".md")
    if is_name and fragment.lower().endswith(".md"):
        target, fragment = address.strip(), ""  # Obsidian leaves the number sign in a name as it is
    return Link(LinkKind.MARKDOWN, target, fragment, "", line)


def split_fragment(address: str) -> tuple[str, str]:
    """Split an address at its first ``#``.

    Returns:
        Target and fragment, either of which may be empty.
    """
    target, _, fragment = address.partition("#")
    return target.strip(), fragment.strip()
