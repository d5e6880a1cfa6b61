"""Cuts text into the likeliest pieces of a vocabulary (a Unigram model), with nothing but numpy.

The vocabulary is a trie of 505,000 nodes in a double array, so that it needs no loading: a child is found
in one step, for all places of a text at once.

References:
    Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure", 1989.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

NO_PIECE = -1
ROOT = 0
_BLOCK = 1 << 14  # places looked up at once: bounds the memory, whatever the length of the text

# Pairs of neighbouring characters are looked up by a hash. Two pairs in one slot only mean fewer cuts.
SLOT_BITS = 21
_SLOT_FACTORS = (0x9E3779B1, 0x85EBCA6B)

Codes = NDArray[np.uint32]
Pieces = tuple[NDArray[np.int32], NDArray[np.int64]]


class PieceTable(Struct, frozen=True):
    """A vocabulary that can be searched.

    A node is a slot. The child of a node by a character is in slot ``bases[node] ^ character`` if the
    parent there is the node.

    Attributes:
        characters: For each code point up to the last one in a piece, its number from 1, or 0 when it is in
            none. One more element, 0, stands for all higher code points.
        bases: By slot.
        parents: By slot; -1 where no node is.
        piece_of_node: The piece spelled by the way to a node, or -1; shape (slots,), int32.
        scores: Logarithm of each piece's probability; the unknown piece has the lowest. One more for none.
        piece_lengths: Characters of each piece, uint8; 1 for the unknown one.
        joined: True in the slots of all pairs of characters that are adjacent in a piece.
        unknown: Id of the piece that stands for a character no piece contains.
        longest: Characters of the longest piece.
    """

    characters: NDArray[np.uint16]
    bases: NDArray[np.int32]
    parents: NDArray[np.int32]
    piece_of_node: NDArray[np.int32]
    scores: NDArray[np.float32]
    piece_lengths: NDArray[np.uint8]
    joined: NDArray[np.bool_]
    unknown: int
    longest: int

    def cuts(self, codes: Codes) -> NDArray[np.bool_]:
        """Return for each place between two characters whether no piece spans it."""
        return ~self.joined[pair_slots(codes[:-1], codes[1:])]

    def segment(self, codes: Codes, *, block: int = _BLOCK) -> Pieces:
        """Find the likeliest pieces that make up a text.

        Args:
            codes: Code points of the text.
            block: Places looked up at once; it does not change the result.

        Returns:
            Ids of the pieces, and the place one past the end of each, both in order.

        References:
            Viterbi decoding of the Unigram model: Kudo, "Subword Regularization", ACL 2018.
        """
        last_piece = np.empty(codes.size, dtype=np.int32)
        last_length = np.empty(codes.size, dtype=np.uint8)
        scores = [0.0]  # of the best way to each of the places from `first` to `begin`
        first = 0
        for begin in range(0, codes.size, block):
            end = min(begin + block, codes.size)
            found = self._matches(codes[first:end])
            found[: begin - first + 1] = NO_PIECE
            hits = np.flatnonzero(found != NO_PIECE)
            pieces = found.ravel()[hits]
            ends = hits // self.longest
            lengths = (ends + 1) * self.longest - hits
            best = _best_way(scores, end - first, ends - lengths, ends, self.scores[pieces])
            chosen = np.asarray(best.last[begin - first + 1 :], dtype=np.int64)
            last_piece[begin:end] = pieces[chosen]
            last_length[begin:end] = lengths[chosen]
            following = max(0, end - self.longest + 1)
            scores = best.scores[following - first :]
            first = following
        cuts = _walk_back(last_length.tobytes())
        return last_piece[cuts - 1], cuts

    def segment_short(self, codes: Codes) -> Pieces:
        """Return the same as :meth:`segment`, for many short texts side by side.

        Args:
            codes: Code points of the texts; each ends with a 0, which no piece holds. They get longer.
        """
        longest = self.longest
        found = self._matches(codes)
        scores = self.scores[found]
        stops = np.flatnonzero(codes == 0)
        starts = np.concatenate(([0], stops[:-1] + 1))
        sizes = stops - starts
        # The best way to each place, after places that no way leads to.
        best = np.full(longest + codes.size + 1, -np.inf)
        best[longest + starts] = 0
        before = np.lib.stride_tricks.sliding_window_view(best, longest)
        last = np.zeros(codes.size + 1, dtype=np.int64)
        most = int(sizes[-1])
        for place, first in enumerate(np.searchsorted(sizes, np.arange(1, most + 1)).tolist(), 1):
            ends = starts[first:] + place
            totals = before[ends] + scores[ends]
            last[ends] = totals.argmax(axis=1)
            best[longest + ends] = totals.max(axis=1)
        is_end = np.zeros(codes.size + 1, dtype=np.bool_)
        is_end[stops + 1] = True
        last[stops + 1] = longest - 1
        ends = stops
        while ends.size:
            ends = ends[~is_end[ends]]
            ends = ends[ends > 0]
            is_end[ends] = True
            ends = ends - longest + last[ends]
        ends = np.flatnonzero(is_end)
        return found[ends, last[ends]], ends

    def _matches(self, codes: Codes) -> NDArray[np.int32]:
        """Find every piece in a text.

        Returns:
            By the place where they end, 0 to the length of the text, the pieces from the longest to that of
            one character, or -1; shape (places, longest). The last one is never -1, but the unknown piece.
        """
        longest = self.longest
        # Nothing follows the last character, so no way through the trie leads out of the text.
        characters = np.zeros(codes.size + longest, dtype=np.int64)
        characters[: codes.size] = self.characters.take(codes, mode="clip")
        found = np.full((codes.size + 1) * longest, NO_PIECE, dtype=np.int32)
        places = np.arange(codes.size)
        nodes = np.full(codes.size, ROOT, dtype=np.int64)
        for length in range(1, longest + 1):
            slots = self.bases.take(nodes) ^ characters[length - 1 :].take(places)
            [alive] = (self.parents.take(slots) == nodes).nonzero()
            if not alive.size:
                break
            places, nodes = places.take(alive), slots.take(alive)
            found[length * longest + longest - length :][places * longest] = self.piece_of_node.take(nodes)
        single = found[longest - 1 :: longest]
        single[single == NO_PIECE] = self.unknown
        return found.reshape(-1, longest)


class _BestWay(Struct, frozen=True):
    """The best way to each place: its score, and the last match on it."""

    scores: list[float]
    last: list[int]


def _best_way(
    known: list[float],
    size: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> _BestWay:
    """Extend the scores of the first places to all of them."""
    best = known + [float("-inf")] * (size + 1 - len(known))
    last = [0] * (size + 1)
    steps = zip(starts.tolist(), ends.tolist(), scores.astype(np.float64).tolist(), strict=True)
    for match, (start, end, score) in enumerate(steps):
        candidate = best[start] + score
        if candidate > best[end]:
            best[end] = candidate
            last[end] = match
    return _BestWay(best, last)


def _walk_back(last_length: bytes) -> NDArray[np.int64]:
    """Return the ends of the pieces on the best way, in order."""
    cuts = array("q")  # a list takes five times the memory
    place = len(last_length)
    while place:
        cuts.append(place)
        place -= last_length[place - 1]
    return np.array(cuts, dtype=np.int64)[::-1]


def pair_slots(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the slot of each pair of code points in :attr:`PieceTable.joined`."""
    one, other = (np.uint32(factor) for factor in _SLOT_FACTORS)
    mixed = first.astype(np.uint32) * one ^ second.astype(np.uint32) * other
    return mixed >> np.uint32(32 - SLOT_BITS)
