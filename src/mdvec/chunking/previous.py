"""How a text ends: its last sentences."""

from __future__ import annotations

import bisect
import itertools
import re
from typing import Final

from mdvec.chunking.graphemes import is_inside_cluster
from mdvec.text.sentences import sentence_ends
from mdvec.types.document import Block, BlockKind, Document

MAX_SENTENCES: Final = 2
MAX_CHARS: Final = 300
"""Longer ones would weigh as much as the text below them."""

# Only the end of a block is read: room for two sentences, with the markup that is taken out of them.
_READ_CHARS = 4 * MAX_CHARS
_MARKERS = re.compile(r"^(?:[ \t]*(?:[-*+]|\d{1,9}[.)]|>))*(?:[ \t]+|$)(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
# Lists and quotations are prose; tables, HTML, indented code and rules are not.
_ITEM = re.compile(r"[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|>)")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]")


def last_sentences(document: Document, start: int, end: int) -> str:
    """Return the last one or two sentences of a span, in one line.

    Headings, code, tables and HTML are no sentences. The second last sentence is left out when both are too
    long together; of a single one that is too long the end is kept.

    Args:
        document: The document.
        start: First character of the span; a block starts here or before it.
        end: One past the last.

    Returns:
        At most :data:`MAX_CHARS` characters; empty when the span holds no sentence.
    """
    sentences: list[str] = []
    index = bisect.bisect_left(document.blocks, end, key=lambda block: block.start)
    while index and len(sentences) < MAX_SENTENCES:
        index -= 1
        block = document.blocks[index]
        if block.end <= start:
            break
        sentences = [*_sentences(document.body, block), *sentences][-MAX_SENTENCES:]
    if sum(map(len, sentences)) > MAX_CHARS:
        del sentences[:-1]
    return _ending("".join(sentences).strip())


def _sentences(body: str, block: Block) -> list[str]:
    """Return the sentences at the end of a block, each with the space before it."""
    match block.kind:
        case BlockKind.HEADING | BlockKind.FENCE:
            return []
        case BlockKind.OTHER if not _ITEM.match(body, block.start, block.end):
            return []
        case BlockKind.PARAGRAPH | BlockKind.OTHER:
            text = body[max(block.start, block.end - _READ_CHARS) : block.end]
    if block.kind is BlockKind.OTHER:
        text = _MARKERS.sub("", text)
    text = f" {text.strip()}"
    bounds = itertools.pairwise([0, *sentence_ends(text)])
    found = (_SPACES.sub(" ", text[begin:end]) for begin, end in bounds)
    return [sentence for sentence in found if _WORD.search(sentence)]


def _ending(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    start = len(text) - MAX_CHARS + 1
    while is_inside_cluster(text, start):
        start += 1
    return f"…{text[start:]}"
