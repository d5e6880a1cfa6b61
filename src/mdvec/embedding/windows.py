"""Splits long texts into windows that a model can read at once, and averages their vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from mdvec.text.tokens import estimate_token_ends

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix, Vector


class Window(Struct, frozen=True):
    """A text, or a part of one.

    Attributes:
        owner: Position of the whole text.
        text: The part.
        tokens: Its tokens, at least 1.
        place: Number of the part, from 0.
        count: How many parts the text has.
        title: The document's title; may be empty.
    """

    owner: int
    text: str
    tokens: int
    place: int = 0
    count: int = 1
    title: str = ""


def windows_at(
    owner: int, text: str, ends: Sequence[int], max_tokens: int, *, title: str = ""
) -> list[Window]:
    """Cut a text at the ends of its tokens, which ascend.

    Returns:
        Windows that together are the text; at least one, all but the last are full.
    """
    cuts = [*ends[max_tokens - 1 : max(0, len(ends) - 1) : max_tokens], len(text)]
    sizes = [max_tokens] * (len(cuts) - 1) + [max(1, len(ends) - max_tokens * (len(cuts) - 1))]
    parts = [text[start:end] for start, end in zip([0, *cuts], cuts, strict=False)]
    return [
        Window(owner, part, tokens, place, len(parts), title)
        for place, (part, tokens) in enumerate(zip(parts, sizes, strict=True))
    ]


def windows_by_halves(owner: int, text: str, count: Callable[[str], int], max_tokens: int) -> list[Window]:
    """Cut a text whose tokens can be counted but not located, until every part is short enough.

    Returns:
        Windows that together are the text; at least one.
    """

    def halves(part: str) -> list[tuple[str, int]]:
        tokens = count(part)
        if tokens <= max_tokens or len(part) < 2:
            return [(part, max(1, tokens))]
        ends = [end for end in estimate_token_ends(part) if end < len(part)]
        middle = ends[len(ends) // 2] if ends else len(part) // 2
        return [*halves(part[:middle]), *halves(part[middle:])]

    parts = halves(text)
    return [Window(owner, part, tokens, place, len(parts)) for place, (part, tokens) in enumerate(parts)]


class WindowJoiner:
    """Combines the vectors of a text's windows into one, in whatever order and batches they come."""

    def __init__(self) -> None:
        self._open: dict[int, list[tuple[Window, Vector]]] = {}

    def add(self, windows: Sequence[Window], rows: Matrix) -> tuple[list[int], Matrix]:
        """Add the vectors of windows, and return the texts that are now complete.

        Args:
            windows: The windows, each only once in all calls.
            rows: Their vectors, shape (len(windows), dim).

        Returns:
            Positions of texts, any number of them, and the means of their windows weighted by tokens:
            float32, shape (number of texts, dim), rows of unit length.
        """
        import numpy as np

        texts: list[int] = []
        vectors: list[Vector] = []
        for window, row in zip(windows, rows, strict=True):
            known = self._open.setdefault(window.owner, [])
            known.append((window, row))
            if len(known) == window.count:
                texts.append(window.owner)
                vectors.append(_mean(self._open.pop(window.owner)))
        return texts, np.array(vectors, np.float32).reshape(len(vectors), rows.shape[1])


def _mean(known: list[tuple[Window, Vector]]) -> Vector:
    import numpy as np

    if len(known) == 1:
        return known[0][1]
    known.sort(key=lambda each: each[0].place)
    weights = np.array([window.tokens for window, _ in known], np.float64)
    total = weights @ np.stack([row for _, row in known])
    norm = np.linalg.norm(total)
    # Opposite vectors have no mean direction: then the first window counts.
    return np.asarray(total / norm if norm > 0 else known[0][1], np.float32)
