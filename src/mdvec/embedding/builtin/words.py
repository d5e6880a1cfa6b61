"""Caches the token ends of words, since most words of a text occurred before.

No piece of the vocabulary continues after a space, so the token ends of a text are those of its words.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# About 15 MB.
_MAX_WORDS = 1 << 16
_MAX_CHARS = 1 << 20


class WordMemory:
    """A cache of the tokens of words. Threads may share it.

    Args:
        find_ends: Tokenises a text: one past the last character of each token.
    """

    def __init__(self, find_ends: Callable[[str], NDArray[np.int64]]) -> None:
        self._find_ends = find_ends
        self._lock = threading.Lock()
        self._lengths: dict[str, bytes] = {}
        self._chars = 0

    def lengths(self, words: Sequence[str]) -> bytes:
        """Return the length of each token in characters, as uint8.

        Args:
            words: The words, none of them empty. The one space before a word counts as part of it.
        """
        known = self._lengths
        with self._lock:
            missing = list(set(words).difference(known))
            if missing:
                self._learn(missing)
            lengths = b"".join(map(known.__getitem__, words))
            if len(known) > _MAX_WORDS or self._chars > _MAX_CHARS:
                known.clear()
                self._chars = 0
        return lengths

    def _learn(self, words: Sequence[str]) -> None:
        import numpy as np

        text = f" {' '.join(words)}"
        ends = self._find_ends(text)
        stops = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)) + 1)
        last = np.searchsorted(ends, stops, "right").tolist()
        found = np.diff(ends, prepend=0).astype(np.uint8).tobytes()
        self._lengths.update(zip(words, map(found.__getitem__, map(slice, [0, *last], last)), strict=False))
        self._chars += len(text)
