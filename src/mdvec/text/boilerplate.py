"""Boilerplate: lines that documents of a collection share, such as navigation and licences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from mdvec.text.hashing import text_hash
from mdvec.text.prose import FENCE, part_addresses

MIN_DOCUMENTS = 8
"""With fewer documents, repeated lines prove nothing."""

MOST = 0.5
"""The share of the documents from which a line is not embedded. A line in a smaller share tells what kind of
document it is in: without the lines of a quarter, search was worse."""

MANY = 0.05
"""The share from which a line says nothing of one document to its reader."""

# They are stored with the collection, which every search loads.
_MAX_LINES = 200
# Boilerplate is near the ends of a document, which may be megabytes long.
_END_CHARS = 20_000

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"[^\W\d_]+")
_HEADING = re.compile(r" {0,3}#")
_DIGIT = re.compile(r"\d")
_CODE_INDENTS = ("\t", "    ")
_FRONTMATTER = re.compile(r"(---|\+\+\+)[^\n]*\n.*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)


def shared_lines(bodies: Iterable[str]) -> dict[str, float]:
    """Return the lines that many documents share: the share of each by its key, the most frequent first.

    Lines that differ only in addresses, numbers, punctuation and markup are equal. Headings and code are
    never boilerplate: they describe the text below or next to them.

    Args:
        bodies: The bodies of the documents, each read once; their frontmatter does not count.
    """
    count = 0
    documents: Counter[str] = Counter()
    for body in bodies:
        count += 1
        text = body[header.end() :] if (header := _FRONTMATTER.match(body)) else body
        if len(text) > 2 * _END_CHARS:
            text = f"{text[:_END_CHARS]}\n{text[-_END_CHARS:]}"
        documents.update({words for _, words in _lines(text) if words})
    least = max(MIN_DOCUMENTS, MANY * count)
    found = sorted((-times, words) for words, times in documents.items() if times >= least)
    return {_key(words): -times / count for times, words in found[:_MAX_LINES]}


def without_boilerplate(text: str, known: Collection[str], *, with_numbers: bool = True) -> str:
    """Return a text without the lines whose keys are ``known``; unchanged if only headings would be left.

    Args:
        text: The text.
        known: The keys.
        with_numbers: Whether to leave out lines with numbers, too, which may be those of one document alone.
    """
    lines = list(_lines(text)) if known else []
    rest = [
        line
        for line, words in lines
        if not words or _key(words) not in known or (not with_numbers and _DIGIT.search(line))
    ]
    if len(rest) == len(lines) or all(line.isspace() or _HEADING.match(line) for line in rest):
        return text
    return "".join(rest).strip()


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line or block of code with its words; without words if it cannot be boilerplate."""
    start = 0
    for fence in FENCE.finditer(text):
        yield from _prose_lines(text[start : fence.start()])
        yield fence[0], ""
        start = fence.end()
    yield from _prose_lines(text[start:])


def _prose_lines(text: str) -> Iterator[tuple[str, str]]:
    bare = [*_LINE.findall(part_addresses(text)[0]), ""]  # no address spans lines; a last "</b>" leaves none
    for line, parted in zip(_LINE.findall(text), bare, strict=False):
        is_prose = not line.startswith(_CODE_INDENTS) and not _HEADING.match(line)
        yield line, " ".join(_WORD.findall(parted)) if is_prose else ""


def _key(words: str) -> str:
    return text_hash(words).hex()[:16]
