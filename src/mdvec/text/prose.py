"""The prose of a Markdown text: what is left without code, addresses and markup."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mdvec.text.folding import fold_name
from mdvec.text.scripts import is_unspaced

_FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,}).*?(?:^[ \t>]*\2[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
ADDRESS = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"'`)\]}]+|(?<=\]\()[^()\s]+(?=[)\s])")
"""An address, or the target of a link."""

_WIKILINK = re.compile(r"!?\[\[[^\]\n]*\]\]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_NUMBER = re.compile(r"\d+")

# A document can be megabytes long; its beginning shows what it is written in.
_SAMPLE_CHARS = 50_000


def is_unspaced_prose(title: str, body: str) -> bool:
    """Return True if the prose of a document is mostly in scripts without spaces, such as Japanese.

    Code and addresses are in English everywhere, so they say nothing. The title is a part of the prose.
    """
    sample = body[:_SAMPLE_CHARS]
    if sample.isascii() and title.isascii():
        return False
    prose = sample
    for pattern in (_FENCE, _CODE, ADDRESS, _TAG):
        prose = pattern.sub(" ", prose)
    return is_unspaced(f"{title}\n{prose.strip()}")


def skeleton(text: str, names: Iterable[str]) -> str:
    """Return what a text is without the parts that differ where it is repeated.

    A footer that links to its page, or a template that holds the name of its note, is the same text in every
    document: addresses, wikilinks, markup, numbers and the names of its document do not count.

    Returns:
        Folded words between single spaces; empty when nothing is left.
    """
    bare = text
    for pattern in (ADDRESS, _WIKILINK, _TAG, _NUMBER):
        bare = pattern.sub(" ", bare)
    folded = f" {_letters(bare)} "
    for name in sorted(map(_letters, names), key=len, reverse=True):
        if name:
            folded = folded.replace(f" {name} ", " ")
    return " ".join(folded.split())


def _letters(text: str) -> str:
    folded = fold_name(text)
    return _NUMBER.sub(" ", folded) if any(map(str.isalnum, folded)) else ""
