"""Parses links in Markdown text: note or address, fragment, shown text."""

from __future__ import annotations

import re

from mdvec.types.document import Link, LinkKind

WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
"""A wikilink or an embed. File names in Obsidian contain no brackets, so neither does a target."""


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


def markdown_link(address: str, *, line: int) -> Link:
    """Parse the address of a Markdown link."""
    target, fragment = split_fragment(address)
    return Link(LinkKind.MARKDOWN, target, fragment, "", line)


def split_fragment(address: str) -> tuple[str, str]:
    """Split an address at its first ``#``.

    Returns:
        Target and fragment, either of which may be empty.
    """
    target, _, fragment = address.partition("#")
    return target.strip(), fragment.strip()
