"""Cuts a text where no piece of the vocabulary spans, and remembers the pieces of segments and words.

Words and phrases recur, so the pieces of most segments are known already.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from itertools import filterfalse
from typing import TYPE_CHECKING

from mdvec.embedding.builtin.characters import WORD_START
from mdvec.embedding.builtin.pieces import PieceTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Parts segments while they are looked up; texts hold no NUL.
_CUT = "\0"
# A code point that no string holds, and so no piece.
_SEPARATOR = 0x110000
# About 20 MB. Longer segments hardly recur.
_MAX_SEGMENTS = 1 << 16
_MAX_SEGMENT_CHARS = 32


class Segmenter:
    """Finds the likeliest pieces that make up a text. Threads may share it.

    Args:
        table: The vocabulary.
    """

    def __init__(self, table: PieceTable) -> None:
        self.table = table
        self._lock = threading.RLock()
        # By segment: ids as int32, lengths in characters as uint8.
        self._ids: dict[str, bytes] = {}
        self._lengths: dict[str, bytes] = {}
        self._lengths_of_word: dict[str, bytes] = {}

    def segment(self, codes: NDArray[np.uint32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return what :meth:`PieceTable.segment` returns, most of it from memory.

        Args:
            codes: Code points of the text, none of them 0.
        """
        import numpy as np

        if not codes.size:
            return self.table.segment(codes)
        ids, lengths = self._of_segments(codes, self._ids, self._lengths)
        return np.frombuffer(ids, np.int32), np.frombuffer(lengths, np.uint8).cumsum(dtype=np.int64)

    def _of_segments(self, codes: NDArray[np.uint32], *known: Mapping[str, bytes]) -> list[bytes]:
        """Return what is known of the segments of a text, joined, after what is not known was learned."""
        import numpy as np

        marked = np.insert(codes, self.table.cuts(codes), ord(_CUT))
        segments = marked.tobytes().decode("utf-32-le", "surrogatepass").split(_CUT)
        with self._lock:
            missing = _unknown(segments, self._ids)
            if missing:
                self._learn(missing)
            found = [b"".join(map(each.__getitem__, segments)) for each in known]
            self._forget(missing)
        return found

    def ends(self, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the ends that :meth:`segment` returns, most of them from memory of whole words.

        No piece goes on after a space, so the pieces of a text are those of its words.

        Args:
            codes: As for :meth:`segment`; the first one is the mark that stands for a space.
        """
        import numpy as np

        words = codes[1:].tobytes().decode("utf-32-le", "surrogatepass").split(chr(WORD_START))
        known = self._lengths_of_word
        with self._lock:
            missing = _unknown(words, known)
            if missing:
                self._learn_words(missing)
            lengths = b"".join(map(known.__getitem__, words))
            if len(known) > _MAX_SEGMENTS:
                known.clear()
            for word in missing:
                if len(word) > _MAX_SEGMENT_CHARS:
                    known.pop(word, None)
        return np.frombuffer(lengths, np.uint8).cumsum(dtype=np.int64)

    def _learn_words(self, words: Sequence[str]) -> None:
        import numpy as np

        mark = chr(WORD_START)
        codes = np.frombuffer(f"{mark}{mark.join(words)}".encode("utf-32-le", "surrogatepass"), np.uint32)
        [lengths] = self._of_segments(codes, self._lengths)
        ends = np.frombuffer(lengths, np.uint8).cumsum(dtype=np.int64)
        stops = np.searchsorted(ends, np.cumsum([len(word) + 1 for word in words]), "right").tolist()
        for word, start, stop in zip(words, [0, *stops], stops, strict=False):
            self._lengths_of_word[word] = lengths[start:stop]

    def _learn(self, segments: Sequence[str]) -> None:
        import numpy as np

        codes = np.frombuffer("".join(segments).encode("utf-32-le", "surrogatepass"), np.uint32)
        stops = np.cumsum([len(segment) for segment in segments])
        ids, ends = self.table.segment(np.insert(codes, stops, _SEPARATOR))
        lengths = np.diff(ends, prepend=0).astype(np.uint8)
        # A separator is a piece of its own, the last one of each segment here.
        last = np.searchsorted(ends, stops + np.arange(1, len(segments) + 1)).tolist()
        first = [0, *(place + 1 for place in last)]
        for segment, start, stop in zip(segments, first, last, strict=False):
            self._ids[segment] = ids[start:stop].tobytes()
            self._lengths[segment] = lengths[start:stop].tobytes()

    def _forget(self, segments: Sequence[str]) -> None:
        """Keep the memory within its bounds."""
        if len(self._ids) > _MAX_SEGMENTS:
            self._ids.clear()
            self._lengths.clear()
        for segment in segments:
            if len(segment) > _MAX_SEGMENT_CHARS:
                self._ids.pop(segment, None)
                self._lengths.pop(segment, None)


def _unknown(texts: Sequence[str], known: Collection[str]) -> list[str]:
    """Return those of the texts that are not known, each once."""
    return list(dict.fromkeys(filterfalse(known.__contains__, texts)))
