"""Joins texts, and handles characters as arrays of code points, so that no Python code loops over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PART = "\x01"
"""The separator between joined texts, on a line of its own."""

_BETWEEN = f"\n{PART}\n"  # markup that must close on its line ends there

# The size of a batch: bounds the memory, and is large enough to be fast.
_MAX_CHARS = 1 << 16


T = TypeVar("T")


def in_batches(function: Callable[[Sequence[str]], Iterable[T]], texts: Sequence[str]) -> list[T]:
    """Apply a function that takes several texts and gives as many results; return these in order.

    A joined text is slow as a whole if one of its characters is not ASCII, so texts in ASCII are apart.
    """
    kinds = [text.isascii() for text in texts]
    found = {
        kind: (each for batch in _batches(list(compress(texts, chosen))) for each in function(batch))
        for kind, chosen in ((True, kinds), (False, [not kind for kind in kinds]))
    }
    return [next(found[kind]) for kind in kinds]


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in order, in batches for joining; a long text is a batch of its own."""
    start = chars = 0
    for at, text in enumerate(texts):
        chars += len(text)
        if chars > _MAX_CHARS and at > start:
            yield texts[start:at]
            start, chars = at, len(text)
    if start < len(texts):
        yield texts[start:]


def join_texts(texts: Sequence[str]) -> str:
    """Return the texts joined by :data:`PART`."""
    joined = _BETWEEN.join(texts)
    if joined.count(PART) >= max(1, len(texts)):
        return _BETWEEN.join(text.replace(PART, " ") for text in texts)
    return joined


def codes_of(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text."""
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def text_of(codes: NDArray[np.uint32]) -> str:
    """Return the text of some code points."""
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


class CharacterKinds:
    """The kinds of characters, each computed once. Threads may share it.

    Args:
        kind_of: Returns the kind of a character, from 1 to 255.
    """

    def __init__(self, kind_of: Callable[[str], int]) -> None:
        import numpy as np

        self._kind_of = kind_of
        self._known = np.zeros(0x110000, np.uint8)  # takes memory where it is written alone

    def __call__(self, codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Return the kinds of some code points."""
        import numpy as np

        kinds: NDArray[np.uint8] = self._known[codes]
        if kinds.all():
            return kinds
        for code in np.unique(codes[kinds == 0]).tolist():
            self._known[code] = self._kind_of(chr(code))
        found: NDArray[np.uint8] = self._known[codes]
        return found
