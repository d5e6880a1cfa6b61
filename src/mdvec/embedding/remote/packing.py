"""Cuts texts into what a model sees at once, packs them into what a service takes at once. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mdvec.text.tokens import estimate_token_ends

# Services refuse an empty text; this stands for one that has nothing visible.
_BLANK = "-"

_MOST_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text that the model sees at once.

    Attributes:
        owner: Which text it is part of, from 0.
        text: The part; never blank, and without lone surrogates.
        title: What the document is called; may be empty.
        tokens: How many tokens it has by estimate, at least 1.
    """

    owner: int
    text: str
    title: str
    tokens: int


def windows(texts: Sequence[str], titles: Sequence[str], max_tokens: int) -> Iterator[Window]:
    """Cut texts into windows.

    Args:
        texts: Any strings.
        titles: One for each text, or none at all.
        max_tokens: Most estimated tokens of a window.

    Yields:
        The windows of each text in order; at least one a text. Nothing is left out.
    """
    for owner, text in enumerate(texts):
        sendable = _encodable(text)
        if not sendable.strip():
            sendable = _BLANK
        title = _one_line(titles[owner]) if titles else ""
        ends = estimate_token_ends(sendable)
        start = 0
        for first in range(0, max(1, len(ends)), max_tokens):
            last = min(first + max_tokens, len(ends))
            end = len(sendable) if last == len(ends) else ends[last - 1]
            yield Window(owner, sendable[start:end], title, max(1, last - first))
            start = end


def batches(sizes: Sequence[int], *, most: int, most_tokens: int) -> Iterator[range]:
    """Pack neighbours together.

    Args:
        sizes: Tokens of each window.
        most: Most windows of a batch, at least 1.
        most_tokens: Most tokens of a batch; a single larger window is its own batch.

    Yields:
        Ranges of indices that follow each other and cover all.
    """
    start = tokens = 0
    for index, size in enumerate(sizes):
        if index > start and (index - start >= most or tokens + size > most_tokens):
            yield range(start, index)
            start, tokens = index, 0
        tokens += size
    if start < len(sizes):
        yield range(start, len(sizes))


def _one_line(title: str) -> str:
    return " ".join(_encodable(title).split())[:_MOST_TITLE_CHARS]


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON cannot carry to everybody."""
    return text.encode("utf-8", "replace").decode()
