"""Cuts long texts into what a model sees at once, and packs texts into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mdvec.text.tokens import estimate_token_ends


@dataclass(frozen=True, slots=True)
class Window:
    """A text, or a part of one.

    Attributes:
        owner: Index of the whole text.
        text: What the model is to see.
        tokens: How many tokens that is; at least 1.
    """

    owner: int
    text: str
    tokens: int


def windows_at(owner: int, text: str, ends: Sequence[int], max_tokens: int) -> Iterator[Window]:
    """Cut a text at the ends of tokens.

    Args:
        owner: Its index.
        text: The text.
        ends: Where its tokens end, ascending.
        max_tokens: Most tokens in a window.

    Yields:
        Windows that together are the text; all but the last are full.
    """
    start = 0
    for first in range(0, max(1, len(ends)), max_tokens):
        last = first + max_tokens
        end = ends[last - 1] if last < len(ends) else len(text)
        yield Window(owner, text[start:end], max(1, min(last, len(ends)) - first))
        start = end


def windows_by_halves(
    owner: int, text: str, count: Callable[[str], int], max_tokens: int
) -> Iterator[Window]:
    """Cut a text whose tokens can be counted and not placed, until every part is short enough.

    Args:
        owner: Its index.
        text: The text.
        count: Counts tokens.
        max_tokens: Most tokens in a window.

    Yields:
        Windows that together are the text.
    """
    tokens = count(text)
    if tokens <= max_tokens or len(text) < 2:
        yield Window(owner, text, max(1, tokens))
        return
    ends = [end for end in estimate_token_ends(text) if end < len(text)]
    middle = ends[len(ends) // 2] if ends else len(text) // 2
    yield from windows_by_halves(owner, text[:middle], count, max_tokens)
    yield from windows_by_halves(owner, text[middle:], count, max_tokens)


def batches(lengths: Sequence[int], *, most: int, max_tokens: int) -> Iterator[list[int]]:
    """Pack texts of like length together, so that little is padded.

    Args:
        lengths: Tokens of each text.
        most: Most texts in a batch.
        max_tokens: Most tokens in a batch, padding included; a longer text is alone.

    Yields:
        Indices of the texts of a batch, the longest texts first: what needs most memory fails at once, if it
        does. Each text is in exactly one.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) == most or lengths[batch[0]] * (len(batch) + 1) > max_tokens):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
