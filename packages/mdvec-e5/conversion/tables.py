"""Arranges the vocabulary for searching; :mod:`mdvec.embedding.builtin` maps the arrays and searches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversion.weights import Vocabulary
from mdvec.embedding.builtin.characters import CharacterMap
from mdvec.embedding.builtin.pieces import NO_PIECE, ROOT, SLOT_BITS, PieceTable, pair_slots
from mdvec.embedding.builtin.tokenizer import CHARACTER_ARRAYS, PIECE_ARRAYS

_CODE_BITS = 21  # a Unicode code point has 21 bits; above it is the number of the parent node
_NOBODY = -1
_MIN_SLOTS = 1 << 8
_UNKNOWN_PENALTY = 10.0  # an unknown character is this much less likely than the rarest piece


def save_tables(vocabulary: Vocabulary, directory: Path) -> dict[str, int]:
    """Write the vocabulary as arrays that can be mapped.

    Args:
        vocabulary: The vocabulary.
        directory: Existing.

    Returns:
        The numbers of :class:`PieceTable`, by name.
    """
    table = build_piece_table(vocabulary.pieces, vocabulary.scores, vocabulary.unknown)
    characters = build_character_map(vocabulary.replacements)
    for names, arrays in ((PIECE_ARRAYS, table), (CHARACTER_ARRAYS, characters)):
        for name in names:
            np.save(directory / f"{name}.npy", getattr(arrays, name))
    return {"unknown": table.unknown, "longest": table.longest}


def build_character_map(replacements: Mapping[int, Sequence[int]]) -> CharacterMap:
    """Arrange replacements for whole texts at a time.

    Args:
        replacements: Code points by code point.
    """
    order = sorted(replacements)
    entry_of = np.zeros(max(order, default=-1) + 2, dtype=np.int32)
    entry_of[order] = np.arange(1, len(order) + 1)
    rows = [(0,), *(tuple(replacements[code]) for code in order)]
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    return CharacterMap(
        entry_of=entry_of,
        lengths=lengths,
        starts=np.cumsum(lengths, dtype=np.int32) - lengths,
        targets=np.array([code for row in rows for code in row], dtype=np.uint32),
    )


def build_piece_table(pieces: Sequence[str], scores: NDArray[np.float32], unknown: int) -> PieceTable:
    """Arrange a vocabulary for searching.

    Args:
        pieces: All different, none empty.
        scores: Of each piece, shape (pieces,).
        unknown: Id of the unknown piece; its own spelling is not searched for.
    """
    lengths = np.array([len(piece) for piece in pieces])
    codes = np.frombuffer("".join(pieces).encode("utf-32-le"), dtype=np.uint32)
    starts = np.cumsum(lengths) - lengths
    node_of = np.zeros(len(pieces), dtype=np.int64)  # node reached with the characters seen so far
    edges, piece_of_node = [], [np.array([NO_PIECE])]
    nodes = 1
    for depth in range(int(lengths.max())):
        # Nodes are numbered level by level in the order of their edges: so all edges come out sorted.
        longer = np.flatnonzero(lengths > depth)
        level, child = np.unique(
            node_of[longer] << _CODE_BITS | codes[starts[longer] + depth], return_inverse=True
        )
        node_of[longer] = nodes + child
        complete = longer[lengths[longer] == depth + 1]
        spelled = np.full(level.size, NO_PIECE)
        spelled[node_of[complete] - nodes] = np.where(complete == unknown, NO_PIECE, complete)
        edges.append(level)
        piece_of_node.append(spelled)
        nodes += level.size
    child_codes = np.concatenate(edges) & ((1 << _CODE_BITS) - 1)
    parents = np.concatenate(edges) >> _CODE_BITS
    inner = parents > 0
    joined = np.zeros(1 << SLOT_BITS, dtype=np.bool_)
    joined[pair_slots(child_codes[parents[inner] - 1], child_codes[inner])] = True
    alphabet = np.unique(child_codes)
    characters = np.zeros(int(alphabet[-1]) + 2, dtype=np.uint16)
    characters[alphabet] = np.arange(1, alphabet.size + 1)
    slots, bases = _placed(parents, characters[child_codes].astype(np.int64))
    by_slot = {name: np.full(bases.size, _NOBODY, dtype=np.int32) for name in ("parents", "pieces")}
    by_slot["parents"][slots[1:]] = slots[parents]
    by_slot["pieces"][slots] = np.concatenate(piece_of_node)
    table_scores = np.append(scores, -np.inf).astype(np.float32)
    table_scores[unknown] = scores.min() - _UNKNOWN_PENALTY
    lengths[unknown] = 1
    return PieceTable(
        characters=characters,
        bases=bases,
        parents=by_slot["parents"],
        piece_of_node=by_slot["pieces"],
        scores=table_scores,
        piece_lengths=lengths.astype(np.uint8),
        joined=joined,
        unknown=unknown,
        longest=int(lengths.max()),
    )


def _placed(
    parents: NDArray[np.int64], characters: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Find slots for nodes, so that the children of one differ by their characters alone.

    Args:
        parents: Of the nodes from 1 on, ascending.
        characters: That lead to them; those of one parent all differ.

    Returns:
        The slot of each node, and the base in each slot. Half of the slots or more stay empty.
    """
    size = max(_MIN_SLOTS, 1 << (2 * parents.size - 1).bit_length())
    slots = np.zeros(parents.size + 1, dtype=np.int64)
    bases = np.zeros(parents.size + 1, dtype=np.int64)
    owners = np.full(size, _NOBODY, dtype=np.int64)
    owners[ROOT] = ROOT
    nodes, firsts, counts = np.unique(parents, return_index=True, return_counts=True)
    random = np.random.default_rng(0)
    for count in np.unique(counts)[::-1]:  # while there is much room, those that need much
        waiting = np.flatnonzero(counts == count)
        while waiting.size:
            children = firsts[waiting, np.newaxis] + np.arange(count)
            tried = random.integers(size, size=waiting.size)
            wanted = tried[:, np.newaxis] ^ characters[children]
            free = (owners[wanted] == _NOBODY).all(axis=1)
            taken = np.where(free, waiting, _NOBODY)
            owners[wanted[free]] = taken[free, np.newaxis]
            placed = free & (owners[wanted] == taken[:, np.newaxis]).all(axis=1)
            lost = wanted[free & ~placed]
            owners[lost[np.isin(owners[lost], waiting[free & ~placed])]] = _NOBODY
            slots[children[placed] + 1] = wanted[placed]
            bases[nodes[waiting[placed]]] = tried[placed]
            waiting = waiting[~placed]
    by_slot = np.zeros(size, dtype=np.int32)
    by_slot[slots] = bases
    return slots, by_slot
