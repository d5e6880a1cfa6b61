"""Cuts text into the likeliest pieces of a vocabulary (a Unigram model), with nothing but numpy.

The vocabulary is a trie of 505,000 nodes stored as one sorted array of edges, so that it needs no
loading: a child is found by binary search, for all places of a text at once.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_CODE_BITS = 21  # a Unicode code point has 21 bits; above it stands the number of the parent node
_NO_PIECE = -1
_UNKNOWN_PENALTY = 10.0  # an unknown character is this much less likely than the rarest piece
_BLOCK = 1 << 14  # places looked up at once: bounds the memory, whatever the length of the text

# Pairs of neighbouring characters are looked up by a hash. Two pairs in one slot only mean fewer cuts.
_SLOT_BITS = 21
_SLOT_FACTORS = (0x9E3779B1, 0x85EBCA6B)


class PieceTable(Struct, frozen=True):
    """A vocabulary that can be searched.

    Attributes:
        edges: Sorted; ``edges[i]`` is ``parent node << 21 | code point`` of the edge to node ``i + 1``.
            Node 0 is the root. The last edge leads nowhere, so that every search ends inside.
        piece_of_node: The piece spelled by the way to a node, or -1; shape (nodes,), int32.
        scores: Logarithm of each piece's probability; the unknown piece has the lowest.
        joined: True in the slots of all pairs of characters that are neighbours in a piece.
        unknown: Id of the piece that stands for a character no piece contains.
        longest: Characters of the longest piece.
    """

    edges: NDArray[np.int64]
    piece_of_node: NDArray[np.int32]
    scores: NDArray[np.float32]
    joined: NDArray[np.bool_]
    unknown: int
    longest: int

    def cuts(self, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return places of a text that no piece spans: what is before and after has its pieces apart."""
        import numpy as np

        return np.flatnonzero(~self.joined[_slots(codes[:-1], codes[1:])]) + 1

    def segment(
        self, codes: NDArray[np.uint32], *, block: int = _BLOCK
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Find the likeliest pieces that make up a text.

        Args:
            codes: Code points of the text.
            block: Places looked up at once; it does not change the result.

        Returns:
            Ids of the pieces, and the place one past the end of each, both in order.

        References:
            Viterbi decoding of the Unigram model: Kudo, "Subword Regularization", ACL 2018.
        """
        import numpy as np

        last_piece = np.empty(codes.size, dtype=np.int32)
        last_length = np.empty(codes.size, dtype=np.uint8)
        scores = [0.0]  # of the best way to each of the places from `first` to `begin`
        first = 0
        for begin in range(0, codes.size, block):
            end = min(begin + block, codes.size)
            starts, ends, pieces = self._matches(codes[first:end], begin - first)
            best = _best_way(scores, end - first, starts, ends, self.scores[pieces])
            chosen = np.asarray(best.last[begin - first + 1 :], dtype=np.int64)
            last_piece[begin:end] = pieces[chosen]
            last_length[begin:end] = (ends - starts)[chosen]
            following = max(0, end - self.longest + 1)
            scores = best.scores[following - first :]
            first = following
        cuts = _walk_back(last_length.tobytes())
        return last_piece[cuts - 1], cuts

    def _matches(
        self, codes: NDArray[np.uint32], after: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Find every piece in a text that ends behind a place.

        Returns:
            Start, end and id of each, sorted by end, the longest first. Every place behind ``after``
            is the end of at least one: a character no piece contains is the unknown piece.
        """
        import numpy as np

        keys = codes.astype(np.int64)
        places = np.arange(keys.size)
        nodes = np.zeros(keys.size, dtype=np.int64)
        found = []
        for length in range(1, self.longest + 1):
            wanted = nodes << _CODE_BITS | keys[places + length - 1]
            children = np.searchsorted(self.edges, wanted)
            is_edge = self.edges[children] == wanted
            nodes = np.where(is_edge, children + 1, 0)
            pieces = self.piece_of_node[nodes]
            if length == 1:
                pieces = np.where(pieces == _NO_PIECE, self.unknown, pieces)
            hits = (pieces != _NO_PIECE) & (places + length > after)
            found.append((places[hits], places[hits] + length, pieces[hits]))
            alive = is_edge & (places + length < keys.size)
            places, nodes = places[alive], nodes[alive]
            if not places.size:
                break
        starts, ends, ids = (np.concatenate(column) for column in zip(*reversed(found), strict=True))
        order = np.argsort(ends, kind="stable")
        return starts[order], ends[order], ids[order]


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
    import numpy as np

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
    import numpy as np

    cuts = array("q")  # a list takes five times the memory
    place = len(last_length)
    while place:
        cuts.append(place)
        place -= last_length[place - 1]
    return np.array(cuts, dtype=np.int64)[::-1]


def build_piece_table(pieces: Sequence[str], scores: NDArray[np.float32], unknown: int) -> PieceTable:
    """Arrange a vocabulary for searching.

    Args:
        pieces: All different, none empty.
        scores: Of each piece, shape (pieces,).
        unknown: Id of the unknown piece; its own spelling is not searched for.
    """
    import numpy as np

    lengths = np.array([len(piece) for piece in pieces])
    codes = np.frombuffer("".join(pieces).encode("utf-32-le"), dtype=np.uint32)
    starts = np.cumsum(lengths) - lengths
    node_of = np.zeros(len(pieces), dtype=np.int64)  # node reached with the characters seen so far
    edges, piece_of_node = [], [np.array([_NO_PIECE])]
    nodes = 1
    for depth in range(int(lengths.max())):
        # Nodes are numbered level by level in the order of their edges: so all edges come out sorted.
        longer = np.flatnonzero(lengths > depth)
        level, child = np.unique(
            node_of[longer] << _CODE_BITS | codes[starts[longer] + depth], return_inverse=True
        )
        node_of[longer] = nodes + child
        complete = longer[lengths[longer] == depth + 1]
        spelled = np.full(level.size, _NO_PIECE)
        spelled[node_of[complete] - nodes] = np.where(complete == unknown, _NO_PIECE, complete)
        edges.append(level)
        piece_of_node.append(spelled)
        nodes += level.size
    child_codes = np.concatenate(edges) & ((1 << _CODE_BITS) - 1)
    parents = np.concatenate(edges) >> _CODE_BITS
    inner = parents > 0
    joined = np.zeros(1 << _SLOT_BITS, dtype=np.bool_)
    joined[_slots(child_codes[parents[inner] - 1], child_codes[inner])] = True
    sentinel = np.array([np.iinfo(np.int64).max])
    table_scores = scores.astype(np.float32)
    table_scores[unknown] = scores.min() - _UNKNOWN_PENALTY
    return PieceTable(
        edges=np.concatenate([*edges, sentinel]),
        piece_of_node=np.concatenate([*piece_of_node, [_NO_PIECE]]).astype(np.int32),
        scores=table_scores,
        joined=joined,
        unknown=unknown,
        longest=int(lengths.max()),
    )


def _slots(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the slot of each pair of code points in :attr:`PieceTable.joined`."""
    import numpy as np

    one, other = (np.uint32(factor) for factor in _SLOT_FACTORS)
    mixed = first.astype(np.uint32) * one ^ second.astype(np.uint32) * other
    return mixed >> np.uint32(32 - _SLOT_BITS)
