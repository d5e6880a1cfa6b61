"""Cuts a text where no piece of the vocabulary spans, and caches what words and segments consist of.

Words and phrases recur, so most of a text was seen before.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mdvec.embedding.builtin.pieces import Codes, Pieces, PieceTable

# Separates segments while they are looked up; no text, and so no piece, contains a NUL.
_CUT = "\0"
# About 20 MB.
_MAX_TEXTS = 1 << 16
_MAX_CHARS = 1 << 20
# The number of short segments that are searched at once.
_MIN_AT_ONCE = 100
_SHORT_CHARS = 32

Found = Iterable[tuple[str, bytes]]


class PieceCache:
    """A cache of a few bytes for each of many short texts. Threads may share it.

    Args:
        find: Returns the bytes of texts that are not known yet, each with its text.
    """

    def __init__(self, find: Callable[[set[str]], Found]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._known: dict[str, bytes] = {}
        self._chars = 0

    def joined(self, texts: Sequence[str]) -> bytes:
        """Return the bytes of texts, one after the other."""
        known = self._known
        with self._lock:
            if missing := set(texts).difference(known):
                known.update(self._find(missing))
                self._chars += sum(map(len, missing))
            found = b"".join(map(known.__getitem__, texts))
            if len(known) > _MAX_TEXTS or self._chars > _MAX_CHARS:
                known.clear()
                self._chars = 0
        return found


def split(texts: Iterable[str], values: NDArray[np.integer], stops: NDArray[np.int64]) -> Found:
    """Return the part of some values that belongs to each text, as bytes; it ends before its stop."""
    found, last = values.tobytes(), (stops * values.itemsize).tolist()
    return zip(texts, map(found.__getitem__, map(slice, [0, *last], last)), strict=False)


class Segmenter:
    """Finds the likeliest pieces that make up a text. Threads may share it.

    Args:
        table: The vocabulary.
    """

    def __init__(self, table: PieceTable) -> None:
        self.table = table
        self._cache = PieceCache(self._find)

    def segment(self, codes: Codes) -> Pieces:
        """Return the same as :meth:`PieceTable.segment`, most of it from the cache.

        Args:
            codes: Code points of the text, none of them 0.
        """
        if not codes.size:
            return self.table.segment(codes)
        places = np.arange(codes.size)
        places[1:] += np.cumsum(self.table.cuts(codes))
        marked = np.zeros(int(places[-1]) + 1, dtype=np.uint32)
        marked[places] = codes
        segments = marked.tobytes().decode("utf-32-le", "surrogatepass").split(_CUT)
        ids = np.frombuffer(self._cache.joined(segments), np.int32)
        return ids, self.table.piece_lengths[ids].cumsum(dtype=np.int64)

    def _find(self, missing: set[str]) -> Iterator[tuple[str, bytes]]:
        segments = sorted(missing, key=len)
        short = bisect.bisect_right(segments, _SHORT_CHARS, key=len)
        if short < _MIN_AT_ONCE:
            short = 0
        yield from _pieces_of(segments[:short], self.table.segment_short)
        yield from _pieces_of(segments[short:], self.table.segment)


def _pieces_of(segments: Sequence[str], find: Callable[[Codes], Pieces]) -> Found:
    if not segments:
        return ()
    text = f"{_CUT.join(segments)}{_CUT}"
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    ids, ends = find(codes)
    # Each separator is a piece of its own.
    is_cut = codes[ends - 1] == ord(_CUT)
    return split(segments, ids[~is_cut], np.flatnonzero(is_cut) - np.arange(len(segments)))
