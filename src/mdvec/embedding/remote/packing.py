"""Cuts texts into what a model sees at once, packs them into what a service takes at once. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
        place: Which part it is, from 0.
        count: How many parts the text has.
    """

    owner: int
    text: str
    title: str
    tokens: int
    place: int = 0
    count: int = 1


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
        firsts = range(0, max(1, len(ends)), max_tokens)
        start = 0
        for place, first in enumerate(firsts):
            last = min(first + max_tokens, len(ends))
            end = len(sendable) if last == len(ends) else ends[last - 1]
            yield Window(owner, sendable[start:end], title, max(1, last - first), place, len(firsts))
            start = end


def batches(
    cut: Iterable[Window], *, most: Callable[[], int], most_tokens: int
) -> Iterator[Sequence[Window]]:
    """Pack neighbours together, each batch when it is asked for.

    A batch is as full as it may be, also where that leaves some of the requests that may be under way at once
    unused: services count requests (Gemini and Voyage by the minute, Gemini by the day too), and four that
    each take a quarter come back no sooner than one that takes all.

    Args:
        cut: The windows.
        most: Returns the most windows of a batch, at least 1. Called again for every window, since a server
            may turn out to take fewer.
        most_tokens: Most tokens of a batch; a single larger window is its own batch.

    Yields:
        All windows, in order.
    """
    batch: list[Window] = []
    tokens = 0
    for window in cut:
        if batch and (len(batch) >= most() or tokens + window.tokens > most_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(window)
        tokens += window.tokens
    if batch:
        yield batch


def _one_line(title: str) -> str:
    return " ".join(_encodable(title).split())[:_MOST_TITLE_CHARS]


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON cannot carry to everybody."""
    return text.encode("utf-8", "replace").decode()
