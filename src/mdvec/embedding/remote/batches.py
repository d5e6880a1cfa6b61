"""Cuts texts into windows that a service accepts, and packs them into batches, one for each request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from mdvec.embedding.windows import Window, windows_at
from mdvec.text.tokens import estimate_token_ends

# Services refuse an empty text; this stands for one without visible characters.
_BLANK = "-"
_MAX_TITLE_CHARS = 200


def sendable_windows(texts: Sequence[str], titles: Sequence[str], max_tokens: int) -> Iterator[Window]:
    """Cut texts into windows that any service accepts.

    Yields:
        The windows of each text in order; at least one a text, never blank, and without lone surrogates.
    """
    for owner, text in enumerate(texts):
        sendable = sendable_text(text)
        title = " ".join(_encodable(titles[owner]).split())[:_MAX_TITLE_CHARS] if titles else ""
        yield from windows_at(owner, sendable, estimate_token_ends(sendable), max_tokens, title=title)


def batches(
    windows: Iterable[Window], *, max_texts: Callable[[], int], max_tokens: int
) -> Iterator[Sequence[Window]]:
    """Pack neighbours together, each batch when it is needed.

    A batch is as full as possible, also where that leaves some of the requests that may be under way at once
    unused: services count requests (Gemini and Voyage by the minute, Gemini by the day too), and four that
    each take a quarter come back no sooner than one that takes all.

    Args:
        windows: The windows.
        max_texts: Returns the most windows of a batch, at least 1. Called again for every window, since a
            server may turn out to take fewer.
        max_tokens: Most tokens of a batch; a single larger window is its own batch.

    Yields:
        All windows, in order.
    """
    batch: list[Window] = []
    tokens = 0
    for window in windows:
        if batch and (len(batch) >= max_texts() or tokens + window.tokens > max_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(window)
        tokens += window.tokens
    if batch:
        yield batch


def sendable_text(text: str) -> str:
    """Return a text that any service accepts: not blank, and without lone surrogates."""
    sendable = _encodable(text)
    return sendable if sendable.strip() else _BLANK


def _encodable(text: str) -> str:
    """Replace lone surrogates, which not every JSON parser accepts."""
    return text.encode("utf-8", "replace").decode()
