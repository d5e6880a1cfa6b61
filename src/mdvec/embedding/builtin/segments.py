"""Cuts a text where no piece of the vocabulary spans, and caches the pieces of segments.

Words and phrases recur, so the pieces of most segments are known already.
"""

from __future__ import annotations

import bisect
import threading
from typing import TYPE_CHECKING

from mdvec.embedding.builtin.pieces import PieceTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdvec.embedding.builtin.pieces import Codes, Pieces

# Separates segments while they are looked up; no text, and so no piece, contains a NUL.
_CUT = "\0"
_ID_BYTES = 4
# About 20 MB.
_MAX_SEGMENTS = 1 << 16
_MAX_CHARS = 1 << 20
# The number of short segments that are searched at once.
_MIN_AT_ONCE = 100
_SHORT_CHARS = 32


class Segmenter:
    """Finds the likeliest pieces that make up a text. Threads may share it.

    Args:
        table: The vocabulary.
    """

    def __init__(self, table: PieceTable) -> None:
        self.table = table
        self._lock = threading.Lock()
        self._ids: dict[str, bytes] = {}  # by segment, as int32
        self._chars = 0

    def segment(self, codes: Codes) -> Pieces:
        """Return the same as :meth:`PieceTable.segment`, most of it from the cache.

        Args:
            codes: Code points of the text, none of them 0.
        """
        import numpy as np

        if not codes.size:
            return self.table.segment(codes)
        places = np.arange(codes.size)
        places[1:] += np.cumsum(self.table.cuts(codes))
        marked = np.zeros(int(places[-1]) + 1, dtype=np.uint32)
        marked[places] = codes
        segments = marked.tobytes().decode("utf-32-le", "surrogatepass").split(_CUT)
        known = self._ids
        with self._lock:
            missing = sorted(set(segments).difference(known), key=len)
            short = bisect.bisect_right(missing, _SHORT_CHARS, key=len)
            if short < _MIN_AT_ONCE:
                short = 0
            self._learn(missing[:short], self.table.segment_short)
            self._learn(missing[short:], self.table.segment)
            ids = np.frombuffer(b"".join(map(known.__getitem__, segments)), np.int32)
            if len(known) > _MAX_SEGMENTS or self._chars > _MAX_CHARS:
                known.clear()
                self._chars = 0
        return ids, self.table.piece_lengths[ids].cumsum(dtype=np.int64)

    def _learn(self, segments: Sequence[str], find: Callable[[Codes], Pieces]) -> None:
        import numpy as np

        if not segments:
            return
        text = f"{_CUT.join(segments)}{_CUT}"
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        ids, ends = find(codes)
        # Each separator is a piece of its own.
        last = (np.flatnonzero(codes[ends - 1] == ord(_CUT)) * _ID_BYTES).tolist()
        first = [0, *(place + _ID_BYTES for place in last)]
        found = ids.tobytes()
        self._ids.update(zip(segments, map(found.__getitem__, map(slice, first, last)), strict=False))
        self._chars += len(text)
