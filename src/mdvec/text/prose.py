"""The prose of a Markdown text: what is left without code, addresses and markup."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from mdvec.text.folding import beyond_ascii, fold_name
from mdvec.text.scripts import holds_unspaced, is_unspaced

_FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,}).*?(?:^[ \t>]*\2[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
# A scheme of any length would take quadratic time in "a-a-a-a".
_ADDRESS = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{0,40}+://[^\s<>\"'`)\]}]+|(?<=\]\()[^()\s]+(?=[)\s])")
_ADDRESS_APART = re.compile(f"({_ADDRESS.pattern})")

_WIKILINK = re.compile(r"!?\[\[[^\[\]\n]*\]\]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_NUMBER = re.compile(r"\d+")
# All of ASCII but letters, which become small.
_ASCII_LETTERS = {code: chr(code).lower() if chr(code).isalpha() else " " for code in range(128)}

# A document can be megabytes long; its beginning shows what it is written in.
_SAMPLE_CHARS = 50_000


def is_unspaced_prose(title: str, body: str) -> bool:
    """Return True if the prose of a document is mostly in scripts without spaces, such as Japanese.

    Code and addresses are in English everywhere, so they say nothing. The title is a part of the prose.
    """
    sample = body[:_SAMPLE_CHARS]
    if not holds_unspaced(beyond_ascii(title + sample)):
        return False
    prose = sample
    for pattern in (_FENCE, _CODE, _ADDRESS, _TAG):
        prose = pattern.sub(" ", prose)
    return is_unspaced(f"{title}\n{prose.strip()}")


# The terms and the skeleton of a chunk are made one after the other.
@functools.lru_cache(maxsize=2)
def part_addresses(text: str) -> tuple[str, Sequence[str]]:
    """Return a text with a space in place of each address and each target of a link, and these."""
    if not _may_hold_address(text):
        return text, ()
    prose: list[str] = []
    addresses: list[str] = []
    for line in text.splitlines(keepends=True):  # looking for them takes long, and no line end is inside
        parts = _ADDRESS_APART.split(line) if _may_hold_address(line) else [line]
        prose.append(" ".join(parts[::2]))
        addresses += parts[1::2]
    return "".join(prose), addresses


def _may_hold_address(text: str) -> bool:
    return "://" in text or "](" in text


def skeleton(text: str, names: Iterable[str]) -> str:
    """Return what a text is without the parts that differ where it is repeated.

    A footer that links to its page, or a template that holds the name of its note, is the same text in every
    document: addresses, wikilinks, markup, numbers and the names of its document do not count.

    Returns:
        Folded words between single spaces; empty when nothing is left.
    """
    bare, _ = part_addresses(text)
    for sign, pattern in (("[[", _WIKILINK), ("<", _TAG)):
        if sign in bare:
            bare = pattern.sub(" ", bare)
    if bare.isascii():  # the same as below, but quick
        letters = " ".join(bare.translate(_ASCII_LETTERS).split())
    else:
        letters = _letters(_NUMBER.sub(" ", bare))
    folded = f" {letters} "
    for name in _longest_first(tuple(names)):
        folded = folded.replace(f" {name} ", " ")
    return " ".join(folded.split())


# The chunks of a document follow each other.
@functools.lru_cache(maxsize=8)
def _longest_first(names: tuple[str, ...]) -> list[str]:
    return sorted(filter(None, map(_letters, names)), key=len, reverse=True)


def _letters(text: str) -> str:
    folded = fold_name(text)
    return _NUMBER.sub(" ", folded) if any(map(str.isalnum, folded)) else ""
